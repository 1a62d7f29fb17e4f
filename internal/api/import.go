package api

import (
	"errors"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// importNotes hands the body on while it comes in; nothing of it is kept here.
func (h *core) importNotes(c *gin.Context) error {
	ref, err := pathRef(c, "collection")
	if err != nil {
		return err
	}
	body := &uploadReader{r: c.Request.Body}
	job, err := h.Imports.Start(c.Request.Context(), scope(c), ref, body)
	switch {
	case body.err != nil:
		return bodyError(body.err) // what the service makes of it would hide the cause
	case err != nil:
		return err
	}
	return reply(c, http.StatusAccepted, wire.JobAccepted{Job: *wireJobRef(&job)})
}

// uploadReader remembers why a body could not be read to its end.
type uploadReader struct {
	r   io.Reader
	err error
}

// Read reads the body.
func (u *uploadReader) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
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
	err = h.Imports.Results(ctx, s, id, func(r memory.ImportResult) error {
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
	err = h.Imports.Results(ctx, s, id, func(r memory.ImportResult) error {
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
