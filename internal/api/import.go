package api

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
)

// importNotes hands the body on while it comes in; nothing of it is kept here.
func (h *core) importNotes(c *gin.Context) error {
	ref, err := pathRef(c, "collection")
	if err != nil {
		return err
	}
	body := &uploadReader{r: c.Request.Body, control: http.NewResponseController(c.Writer)}
	job, err := h.Imports.Start(c.Request.Context(), scope(c), ref, body)
	switch {
	case body.err != nil:
		return bodyError(body.err) // what the service makes of it would hide the cause
	case err != nil:
		return err
	}
	return reply(c, http.StatusAccepted, wire.JobAccepted{Job: *wireJobRef(&job)})
}

// uploadStall is how long an upload may stand still.
const uploadStall = 60 * time.Second

// uploadReader remembers why a body could not be read to its end, and gives
// one up that stands still: the whole may take as long as it likes.
type uploadReader struct {
	r       io.Reader
	control *http.ResponseController
	err     error
}

// Read reads the body.
func (u *uploadReader) Read(p []byte) (int, error) {
	_ = u.control.SetReadDeadline(time.Now().Add(uploadStall))
	n, err := u.r.Read(p)
	if errors.Is(err, io.EOF) {
		// From here on a read waits for the caller to go away.
		_ = u.control.SetReadDeadline(time.Time{})
		return n, err
	}
	if err != nil {
		u.err = err
	}
	return n, err
}

// getJobResults answers one line per line that was imported so far, then the
// sums. There may be millions of them, so they leave as they are read; an
// answer without sums is one that broke off.
func (h *core) getJobResults(c *gin.Context) error {
	id, err := pathID(c, "job")
	if err != nil {
		return err
	}
	ctx, s := c.Request.Context(), scope(c)
	// What was found out after a line's own result is told with it.
	later := map[int][]string{}
	last := 0
	err = h.Imports.Results(ctx, s, id, func(r notes.ImportResult) error {
		if r.Line <= last {
			later[r.Line] = append(later[r.Line], r.Warnings...)
		}
		last = max(last, r.Line)
		return nil
	})
	if err != nil {
		return err
	}
	end := last // lines that came since the first look are for the next request
	last = 0
	out := newLineWriter(c, false)
	err = h.Imports.Results(ctx, s, id, func(r notes.ImportResult) error {
		if r.Line <= last || r.Line > end {
			return nil
		}
		last = r.Line
		return out.result(r.Line, r.ID, r.Revision, append(r.Warnings, later[r.Line]...), r.Err)
	})
	if err != nil {
		return err
	}
	return out.end()
}
