package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// errCut says that less of a body is there than was kept.
var errCut = fault.New(fault.Invalid, "the body of the import is gone; send it again")

// Run is the Task of import jobs.
func (im *Imports) Run(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) error {
	var p importPayload
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return fault.Wrap(err, fault.Invalid, "the payload of the import job cannot be read; a newer version may have made it")
	}
	out := &resultWriter{store: im.store, scope: s, job: job.ID}
	late, err := im.run(ctx, s, job, p, out, func(done int64) error {
		return progress(ctx, memory.Progress{Done: done, Total: p.Lines})
	})
	switch {
	case errors.Is(err, errCut):
		// A body goes when all was imported: then only its job did not end.
		if ended, e := im.ended(ctx, s, job.ID); e != nil || !ended {
			return cmp.Or(e, err)
		}
	case err != nil:
		return err
	default:
		if err := out.end(ctx, late); err != nil {
			return err
		}
	}
	_, err = im.store.DropParts(ctx, s, job.ID, memory.SpoolBody, 0)
	return err
}

// run imports line by line and writes one result per line. late are further
// warnings about lines whose result is written.
func (im *Imports) run(ctx context.Context, s tenant.Scope, job memory.Job, p importPayload, out *resultWriter, told func(done int64) error) (late []notes.ImportResult, err error) {
	importer, err := im.notes.Importer(ctx, s, job.Collection.String(), job.ID)
	if err != nil {
		return nil, err
	}
	var batch []notes.ImportLine
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
		if err := out.put(ctx, results); err != nil {
			return err
		}
		return told(done)
	}
	lines := &lineCutter{most: importLine, line: func(n int, raw []byte) error {
		if len(raw) == 0 {
			return nil
		}
		if batch = append(batch, notes.ImportLine{Line: n, Raw: bytes.Clone(raw)}); len(batch) < importBatch {
			return nil
		}
		return flush()
	}}
	parts := 0
	err = im.store.Parts(ctx, s, job.ID, memory.SpoolBody, func(data []byte) error {
		parts++
		return lines.cut(data)
	})
	if err != nil {
		return nil, err
	}
	if parts < p.Parts || parts == 0 && p.Lines > 0 {
		return nil, errCut
	}
	if err := lines.end(); err != nil {
		return nil, err
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return importer.Finish(ctx)
}

// lineCutter cuts what comes in pieces into lines and calls line for each,
// counted from 1 and without its end.
type lineCutter struct {
	line func(n int, raw []byte) error
	most int // bytes of a line; 0: any number
	n    int
	rest []byte
}

func (l *lineCutter) cut(data []byte) error {
	for len(data) > 0 {
		raw, after, whole := bytes.Cut(data, []byte{'\n'})
		if l.most > 0 && len(l.rest)+len(raw) > l.most {
			return fault.New(fault.Invalid, "line %d is longer than %d bytes", l.n+1, l.most)
		}
		if !whole {
			l.rest = append(l.rest, raw...)
			return nil
		}
		if len(l.rest) > 0 {
			raw = append(l.rest, raw...)
			l.rest = l.rest[:0]
		}
		if err := l.give(raw); err != nil {
			return err
		}
		data = after
	}
	return nil
}

// end gives a last line that no newline ends.
func (l *lineCutter) end() error {
	if len(l.rest) == 0 {
		return nil
	}
	return l.give(l.rest)
}

func (l *lineCutter) give(raw []byte) error {
	l.n++
	return l.line(l.n, bytes.TrimSuffix(raw, []byte{'\r'}))
}
