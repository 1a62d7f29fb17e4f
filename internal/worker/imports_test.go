package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// bodyParts counts the parts of an import's body in the spool.
func (p *plant) bodyParts(job uuid.UUID) (n int) {
	p.t.Helper()
	must.Do(p.t, p.store.Parts(p.t.Context(), p.s, job, memory.SpoolBody, func([]byte) error { n++; return nil }))
	return n
}

// putOnly is a store that remembers the job of the last part.
type putOnly struct {
	notes.ImportStore

	job uuid.UUID
	die bool // removing parts fails
}

func (p *putOnly) PutPart(ctx context.Context, s tenant.Scope, job uuid.UUID, spool memory.SpoolName, n int, data []byte) error {
	p.job = job
	return p.ImportStore.PutPart(ctx, s, job, spool, n, data)
}

func (p *putOnly) DropParts(ctx context.Context, s tenant.Scope, job uuid.UUID, spool memory.SpoolName, n int) (int, error) {
	if p.die {
		return 0, fault.New(fault.Unavailable, "the process is dying")
	}
	return p.ImportStore.DropParts(ctx, s, job, spool, n)
}

// A body that breaks off leaves no parts, even when its caller's context has ended. The parts that a
// dying process leaves are removed by a worker's sweep a day later, without another import.
func TestImportBreaksOff(t *testing.T) {
	t.Parallel()
	for _, die := range []bool{false, true} {
		t.Run(fmt.Sprintf("die=%t", die), func(t *testing.T) {
			t.Parallel()
			p := newPlant(t, settings{})
			p.stop()
			put := &putOnly{ImportStore: p.store, die: die}
			im := notes.NewImports(put, p.notes)
			ctx, cancel := context.WithCancel(t.Context())
			broken := io.MultiReader(strings.NewReader(strings.Repeat("x", memory.MaxPart+10)), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.ErrUnexpectedEOF }))
			if _, err := im.Start(ctx, p.s, p.c.ID.String(), broken); !fault.Is(err, fault.Invalid) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("broken off: %v", err)
			}
			if put.job == uuid.Nil {
				t.Fatal("no part was kept before")
			}
			if n := p.bodyParts(put.job); die != (n > 0) {
				t.Errorf("%d parts stay", n)
			}
			if n := p.worker.SweepParts(t.Context()); n != 0 {
				t.Errorf("%d tenants are swept at once", n)
			}
			p.later(25 * time.Hour)
			if n := p.worker.SweepParts(t.Context()); die != (n == 1) {
				t.Errorf("%d tenants are swept after a day", n)
			}
			if n := p.bodyParts(put.job); n != 0 {
				t.Errorf("%d parts stay after a day", n)
			}
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
