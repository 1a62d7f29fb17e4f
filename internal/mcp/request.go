package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// call is one call of a tool.
type call struct {
	ctx    context.Context //nolint:containedctx // lives for one call
	caller Caller
	tool   *tool
	args   map[string]json.RawMessage
}

// text returns an argument that is a string; "" if it is absent. It is an error if it is required and absent.
func (c *call) text(name string) (string, error) {
	raw, given := c.args[name]
	if !given {
		if slices.Contains(c.tool.required, name) {
			return "", missing(name)
		}
		return "", nil
	}
	var v string
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", invalid(name, "must be a string")
	}
	if v == "" {
		return "", invalid(name, "must not be empty")
	}
	return v, nil
}

func missing(name string) error { return invalid(name, "is required") }

func invalid(name, reason string) error {
	return problem{Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: name + ": " + reason}
}

// collection returns the path and query of the collection of a call: by its id or name, or by the ids of an
// application.
func (c *call) collection() (path string, query url.Values, err error) {
	ref, err := c.text(argCollection)
	if err != nil {
		return "", nil, err
	}
	raw, external := c.args[argExternal]
	switch {
	case external && ref != "":
		return "", nil, invalid(argExternal, "only one of collection and external is accepted")
	case ref != "":
		return pathCollections + "/" + url.PathEscape(ref), url.Values{}, nil
	case !external:
		return "", nil, problem{
			Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: "collection: one of collection and external is required",
			fix: "Call list_collections for the names, or pass external, such as {\"user\": \"nora@example.com\"}.",
		}
	}
	var ids map[string]string
	if err := json.Unmarshal(raw, &ids); err != nil || len(ids) == 0 {
		return "", nil, invalid(argExternal, "must be an object of texts, with one or more of user, agent, app and run")
	}
	query = url.Values{}
	for name, id := range ids {
		if !slices.Contains(externalNames, name) {
			return "", nil, invalid(argExternal+"."+name, "unknown; the names are user, agent, app and run")
		}
		query.Set(name, id)
	}
	return pathCollections + "/" + memory.ByExternal, query, nil
}

// setOwn fills in the ids of an application that every memory of the caller has. Other ids than these are refused.
func (c *call) setOwn() error {
	if len(c.caller.Own) == 0 || c.tool.arguments[argExternal] == nil || c.tool.inBody[argExternal] {
		return nil
	}
	_, one := c.args[argCollection]
	_, several := c.args["collections"]
	raw, external := c.args[argExternal]
	if !external && (one || several) {
		return nil
	}
	ids := map[string]string{}
	if external && json.Unmarshal(raw, &ids) != nil {
		return nil //nolint:nilerr // it is refused for its form
	}
	for name, own := range c.caller.Own {
		if id, given := ids[name]; given && id != own {
			return problem{
				Status: http.StatusForbidden, Code: "forbidden", Detail: argExternal + "." + name + ": this connection has the memory of another " + name,
				fix: "Leave out collection and external.",
			}
		}
		ids[name] = own
	}
	whole, err := json.Marshal(ids)
	c.args[argExternal] = whole
	return err
}

// ownRun returns the ids for a new memory of the caller beside its first.
func (c *call) ownRun(run string) (json.RawMessage, error) {
	ids := maps.Clone(c.caller.Own)
	ids["run"] = run
	return json.Marshal(ids)
}

// note returns the path and query of the note of a call.
func (c *call) note() (string, url.Values, error) {
	path, query, err := c.collection()
	if err != nil {
		return "", nil, err
	}
	id, err := c.text(argNote)
	if err != nil {
		return "", nil, err
	}
	return path + "/notes/" + url.PathEscape(id), query, nil
}

// at returns what a tool runs on the collection or the note that a call names.
func at(named func(*call) (string, url.Values, error), run func(c *call, path string, query url.Values) (answer, error)) func(*call) (answer, error) {
	return func(c *call) (answer, error) {
		path, query, err := named(c)
		if err != nil {
			return nil, err
		}
		return run(c, path, query)
	}
}

// body returns the arguments that are fields of the body.
func (c *call) body() ([]byte, error) {
	return json.Marshal(c.fields())
}

// addQuery adds the arguments that are parameters of the query.
func (c *call) addQuery(query url.Values) {
	for name, v := range c.args {
		if c.tool.inQuery[name] {
			query.Set(name, plain(v))
		}
	}
}

// plain returns the text of a JSON value as a parameter of a query.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(raw))
}

// send makes a request and decodes its answer into out, unless that is nil. An answer that is a problem is a
// [problem].
func (c *call) send(r Request, query url.Values, out any) (Response, error) {
	if len(query) > 0 {
		r.Path += "?" + query.Encode()
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	answer, err := sendAs(c.ctx, c.caller, r, out)
	if p, ok := errors.AsType[problem](err); ok {
		err = c.named(p)
	}
	return answer, err
}

// named returns a problem with the names of arguments in place of those that its request has.
func (c *call) named(p problem) problem {
	rename := func(field string) string {
		switch {
		case field == headerCreate:
			return argPolicy
		case slices.Contains(externalNames, field) && c.tool.arguments[field] == nil && c.tool.arguments[argExternal] != nil:
			return argExternal + "." + field
		}
		return field
	}
	if field, reason, ok := strings.Cut(p.Detail, ": "); ok {
		p.Detail = rename(field) + ": " + reason
	}
	p.Errors = slices.Clone(p.Errors)
	for i := range p.Errors {
		p.Errors[i].Field = rename(p.Errors[i].Field)
	}
	return p
}

func sendAs(ctx context.Context, caller Caller, r Request, out any) (Response, error) {
	answer := caller.Send(ctx, r)
	if answer.Status >= http.StatusBadRequest {
		p := problem{Status: answer.Status, RetryAfter: answer.Header.Get("Retry-After")}
		if err := json.Unmarshal(answer.Body, &p); err != nil {
			return answer, fmt.Errorf("an answer with status %d is not a problem document: %w", answer.Status, err)
		}
		return answer, p
	}
	if out == nil {
		return answer, nil
	}
	if err := json.Unmarshal(answer.Body, out); err != nil {
		return answer, fmt.Errorf("decode an answer: %w", err)
	}
	return answer, nil
}

// problem is a refusal of the API, or of a call that never became a request.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Errors []struct {
		Field  string `json:"field"`
		Reason string `json:"reason"`
	} `json:"errors"`
	Conflicts  []conflict `json:"conflicts"` // of a merge
	RetryAfter string     `json:"-"`         // seconds
	fix        string
}

// Error returns what happened, for a model to read.
func (p problem) Error() string {
	detail := p.Detail
	if detail == "" {
		detail = p.Title
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d %s).", strings.TrimSuffix(detail, "."), p.Status, p.Code)
	for i, e := range p.Errors {
		if i > 0 || !strings.HasPrefix(detail, e.Field+":") { // the first is in the detail
			fmt.Fprintf(&b, "\n- %s: %s", e.Field, e.Reason)
		}
	}
	writeConflicts(&b, p.Conflicts[:min(len(p.Conflicts), shownConflicts)])
	omitted(&b, len(p.Conflicts)-shownConflicts, "dry_run lists them")
	if fix := p.advice(); fix != "" {
		b.WriteString("\nFix: " + fix)
	}
	return b.String()
}

// advice says what a model can do about it.
func (p problem) advice() string {
	if p.fix != "" {
		return p.fix
	}
	switch {
	case p.Status == http.StatusUnprocessableEntity, p.Status == http.StatusBadRequest:
		return "Correct the argument that is named and call again."
	case p.Status == http.StatusForbidden:
		return "Use another tool, or ask for a key with this scope."
	case p.Status == http.StatusNotFound:
		return "Call list_collections for collections, search_notes for ids of notes."
	case len(p.Conflicts) > 0:
		return "Call merge again with strategy ours or theirs, or with the notes that are not in conflict."
	case p.Status == http.StatusConflict, p.Status == http.StatusPreconditionFailed:
		return "Read it again and decide anew."
	case p.Status == http.StatusRequestEntityTooLarge:
		return "Send less, in several calls."
	case p.RetryAfter != "":
		return "Wait " + p.RetryAfter + " s and call again."
	}
	return ""
}

// errorText returns the text of an error of a call.
func errorText(err error) string {
	if p, ok := errors.AsType[problem](err); ok {
		return p.Error()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "The call took too long.\nFix: Call again, with a smaller request."
	}
	return "The tool failed; the log of the gateway has the reason."
}

// checkNames refuses arguments that the tool does not have.
func (c *call) checkNames() error {
	known := slices.Sorted(maps.Keys(c.tool.arguments))
	for _, name := range slices.Sorted(maps.Keys(c.args)) {
		switch {
		case slices.Contains(known, name):
		case string(c.args[name]) == "null": // absent
			delete(c.args, name)
		default:
			return problem{
				Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: clip.Runes(name, maxName) + ": unknown argument",
				fix: "The arguments are " + strings.Join(known, ", ") + ".",
			}
		}
	}
	for _, name := range c.tool.required {
		if _, ok := c.args[name]; !ok {
			return missing(name)
		}
	}
	return nil
}

const (
	pathCollections = "/v1/collections"
	argCollection   = "collection"
	argExternal     = "external"
	argNote         = "note"
	argPolicy       = "policy"
	// maxName is the length of a name of the caller that an error repeats, in characters.
	maxName = 64
)

// externalNames are the names of the ids of an application.
var externalNames = func() (names []string) {
	for _, id := range (memory.External{}).IDs() {
		names = append(names, id.Name)
	}
	return names
}()
