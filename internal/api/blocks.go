package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (h *core) listBlocks(c *gin.Context) error {
	v, after, err := h.pageAfter(c)
	if err != nil {
		return err
	}
	page, err := h.Blocks.List(c.Request.Context(), scope(c), v, after, pageLimit(c)+1)
	if err != nil {
		return err
	}
	var next *string
	if limit := pageLimit(c); len(page) > limit {
		page = page[:limit]
		if next, err = h.nextCursorAt(c, page[limit-1].ID.String(), v.Collection.ID, v.At); err != nil {
			return err
		}
	}
	return h.replyBlocks(c, v, page, next)
}

// replyBlocks answers with a page of blocks.
func (h *core) replyBlocks(c *gin.Context, v memory.View, page []memory.Note, next *string) error {
	items, err := h.wireBlocks(c, page)
	if err != nil {
		return err
	}
	return replyAt(c, http.StatusOK, v.At, wire.BlockList{Items: items, NextCursor: next, Revision: int64(v.At)})
}

func (h *core) getBlock(c *gin.Context, v memory.View) error {
	n, err := h.Blocks.Get(c.Request.Context(), scope(c), v, c.Param("label"))
	if err != nil {
		return err
	}
	return h.replyBlock(c, http.StatusOK, &n, v.At)
}

func (h *core) putBlock(c *gin.Context, ref string, body wire.BlockInput) error {
	w, err := h.Blocks.Put(c.Request.Context(), scope(c), ref, c.Param("label"), blockChange(body.Value, body.Description, body.Limit, body.ReadOnly, body.Metadata), conditions(c))
	return h.replyBlockWritten(c, &w, err)
}

// blockChange returns what a body sets of a block; what it leaves out is nil.
func blockChange(value, description *string, limit *int, readOnly *bool, metadata *wire.Attributes) block.Change {
	return block.Change{Value: value, Description: description, Limit: limit, ReadOnly: readOnly, Metadata: valueOr(metadata, nil)}
}

func (h *core) deleteBlock(c *gin.Context, ref string) error {
	at, err := h.Blocks.Delete(c.Request.Context(), scope(c), ref, c.Param("label"), conditions(c))
	if err != nil {
		return err
	}
	setRevision(c, at)
	return noContent(c)
}

// editBlock returns the handler of a request that edits a block as its body says.
func editBlock[B any](h *core, edit func(b *block.Block, in *B) error) handler {
	return onCollectionBody(func(c *gin.Context, ref string, body B) error {
		w, err := h.Blocks.Edit(c.Request.Context(), scope(c), ref, c.Param("label"), conditions(c), func(b *block.Block) error { return edit(b, &body) })
		return h.replyBlockWritten(c, &w, err)
	})
}

func (h *core) stepBlock(step block.Step) handler {
	return onCollection(func(c *gin.Context, ref string) error {
		w, err := h.Blocks.Step(c.Request.Context(), scope(c), ref, c.Param("label"), step, conditions(c))
		return h.replyBlockWritten(c, &w, err)
	})
}

// replyBlockWritten answers with a block that was written, unless that failed.
func (h *core) replyBlockWritten(c *gin.Context, w *notes.BlockWritten, err error) error {
	if err != nil {
		return err
	}
	nameRecord(c, w.Note.ID)
	status := http.StatusOK
	if w.Created {
		status = http.StatusCreated
	}
	return h.replyBlock(c, status, &w.Note, w.Revision)
}

func (h *core) replyBlock(c *gin.Context, status int, n *memory.Note, at memory.Revision) error {
	out, err := h.wireBlocks(c, []memory.Note{*n})
	if err != nil {
		return err
	}
	setRevision(c, at)
	setETag(c, n.Version())
	return reply(c, status, out[0])
}

// attachedTo lists the collections that show blocks and folders, as far as the caller may read that.
func (h *core) attachedTo(c *gin.Context, ids []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	s := scope(c)
	if !s.Allows(tenant.NotesRead) {
		return map[uuid.UUID][]uuid.UUID{}, nil
	}
	return h.Blocks.Attached(c.Request.Context(), s, ids)
}

// wireBlocks returns blocks with the collections that show them, as far as the caller may read that.
func (h *core) wireBlocks(c *gin.Context, page []memory.Note) ([]wire.Block, error) {
	attached, err := h.attachedTo(c, each(page, func(b *memory.Note) uuid.UUID { return b.ID }))
	if err != nil {
		return nil, err
	}
	return each(page, func(n *memory.Note) wire.Block {
		b := block.Of(n)
		shown := wireBlock(&b)
		shown.Attached = nonNilList(attached[b.ID])
		return shown
	}), nil
}

func wireBlock(b *block.Block) wire.Block {
	return wire.Block{
		ID: b.ID, Label: b.Label, Value: b.Value, Description: b.Description, Limit: b.Limit, ReadOnly: b.ReadOnly,
		Version: int64(b.Version), Metadata: nonNilObject(b.Metadata),
	}
}
