package api

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// headerCreate names the policy of a collection that does not exist yet.
const headerCreate = "Slipbox-Create"

// keyExternal is the key of the ids in the gin context.
const keyExternal = "slipbox.external"

// takeExternal removes the ids of an application from the query of a request whose path says that they name the
// collection, so that the rest is checked like that of any other request. Parameters of the operation itself stay.
func (o *operation) takeExternal(c *gin.Context) error {
	if c.Param("collection") != memory.ByExternal {
		return nil
	}
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return fault.Wrap(err, fault.Malformed, "the query string is malformed")
	}
	own := url.Values{}
	for name, values := range query {
		if o.checks().query[name] != nil {
			own[name] = values
			delete(query, name)
		}
	}
	e, err := externalOf(query)
	if err != nil {
		return err
	}
	for _, id := range e.IDs() {
		query.Del(id.Name)
	}
	maps.Copy(query, own)
	c.Set(keyExternal, e)
	changeURL(c, func(u *url.URL) { u.RawQuery = query.Encode() })
	return nil
}

// externalOf reads the ids of an application from a query; at least one must be there.
func externalOf(query url.Values) (e memory.External, err error) {
	for name, to := range map[string]*string{"user": &e.User, "agent": &e.Agent, "app": &e.App, "run": &e.Run} {
		values := query[name]
		if len(values) == 0 {
			continue
		}
		if err := checkText(name, values...); err != nil {
			return e, err
		}
		if len(values) > 1 {
			return e, fault.InvalidField(name, "is repeated")
		}
		if err := memory.CheckExternalID(name, values[0]); err != nil {
			return e, err
		}
		*to = values[0]
	}
	if e.IsZero() {
		return e, fault.InvalidField("user", "one of user, agent, app and run is required after /v1/collections/by")
	}
	return e, nil
}

// external returns the ids of an application in a body; zero for nil.
func external(e *wire.External) memory.External {
	if e == nil {
		return memory.External{}
	}
	return memory.External{User: valueOr(e.User, ""), Agent: valueOr(e.Agent, ""), App: valueOr(e.App, ""), Run: valueOr(e.Run, "")}
}

// wireLimit returns the ids that a credential is limited to; nil for none.
func wireLimit(l tenant.Limit) *wire.External {
	if l.IsZero() {
		return nil
	}
	return &wire.External{User: wire.Optional(l.User), Agent: wire.Optional(l.Agent), App: wire.Optional(l.App), Run: wire.Optional(l.Run)}
}

// changeURL replaces the URL of a request by a changed copy.
func changeURL(c *gin.Context, change func(*url.URL)) {
	to := *c.Request.URL
	change(&to)
	r := c.Request.WithContext(c.Request.Context()) // a copy: the original belongs to net/http
	r.URL = &to
	c.Request = r
}

// ofCollection returns the handler of an operation: where its path has a collection, one that finds it by ids of an application, too.
func (h *core) ofCollection(op *operation, next handler) handler {
	if !strings.Contains(op.path, "{collection}") {
		return next
	}
	return h.findsExternal(op, next)
}

// findsExternal returns a handler that calls next with the id of the collection in the path, where the query has the
// ids of an application. The operation may create it.
func (h *core) findsExternal(op *operation, next handler) handler {
	return func(c *gin.Context) error {
		e, given := c.Get(keyExternal)
		ids, _ := e.(memory.External)
		policy := c.GetHeader(headerCreate)
		if !op.creates() {
			policy = ""
		}
		if !given && policy == "" {
			return next(c)
		}
		home := notes.Home{External: ids}
		if !given {
			home.Name = c.Param("collection")
			if ref, err := pathRef(c, "collection"); err == nil {
				home.Name = ref // else it is refused as a name
			}
		}
		// An agent file changes the blocks that a collection begins with: they must be there.
		read := op.scope == tenant.NotesRead && op.id != "chat" || op.id == "importAgentFile"
		found, done, err := h.findHome(c, home, policy, read)
		defer done()
		if err != nil {
			return err
		}
		nameCollection(c, found.ID, given)
		return next(c)
	}
}

// findHome returns the collection that is called so. With a policy it is planned when there is none, until done is called, so that what
// is written creates it: a request that is refused creates none. With read, reading creates it, too.
func (h *core) findHome(c *gin.Context, home notes.Home, policy string, read bool) (found memory.Collection, done func(), err error) {
	ctx, s := c.Request.Context(), scope(c)
	if policy == "" {
		found, err = h.Collections.ByExternal(ctx, s, home.External)
		return found, func() {}, err
	}
	found, done, err = h.Collections.Plan(ctx, s, home, policy, read)
	if f := normalize(err); err != nil && len(f.Fields) == 1 && f.Fields[0].Field == "policy" {
		err = fault.InvalidField(headerCreate, "%s", f.Fields[0].Reason)
	}
	return found, done, err
}

// nameCollection writes the id of a collection into the path of a request, so that it is the same request as one that
// names the collection by its id, also for an idempotency key. One that names it by its name does so there again.
func nameCollection(c *gin.Context, id uuid.UUID, external bool) {
	for i := range c.Params {
		if c.Params[i].Key == "collection" {
			c.Params[i].Value = id.String()
		}
	}
	if !external {
		return
	}
	const prefix = "/v1/collections/"
	changeURL(c, func(u *url.URL) {
		u.Path, u.RawPath = prefix+id.String()+strings.TrimPrefix(u.Path, prefix+memory.ByExternal), ""
	})
}

// findCollection answers what getCollection does, for the collection with these ids.
func (h *core) findCollection(c *gin.Context) error {
	e, err := externalOf(query(c))
	if err != nil {
		return err
	}
	c.Params = append(c.Params, gin.Param{Key: "collection", Value: memory.ByExternal})
	c.Set(keyExternal, e)
	return h.findsExternal(&operation{}, onCollection(h.getCollection))(c)
}

// forgetExternal deletes all collections with these ids, and answers what was in them.
func (h *core) forgetExternal(c *gin.Context) error {
	e, err := externalOf(query(c))
	if err != nil {
		return err
	}
	wait := query(c).Get("wait") == "removed"
	leave, err := h.waiting.enterIf(wait, scope(c).Tenant())
	if err != nil {
		return err
	}
	defer leave()
	done, err := h.Collections.Forget(c.Request.Context(), scope(c), e, notes.Forks(query(c).Get("forks")))
	if err != nil {
		return err
	}
	out := wire.ForgetReport{Deleted: []wire.ForgottenCollection{}, Kept: []wire.KeptCollection{}}
	for i := range done {
		shown := wireCollection(&done[i].Collection, &done[i].Counts)
		if kept := done[i].Kept; kept != nil {
			out.Kept = append(out.Kept, wire.KeptCollection{ID: shown.ID, Name: shown.Name, External: shown.External, Code: string(kept.Code), Detail: kept.Message})
			continue
		}
		out.Notes += shown.Counts.Notes
		out.Bytes += done[i].Counts.Bytes
		out.Deleted = append(out.Deleted, wire.ForgottenCollection{ID: shown.ID, Name: shown.Name, External: shown.External, Policy: shown.Policy, Counts: *shown.Counts, Job: done[i].Job})
	}
	if wait {
		jobs := each(out.Deleted, func(d *wire.ForgottenCollection) uuid.UUID { return d.Job })
		if out.Removed, out.Traces, err = h.removed(c, jobs); err != nil {
			return err
		}
	}
	countRecords(c, len(out.Deleted))
	return reply(c, http.StatusOK, out)
}

// removed waits for the jobs that remove what was deleted, and reports whether all of it is gone, and then what is left in files.
// The deletion holds, so a failure of a job is not an error of the request.
func (h *core) removed(c *gin.Context, jobs []uuid.UUID) (gone bool, _ *wire.Traces, _ error) {
	endTurn(c)
	for _, id := range jobs {
		// The job is removed with the last row.
		if _, err := h.waitForJob(c.Request.Context(), scope(c), id, 0); !fault.Is(err, fault.NotFound) {
			return false, nil, nil
		}
	}
	traces, err := h.Collections.Traces(c.Request.Context())
	return true, new(wire.Traces(traces)), err
}

// remove answers a deletion for good, with a report if the caller waits for it. act returns the jobs that remove the rows.
func (h *core) remove(c *gin.Context, act func(context.Context) ([]uuid.UUID, error)) error {
	wait := query(c).Get("wait") == "removed"
	if wait {
		leave, err := h.waiting.enter(scope(c).Tenant())
		if err != nil {
			return err
		}
		defer leave()
	}
	jobs, err := act(c.Request.Context())
	if err != nil {
		return err
	}
	if !wait {
		return noContent(c)
	}
	out := wire.RemovalReport{Jobs: nonNilList(jobs)}
	if out.Removed, out.Traces, err = h.removed(c, jobs); err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
}

// creates reports whether the operation creates a collection that does not exist when a header says so.
func (o *operation) creates() bool {
	for _, p := range o.checks().headers {
		if http.CanonicalHeaderKey(p.Name) == headerCreate {
			return true
		}
	}
	return false
}
