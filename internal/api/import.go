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

// getJobResults answers one line per line that was imported so far, then the sums.
func (h *core) getJobResults(c *gin.Context) error {
	id, err := pathID(c, "job")
	if err != nil {
		return err
	}
	out := newLineWriter(requestID(c))
	err = h.Imports.Results(c.Request.Context(), scope(c), id, func(r memory.ImportResult) error {
		return out.result(r.Line, r.ID, r.Revision, r.Warnings, r.Err)
	})
	if err != nil {
		return err
	}
	return out.reply(c)
}
