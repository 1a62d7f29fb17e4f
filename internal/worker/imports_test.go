package worker_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/internal/worker"
)

// An import whose process ended between its last line and the end of its job
// is done when it is run again, with one note a line; without body and results
// it says that the body is gone.
func TestImportRunTwice(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{})
	p.stop()
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	im := worker.NewImports(p.store, p.notes, dir, p.now, func() {})
	job, err := im.Start(t.Context(), p.s, p.c.ID.String(), strings.NewReader(`{"id":"`+uuid.NewString()+`","content":"one"}`+"\n"+`{"id":"`+uuid.NewString()+`","content":"two"}`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	run := func() error {
		return im.Run(t.Context(), grant.Job(job.Tenant, job.ID), job, func(context.Context, memory.Progress) error { return nil })
	}
	for range 2 {
		if err := run(); err != nil {
			t.Fatal(err)
		}
	}
	v, err := p.store.OpenView(t.Context(), p.s, p.c.ID.String(), memory.At{})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := p.store.ListNotes(t.Context(), p.s, v, memory.NoteQuery{Limit: 10}); err != nil || len(list) != 2 {
		t.Errorf("%d notes, %v", len(list), err)
	}
	if err := dir.Remove(job.ID.String() + ".results"); err != nil {
		t.Fatal(err)
	}
	if err := run(); !fault.Is(err, fault.Invalid) {
		t.Errorf("without a body: %v", err)
	}
}
