package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// Exit codes, besides 0.
const (
	ExitRefused     = 1   // the gateway refuses the request, or the command was used wrongly
	ExitKey         = 2   // the key is not accepted, or may not do this
	ExitNotFound    = 3   // there is no such collection, note or job
	ExitAway        = 4   // the gateway is away, slow or busy: trying again may help
	ExitInterrupted = 130 // by Ctrl-C or SIGTERM
)

// failure is an error with an exit code.
type failure struct {
	text string
	code int
}

func (f failure) Error() string { return f.text }

// ExitCode returns the exit code of the process.
func (f failure) ExitCode() int { return f.code }

// refusal is a problem document that the gateway answered.
type refusal struct {
	slipbox.Problem

	retryAfter string                 // seconds; "": not said
	fix        string                 // in place of the usual one
	whose      string                 // the ids of an application that named the collection; "": none did
	takes      func(flag string) bool // whether the command has a flag; nil: it is not known
}

// Error returns what happened and how to correct it.
func (r *refusal) Error() string {
	detail := r.Title
	if r.Detail != nil && *r.Detail != "" {
		detail = *r.Detail
	}
	detail, _, _ = strings.Cut(detail, ": …/") // a route is for programs
	if r.missesCollection() || r.Status == http.StatusUnauthorized {
		detail, _, _ = strings.Cut(detail, ";") // what follows is for programs
	}
	if r.missesCollection() && r.whose != "" {
		detail = "there is no collection of " + r.whose
	}
	var b strings.Builder
	if len(r.Errors) > 0 {
		if rest, ok := strings.CutPrefix(detail, r.Errors[0].Field+": "); ok {
			detail = r.named(r.Errors[0].Field) + ": " + rest
		}
	}
	b.WriteString(clean(r.flags(strings.TrimSuffix(detail, "."))))
	for i, e := range r.Errors {
		if i > 0 || !strings.Contains(detail, e.Reason) { // the first is in the detail
			fmt.Fprintf(&b, "; %s: %s", clean(r.named(e.Field)), clean(r.flags(e.Reason)))
		}
	}
	if fix := cmp.Or(r.fix, r.advice()); fix != "" {
		b.WriteString("; " + fix)
	}
	return b.String()
}

// flagOf is the flag that sets a field of a request, where it is called otherwise.
var flagOf = map[string][]string{
	"k": {"limit"}, "expand_links": {"links"}, "occurred_at": {"at"}, "tags": {"tag"}, "policy": {"create"}, headerCreate: {"create"}, "at_revision": {"at"}, "revision": {"at"},
	"ttl_seconds": {"ttl"}, "agent": {"owner"}, "min_age_seconds": {"min-age"}, "kinds.0": {"kind"}, "events.0": {"event"},
}

// named returns the flag that sets a field, or else the field.
func (r *refusal) named(field string) string {
	if field == "url" {
		return "URL" // an argument; --url is the address of the gateway
	}
	if field == "against" && r.takes != nil && r.takes("against-at") {
		return "AGAINST" // an argument
	}
	for _, flag := range append(slices.Clip(flagOf[field]), strings.ReplaceAll(field, "_", "-")) {
		if r.takes != nil && r.takes(flag) {
			return "--" + flag
		}
	}
	return field
}

// fieldName matches the name of a field of several words.
var fieldName = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)+\b`)

// flags returns a text with the flags of the command in place of fields of a request.
func (r *refusal) flags(text string) string { return fieldName.ReplaceAllStringFunc(text, r.named) }

func (r *refusal) advice() string {
	for _, e := range r.Errors {
		if e.Field == "occurred_at" || e.Field == "expires_at" || e.Field == "valid_at" {
			return "a time looks like 2026-03-01T09:30:00Z"
		}
	}
	switch r.Status {
	case http.StatusUnauthorized:
		return "keep another key with `slipbox login`, or set SLIPBOX_API_KEY (`gateway key create` prints one)"
	case http.StatusForbidden:
		return "use a key with this scope (`gateway key create --scopes …`)"
	case http.StatusNotFound:
		switch subject, _, _ := strings.Cut(*cmp.Or(r.Detail, new("")), " "); subject {
		case "note":
			return "`slipbox search` prints the ids of notes"
		case "job":
			return "`slipbox watch` follows those that are left"
		case "snapshot":
			return "`slipbox snapshot list` names those that there are"
		case "review":
			return "`slipbox review list` prints their ids"
		case "webhook":
			return "`slipbox webhook list` prints their ids"
		}
	case http.StatusConflict:
		if r.Code == "already_exists" {
			return "choose another name"
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if r.Code == "quota_exceeded" && r.retryAfter == "" {
			return "delete some, or ask the operator for a higher limit (PATCH /v1/tenants/{tenant})"
		}
		if r.retryAfter != "" {
			return "try again in " + r.retryAfter + " s"
		}
		return "try again"
	}
	return ""
}

// ExitCode returns the exit code of the process.
func (r *refusal) ExitCode() int {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ExitKey
	case http.StatusNotFound:
		return ExitNotFound
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return ExitAway
	}
	return ExitRefused
}

// missesCollection reports whether there is no collection of the name or ids that were asked for.
func (r *refusal) missesCollection() bool {
	return r.Status == http.StatusNotFound && r.Detail != nil && strings.HasPrefix(*r.Detail, "collection")
}
