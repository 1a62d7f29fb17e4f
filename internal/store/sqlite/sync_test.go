package sqlite

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// countSyncs replaces the sync of the WAL, and returns how often it was called.
func (b bench) countSyncs(sync func() error) (count func() int) {
	n := 0 // syncs run one after the other
	b.synced.sync = func() error {
		n++
		return sync()
	}
	return func() int { return n }
}

func synced() error { return nil }

// A write is on disk when it returns, and noting leaves that to the next write, however it ended.
func TestWritesAreSynced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	syncs := b.countSyncs(synced)
	refused := errors.New("refused")
	for name, end := range map[string]func() error{
		"done": func() error { return nil }, "refused": func() error { return refused }, "rolled back": func() error { return store.ErrRollback },
		"panicked": func() error { panic(refused) },
	} {
		func() {
			defer func() { _ = recover() }()
			before := syncs()
			err := b.noting(t.Context(), ofJob(uuid.Nil), func(context.Context, *session) error { return end() })
			if name == "refused" && !errors.Is(err, refused) || name != "refused" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n := syncs() - before; n != 0 {
				t.Errorf("%s: noting was synced %d times", name, n)
			}
		}()
		before := syncs()
		b.add(t, plain(1))
		if n := syncs() - before; n != 1 {
			t.Errorf("after noting was %s, a write was synced %d times", name, n)
		}
	}
	// What a write only reads was written by another one, which may not be on disk yet.
	read := func(context.Context, *session) error { return store.ErrRollback }
	note := func(context.Context, *session) error { return nil }
	before := syncs()
	err := errors.Join(b.noting(t.Context(), ofJob(uuid.Nil), note), b.writing(t.Context(), ofCaller(uuid.Nil), read), b.writing(t.Context(), ofCaller(uuid.Nil), read))
	if n := syncs() - before; err != nil || n != 1 {
		t.Errorf("two writes that changed nothing were synced %d times, %v", n, err)
	}
}

// While the WAL is synced others write, and all of them share the next sync.
func TestWritesShareSyncs(t *testing.T) {
	t.Parallel()
	const writers = 8
	b := newBench(t)
	began, end := make(chan struct{}, writers), make(chan struct{})
	syncs := b.countSyncs(func() error {
		began <- struct{}{}
		<-end
		return nil
	})
	var all sync.WaitGroup
	committed := make(chan struct{})
	write := func() {
		err := b.writing(t.Context(), ofCaller(b.scope.Tenant()), func(context.Context, *session) error { return nil })
		if err != nil {
			t.Error(err)
		}
	}
	all.Go(write)
	<-began
	for range writers {
		all.Go(write)
	}
	go func() { // the writer is free for all of them, while the first waits for the disk
		for b.synced.committed.Load() < b.synced.durable.Load()+1+writers {
			_ = b.noting(t.Context(), ofJob(b.scope.Tenant()), func(context.Context, *session) error { return store.ErrRollback })
		}
		close(committed)
	}()
	<-committed
	close(end)
	all.Wait()
	if n := syncs(); n < 2 || n > 3 { // a writer that had committed may join after the second has begun
		t.Errorf("%d writes were synced %d times", 1+writers, n)
	}
}

// After a sync that failed, no write succeeds until the WAL was moved into the file and begun again.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(t, plain(1))
	b.countSyncs(func() error { return syscall.EIO })
	write := func() error {
		_, err := b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Put(ctx, plain(2))
			return err
		})
		return err
	}
	if err := write(); !fault.Is(err, fault.Unavailable) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("a write that may not be on disk: %v", err)
	}
	syncs := b.countSyncs(synced)
	if err := b.synced.wait(); !errors.Is(err, errNotSynced) || syncs() != 0 {
		t.Errorf("a later sync hides the one that failed: %v, %d syncs", err, syncs())
	}
	q, err := b.read.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.read.give(q)
	err = q.inSnapshot(t.Context(), func(ctx context.Context) error {
		var n int
		if _, err := q.get(ctx, "SELECT count(*) FROM tenants", nil, &n); err != nil {
			return err
		}
		if err := write(); !fault.Is(err, fault.Unavailable) {
			t.Errorf("a write while a reader keeps the WAL: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Errorf("a write after the WAL was begun again: %v", err)
	}
}

// The sync of the WAL works with and without one.
func TestSyncWAL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(t, plain(1))
	if _, err := os.Stat(b.path + "-wal"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{b.path + "-wal", b.path + "-none"} {
		if err := syncWAL(path); err != nil {
			t.Error(err)
		}
	}
	if err := syncWAL(b.path + "/wal"); err == nil {
		t.Error("a file in a file was synced")
	}
}
