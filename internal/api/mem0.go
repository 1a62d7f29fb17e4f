package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	contract "github.com/slipboxhq/slipbox/api"
	"github.com/slipboxhq/slipbox/internal/api/mem0"
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

// mountMem0 mounts the routes for mem0's clients.
func (h *core) mountMem0() error {
	doc, err := mem0Document()
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	service := mem0.New(mem0.Deps{Collections: h.Collections, Notes: h.Notes, Recall: h.Recall, Jobs: h.Jobs, Clock: h.now})
	return h.mountSet(doc, service.Handlers())
}
