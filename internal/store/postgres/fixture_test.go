package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// bench is a store with a tenant and a collection.
type bench struct {
	*postgres.Store

	scope      tenant.Scope
	collection uuid.UUID
	trace      *tracer
	db         postgrestest.Database
}

// tracer counts round trips and commits.
type tracer struct{ trips, commits atomic.Int64 }

func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.trips.Add(1)
	return ctx
}

func (t *tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	t.trips.Add(1)
	for _, q := range data.Batch.QueuedQueries {
		if strings.HasPrefix(q.SQL, "COMMIT") {
			t.commits.Add(1)
		}
	}
	return ctx
}

func (t *tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (t *tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func newBench(tb testing.TB) bench {
	tb.Helper()
	b := bench{trace: &tracer{}, db: postgrestest.New(tb)}
	b.Store = must.Get(postgres.Open(tb.Context(), postgres.Config{URL: b.db.URL, Connections: 40}, postgres.Deps{Tracer: b.trace}))(tb)
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Error(err)
		}
	})
	ctx := tb.Context()
	tn := must.Get(b.CreateTenant(ctx, grant.Operator("test"), tenant.Tenant{Name: "t"}))(tb)
	b.scope = grant.Scope(tn.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	b.collection = b.create(tb, memory.Collection{Name: "c", Policy: "amem", Embedder: "hash", Dim: 384})
	return b
}

func (b bench) create(tb testing.TB, c memory.Collection) uuid.UUID {
	tb.Helper()
	created := must.Get(b.CreateCollection(tb.Context(), b.scope, memory.NewCollection{Collection: c}))(tb)
	return created.Collection.ID
}

func (b bench) open(tb testing.TB) memory.View {
	tb.Helper()
	v := must.Get(b.OpenView(tb.Context(), b.scope, b.collection.String(), memory.At{}))(tb)
	return v
}

// sound fails when Verify finds a problem.
func (b bench) sound(tb testing.TB) {
	tb.Helper()
	problems, err := b.Verify(tb.Context())
	if err != nil || len(problems) > 0 {
		tb.Fatal(problems, err)
	}
}

// until waits until a condition holds.
func until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for deadline := time.After(5 * time.Minute); !holds(); {
		select {
		case <-deadline:
			tb.Fatalf("%s: not within five minutes", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func meaning(seed int) []float32 {
	v := make([]float32, 384)
	for i := range v {
		v[i] = float32((seed*31+i*7)%97) / 97
	}
	return v
}

func plain(i int) memory.Note {
	return memory.Note{
		Content: fmt.Sprint("The quick brown fox jumps over the lazy dog ", i), Keywords: []string{"fox", "dog"}, Tags: []string{"animals"},
		State: memory.StateEvolved, Vector: meaning(i),
	}
}

// add adds notes as the API does: with their vectors, jobs and an audit entry.
func (b bench) add(tb testing.TB, notes ...memory.Note) []memory.Note {
	tb.Helper()
	return storetest.Add(tb, b, b.scope, b.collection, notes...)
}
