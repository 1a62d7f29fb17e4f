package notes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// storedResult is a result as it is stored in the spool.
type storedResult struct {
	End      bool            `json:"end,omitempty"` // not a result: the import is complete
	Line     int             `json:"line"`
	ID       uuid.UUID       `json:"id"`
	Revision memory.Revision `json:"revision"`
	Created  bool            `json:"created,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Code     fault.Code      `json:"code,omitempty"`
	Message  string          `json:"message,omitempty"`
	Fields   []fault.Field   `json:"fields,omitempty"`
}

func storableResult(r *ImportResult) storedResult {
	k := storedResult{Line: r.Line, ID: r.ID, Revision: r.Revision, Created: r.Created, Warnings: r.Warnings}
	var f *fault.Error
	switch {
	case errors.As(r.Err, &f):
		k.Code, k.Message, k.Fields = f.Code, f.Message, f.Fields
	case r.Err != nil:
		k.Code, k.Message = fault.Internal, "the line could not be imported"
	}
	return k
}

// resultWriter writes results to the spool, from its first part on. Each batch is a part of its
// own, so a repeated run replaces each part by one about the same lines.
type resultWriter struct {
	store ImportStore
	scope tenant.Scope
	job   uuid.UUID
	parts int
}

func (w *resultWriter) add(ctx context.Context, results []ImportResult) error {
	kept := make([]storedResult, len(results))
	for i := range results {
		kept[i] = storableResult(&results[i])
	}
	return w.write(ctx, kept)
}

func (w *resultWriter) write(ctx context.Context, results []storedResult) error {
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

// finish adds late warnings about earlier lines and the mark of the end, and removes parts that an
// earlier, longer run left.
func (w *resultWriter) finish(ctx context.Context, late []ImportResult) error {
	for batch := range slices.Chunk(late, importBatch) {
		if err := w.add(ctx, batch); err != nil {
			return err
		}
	}
	if err := w.write(ctx, []storedResult{{End: true}}); err != nil {
		return err
	}
	_, err := w.store.DropParts(ctx, w.scope, w.job, memory.SpoolResults, w.parts)
	return err
}

// isComplete reports whether the results say that the import is complete.
func (im *Imports) isComplete(ctx context.Context, s tenant.Scope, job uuid.UUID) (complete bool, err error) {
	err = im.storedResults(ctx, s, job, func(k storedResult) error {
		complete = k.End
		return nil
	})
	return complete, err
}

// Results calls fn for every result so far, in the order of lines; late warnings come last.
func (im *Imports) Results(ctx context.Context, s tenant.Scope, id uuid.UUID, fn func(ImportResult) error) error {
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
	return im.storedResults(ctx, s, id, func(k storedResult) error {
		if k.End {
			return nil
		}
		r := ImportResult{Line: k.Line, ID: k.ID, Revision: k.Revision, Created: k.Created, Warnings: k.Warnings}
		if k.Code != "" {
			r.Err = &fault.Error{Code: k.Code, Message: k.Message, Fields: k.Fields}
		}
		return fn(r)
	})
}

// storedResults calls fn for every complete result in the spool.
func (im *Imports) storedResults(ctx context.Context, s tenant.Scope, job uuid.UUID, fn func(storedResult) error) error {
	lines := &lineSplitter{line: func(_ int, raw []byte) error {
		var k storedResult
		if err := json.Unmarshal(raw, &k); err != nil {
			return fault.Wrap(err, fault.Internal, "the results of the import cannot be decoded")
		}
		return fn(k)
	}}
	return im.store.Parts(ctx, s, job, memory.SpoolResults, lines.write)
}
