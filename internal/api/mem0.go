package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	contract "github.com/slipboxhq/slipbox/api"
	"github.com/slipboxhq/slipbox/internal/api/mem0"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// mem0Base is the path below which mem0's clients find their routes.
const mem0Base = "/mem0"

// errorsMem0 marks operations whose errors have mem0's form.
const errorsMem0 = "mem0"

// mem0Document returns the contract of the routes for mem0's clients.
var mem0Document = sync.OnceValues(func() (*document, error) {
	d, err := newDocument(contract.Mem0Table, mem0Base)
	if err != nil {
		return nil, fmt.Errorf("mem0.yaml: %w", err)
	}
	for _, op := range d.operations {
		op.errors = errorsMem0
		op.open = op.method != http.MethodDelete
	}
	return d, nil
})

// chooseErrors sets the form of the errors of a request that no operation serves.
func chooseErrors(c *gin.Context) {
	if path := c.Request.URL.Path; path == mem0Base || strings.HasPrefix(path, mem0Base+"/") {
		c.Set(keyErrors, errorsMem0)
	}
}

// schemesOf returns the schemes of the Authorization header that an operation accepts.
func schemesOf(c *gin.Context) []string {
	if c.GetString(keyErrors) == errorsMem0 {
		return []string{"Bearer", "Token"}
	}
	return []string{"Bearer"}
}

// mountMem0 mounts the routes for mem0's clients.
func (h *core) mountMem0() error {
	doc, err := mem0Document()
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	service := mem0.New(mem0.Deps{Collections: h.Collections, Notes: h.Notes, Recall: h.Recall, Jobs: h.Jobs, Clock: h.now})
	for id, next := range service.Handlers() {
		op := doc.operations[id]
		if op == nil {
			return fmt.Errorf("api: mem0.yaml has no operation %q", id)
		}
		if err := h.mountOperation(doc, id, h.serveMem0(op, next)); err != nil {
			return err
		}
	}
	return nil
}

// serveMem0 calls a handler with what it needs of a request.
func (h *core) serveMem0(op *operation, next mem0.Handler) handler {
	return func(c *gin.Context) error {
		answer, err := next(c.Request.Context(), &mem0.Request{
			Scope: scope(c), Path: c.Request.URL.EscapedPath(), Query: query(c), Body: rawBody(c), Conditions: conditions(c),
			Param: func(name string) string { return pathSegment(c, op, name) },
			Reserve: func() (mem0.Wait, func(), error) {
				leave, err := h.waiting.enter(scope(c).Tenant())
				return func(ctx context.Context, job uuid.UUID, own int) (memory.Job, error) {
					endTurn(c)
					return h.waitForJob(ctx, scope(c), job, own)
				}, leave, err
			},
		})
		if err != nil {
			return err
		}
		return reply(c, answer.Status, answer.Body)
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
