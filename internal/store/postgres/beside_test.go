package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/test/must"
)

// beside opens a store on the same database, as another process would, with a clock that is ahead
// by some time.
func (b bench) beside(tb testing.TB, ahead time.Duration) bench {
	tb.Helper()
	clock := func() time.Time { return time.Now().Add(ahead) }
	s := must.Get(postgres.Open(tb.Context(), postgres.Config{URL: b.db.URL, Connections: 8}, postgres.Deps{Clock: clock}))(tb)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	b.Store = s
	return b
}

// owner connects as the owner, whom row-level security does not limit.
func (b bench) owner(tb testing.TB) *pgx.Conn {
	tb.Helper()
	conn := must.Get(pgx.Connect(tb.Context(), b.db.OwnerURL))(tb)
	tb.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return conn
}

func direct(tb testing.TB, conn *pgx.Conn, text string, args ...any) {
	tb.Helper()
	must.Get(conn.Exec(tb.Context(), text, args...))(tb)
}

// together runs n goroutines and returns their errors.
func together(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func isRefused(tb testing.TB, err error, code fault.Code) {
	tb.Helper()
	if !fault.Is(err, code) {
		tb.Fatalf("got %v, want a fault %q", err, code)
	}
}

// enqueued enqueues jobs in one transaction and returns them.
func (b bench) enqueued(tb testing.TB, jobs ...memory.Job) []memory.Job {
	tb.Helper()
	return storetest.Enqueue(tb, b, b.scope, b.collection, jobs...)
}

// put writes one note.
func (b bench) put(tb testing.TB, collection uuid.UUID, n memory.Note) memory.Note {
	tb.Helper()
	must.Get(b.Write(tb.Context(), b.scope, collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) (err error) {
		n, err = tx.Put(ctx, n)
		return err
	}))(tb)
	return n
}

// Two gateways keep to the limits of a tenant together. They have few connections: a burst opens all at once, and on a busy
// machine forty take longer than a connection may.
func TestTwoGatewaysKeepToLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	storetest.KeepsToLimits(t, b.scope, b.beside(t, 0).Store, b.beside(t, time.Second).Store)
	b.sound(t)
}
