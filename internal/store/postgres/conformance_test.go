package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/test/must"
)

func openTraced(t *testing.T, tracer pgx.QueryTracer) storetest.Harness {
	t.Helper()
	return open("", tracer, func(_ *testing.T, db postgrestest.Database) string { return db.URL })(t)
}

func openDirect(t *testing.T) storetest.Harness {
	t.Helper()
	return open("", nil, func(_ *testing.T, db postgrestest.Database) string { return db.URL })(t)
}

// patient is the time limit of a statement in what shows how a store behaves, and not how fast: a busy machine answers late.
const patient = 5 * time.Minute

func open(mode string, tracer pgx.QueryTracer, at func(*testing.T, postgrestest.Database) string) func(t *testing.T) storetest.Harness {
	return func(t *testing.T) storetest.Harness {
		t.Helper()
		clock := storetest.NewClock()
		s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: at(t, postgrestest.New(t)), ExecMode: mode, Connections: 8, StatementTimeout: patient}, postgres.Deps{Clock: clock.Now, Tracer: tracer}))(t)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return storetest.Harness{Store: s, Clock: clock}
	}
}
