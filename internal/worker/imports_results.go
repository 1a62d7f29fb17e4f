package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// keptResult is a result as it stands in the spool.
type keptResult struct {
	End      bool            `json:"end,omitempty"` // no result: the import came to its end
	Line     int             `json:"line"`
	ID       uuid.UUID       `json:"id"`
	Revision memory.Revision `json:"revision"`
	Created  bool            `json:"created,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Code     fault.Code      `json:"code,omitempty"`
	Message  string          `json:"message,omitempty"`
	Fields   []fault.Field   `json:"fields,omitempty"`
}

func keepResult(r *notes.ImportResult) keptResult {
	k := keptResult{Line: r.Line, ID: r.ID, Revision: r.Revision, Created: r.Created, Warnings: r.Warnings}
	var f *fault.Error
	switch {
	case errors.As(r.Err, &f):
		k.Code, k.Message, k.Fields = f.Code, f.Message, f.Fields
	case r.Err != nil:
		k.Code, k.Message = fault.Internal, "the line could not be imported"
	}
	return k
}

// resultWriter writes results to the spool, from its first part on. Each
// batch is a part of its own, so that a run that repeats an earlier one
// replaces each part by one about the same lines.
type resultWriter struct {
	store ImportStore
	scope tenant.Scope
	job   uuid.UUID
	parts int
}

func (w *resultWriter) put(ctx context.Context, results []notes.ImportResult) error {
	kept := make([]keptResult, len(results))
	for i := range results {
		kept[i] = keepResult(&results[i])
	}
	return w.write(ctx, kept)
}

func (w *resultWriter) write(ctx context.Context, results []keptResult) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, k := range results {
		if err := enc.Encode(k); err != nil {
			return fault.Wrap(err, fault.Internal, "a result of the import cannot be written")
		}
	}
	for data := range slices.Chunk(b.Bytes(), memory.MaxPart) {
		if err := w.store.PutPart(ctx, w.scope, w.job, memory.SpoolResults, w.parts, data); err != nil {
			return err
		}
		w.parts++
	}
	return nil
}

// end adds what the end of the import had to say about earlier lines, says
// that it came, and removes what an earlier run left behind it.
func (w *resultWriter) end(ctx context.Context, late []notes.ImportResult) error {
	for batch := range slices.Chunk(late, importBatch) {
		if err := w.put(ctx, batch); err != nil {
			return err
		}
	}
	if err := w.write(ctx, []keptResult{{End: true}}); err != nil {
		return err
	}
	_, err := w.store.DropParts(ctx, w.scope, w.job, memory.SpoolResults, w.parts)
	return err
}

// ended tells whether the import came to its end.
func (im *Imports) ended(ctx context.Context, s tenant.Scope, job uuid.UUID) (ended bool, err error) {
	err = im.results(ctx, s, job, func(k keptResult) error {
		ended = k.End
		return nil
	})
	return ended, err
}

// Results calls fn for every result so far, by line.
func (im *Imports) Results(ctx context.Context, s tenant.Scope, id uuid.UUID, fn func(notes.ImportResult) error) error {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return err
	}
	job, err := im.store.Job(ctx, s, id)
	if err != nil {
		return err
	}
	if job.Kind != memory.JobImport {
		return fault.Missing("results of the job")
	}
	return im.results(ctx, s, id, func(k keptResult) error {
		if k.End {
			return nil
		}
		r := notes.ImportResult{Line: k.Line, ID: k.ID, Revision: k.Revision, Created: k.Created, Warnings: k.Warnings}
		if k.Code != "" {
			r.Err = &fault.Error{Code: k.Code, Message: k.Message, Fields: k.Fields}
		}
		return fn(r)
	})
}

// results calls fn for every whole result in the spool.
func (im *Imports) results(ctx context.Context, s tenant.Scope, job uuid.UUID, fn func(keptResult) error) error {
	lines := &lineCutter{line: func(_ int, raw []byte) error {
		var k keptResult
		if err := json.Unmarshal(raw, &k); err != nil {
			return fault.Wrap(err, fault.Internal, "the results are damaged")
		}
		return fn(k)
	}}
	return im.store.Parts(ctx, s, job, memory.SpoolResults, lines.cut)
}
