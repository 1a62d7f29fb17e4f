package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds of an import.
const (
	importBatch  = 200            // lines of one changeset
	importLine   = 1 << 20        // bytes of one line
	importKept   = 24 * time.Hour // results stay readable, and bodies of jobs that never ended stay, for so long
	bodySuffix   = ".ndjson"
	resultSuffix = ".results"
)

// ImportStore is what imports ask of a store.
type ImportStore interface {
	memory.Writer
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error)
}

// ImportNotes makes importers; *memory.Notes does.
type ImportNotes interface {
	Importer(ctx context.Context, s tenant.Scope, ref string, job uuid.UUID) (*memory.Importer, error)
}

// Imports takes streams of notes: the body is kept in a folder and synced to
// disk before its job is enqueued, so that an acknowledged import survives the
// process. A line that was imported already is left as it is, so a job that
// was interrupted starts again from the first line.
type Imports struct {
	store ImportStore
	notes ImportNotes
	dir   *os.Root
	clock memory.Clock
	wake  func()
}

// NewImports keeps bodies and results in the folder.
func NewImports(store ImportStore, notes ImportNotes, dir *os.Root, clock memory.Clock, wake func()) *Imports {
	return &Imports{store: store, notes: notes, dir: dir, clock: clock, wake: wake}
}

// importPayload is what the job remembers of its import.
type importPayload struct {
	Lines int64     `json:"lines"`
	Agent uuid.UUID `json:"agent"` // of the credential that asked; zero: none
}

// Start keeps the body and enqueues the job that imports it.
func (im *Imports) Start(ctx context.Context, s tenant.Scope, ref string, body io.Reader) (memory.Job, error) {
	// Who may not import is refused before the body is read.
	if _, err := im.notes.Importer(ctx, s, ref, uuid.Nil); err != nil {
		return memory.Job{}, err
	}
	c, err := im.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return memory.Job{}, err
	}
	im.clean()
	id, err := uuid.NewV7()
	if err != nil {
		return memory.Job{}, fault.Wrap(err, fault.Internal, "no id could be made")
	}
	lines, err := im.keep(id, body)
	if err != nil {
		return memory.Job{}, errors.Join(err, im.remove(id.String()+bodySuffix))
	}
	payload, err := json.Marshal(importPayload{Lines: lines, Agent: s.Agent()})
	if err != nil {
		return memory.Job{}, fault.Wrap(err, fault.Internal, "the import could not be described")
	}
	var job memory.Job
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "collection.import", Target: c.ID.String(), Detail: map[string]any{"lines": lines}}}}
	_, err = im.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		var err error
		job, err = tx.Enqueue(ctx, memory.Job{
			ID: id, Collection: c.ID, Kind: memory.JobImport, Stage: memory.StageTask, Payload: payload,
			Progress: &memory.Progress{Total: lines},
		})
		return err
	})
	if err != nil {
		return memory.Job{}, errors.Join(err, im.remove(id.String()+bodySuffix))
	}
	im.wake()
	return job, nil
}

// keep writes the body to disk and counts its lines.
func (im *Imports) keep(id uuid.UUID, body io.Reader) (lines int64, err error) {
	f, err := im.dir.OpenFile(id.String()+bodySuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, fault.Wrap(err, fault.Unavailable, "the import cannot be kept")
	}
	count := &lineCounter{}
	_, err = io.Copy(io.MultiWriter(f, count), body)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, fault.Wrap(err, fault.StorageFull, "the import cannot be kept")
	}
	return count.lines(), nil
}

// lineCounter counts lines that hold something; a last one without a newline counts.
type lineCounter struct {
	n    int64
	open bool
}

// Write counts.
func (l *lineCounter) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' {
			if l.open {
				l.n++
			}
			l.open = false
		} else if b != '\r' && b != ' ' && b != '\t' {
			l.open = true
		}
	}
	return len(p), nil
}

func (l *lineCounter) lines() int64 {
	if l.open {
		return l.n + 1
	}
	return l.n
}

// Run is the Task of import jobs.
func (im *Imports) Run(ctx context.Context, s tenant.Scope, job memory.Job, progress func(context.Context, memory.Progress) error) error {
	var p importPayload
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return fault.Wrap(err, fault.Internal, "the job's payload is damaged")
	}
	body, err := im.dir.Open(job.ID.String() + bodySuffix)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := im.dir.Stat(job.ID.String() + resultSuffix); err == nil {
			return nil // all was imported, and the process ended before it could say so
		}
		return fault.New(fault.Invalid, "the body of the import is gone; send it again")
	}
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "the body of the import cannot be read")
	}
	defer func() { _ = body.Close() }()
	out, err := im.dir.Create(job.ID.String() + resultSuffix)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "the results of the import cannot be kept")
	}
	w := bufio.NewWriter(out)
	late, err := im.run(ctx, s, job, body, w, func(done int64) error {
		if err := w.Flush(); err != nil {
			return fault.Wrap(err, fault.StorageFull, "the results of the import cannot be kept")
		}
		return progress(ctx, memory.Progress{Done: done, Total: p.Lines})
	})
	err = errors.Join(err, w.Flush(), out.Sync(), out.Close())
	if err != nil {
		return err
	}
	if err := im.addWarnings(job.ID.String()+resultSuffix, late); err != nil {
		return err
	}
	return im.remove(job.ID.String() + bodySuffix)
}

// addWarnings writes the results anew with what the end of the import had to
// say about earlier lines.
func (im *Imports) addWarnings(name string, late []memory.ImportResult) error {
	if len(late) == 0 {
		return nil
	}
	byLine := make(map[int][]string, len(late))
	for i := range late {
		byLine[late[i].Line] = append(byLine[late[i].Line], late[i].Warnings...)
	}
	in, err := im.dir.Open(name)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "the results of the import cannot be read")
	}
	defer func() { _ = in.Close() }()
	part := name + ".part"
	out, err := im.dir.Create(part)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "the results of the import cannot be kept")
	}
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	err = readResults(in, func(k keptResult) error {
		k.Warnings = append(k.Warnings, byLine[k.Line]...)
		return enc.Encode(k)
	})
	if err = errors.Join(err, w.Flush(), out.Sync(), out.Close()); err != nil {
		return fault.Wrap(err, fault.StorageFull, "the results of the import cannot be kept")
	}
	if err := im.dir.Rename(part, name); err != nil {
		return fault.Wrap(err, fault.Unavailable, "the results of the import cannot be kept")
	}
	return nil
}

// run imports line by line and writes one result per line. late are further
// warnings about lines whose result is written.
func (im *Imports) run(ctx context.Context, s tenant.Scope, job memory.Job, body io.Reader, out io.Writer, told func(done int64) error) (late []memory.ImportResult, err error) {
	importer, err := im.notes.Importer(ctx, s, job.Collection.String(), job.ID)
	if err != nil {
		return nil, err
	}
	enc := json.NewEncoder(out)
	report := func(results []memory.ImportResult) error {
		for i := range results {
			if err := enc.Encode(keepResult(&results[i])); err != nil {
				return fault.Wrap(err, fault.StorageFull, "the results of the import cannot be kept")
			}
		}
		return nil
	}
	scan := bufio.NewScanner(body)
	scan.Buffer(make([]byte, 64<<10), importLine)
	var batch []memory.ImportLine
	var done int64
	flush := func() error {
		results, err := importer.Lines(ctx, batch)
		if err != nil {
			return err
		}
		done += int64(len(batch))
		batch = batch[:0]
		return errors.Join(report(results), told(done))
	}
	for n := 1; scan.Scan(); n++ {
		raw := scan.Bytes()
		if len(raw) == 0 {
			continue
		}
		batch = append(batch, memory.ImportLine{Line: n, Raw: append([]byte(nil), raw...)})
		if len(batch) == importBatch {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "a line is longer than %d bytes or cannot be read", importLine)
	}
	if len(batch) > 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return importer.Finish(ctx)
}

// keptResult is a result as it stands in the file.
type keptResult struct {
	Line     int             `json:"line"`
	ID       uuid.UUID       `json:"id"`
	Revision memory.Revision `json:"revision"`
	Created  bool            `json:"created,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Code     fault.Code      `json:"code,omitempty"`
	Message  string          `json:"message,omitempty"`
	Fields   []fault.Field   `json:"fields,omitempty"`
}

func keepResult(r *memory.ImportResult) keptResult {
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

// Results calls fn for every result so far, by line.
func (im *Imports) Results(ctx context.Context, s tenant.Scope, id uuid.UUID, fn func(memory.ImportResult) error) error {
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
	f, err := im.dir.Open(id.String() + resultSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "the results cannot be read")
	}
	defer func() { _ = f.Close() }()
	return readResults(f, func(k keptResult) error {
		r := memory.ImportResult{Line: k.Line, ID: k.ID, Revision: k.Revision, Created: k.Created, Warnings: k.Warnings}
		if k.Code != "" {
			r.Err = &fault.Error{Code: k.Code, Message: k.Message, Fields: k.Fields}
		}
		return fn(r)
	})
}

// readResults calls fn for every whole result of a file.
func readResults(f io.Reader, fn func(keptResult) error) error {
	dec := json.NewDecoder(f)
	for {
		var k keptResult
		err := dec.Decode(&k)
		// The end, or a line that is being written.
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fault.Wrap(err, fault.Internal, "the results are damaged")
		}
		if err := fn(k); err != nil {
			return err
		}
	}
}

// clean removes what is older than importKept. What cannot be removed now is
// looked at again with the next import.
func (im *Imports) clean() {
	d, err := im.dir.Open(".")
	if err != nil {
		return
	}
	defer func() { _ = d.Close() }()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && im.clock().Sub(info.ModTime()) > importKept {
			_ = im.dir.Remove(e.Name())
		}
	}
}

func (im *Imports) remove(name string) error {
	if err := im.dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.Unavailable, "a file of the import cannot be removed")
	}
	return nil
}
