package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func (h *core) listHotNotes(c *gin.Context, v memory.View) error {
	hot, err := h.Recall.Hot(c.Request.Context(), scope(c), v, pageLimit(c))
	if err != nil {
		return err
	}
	out := wire.HotNoteList{Items: make([]wire.HotNote, 0, len(hot)), Revision: int64(v.At)}
	for i := range hot {
		out.Items = append(out.Items, wire.HotNote{Note: wireNoteView(&hot[i].Note, false), Score: hot[i].Score})
	}
	return replyAt(c, http.StatusOK, v.At, out)
}
