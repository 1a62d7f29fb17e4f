package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

func (h *core) attachBlock(c *gin.Context, ref string, body wire.BlockAttach) error {
	mode := memory.AttachMode(valueOr(body.Mode, wire.BlockAttachMode(memory.AttachRW)))
	n, at, err := h.Blocks.Attach(c.Request.Context(), scope(c), ref, body.Block, mode)
	if err != nil {
		return err
	}
	return h.replyBlock(c, http.StatusOK, &n, at)
}

func (h *core) detachBlock(c *gin.Context, ref string) error {
	n, at, err := h.Blocks.Detach(c.Request.Context(), scope(c), ref, c.Param("label"))
	if err != nil {
		return err
	}
	return h.replyBlock(c, http.StatusOK, &n, at)
}

func (h *core) createSharedBlock(c *gin.Context, body wire.SharedBlockInput) error {
	w, err := h.Blocks.Create(c.Request.Context(), scope(c), body.Label, blockChange(body.Value, body.Description, body.Limit, body.ReadOnly, body.Metadata), conditions(c))
	return h.replyBlockWritten(c, &w, err)
}

// sharedView opens the collection of the stand-alone blocks, at the revision of the cursor if there is one. ok is
// false when there are no such blocks yet.
func (h *core) sharedView(c *gin.Context) (v memory.View, cur *cursor, ok bool, err error) {
	if cur, err = h.cursorOf(c); err != nil {
		return v, nil, false, err
	}
	ctx, s := c.Request.Context(), scope(c)
	home, ok, err := h.Blocks.Home(ctx, s)
	if err != nil || !ok {
		return v, cur, false, err
	}
	var at *memory.Revision
	if cur != nil {
		if cur.Collection != home.ID {
			return v, nil, false, badCursor("belongs to another collection")
		}
		at = &cur.Revision
	}
	v, err = h.Recall.Open(ctx, s, home.ID.String(), at, 0)
	return v, cur, err == nil, err
}

// sharedBlock opens the collection of the stand-alone blocks for the one of the path.
func (h *core) sharedBlock(c *gin.Context) (v memory.View, id uuid.UUID, cur *cursor, err error) {
	if id, err = pathID(c, "block"); err != nil {
		return v, id, nil, err
	}
	v, cur, ok, err := h.sharedView(c)
	if err == nil && !ok {
		err = fault.Missing("block")
	}
	return v, id, cur, err
}

func (h *core) listSharedBlocks(c *gin.Context) error {
	v, cur, ok, err := h.sharedView(c)
	if err != nil {
		return err
	}
	var list []memory.Note
	var next *string
	if ok {
		var page recall.Page
		if page, next, err = h.listPage(c, v, cur, recall.ListQuery{Kinds: []memory.Kind{memory.KindBlock}, Bare: true}); err != nil {
			return err
		}
		for i := range page.Items {
			list = append(list, page.Items[i].Note)
		}
	}
	return h.replyBlocks(c, v, list, next)
}

func (h *core) getSharedBlock(c *gin.Context) error {
	v, id, _, err := h.sharedBlock(c)
	if err != nil {
		return err
	}
	n, err := h.Blocks.GetByID(c.Request.Context(), scope(c), v, id)
	if err != nil {
		return err
	}
	return h.replyBlock(c, http.StatusOK, &n, v.At)
}

func (h *core) patchSharedBlock(c *gin.Context, id uuid.UUID) error {
	body, err := bind[wire.SharedBlockPatch](c)
	if err != nil {
		return err
	}
	w, err := h.Blocks.Patch(c.Request.Context(), scope(c), id, body.Label, blockChange(body.Value, body.Description, body.Limit, body.ReadOnly, body.Metadata), conditions(c))
	return h.replyBlockWritten(c, &w, err)
}

func (h *core) deleteSharedBlock(c *gin.Context, id uuid.UUID) error {
	at, err := h.Blocks.DeleteByID(c.Request.Context(), scope(c), id, conditions(c))
	if err != nil {
		return err
	}
	setRevision(c, at)
	return noContent(c)
}

func (h *core) getSharedBlockHistory(c *gin.Context) error {
	v, id, cur, err := h.sharedBlock(c)
	if err != nil {
		return err
	}
	return h.replyHistory(c, v, id, cur)
}

func (h *core) stepSharedBlock(step block.Step) handler {
	return onID("block", func(c *gin.Context, id uuid.UUID) error {
		w, err := h.Blocks.StepByID(c.Request.Context(), scope(c), id, step, conditions(c))
		return h.replyBlockWritten(c, &w, err)
	})
}
