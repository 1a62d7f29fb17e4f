package api

import (
	"context"
	"net/http"
	"regexp"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/tools"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// toolPattern matches ids and names of tools.
var toolPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// toolRef returns the tool that a path or body names.
func toolRef(s string) (string, error) {
	if id, err := parseID(s); err == nil {
		return id.String(), nil
	}
	if !toolPattern.MatchString(s) {
		return "", fault.Missing("tool")
	}
	return s, nil
}

func (h *core) createHTTPTool(c *gin.Context) error {
	body, err := bind[wire.HTTPToolInput](c)
	if err != nil {
		return err
	}
	secrets := make(map[string]*string, len(body.Secrets))
	for name, value := range body.Secrets {
		secrets[name] = &value
	}
	t, err := h.Tools.Create(c.Request.Context(), scope(c), body.Name, tools.Change{
		Description: &body.Description, Parameters: valueOr(body.Parameters, nil), URL: &body.URL, Method: (*string)(body.Method), Headers: body.Headers,
		Secrets: secrets, TimeoutMS: body.TimeoutMs, MaxBytes: body.MaxBytes, Approval: (*memory.ToolApproval)(body.Approval),
	})
	if err != nil {
		return err
	}
	return h.replyTool(c, http.StatusCreated, &t)
}

func (h *core) listHTTPTools(c *gin.Context) error {
	cur, err := h.cursorOf(c)
	if err != nil {
		return err
	}
	after, limit := "", pageLimit(c)
	if cur != nil {
		after = cur.Position
	}
	list, err := h.Tools.List(c.Request.Context(), scope(c), after, limit+1)
	if err != nil {
		return err
	}
	list, next := cutPage(list, limit, func(t memory.HTTPTool) string { return t.Name })
	var out wire.HTTPToolList
	if out.Items, err = h.wireTools(c, list); err != nil {
		return err
	}
	if out.NextCursor, err = h.nextCursor(c, next); err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
}

func (h *core) getHTTPTool(c *gin.Context) error {
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

func (h *core) patchHTTPTool(c *gin.Context) error {
	ref, err := toolRef(c.Param("tool"))
	if err != nil {
		return err
	}
	body, err := bind[wire.HTTPToolPatch](c)
	if err != nil {
		return err
	}
	t, err := h.Tools.Update(c.Request.Context(), scope(c), ref, tools.Change{
		Description: body.Description, Parameters: valueOr(body.Parameters, nil), URL: body.URL, Method: (*string)(body.Method), Headers: body.Headers,
		Secrets: body.Secrets, TimeoutMS: body.TimeoutMs, MaxBytes: body.MaxBytes, Approval: (*memory.ToolApproval)(body.Approval),
	})
	if err != nil {
		return err
	}
	return h.replyTool(c, http.StatusOK, &t)
}

func (h *core) deleteHTTPTool(c *gin.Context) error {
	ref, err := toolRef(c.Param("tool"))
	if err != nil {
		return err
	}
	if err := h.Tools.Delete(c.Request.Context(), scope(c), ref); err != nil {
		return err
	}
	return noContent(c)
}

func (h *core) attachTool(c *gin.Context) error { return h.changeTools(c, h.Agent.AttachTool) }

func (h *core) detachTool(c *gin.Context) error { return h.changeTools(c, h.Tools.Detach) }

func (h *core) changeTools(c *gin.Context, change func(ctx context.Context, s tenant.Scope, ref, tool string) (memory.HTTPTool, error)) error {
	ref, err := pathRef(c, "collection")
	if err != nil {
		return err
	}
	body, err := bind[wire.HTTPToolRef](c)
	if err != nil {
		return err
	}
	tool, err := toolRef(body.Tool)
	if err != nil {
		return err
	}
	t, err := change(c.Request.Context(), scope(c), ref, tool)
	if err != nil {
		return err
	}
	return h.replyTool(c, http.StatusOK, &t)
}

func (h *core) replyTool(c *gin.Context, status int, t *memory.HTTPTool) error {
	out, err := h.wireTools(c, []memory.HTTPTool{*t})
	if err != nil {
		return err
	}
	return reply(c, status, out[0])
}

// wireTools returns tools with the collections that show them, as far as the caller may read that.
func (h *core) wireTools(c *gin.Context, page []memory.HTTPTool) ([]wire.HTTPTool, error) {
	ids := make([]uuid.UUID, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	attached, err := h.attachedTo(c, ids)
	if err != nil {
		return nil, err
	}
	out := make([]wire.HTTPTool, 0, len(page))
	for i := range page {
		t := &page[i]
		w := wire.HTTPTool{
			ID: t.ID, Name: t.Name, Description: t.Spec.Description, Parameters: t.Spec.Parameters, URL: t.Spec.URL, Method: t.Spec.Method,
			Headers: t.Spec.Headers, Secrets: t.Spec.Secrets, TimeoutMs: t.Spec.TimeoutMS, MaxBytes: t.Spec.MaxBytes, Approval: wire.ToolApproval(t.Spec.Approval),
			Attached: attached[t.ID], CreatedAt: wireTime(t.CreatedAt), UpdatedAt: wireTime(t.UpdatedAt),
		}
		if w.Headers == nil {
			w.Headers = map[string]string{}
		}
		if w.Secrets == nil {
			w.Secrets = []string{}
		}
		if w.Attached == nil {
			w.Attached = []uuid.UUID{}
		}
		out = append(out, w)
	}
	return out, nil
}
