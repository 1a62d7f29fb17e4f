package sqlite

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// waiting starts writes while the writer is busy, and returns their errors when all have ended.
func (b bench) waiting(t *testing.T, writes ...func(ctx context.Context, tx memory.Tx) error) []error {
	t.Helper()
	q, leave, err := b.enterWriter(t.Context(), ofCaller(uuid.New()))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	out := make([]error, len(writes))
	for i, fn := range writes {
		out[i] = errEnded
		all.Go(func() {
			defer func() { _ = recover() }()
			_, out[i] = b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{Cause: memory.CauseAdd}, fn)
		})
		for queued := 0; queued <= i; runtime.Gosched() { // in this order: the first waits for the writer, the others for it
			b.groups.mu.Lock()
			list, led := b.groups.waiting[b.scope.Tenant()]
			b.groups.mu.Unlock()
			if queued = len(list); led {
				queued++
			}
		}
	}
	b.write.give(q)
	leave()
	all.Wait()
	return out
}

func putting(text string) func(context.Context, memory.Tx) error {
	return func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Put(ctx, memory.Note{Content: text})
		return err
	}
}

// Writes that wait share a transaction, each with a revision of its own; what fails, or panics, fails alone.
func TestWritesShareATransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refused := errors.New("refused")
	before := must.Get(b.OpenView(t.Context(), b.scope, b.collection.String(), memory.At{}))(t)
	// A reader does not see what the transaction has written so far.
	seen := func(fn func(context.Context, memory.Tx) error) func(context.Context, memory.Tx) error {
		return func(ctx context.Context, tx memory.Tx) error {
			v, err := b.OpenView(ctx, b.scope, b.collection.String(), memory.At{})
			if err != nil || v.At != before.At || tx.View().At > before.At+2 {
				t.Errorf("a reader is at %d, and the transaction at %d, after %d: %v", v.At, tx.View().At, before.At, err)
			}
			return fn(ctx, tx)
		}
	}
	errs := b.waiting(t, seen(putting("one")), seen(putting("two")),
		func(ctx context.Context, tx memory.Tx) error {
			return errors.Join(putting("refused")(ctx, tx), refused)
		},
		func(ctx context.Context, tx memory.Tx) error { _ = putting("panics")(ctx, tx); panic(refused) },
		seen(putting("three")))
	for i, want := range []error{nil, nil, refused, errEnded, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("write %d: %v, want %v", i, errs[i], want)
		}
	}
	v := must.Get(b.OpenView(t.Context(), b.scope, b.collection.String(), memory.At{}))(t)
	if n, err := b.Counts(t.Context(), b.scope, v); err != nil || v.At != before.At+3 || n.Notes != 3 {
		t.Errorf("revision %d after %d, with %d notes, %v", v.At, before.At, n.Notes, err)
	}
	if problems, err := b.Verify(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("the store: %+v, %v", problems, err)
	}
}

// A transaction that fails as a whole takes nothing with it: each of its writes is tried alone.
func TestSharedTransactionFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	writer, err := b.write.take(t.Context()) // the only one
	if err != nil {
		t.Fatal(err)
	}
	b.write.give(writer)
	tries := 0
	errs := b.waiting(t, putting("one"), func(context.Context, memory.Tx) error {
		tries++
		writer.failed = errors.New("the disk failed")
		return nil
	}, putting("two"))
	if errs[0] != nil || errs[1] == nil || errs[2] != nil || tries != 2 {
		t.Errorf("errors %v after %d tries", errs, tries)
	}
	if problems, err := b.Verify(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("the store: %+v, %v", problems, err)
	}
}

// A caller that does not wait any longer stops nobody else.
func TestCanceledLeader(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := func(_ context.Context, tx memory.Tx) error {
		cancel()
		return putting("canceled")(context.WithoutCancel(ctx), tx)
	}
	q, leave, err := b.enterWriter(t.Context(), ofCaller(uuid.New()))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var canceled, other error
	all.Go(func() {
		_, canceled = b.Write(ctx, b.scope, b.collection, memory.WriteOptions{Cause: memory.CauseAdd}, first)
	})
	for led := false; !led; runtime.Gosched() {
		b.groups.mu.Lock()
		_, led = b.groups.waiting[b.scope.Tenant()]
		b.groups.mu.Unlock()
	}
	all.Go(func() {
		_, other = b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{Cause: memory.CauseAdd}, putting("other"))
	})
	for n := 0; n == 0; runtime.Gosched() {
		b.groups.mu.Lock()
		n = len(b.groups.waiting[b.scope.Tenant()])
		b.groups.mu.Unlock()
	}
	b.write.give(q)
	leave()
	all.Wait()
	if canceled == nil || other != nil {
		t.Errorf("canceled: %v, the other: %v", canceled, other)
	}
	if problems, err := b.Verify(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("the store: %+v, %v", problems, err)
	}
}
