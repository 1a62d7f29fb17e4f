package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds of an import.
const (
	importBatch = 200            // lines of one changeset
	importLine  = 1 << 20        // bytes of one line
	importKept  = 24 * time.Hour // results stay readable, and bodies of jobs that were given up, for so long
	dropWithin  = 10 * time.Second
)

// ImportStore is what imports ask of a store.
type ImportStore interface {
	memory.Writer
	memory.Spool
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error)
}

// ImportNotes makes importers; *memory.Notes does.
type ImportNotes interface {
	Importer(ctx context.Context, s tenant.Scope, ref string, job uuid.UUID) (*notes.Importer, error)
}

// Imports takes streams of notes: the body is in the store's spool before its
// job is enqueued, so that an acknowledged import survives the process and any
// process can run it. A line that was imported already is left as it is, so a
// job that was interrupted starts again from the first line.
type Imports struct {
	store ImportStore
	notes ImportNotes
}

// NewImports keeps bodies and results in the store.
func NewImports(store ImportStore, notes ImportNotes) *Imports {
	return &Imports{store: store, notes: notes}
}

// importPayload is what the job remembers of its import.
type importPayload struct {
	Lines int64     `json:"lines"`
	Parts int       `json:"parts"` // of the body
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
	id, err := uuid.NewV7()
	if err != nil {
		return memory.Job{}, fault.Wrap(err, fault.Internal, "no id could be made")
	}
	job, err := im.keep(ctx, s, c, id, body)
	if err != nil {
		return memory.Job{}, errors.Join(err, im.forget(ctx, s, id))
	}
	return job, nil
}

// keep writes the body to the spool and enqueues the job.
func (im *Imports) keep(ctx context.Context, s tenant.Scope, c memory.Collection, id uuid.UUID, body io.Reader) (job memory.Job, err error) {
	p := importPayload{Agent: s.Agent()}
	count := &lineCounter{}
	part := make([]byte, memory.MaxPart)
	for more := true; more; {
		n, err := fill(body, part)
		if more = err == nil; !more && !errors.Is(err, io.EOF) {
			return job, fault.Wrap(err, fault.Invalid, "the body of the import could not be read to its end; send it again")
		}
		if n == 0 {
			break
		}
		_, _ = count.Write(part[:n])
		if err := im.store.PutPart(ctx, s, id, memory.SpoolBody, p.Parts, part[:n]); err != nil {
			return job, err
		}
		p.Parts++
	}
	p.Lines = count.lines()
	payload, err := json.Marshal(p)
	if err != nil {
		return job, fault.Wrap(err, fault.Internal, "the import could not be described")
	}
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "collection.import", Target: c.ID.String(), Detail: map[string]any{"lines": p.Lines}}}}
	_, err = im.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		var err error
		job, err = tx.Enqueue(ctx, memory.Job{
			ID: id, Collection: c.ID, Kind: memory.JobImport, Stage: memory.StageTask, Payload: payload,
			Progress: &memory.Progress{Total: p.Lines},
		})
		return err
	})
	return job, err
}

// fill reads until p is full. Unlike io.ReadFull it tells the end of a body,
// io.EOF, from one that broke off, which is told as io.ErrUnexpectedEOF.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var got int
		got, err = r.Read(p[n:])
		n += got
	}
	return n, err
}

// forget removes the body of an import that was not accepted, also when its
// caller has gone away. What cannot be removed now goes with the next sweep.
func (im *Imports) forget(ctx context.Context, s tenant.Scope, id uuid.UUID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
	defer cancel()
	_, err := im.store.DropParts(ctx, s, id, memory.SpoolBody, 0)
	return err
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
