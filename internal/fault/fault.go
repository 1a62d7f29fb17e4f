// Package fault is the one error vocabulary of slipbox: a stable code, a
// sentence that may be shown to a caller, the fields at fault, and the cause,
// which is logged and never shown.
//
// Adapters translate what their technology says into a fault; the core wraps
// with %w; the edges map codes to statuses in a table tested for every code.
// The package imports nothing of ours.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code names a class of failure. Codes are part of the public contract: they
// are sent as the "code" of a problem document and never change meaning.
type Code string

// The codes, with the HTTP status that the API gives them.
const (
	Malformed        Code = "malformed"          // 400: not the syntax (JSON, UTF-8, NDJSON)
	Unauthenticated  Code = "unauthenticated"    // 401: no credential, or one that is not accepted
	Forbidden        Code = "forbidden"          // 403: a scope is missing
	NotFound         Code = "not_found"          // 404: absent, or not the caller's
	Conflict         Code = "conflict"           // 409: the state does not allow it
	Exists           Code = "already_exists"     // 409: the name or key is taken
	Ambiguous        Code = "ambiguous_name"     // 409: a name that means several collections
	LineageTooDeep   Code = "lineage_too_deep"   // 409: a ninth layer
	HasForks         Code = "has_forks"          // 409: a base that forks still read
	IdempotencyReuse Code = "idempotency_reuse"  // 409: same key, other body
	RevisionGone     Code = "revision_gone"      // 410: below the floor
	Precondition     Code = "precondition"       // 412: If-Match does not hold
	TooLarge         Code = "too_large"          // 413: body over its limit
	Invalid          Code = "invalid"            // 422: well-formed but refused
	RateLimited      Code = "rate_limited"       // 429: slow down
	QuotaExceeded    Code = "quota_exceeded"     // 429: a tenant limit is reached
	Internal         Code = "internal"           // 500: ours
	ModelFailed      Code = "model_failed"       // 502: the model or embedder answered badly
	Unavailable      Code = "unavailable"        // 503: not ready, overloaded, draining
	StorageFull      Code = "storage_full"       // 507: no space left
	Timeout          Code = "timeout"            // 504: a deadline of ours passed
	Unsupported      Code = "unsupported_media"  // 415: content type not accepted
	NotAllowed       Code = "method_not_allowed" // 405
)

// Codes lists every code, so that tables can be tested for completeness.
func Codes() []Code {
	return []Code{
		Malformed, Unauthenticated, Forbidden, NotFound, Conflict, Exists, Ambiguous, LineageTooDeep, HasForks,
		IdempotencyReuse, RevisionGone, Precondition, TooLarge, Invalid, RateLimited, QuotaExceeded, Internal,
		ModelFailed, Unavailable, StorageFull, Timeout, Unsupported, NotAllowed,
	}
}

// Field is one input at fault: a dotted path as the caller wrote it, and what
// is wrong with it in one clause.
type Field struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// Error is the error type. Message is safe to show; Err, the cause, is not.
type Error struct {
	Code       Code
	Message    string
	Fields     []Field
	RetryAfter time.Duration // 0: not stated
	Err        error
}

// Error joins code, message and cause for logs.
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

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error with a public message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap gives a cause a code and a public message. A nil cause gives nil.
func Wrap(err error, code Code, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// InvalidField refuses one field (422).
func InvalidField(field, format string, args ...any) *Error {
	reason := fmt.Sprintf(format, args...)
	return &Error{Code: Invalid, Message: field + ": " + reason, Fields: []Field{{Field: field, Reason: reason}}}
}

// Missing says that a thing is absent, or not the caller's: the two are never
// told apart.
func Missing(what string) *Error {
	return &Error{Code: NotFound, Message: what + " not found"}
}

// CodeOf gives the code of the outermost fault in err's chain, Internal for
// any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// Is tells whether err's outermost fault has the code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }
