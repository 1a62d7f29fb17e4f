// Package fault defines the errors of slipbox: a stable code, a message that may be shown to a
// caller, the invalid fields, and the cause, which is logged and never shown.
//
// Adapters translate the errors of their technology into faults; the core wraps with %w; the edges
// map codes to statuses in a table that is tested for every code. Every package may import it; it
// imports no other package of this module.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Code is a class of failure. Codes are part of the public contract: they are sent as the "code" of
// a problem document and never change their meaning.
type Code string

// The codes, with the HTTP status that the API sends.
const (
	Malformed        Code = "malformed"          // 400: invalid syntax (JSON, UTF-8, NDJSON)
	Unauthenticated  Code = "unauthenticated"    // 401: no credential, or one that is not accepted
	Forbidden        Code = "forbidden"          // 403: a scope is missing
	NotFound         Code = "not_found"          // 404: does not exist, or is not the caller's
	Conflict         Code = "conflict"           // 409: the state does not allow it
	Exists           Code = "already_exists"     // 409: the name or key is taken
	Ambiguous        Code = "ambiguous_name"     // 409: several collections have the name
	HasForks         Code = "has_forks"          // 409: forks still read this base
	IdempotencyReuse Code = "idempotency_reuse"  // 409: the same key with another body
	RevisionGone     Code = "revision_gone"      // 410: below the oldest revision that is kept
	Precondition     Code = "precondition"       // 412: If-Match does not hold
	TooLarge         Code = "too_large"          // 413: body over its limit
	Invalid          Code = "invalid"            // 422: well-formed but not valid
	RateLimited      Code = "rate_limited"       // 429: too many requests
	QuotaExceeded    Code = "quota_exceeded"     // 429: a tenant limit is reached
	Internal         Code = "internal"           // 500: a bug or failure of the server
	ModelFailed      Code = "model_failed"       // 502: the model or embedder failed or answered with something unusable
	Unavailable      Code = "unavailable"        // 503: not ready, overloaded, draining
	Misconfigured    Code = "misconfigured"      // 503: a setting is missing or refused, such as the model's key; waiting does not help
	StorageFull      Code = "storage_full"       // 507: no space left
	Timeout          Code = "timeout"            // 504: a time limit of the server passed
	Unsupported      Code = "unsupported_media"  // 415: content type not accepted
	NotAllowed       Code = "method_not_allowed" // 405
)

// Codes returns all codes, so tests can check that tables are complete.
func Codes() []Code {
	return []Code{
		Malformed, Unauthenticated, Forbidden, NotFound, Conflict, Exists, Ambiguous, HasForks,
		IdempotencyReuse, RevisionGone, Precondition, TooLarge, Invalid, RateLimited, QuotaExceeded, Internal,
		ModelFailed, Unavailable, Misconfigured, StorageFull, Timeout, Unsupported, NotAllowed,
	}
}

// Field is an invalid input: a dotted path as the caller wrote it, and the reason in one clause.
type Field struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// Error is an error with a code. Message is safe to show; Err, the cause, is not.
type Error struct {
	Code    Code
	Message string
	Fields  []Field
	Numbers map[string]int // that a caller needs to correct the input, by name; see the problem document
	// Collections are the ids of collections for which something is not allowed; see the problem document.
	Collections []string
	RetryAfter  time.Duration // 0: not known
	Err         error
}

// Error returns code, message, fields and cause, for logs.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for _, f := range e.Fields {
		fmt.Fprintf(&b, " [%s: %s]", f.Field, f.Reason)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error with a public message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error with a cause, a code and a public message. It returns nil for a nil cause.
func Wrap(err error, code Code, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// InvalidField returns the error for one invalid field (422).
func InvalidField(field, format string, args ...any) *Error {
	reason := fmt.Sprintf(format, args...)
	return &Error{Code: Invalid, Message: field + ": " + reason, Fields: []Field{{Field: field, Reason: reason}}}
}

// Missing returns the error for something that does not exist or is not the caller's. The two cases
// look the same to the caller.
func Missing(what string) *Error {
	return &Error{Code: NotFound, Message: what + " not found"}
}

// Rename returns err with other names of its fields, as the caller of an outer function wrote them. The message of an invalid input
// names the first. Other errors stay as they are.
func Rename(err error, name func(field string) string) error {
	f, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	out := *f
	out.Fields = slices.Clone(f.Fields)
	for i := range out.Fields {
		out.Fields[i].Field = name(out.Fields[i].Field)
	}
	if out.Code == Invalid && len(out.Fields) > 0 {
		out.Message = out.Fields[0].Field + ": " + out.Fields[0].Reason
	}
	return &out
}

// CodeOf returns the code of the outermost fault in err's chain, Internal for any other error, and
// "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// Is reports whether err's outermost fault has the code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }

// OneLine returns the text of an error in one line, without repeated parts.
func OneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(parts, line) {
			parts = append(parts, line)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), ":; ", ": ")
}
