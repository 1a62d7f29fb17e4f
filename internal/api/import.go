package api

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
)

// importNotes passes the body on while it arrives, without buffering it.
func (h *core) importNotes(c *gin.Context, ref string) error {
	body := newUpload(c)
	job, err := h.Imports.Start(c.Request.Context(), scope(c), ref, body)
	switch {
	case body.err != nil:
		return bodyError(body.err) // the service's error would hide the cause
	case err != nil:
		return err
	}
	return reply(c, http.StatusAccepted, wire.JobAccepted{Job: *wireJobRef(&job)})
}

const (
	// uploadStall is how long an upload may pause.
	uploadStall = 60 * time.Second
	// uploadRate is how many bytes a second an upload has to have on average, beside one pause: with less, a client only
	// keeps a connection.
	uploadRate = 1 << 10
)

// uploadReader remembers why a body could not be read to its end. It gives up when an upload pauses
// too long or is too slow; the whole upload has no limit.
type uploadReader struct {
	r       io.Reader
	control *http.ResponseController
	read    int64
	waited  time.Duration // for the client
	err     error
}

func newUpload(c *gin.Context) *uploadReader {
	return &uploadReader{r: c.Request.Body, control: http.NewResponseController(c.Writer)}
}

// patience is how long the next read may wait.
func (u *uploadReader) patience() time.Duration {
	return min(uploadStall, uploadStall+time.Duration(u.read)*time.Second/uploadRate-u.waited)
}

// Read reads the body.
func (u *uploadReader) Read(p []byte) (int, error) {
	began := time.Now()
	_ = u.control.SetReadDeadline(began.Add(u.patience()))
	n, err := u.r.Read(p)
	u.read, u.waited = u.read+int64(n), u.waited+time.Since(began)
	if errors.Is(err, io.EOF) {
		// From now on, a pending read only detects that the client leaves.
		_ = u.control.SetReadDeadline(time.Time{})
		return n, err
	}
	if err != nil {
		u.err = err
	}
	return n, err
}

// getJobResults answers the result of each line imported so far, then a summary. There may be
// millions of lines, so they are sent while they are read; an answer without summary was
// interrupted.
func (h *core) getJobResults(c *gin.Context, id uuid.UUID) error {
	ctx, s := c.Request.Context(), scope(c)
	// Late warnings about a line are shown with its result.
	later := map[int][]string{}
	last := 0
	err := h.Imports.Results(ctx, s, id, func(r notes.ImportResult) error {
		if r.Line <= last {
			later[r.Line] = append(later[r.Line], r.Warnings...)
		}
		last = max(last, r.Line)
		return nil
	})
	if err != nil {
		return err
	}
	end := last // lines that were added after the first pass are for the next request
	last = 0
	out := newLineWriter(c, false)
	err = h.Imports.Results(ctx, s, id, func(r notes.ImportResult) error {
		if r.Line <= last || r.Line > end {
			return nil
		}
		last = r.Line
		return out.result(r.Line, r.ID, r.Revision, r.Err == nil && !r.Created, append(r.Warnings, later[r.Line]...), r.Err)
	})
	if err != nil {
		return err
	}
	return out.end()
}
