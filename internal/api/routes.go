package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	contract "github.com/slipboxhq/slipbox/api"
	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/table"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// mountSets mounts what other packages serve.
func (h *core) mountSets() error {
	for _, set := range h.Routes {
		doc := h.doc
		if set.Contract != nil {
			var err error
			if doc, err = newDocument(func() (*contract.Table, error) { return table.Of(set.Contract) }, ""); err != nil {
				return fmt.Errorf("api: the contract of further routes: %w", err)
			}
		}
		if err := h.mountSet(doc, set.Handlers); err != nil {
			return err
		}
	}
	return nil
}

func (h *core) mountSet(doc *document, handlers map[string]route.Handler) error {
	for id, next := range handlers {
		op := doc.operations[id]
		if op == nil {
			return fmt.Errorf("api: the contract has no operation %q", id)
		}
		if err := h.mountOperation(doc, id, h.ofCollection(op, h.serveRoute(op, next))); err != nil {
			return err
		}
	}
	return nil
}

// serveRoute calls a handler with what it needs of a request.
func (h *core) serveRoute(op *operation, next route.Handler) handler {
	return func(c *gin.Context) error {
		answer, err := next(c.Request.Context(), &route.Request{
			Scope: scope(c), Path: c.Request.URL.EscapedPath(), Query: query(c), Body: rawBody(c), Conditions: conditions(c),
			Param:      func(name string) string { return pathSegment(c, op, name) },
			Collection: pathCollection{h, c},
			Reserve: func() (route.Wait, func(), error) {
				leave, err := h.waiting.enter(scope(c).Tenant())
				return func(ctx context.Context, job uuid.UUID, own int) (memory.Job, error) {
					endTurn(c)
					return h.waitForJob(ctx, scope(c), job, own)
				}, leave, err
			},
			EndTurn: func() { endTurn(c) },
			Wrote:   func(n int) { countRecords(c, n) },
		})
		if err != nil {
			return err
		}
		if answer.Revision != nil {
			setRevision(c, *answer.Revision)
		}
		status := cmp.Or(answer.Status, http.StatusOK)
		if raw, ok := answer.Body.(json.RawMessage); ok {
			c.Data(status, mediaJSON, raw)
			return nil
		}
		return reply(c, status, answer.Body)
	}
}

// pathSegment returns a parameter of the path, decoded once: a slash or a plus sign in it is the caller's.
func pathSegment(c *gin.Context, op *operation, name string) string {
	given := strings.Split(c.Request.URL.EscapedPath(), "/")
	for i, part := range strings.Split(op.path, "/") {
		if part == "{"+name+"}" && i < len(given) {
			if text, err := url.PathUnescape(given[i]); err == nil {
				return text
			}
		}
	}
	return ""
}

// pathCollection is the collection of a request's path.
type pathCollection struct {
	h *core
	c *gin.Context
}

// Ref implements route.Collection.
func (p pathCollection) Ref() (string, error) { return pathRef(p.c, "collection") }

// View implements route.Collection.
func (p pathCollection) View() (memory.View, error) { return p.h.view(p.c) }

// Page implements route.Collection.
func (p pathCollection) Page() (route.Page, error) {
	v, after, err := p.h.pageAfter(p.c)
	return route.Page{View: v, After: after, Limit: pageLimit(p.c), Cursor: func(last uuid.UUID) (*string, error) {
		if last == uuid.Nil {
			return nil, nil //nolint:nilnil // the last page has no cursor
		}
		return p.h.nextCursorAt(p.c, last.String(), v.Collection.ID, v.At)
	}}, err
}

// Notes implements route.Collection.
func (p pathCollection) Notes(kinds []memory.Kind, f filter.Expr) (route.Reply, error) {
	v, cur, err := p.h.pageView(p.c)
	if err != nil {
		return route.Reply{}, err
	}
	list, err := p.h.notePage(p.c, v, cur, recall.ListQuery{Kinds: kinds, Filter: f})
	return route.Reply{Body: list, Revision: new(v.At)}, err
}
