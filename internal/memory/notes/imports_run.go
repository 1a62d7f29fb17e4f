package notes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// errBodyMissing is returned when the spool holds less of the body than was stored.
var errBodyMissing = fault.New(fault.Invalid, "the body of the import is gone; send it again")

// Run does an import job, and returns its result.
func (im *Imports) Run(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) (json.RawMessage, error) {
	var p importPayload
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the payload of the import job cannot be read; a newer version may have made it")
	}
	out := &resultWriter{store: im.store, scope: s, job: job.ID}
	late, err := im.importLines(ctx, s, job, p, out, func(done int64) error {
		return progress(ctx, memory.Progress{Done: done, Total: p.Lines})
	})
	switch {
	case errors.Is(err, errBodyMissing):
		// The body is removed after the last line: then only the end of the job is missing.
		done, e := im.completed(ctx, s, job.ID)
		if e != nil || done == nil {
			return nil, cmp.Or(e, err)
		}
		out.sums = *done
	case err != nil:
		return nil, err
	default:
		if err := out.finish(ctx, late); err != nil {
			return nil, err
		}
	}
	if _, err := im.store.DropParts(ctx, s, job.ID, memory.SpoolBody, 0); err != nil {
		return nil, err
	}
	result, err := json.Marshal(out.sums)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the result of the import cannot be written")
	}
	return result, nil
}

// importLines imports line by line and writes one result per line. late are further warnings about
// lines whose result is written already.
func (im *Imports) importLines(ctx context.Context, s tenant.Scope, job memory.Job, p importPayload, out *resultWriter, progress func(done int64) error) (late []ImportResult, err error) {
	importer, err := im.notes.Importer(ctx, s, job.Collection.String(), job.ID)
	if err != nil {
		return nil, err
	}
	var batch []ImportLine
	var done int64
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		results, err := importer.Lines(ctx, batch)
		if err != nil {
			return err
		}
		done += int64(len(batch))
		batch = batch[:0]
		if err := out.add(ctx, results); err != nil {
			return err
		}
		return progress(done)
	}
	lines := &lineSplitter{maxBytes: maxLineBytes, line: func(n int, raw []byte) error {
		if len(raw) == 0 {
			return nil
		}
		if batch = append(batch, ImportLine{Line: n, Raw: bytes.Clone(raw)}); len(batch) < importBatch {
			return nil
		}
		return flush()
	}}
	parts := 0
	err = im.store.Parts(ctx, s, job.ID, memory.SpoolBody, func(data []byte) error {
		parts++
		return lines.write(data)
	})
	if err != nil {
		return nil, err
	}
	if parts < p.Parts || parts == 0 && p.Lines > 0 {
		return nil, errBodyMissing
	}
	if err := lines.end(); err != nil {
		return nil, err
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return importer.Finish(ctx)
}

// lineSplitter splits a stream that arrives in pieces into lines. It calls line for each, counted
// from 1 and without its line ending.
type lineSplitter struct {
	line     func(n int, raw []byte) error
	maxBytes int // of a line; 0: no limit
	n        int
	rest     []byte
}

func (l *lineSplitter) write(data []byte) error {
	for len(data) > 0 {
		raw, after, whole := bytes.Cut(data, []byte{'\n'})
		if l.maxBytes > 0 && len(l.rest)+len(raw) > l.maxBytes {
			return fault.New(fault.Invalid, "line %d is longer than %d bytes", l.n+1, l.maxBytes)
		}
		if !whole {
			l.rest = append(l.rest, raw...)
			return nil
		}
		if len(l.rest) > 0 {
			raw = append(l.rest, raw...)
			l.rest = l.rest[:0]
		}
		if err := l.emit(raw); err != nil {
			return err
		}
		data = after
	}
	return nil
}

// end emits a last line without a newline.
func (l *lineSplitter) end() error {
	if len(l.rest) == 0 {
		return nil
	}
	return l.emit(l.rest)
}

func (l *lineSplitter) emit(raw []byte) error {
	l.n++
	return l.line(l.n, bytes.TrimSuffix(raw, []byte{'\r'}))
}
