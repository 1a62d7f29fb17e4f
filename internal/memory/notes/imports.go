package notes

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Limits of an import.
const (
	importBatch  = 100     // lines of one changeset
	maxLineBytes = 1 << 20 // of one line
	dropTimeout  = 10 * time.Second
)

// ImportRetention is how long the results of imports, and the bodies of abandoned ones, are kept.
const ImportRetention = 24 * time.Hour

// ImportStore is what imports require of a store.
type ImportStore interface {
	memory.Writer
	memory.Spool
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error)
}

// Imports accepts streams of notes and runs them as jobs. The body is in the store's spool before
// its job is enqueued, so an accepted import survives the process and any process can run it.
// A line that was imported already is left unchanged, so an interrupted job starts again from the
// first line.
type Imports struct {
	store ImportStore
	notes *Service
}

// NewImports returns imports that keep bodies and results in the store.
func NewImports(store ImportStore, notes *Service) *Imports {
	return &Imports{store: store, notes: notes}
}

// importPayload is the payload of an import job.
type importPayload struct {
	Lines int64     `json:"lines"`
	Parts int       `json:"parts"` // of the body
	Agent uuid.UUID `json:"agent"` // of the caller's credential; zero: none
}

// Start stores the body and enqueues the job that imports it.
func (im *Imports) Start(ctx context.Context, s tenant.Scope, ref string, body io.Reader) (memory.Job, error) {
	// A caller without permission is refused before the body is read.
	if _, err := im.notes.Importer(ctx, s, ref, uuid.Nil); err != nil {
		return memory.Job{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return memory.Job{}, fault.Wrap(err, fault.Internal, "no id could be made")
	}
	p, err := im.spool(ctx, s, ref, id, body)
	var job memory.Job
	if err == nil {
		job, err = memory.Again(func() (memory.Job, error) { return im.enqueue(ctx, s, ref, id, p) })
	}
	if err != nil {
		return memory.Job{}, errors.Join(err, im.dropBody(ctx, s, id))
	}
	return job, nil
}

// spool writes the body to the spool.
func (im *Imports) spool(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, body io.Reader) (p importPayload, err error) {
	c, err := im.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return p, err
	}
	body = screenLines(ctx, &c, body)
	p.Agent = s.Agent()
	count := &lineCounter{}
	part := make([]byte, memory.MaxPart)
	for more := true; more; {
		n, err := readFull(body, part)
		if more = err == nil; !more && !errors.Is(err, io.EOF) {
			return p, fault.Wrap(err, fault.Invalid, "the body of the import could not be read to its end; send it again")
		}
		if n == 0 {
			break
		}
		_, _ = count.Write(part[:n])
		if err := im.store.PutPart(ctx, s, id, memory.SpoolBody, p.Parts, part[:n]); err != nil {
			return p, err
		}
		p.Parts++
	}
	p.Lines = count.lines()
	return p, nil
}

// enqueue enqueues the job of a body in the spool.
func (im *Imports) enqueue(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, p importPayload) (job memory.Job, err error) {
	c, err := im.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return job, err
	}
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

// readFull reads until p is full. Unlike io.ReadFull it returns io.EOF at the end of a body, so
// that io.ErrUnexpectedEOF means a body that broke off.
func readFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var got int
		got, err = r.Read(p[n:])
		n += got
	}
	return n, err
}

// dropBody removes the body of an import that was not accepted, also when the caller's context has
// ended. When that fails, a later sweep removes it.
func (im *Imports) dropBody(ctx context.Context, s tenant.Scope, id uuid.UUID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	_, err := im.store.DropParts(ctx, s, id, memory.SpoolBody, 0)
	return err
}

// lineCounter counts lines that are not blank, a last line without a newline included.
type lineCounter struct {
	n    int64
	open bool
}

// Write counts the lines of p. It never fails.
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
