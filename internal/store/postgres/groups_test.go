package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/test/must"
)

type closure = func(context.Context, memory.Tx) error

// waiting is a running write, and its result.
type waiting struct {
	written  memory.Written
	err      error
	panicked any
	done     chan struct{}
}

func (b bench) start(ctx context.Context, fn closure) *waiting {
	w := &waiting{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer func() { w.panicked = recover() }()
		w.written, w.err = b.Write(ctx, b.scope, b.collection, memory.WriteOptions{Cause: memory.CauseAdd}, fn)
	}()
	return w
}

func put(content string) closure {
	return func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Put(ctx, memory.Note{Content: content})
		return err
	}
}

// together makes writes share a transaction: they start in their order, while another write holds
// the lock.
func (b bench) together(t *testing.T, first closure, rest ...func() *waiting) []*waiting {
	t.Helper()
	holds, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	head := b.start(t.Context(), func(ctx context.Context, tx memory.Tx) error {
		once.Do(func() { close(holds) })
		<-free
		return first(ctx, tx)
	})
	<-holds
	all := []*waiting{head}
	for i, start := range rest {
		all = append(all, start())
		until(t, "the writes wait", func() bool { return b.Waiting(b.scope.Tenant(), b.collection) == i+1 })
	}
	close(free)
	return all
}

func (b bench) contents(t *testing.T) []string {
	t.Helper()
	list := must.Get(b.ListNotes(t.Context(), b.scope, b.open(t), memory.NoteQuery{}))(t)
	out := []string{}
	for i := range list {
		out = append(out, list[i].Content)
	}
	return out
}

func TestWritesShareTransactions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const many = 70
	var rest []func() *waiting
	for i := range many {
		rest = append(rest, func() *waiting { return b.start(t.Context(), put(fmt.Sprint(i))) })
	}
	before := b.trace.commits.Load()
	all := b.together(t, put("first"), rest...)
	revisions := map[memory.Revision]bool{}
	for i, w := range all {
		<-w.done
		if w.err != nil || !w.written.Logged || w.written.Revision != memory.Revision(i+1) {
			t.Fatal(i, w.written, w.err)
		}
		revisions[w.written.Revision] = true
	}
	if commits := b.trace.commits.Load() - before; len(revisions) != many+1 || commits != 4 {
		t.Errorf("%d revisions in %d commits, want %d in 4: 1, 32, 32 and 6", len(revisions), commits, many+1)
	}
	if got := len(b.contents(t)); got != many+1 {
		t.Errorf("%d notes", got)
	}
	until(t, "nobody leads", b.Idle)
	b.sound(t)
}

// TestRefusedAmongOthers: an error of one write does not affect the others.
func TestRefusedAmongOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	errMine := errors.New("mine")
	gone, leave := context.WithCancel(t.Context())
	begin := func(fn closure) func() *waiting { return func() *waiting { return b.start(t.Context(), fn) } }
	after := func(fn closure, end func() error) closure {
		return func(ctx context.Context, tx memory.Tx) error {
			if err := fn(ctx, tx); err != nil {
				return err
			}
			// A read sends the collected statements: they have to be undone.
			if _, err := tx.Notes(ctx, []uuid.UUID{uuid.New()}, memory.ReadOptions{}); err != nil {
				return err
			}
			return end()
		}
	}
	all := b.together(t, put("first"),
		begin(put("a")),
		begin(func(context.Context, memory.Tx) error { return errMine }),
		begin(after(put("refused"), func() error { return fault.New(fault.Conflict, "no") })),
		begin(put("b")),
		begin(after(put("panicked"), func() error { panic("mine") })),
		begin(after(put("ended"), func() error { runtime.Goexit(); return nil })),
		begin(func(context.Context, memory.Tx) error { return nil }),
		func() *waiting { return b.start(gone, after(put("left"), func() error { leave(); return nil })) },
		begin(put("c")),
	)
	for _, w := range all {
		<-w.done
	}
	want := map[int]memory.Revision{0: 1, 1: 2, 4: 3, 7: 3, 9: 4}
	for i, w := range all {
		if r, ok := want[i]; ok && (w.err != nil || w.written.Revision != r) {
			t.Errorf("%d: revision %d, %v; want %d", i, w.written.Revision, w.err, r)
		}
	}
	if !errors.Is(all[2].err, errMine) || !fault.Is(all[3].err, fault.Conflict) || all[5].panicked != "mine" || !errors.Is(all[8].err, context.Canceled) {
		t.Error(all[2].err, all[3].err, all[5].panicked, all[8].err)
	}
	if got := fmt.Sprint(b.contents(t)); got != "[first a b c]" {
		t.Error(got)
	}
	until(t, "nobody leads", b.Idle)
	b.sound(t)
}

// TestServerRefusesOne: the server fails the transaction that all share; then each runs alone, and
// only the one at fault is refused.
func TestServerRefusesOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	beyond := func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Put(ctx, memory.Note{Content: "beyond", Attributes: map[string]any{"n": json.Number("1e200000")}})
		return err
	}
	begin := func(fn closure) func() *waiting { return func() *waiting { return b.start(t.Context(), fn) } }
	all := b.together(t, put("first"), begin(put("a")), begin(beyond), begin(put("b")))
	for i, w := range all {
		<-w.done
		if i == 2 != fault.Is(w.err, fault.Invalid) || i != 2 && w.err != nil {
			t.Error(i, w.err)
		}
	}
	if got := b.contents(t); len(got) != 3 {
		t.Error(got)
	}
	until(t, "nobody leads", b.Idle)
	b.sound(t)
}

// TestLeaderPanics: the requests that wait with a leader that panics are led by another.
func TestLeaderPanics(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := b.together(t, func(context.Context, memory.Tx) error { panic("mine") },
		func() *waiting { return b.start(t.Context(), put("a")) }, func() *waiting { return b.start(t.Context(), put("b")) })
	for _, w := range all {
		<-w.done
	}
	if all[0].panicked != "mine" || all[1].err != nil || all[2].err != nil {
		t.Error(all[0].panicked, all[1].err, all[2].err)
	}
	until(t, "nobody leads", b.Idle)
	b.sound(t)
}

// TestLeavesWhileWaiting: a caller whose context ends while it waits is answered at once.
func TestLeavesWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	holds, free := make(chan struct{}), make(chan struct{})
	first := b.start(t.Context(), func(ctx context.Context, tx memory.Tx) error {
		close(holds)
		<-free
		return put("first")(ctx, tx)
	})
	<-holds
	ctx, leave := context.WithCancel(t.Context())
	second := b.start(ctx, put("second"))
	until(t, "it waits", func() bool { return b.Waiting(b.scope.Tenant(), b.collection) == 1 })
	leave()
	<-second.done
	if !errors.Is(second.err, context.Canceled) {
		t.Error(second.err)
	}
	close(free)
	<-first.done
	if first.err != nil {
		t.Error(first.err)
	}
	if got := fmt.Sprint(b.contents(t)); got != "[first]" {
		t.Error(got)
	}
	b.sound(t)
}

// TestConnectionLost: the server ends the session in the middle of a write. Nothing of it is
// stored, and the next write succeeds.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	admin := must.Get(pgx.Connect(t.Context(), b.db.URL))(t)
	defer admin.Close(context.WithoutCancel(t.Context()))
	w := b.start(t.Context(), func(ctx context.Context, tx memory.Tx) error {
		if err := put("lost")(ctx, tx); err != nil {
			return err
		}
		_, err := admin.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()")
		return err
	})
	<-w.done
	if !fault.Is(w.err, fault.Unavailable) {
		t.Error(w.err)
	}
	after := b.start(t.Context(), put("after"))
	<-after.done
	if after.err != nil || after.written.Revision != 1 {
		t.Error(after.written, after.err)
	}
	if got := fmt.Sprint(b.contents(t)); got != "[after]" {
		t.Error(got)
	}
	b.sound(t)
}

// TestTwoProcesses: writers of two processes allot revisions without a gap, and only one of them
// gets a natural key.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const writers, writes = 8, 12
	var taken atomic.Int64
	var all sync.WaitGroup
	for _, p := range []bench{b, b.beside(t, 0)} {
		for range writers {
			all.Go(func() {
				for i := range writes {
					_, err := p.Write(t.Context(), p.scope, p.collection, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
						_, err := tx.Put(ctx, memory.Note{Content: "x", Key: fmt.Sprint(i)})
						return err
					})
					switch {
					case err == nil:
						taken.Add(1)
					case !fault.Is(err, fault.Exists):
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	v := b.open(t)
	sets, err := b.Changesets(t.Context(), b.scope, v, 0, 0)
	if err != nil || taken.Load() != writes || v.At != writes || len(sets) != writes {
		t.Errorf("%d keys given away, head %d, %d changesets, %v; want %d of each", taken.Load(), v.At, len(sets), err, writes)
	}
	b.sound(t)
}

// TestLongVectors: a vector that fits in a page is stored, and a longer one is Invalid.
func TestLongVectors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for dim, fits := range map[int]bool{3900: true, 3901: false, 17_000: false} {
		b.collection = b.create(t, memory.Collection{Name: fmt.Sprint("c", dim), Embedder: strings.Repeat("long", 50), Dim: dim})
		vector := slices.Repeat([]float32{0.5}, dim)
		_, err := b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Put(ctx, memory.Note{Content: "x", Vector: vector})
			return err
		})
		near, e := b.Nearest(t.Context(), b.scope, b.open(t), memory.NearestQuery{Vector: vector})
		if fits && (err != nil || len(near) != 1) || !fits && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "3900") || len(near) > 0) || e != nil {
			t.Errorf("%d dimensions: %v; %d near, %v", dim, err, len(near), e)
		}
	}
}

// TestFewRoundTrips bounds the round trips of the common paths.
func TestFewRoundTrips(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	var n memory.Note
	add := func() error {
		_, err := b.Write(ctx, b.scope, b.collection, memory.WriteOptions{Cause: memory.CauseAdd, Audit: []memory.AuditEntry{{Action: "note.create"}}},
			func(ctx context.Context, tx memory.Tx) (err error) {
				n, err = tx.Put(ctx, memory.Note{Content: "x"})
				if err == nil {
					_, err = tx.Enqueue(ctx, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare})
				}
				return err
			})
		return err
	}
	withIDs := func(say func(tx memory.Tx, ids []uuid.UUID) error) func() error {
		return func() error {
			_, err := b.Write(ctx, b.scope, b.collection, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
				ids := make([]uuid.UUID, 20)
				for i := range ids {
					ids[i] = uuid.New()
				}
				if err := say(tx, ids); err != nil {
					return err
				}
				for _, id := range ids {
					if _, err := tx.Put(ctx, memory.Note{ID: id, Content: "x"}); err != nil {
						return err
					}
				}
				return nil
			})
			return err
		}
	}
	var v memory.View
	for _, c := range []struct {
		what string
		most int64
		do   func() error
	}{
		{"add", 2, add},
		{"notes with ids of their own", 3, withIDs(func(tx memory.Tx, ids []uuid.UUID) error { return tx.Foresee(ctx, ids) })},
		{"notes with ids just made", 2, withIDs(func(tx memory.Tx, ids []uuid.UUID) error { tx.Fresh(ids...); return nil })},
		{"view", 1, func() (err error) {
			v, err = b.OpenView(ctx, b.scope, b.collection.String(), memory.At{})
			return err
		}},
		{"notes", 1, func() error {
			l, err := b.Notes(ctx, b.scope, v, []uuid.UUID{n.ID}, memory.ReadOptions{})
			if len(l) != 1 {
				t.Error("no note")
			}
			return err
		}},
		{"links", 1, func() error {
			_, err := b.Links(ctx, b.scope, v, memory.LinkQuery{Notes: []uuid.UUID{n.ID}})
			return err
		}},
	} {
		// A connection that is new to the pool prepares its statements: that costs trips once.
		fewest := int64(math.MaxInt64)
		for range 5 {
			before := b.trace.trips.Load()
			if err := c.do(); err != nil {
				t.Fatal(c.what, err)
			}
			fewest = min(fewest, b.trace.trips.Load()-before)
		}
		if fewest > c.most {
			t.Errorf("%s took %d round trips, want %d at most", c.what, fewest, c.most)
		}
	}
}

// TestPlannedOnce: a prepared statement is not planned again for its arguments, of which a list looks cheaper each time.
func TestPlannedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := b.put(t, b.collection, memory.Note{Content: "x"})
	one := must.Get(postgres.Open(t.Context(), postgres.Config{URL: b.db.URL, Connections: 1}, postgres.Deps{}))(t)
	t.Cleanup(func() { _ = one.Close() })
	v := must.Get(one.OpenView(t.Context(), b.scope, b.collection.String(), memory.At{}))(t)
	for range 3 {
		must.Get(one.Notes(t.Context(), b.scope, v, []uuid.UUID{n.ID}, memory.ReadOptions{}))(t)
		must.Get(one.Links(t.Context(), b.scope, v, memory.LinkQuery{Notes: []uuid.UUID{n.ID}}))(t)
	}
	if again, err := one.Replanned(t.Context()); err != nil || again != 0 {
		t.Errorf("statements were planned %d times with their arguments, %v", again, err)
	}
}
