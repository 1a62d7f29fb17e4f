package slipbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// A ProblemError is what the gateway refused or failed at, with its problem document (RFC 9457). An
// answer without one, such as that of a proxy, has the code "unknown".
type ProblemError struct {
	Problem

	// Header is that of the answer.
	Header http.Header
}

// Error returns status, code, detail and the refused fields.
func (e *ProblemError) Error() string {
	text := *cmp.Or(e.Detail, &e.Title)
	var fields strings.Builder
	for _, f := range e.Errors {
		if said := f.Field + ": " + f.Reason; !strings.Contains(text, said) { // the first is often the detail
			fields.WriteString("; " + said)
		}
	}
	return fmt.Sprintf("slipbox: %d %s: %s%s [request %s]", e.Status, e.Code, text, fields.String(), e.RequestID)
}

// A ConnectionError says that the gateway was not reached, did not answer in time, or that its answer broke off.
type ConnectionError struct{ Err error }

// Error returns the cause.
func (e *ConnectionError) Error() string { return "slipbox: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// problemOf returns the error of an answer.
func problemOf(status int, header http.Header, body []byte) *ProblemError {
	e := &ProblemError{Header: header}
	if json.Unmarshal(body, &e.Problem) == nil && e.Code != "" {
		return e
	}
	title := http.StatusText(status)
	if len(body) > 0 {
		title = strings.ToValidUTF8(string(body[:min(len(body), 200)]), "")
	}
	e.Problem = Problem{Type: "about:blank", Title: title, Status: status, Code: "unknown", RequestID: header.Get("X-Request-Id")}
	return e
}
