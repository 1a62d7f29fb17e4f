// Package route is how packages beside internal/api serve operations: what a handler gets of a request whose credential,
// parameters and body were checked against the contract, and what it answers. A policy's routes are in its own folder.
package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Set is the operations that one package serves.
type Set struct {
	// Contract is the OpenAPI document that describes them; nil: api/openapi.yaml.
	Contract []byte
	Handlers map[string]Handler // by operationId
}

// Handler answers one operation. Errors are faults; package api renders them.
type Handler func(ctx context.Context, r *Request) (Reply, error)

// Accepted is the status of an answer whose work a job continues. Packages of the core import no HTTP.
const Accepted = 202

// Reply is an answer.
type Reply struct {
	Status   int              // 0: 200
	Body     any              // rendered as JSON; a json.RawMessage is sent as it is
	Revision *memory.Revision // that was read or written; nil: the answer is not of one
}

// Request is a request that fits the contract.
type Request struct {
	Scope      tenant.Scope
	Path       string                   // without the query
	Param      func(name string) string // a segment of the path, decoded
	Query      url.Values
	Body       []byte         // JSON; empty: none
	Conditions memory.Request // from the headers
	// Reserve takes a place among the requests that wait for jobs. RateLimited if there is none. The caller
	// calls leave at the end, and wait for a job; own is how many jobs ahead of it the request enqueued.
	Reserve func() (wait Wait, leave func(), err error)

	Collection Collection
	// EndTurn allows another request of the tenant to be worked on. It is called before a wait for a model.
	EndTurn func()
	// Wrote counts notes that the request has written, for its trace.
	Wrote func(n int)
}

// Wait returns a job when it ends, or as it is when the request may not wait longer.
type Wait func(ctx context.Context, job uuid.UUID, own int) (memory.Job, error)

// Collection is that of the path.
type Collection interface {
	// Ref returns its id or name.
	Ref() (string, error)
	// View opens it at the revision that the request names, or else the newest.
	View() (memory.View, error)
	// Page opens it for a page of a list. Later pages read the revision of the first.
	Page() (Page, error)
	// Notes answers a page of its notes, in the order that the request asks for.
	Notes(kinds []memory.Kind, f filter.Expr) (Reply, error)
}

// Page is what a page of a list consists of.
type Page struct {
	View  memory.View
	After uuid.UUID // the last of the page before; zero: the first page
	Limit int       // items at most
	// Cursor returns the cursor of the next page, which begins after last; nil for the zero id.
	Cursor func(last uuid.UUID) (*string, error)
}

// Bind decodes a body that matches the contract. Numbers in free objects stay exact.
func Bind[T any](r *Request) (v T, err error) {
	if len(r.Body) == 0 {
		return v, nil
	}
	dec := json.NewDecoder(bytes.NewReader(r.Body))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return v, fault.InvalidField(typ.Field, "cannot be read as %s", typ.Type.Kind())
		}
		return v, fault.Wrap(err, fault.Invalid, "the body does not fit the operation")
	}
	return v, nil
}

// ID returns an id of the path. Text that is not an id is NotFound, like an id that does not exist.
func (r *Request) ID(name string) (uuid.UUID, error) {
	id, err := ParseID(r.Param(name))
	if err != nil {
		return uuid.Nil, fault.Missing(name)
	}
	return id, nil
}

// ParseID parses the form of ids that answers have, in either case. It refuses the other forms of
// the uuid package (braces, urn, no dashes).
func ParseID(s string) (uuid.UUID, error) {
	const textLength = 36
	if len(s) != textLength {
		return uuid.Nil, fault.New(fault.Invalid, "not a UUID")
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return uuid.Nil, fault.Wrap(err, fault.Invalid, "not a UUID")
	}
	return id, nil
}
