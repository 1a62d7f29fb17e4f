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
	End      bool            `json:"end,omitempty"`  // not a result: the import is complete
	Sums     *importSums     `json:"sums,omitempty"` // with End; nil: an older version wrote it
	Line     int             `json:"line"`
	ID       uuid.UUID       `json:"id"`
	Revision memory.Revision `json:"revision"`
	Created  bool            `json:"created,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Code     fault.Code      `json:"code,omitempty"`
	Message  string          `json:"message,omitempty"`
	Fields   []fault.Field   `json:"fields,omitempty"`
}

// importSums are what a job says of its lines. A job that was interrupted starts again: what it had made until then exists.
type importSums struct {
	Created  int64           `json:"created"`
	Existing int64           `json:"existing"`
	Failed   int64           `json:"failed"`
	Reasons  []importRefusal `json:"reasons,omitempty"` // one for each code, in the order of lines
}

// importRefusal is why lines failed.
type importRefusal struct {
	Code  fault.Code `json:"code"`
	Lines int64      `json:"lines"`
	First int        `json:"first_line"`
	Why   string     `json:"detail"` // of the first line
}

func (a *importSums) add(k *storedResult) {
	switch {
	case k.Created:
		a.Created++
		return
	case k.Code == "":
		a.Existing++
		return
	}
	a.Failed++
	i := slices.IndexFunc(a.Reasons, func(r importRefusal) bool { return r.Code == k.Code })
	if i < 0 {
		i, a.Reasons = len(a.Reasons), append(a.Reasons, importRefusal{Code: k.Code, First: k.Line, Why: k.Message})
	}
	a.Reasons[i].Lines++
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
	sums  importSums // without late warnings
}

func (w *resultWriter) add(ctx context.Context, results []ImportResult) error {
	kept := storableResults(results)
	for i := range kept {
		w.sums.add(&kept[i])
	}
	return w.write(ctx, kept)
}

func storableResults(results []ImportResult) []storedResult {
	kept := make([]storedResult, len(results))
	for i := range results {
		kept[i] = storableResult(&results[i])
	}
	return kept
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
		if err := w.write(ctx, storableResults(batch)); err != nil {
			return err
		}
	}
	if err := w.write(ctx, []storedResult{{End: true, Sums: &w.sums}}); err != nil {
		return err
	}
	_, err := w.store.DropParts(ctx, w.scope, w.job, memory.SpoolResults, w.parts)
	return err
}

// completed returns the sums of an import whose results say that it is complete; nil: it is not.
func (im *Imports) completed(ctx context.Context, s tenant.Scope, job uuid.UUID) (sums *importSums, err error) {
	err = im.storedResults(ctx, s, job, func(k storedResult) error {
		if sums = k.Sums; k.End && sums == nil {
			sums = &importSums{}
		}
		return nil
	})
	return sums, err
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
