package api

import (
	"context"
	"net/http"
	"regexp"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent/tools"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// toolPattern matches ids and names of tools.
var toolPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// toolRef returns the tool that a path or body names.
func toolRef(s string) (string, error) {
	if id, err := route.ParseID(s); err == nil {
		return id.String(), nil
	}
	if !toolPattern.MatchString(s) {
		return "", fault.Missing("tool")
	}
	return s, nil
}

func (h *core) createOwnTool(c *gin.Context, body wire.OwnToolInput) error {
	t, err := h.Tools.Create(c.Request.Context(), scope(c), body.Name, tools.Change{Description: &body.Description, Parameters: valueOr(body.Parameters, nil)})
	if err != nil {
		return err
	}
	return h.replyTool(c, http.StatusCreated, &t)
}

func (h *core) listOwnTools(c *gin.Context) error {
	page, next, err := pageOf(h.Server, c, func(after string, limit int) ([]memory.OwnTool, error) {
		return h.Tools.List(c.Request.Context(), scope(c), after, limit)
	}, func(t *memory.OwnTool) string { return t.Name }, func(t *memory.OwnTool) memory.OwnTool { return *t })
	if err != nil {
		return err
	}
	items, err := h.wireTools(c, page)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.OwnToolList{Items: items, NextCursor: next})
}

func (h *core) getOwnTool(c *gin.Context) error {
	ref, err := toolRef(c.Param("tool"))
	if err != nil {
		return err
	}
	t, err := h.Tools.Get(c.Request.Context(), scope(c), ref)
	if err != nil {
		return err
	}
	return h.replyTool(c, http.StatusOK, &t)
}

func (h *core) patchOwnTool(c *gin.Context) error {
	ref, err := toolRef(c.Param("tool"))
	if err != nil {
		return err
	}
	body, err := bind[wire.OwnToolPatch](c)
	if err != nil {
		return err
	}
	t, err := h.Tools.Update(c.Request.Context(), scope(c), ref, tools.Change{Description: body.Description, Parameters: valueOr(body.Parameters, nil)})
	if err != nil {
		return err
	}
	return h.replyTool(c, http.StatusOK, &t)
}

func (h *core) deleteOwnTool(c *gin.Context) error {
	ref, err := toolRef(c.Param("tool"))
	if err != nil {
		return err
	}
	if err := h.Tools.Delete(c.Request.Context(), scope(c), ref); err != nil {
		return err
	}
	return noContent(c)
}

func (h *core) changeTools(change func(ctx context.Context, s tenant.Scope, ref, tool string) (memory.OwnTool, error)) handler {
	return onCollectionBody(func(c *gin.Context, ref string, body wire.OwnToolRef) error {
		tool, err := toolRef(body.Tool)
		if err != nil {
			return err
		}
		t, err := change(c.Request.Context(), scope(c), ref, tool)
		if err != nil {
			return err
		}
		return h.replyTool(c, http.StatusOK, &t)
	})
}

func (h *core) replyTool(c *gin.Context, status int, t *memory.OwnTool) error {
	out, err := h.wireTools(c, []memory.OwnTool{*t})
	if err != nil {
		return err
	}
	return reply(c, status, out[0])
}

// wireTools returns tools with the collections that show them, as far as the caller may read that.
func (h *core) wireTools(c *gin.Context, page []memory.OwnTool) ([]wire.OwnTool, error) {
	attached, err := h.attachedTo(c, each(page, func(t *memory.OwnTool) uuid.UUID { return t.ID }))
	if err != nil {
		return nil, err
	}
	return each(page, func(t *memory.OwnTool) wire.OwnTool {
		return wire.OwnTool{
			ID: t.ID, Name: t.Name, Description: t.Spec.Description, Parameters: t.Spec.Parameters,
			Attached: nonNilList(attached[t.ID]), CreatedAt: wire.Time(t.CreatedAt), UpdatedAt: wire.Time(t.UpdatedAt),
		}
	}), nil
}
