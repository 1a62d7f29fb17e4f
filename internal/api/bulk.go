package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
)

// bulkNotes answers one result per line of the body, in order, and then a summary. An invalid line
// is an error of that line alone.
func (h *core) bulkNotes(c *gin.Context, ref string) error {
	raw, err := splitLines(rawBody(c), memory.MaxBulkLines)
	if err != nil {
		return err
	}
	budget := bulkBudget(rawBody(c), len(raw)) // the decoded lines are in memory together
	lines := make([]notes.BulkLine, len(raw))
	whole := conditions(c).Idempotency
	for i, line := range raw {
		if err := c.Request.Context().Err(); err != nil {
			return fmt.Errorf("read a bulk: %w", err)
		}
		var cost int
		lines[i], cost = h.bulkLine(c, line)
		if budget -= cost; budget < 0 {
			return errTooManyValues()
		}
		if lines[i].Err == nil && lines[i].Once == nil && whole != nil {
			once := *whole
			once.Path += "?line=" + strconv.Itoa(i+1) // differs from the keys of lines
			lines[i].Once, lines[i].Whole = &once, true
		}
		raw[i] = nil // hold at most one copy of a large body
	}
	endTurn(c) // from here on it waits for the encoder and the writer, where tenants have turns as well
	results, err := h.Notes.AddMany(c.Request.Context(), scope(c), ref, lines)
	if err != nil {
		return err
	}
	out := newLineWriter(c, true)
	var last memory.Revision
	written := 0
	for _, r := range results {
		last = max(last, r.Revision)
		if r.Err == nil {
			written++
		}
		if err := out.result(r.Line, r.ID, r.Revision, r.Found, nil, r.Err); err != nil {
			return err
		}
	}
	countRecords(c, written)
	if last > 0 {
		setRevision(c, last)
	}
	return out.end()
}

// bulkNote is the note of a line, which may have a key of its own.
type bulkNote struct {
	wire.NoteInput

	Key *string `json:"key"`
}

// bulkLine decodes a line with the same refusals as a body of its own. It also returns the cost of the line's values.
func (h *core) bulkLine(c *gin.Context, line []byte) (notes.BulkLine, int) {
	in, cost, err := bindLine[bulkNote](c.Request.Context(), h.Server, "BulkNote", line)
	if err != nil {
		return notes.BulkLine{Err: err}, 0
	}
	note, err := newNote(&in.NoteInput)
	out := notes.BulkLine{Note: note, Err: err}
	if err == nil && in.Key != nil {
		out.Once = &memory.Idempotency{Method: c.Request.Method, Path: c.Request.URL.Path, Key: *in.Key, BodyHash: sha256.Sum256(line)}
	}
	return out, cost
}

// lineWriter writes result lines. With hold they are sent together at the end, so that a failure
// before it is still a problem document.
type lineWriter struct {
	c    *gin.Context
	hold bool
	buf  bytes.Buffer
	sums wire.BulkSummary
}

func newLineWriter(c *gin.Context, hold bool) *lineWriter { return &lineWriter{c: c, hold: hold} }

// result writes the result of a line: its note, new or existing, or its error. Warnings name what
// an import left out.
func (w *lineWriter) result(line int, id uuid.UUID, at memory.Revision, found bool, warnings []string, failed error) error {
	out := wire.BulkResult{Line: line, Status: http.StatusCreated, Warnings: warnings}
	if failed == nil {
		if found {
			out.Status = http.StatusOK
			w.sums.Existing = new(valueOr(w.sums.Existing, 0) + 1)
		} else {
			w.sums.Created++
		}
		out.ID, out.Revision = &id, new(int64(at))
	} else {
		w.sums.Failed++
		var f *fault.Error
		if !errors.As(failed, &f) || f.Code == fault.Internal {
			f = &fault.Error{Code: fault.Internal, Message: "the line could not be written"}
		}
		p := newProblem(f, requestID(w.c))
		out.Status, out.Error = p.Status, &p
	}
	return w.write(out)
}

func (w *lineWriter) write(line any) error {
	raw, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("render a result line: %w", err)
	}
	w.buf.Write(raw)
	w.buf.WriteByte('\n')
	const chunk = 64 << 10
	if w.hold || w.buf.Len() < chunk {
		return nil
	}
	if err := stillAccepted(w.c)(); err != nil {
		return err
	}
	return w.flush()
}

func (w *lineWriter) flush() error {
	if !w.c.Writer.Written() {
		w.c.Header("Content-Type", mediaNDJSON)
		w.c.Status(http.StatusOK)
	}
	_, err := w.buf.WriteTo(w.c.Writer)
	return err
}

// end writes the summary.
func (w *lineWriter) end() error {
	w.hold = true
	if err := w.write(wire.BulkEnd{Summary: w.sums}); err != nil {
		return err
	}
	return w.flush()
}
