package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"runtime"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestNoting: a transaction of noting is not synced, and the next one of writing is, however noting ended.
func TestNoting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const normal, full = 1, 2 // of PRAGMA synchronous
	level := func(q *session) (n int) {
		if _, err := q.get(t.Context(), "PRAGMA synchronous", nil, &n); err != nil {
			t.Error(err)
		}
		return n
	}
	refused := errors.New("refused")
	for name, end := range map[string]func() error{
		"done": func() error { return nil }, "refused": func() error { return refused }, "rolled back": func() error { return store.ErrRollback },
		"panicked": func() error { panic(refused) },
	} {
		func() {
			defer func() { _ = recover() }()
			err := b.noting(t.Context(), ofJob(uuid.Nil), func(_ context.Context, q *session) error {
				if got := level(q); got != normal {
					t.Errorf("%s: noting writes at level %d", name, got)
				}
				return end()
			})
			if name == "refused" && !errors.Is(err, refused) || name != "refused" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
		err := b.writing(t.Context(), ofCaller(uuid.Nil), func(_ context.Context, q *session) error {
			if got := level(q); got != full {
				t.Errorf("after noting was %s, writing writes at level %d", name, got)
			}
			return nil
		})
		if err != nil {
			t.Error(name, err)
		}
	}
}

// TestCountsAreNoted: counts of recalls and of model calls are written without an fsync, a note is not.
func TestCountsAreNoted(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	note := b.add(t, plain(1))[0].ID
	must.Do(t, b.writing(ctx, ofJob(uuid.Nil), func(ctx context.Context, q *session) error {
		_, err := q.conn.ExecContext(ctx, `CREATE TEMP TABLE levels (t TEXT, level INT);
CREATE TEMP TRIGGER a AFTER INSERT ON main.usage BEGIN INSERT INTO levels SELECT 'usage', synchronous FROM pragma_synchronous; END;
CREATE TEMP TRIGGER b AFTER INSERT ON main.model_use BEGIN INSERT INTO levels SELECT 'model_use', synchronous FROM pragma_synchronous; END;
CREATE TEMP TRIGGER c AFTER INSERT ON main.notes BEGIN INSERT INTO levels SELECT 'note', synchronous FROM pragma_synchronous; END`)
		return err
	}))
	v := must.Get(b.OpenView(ctx, b.scope, b.collection.String(), memory.At{}))(t)
	must.Do(t, b.AddUsage(ctx, b.scope, v, []memory.UsageDelta{{Note: note, Accesses: 1}}))
	must.Do(t, b.AddModelUse(ctx, b.scope, []memory.ModelUse{{Purpose: "embed", Day: "2026-11-24", Calls: 1}}))
	b.add(t, plain(2))
	got := map[string]int{}
	err := b.writing(ctx, ofJob(uuid.Nil), func(ctx context.Context, q *session) error {
		return q.each(ctx, "SELECT t, level FROM levels", nil, func(rows *sql.Rows) error {
			var table string
			var level int
			err := rows.Scan(&table, &level)
			got[table] = level
			return err
		})
	})
	if want := map[string]int{"usage": 1, "model_use": 1, "note": 2}; err != nil || !maps.Equal(got, want) {
		t.Errorf("levels of PRAGMA synchronous are %v, want %v; %v", got, want, err)
	}
}

// TestDiscard: the place of a discarded session is taken by a new connection, with the settings of the first.
func TestDiscard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(t, plain(1))
	q := must.Get(b.write.take(t.Context()))(t)
	must.Get(q.conn.ExecContext(t.Context(), "PRAGMA synchronous=OFF"))(t)
	b.write.discard(q)
	b.add(t, plain(2))
	err := b.writing(t.Context(), ofCaller(uuid.Nil), func(ctx context.Context, now *session) error {
		var n int
		if _, err := now.get(ctx, "PRAGMA synchronous", nil, &n); err != nil || now == q || n != 2 {
			t.Errorf("the same session: %v, level %d, %v", now == q, n, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A transaction sees that the caller of another tenant waits for it; the tenant's own, and jobs, are no others.
func TestOthersWait(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other, own := uuid.New(), b.scope.Tenant()
	var waiting sync.WaitGroup
	wait := func(turn turn) {
		before := b.turns.Waiting(turn.tenant)
		waiting.Go(func() {
			if err := b.writing(t.Context(), turn, func(context.Context, *session) error { return nil }); err != nil {
				t.Error(err)
			}
		})
		for b.turns.Waiting(turn.tenant) == before {
			runtime.Gosched()
		}
	}
	must.Get(b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{Cause: memory.CauseAdd}, func(_ context.Context, tx memory.Tx) error {
		wait(ofCaller(own))
		wait(ofJob(other))
		if tx.OthersWait() {
			t.Error("own callers and a job are others")
		}
		wait(ofCaller(other))
		if !tx.OthersWait() {
			t.Error("the caller of another tenant is not seen")
		}
		return nil
	}))(t)
	waiting.Wait()
}
