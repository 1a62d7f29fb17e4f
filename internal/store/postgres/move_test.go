//go:build !race

package postgres_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/test/must"
)

// openOwner opens a new database as the owner, who moves stores.
func openOwner(t *testing.T) storetest.Harness {
	t.Helper()
	clock := storetest.NewClock()
	s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: postgrestest.New(t).OwnerURL, AnyRole: true, Connections: 4}, postgres.Deps{Clock: clock.Now}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return storetest.Harness{Store: s, Clock: clock}
}

func openEmbedded(t *testing.T) storetest.Harness {
	t.Helper()
	clock := storetest.NewClock()
	s := must.Get(sqlite.Open(t.Context(), sqlite.Config{Path: enginetest.File(t)}, sqlite.Deps{Clock: clock.Now}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return storetest.Harness{Store: s, Clock: clock}
}

func TestMove(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().Unix())
	t.Run("from embedded", func(t *testing.T) {
		t.Parallel()
		storetest.Move(t, seed, openEmbedded, openOwner, openEmbedded) //nolint:gocritic // each call opens another store
	})
	t.Run("from servers", func(t *testing.T) {
		t.Parallel()
		storetest.Move(t, seed+1, openOwner, openEmbedded, openOwner) //nolint:gocritic // each call opens another store
	})
}

func TestMoveRefused(t *testing.T) {
	t.Parallel()
	storetest.MoveRefused(t, openOwner, 1, openEmbedded(t))
}

// A serving role would see the rows of one tenant only, and export them as if they were all.
func TestMoveNeedsTheOwner(t *testing.T) {
	t.Parallel()
	s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: postgrestest.New(t).URL}, postgres.Deps{}))(t)
	defer func() { _ = s.Close() }()
	err := s.Export(t.Context(), func(store.Row) error { return nil })
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "MIGRATE_DATABASE_URL") {
		t.Errorf("exported as the serving role: %v", err)
	}
}

// New rows in a moved store follow those that were moved.
func TestMoveGoesOn(t *testing.T) {
	t.Parallel()
	source := openEmbedded(t)
	target := openOwner(t)
	storetest.Move(t, 3, func(*testing.T) storetest.Harness { return source }, func(*testing.T) storetest.Harness { return target })
	storetest.WritableAfterMove(t, target)
}

// A change of the schema needs a change of what is moved.
func TestMoveKnowsTheSchema(t *testing.T) {
	t.Parallel()
	conn := must.Get(pgx.Connect(t.Context(), postgrestest.New(t).OwnerURL))(t)
	defer func() { _ = conn.Close(t.Context()) }()
	rows := must.Get(conn.Query(t.Context(), `SELECT c.table_name || ' ' || c.column_name || ' ' || c.udt_name || ' ' || c.is_nullable || ' ' ||
 CASE WHEN k.column_name IS NULL THEN 'value' ELSE 'key' END
 FROM information_schema.columns c LEFT JOIN information_schema.key_column_usage k
 ON k.table_schema = c.table_schema AND k.table_name = c.table_name AND k.column_name = c.column_name
 WHERE c.table_schema = 'public' AND c.table_name NOT IN ('goose_db_version', 'schema_compat', 'tenant_notes', 'tenant_jobs')`))(t)
	have := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
	types := map[store.Kind][]string{
		store.KindID: {"uuid"}, store.KindText: {"text"}, store.KindInt: {"int8", "int4"}, store.KindReal: {"float8"}, store.KindBool: {"bool"}, store.KindTime: {"timestamptz"},
		store.KindEvent: {"timestamptz"}, store.KindObject: {"jsonb"}, store.KindJSON: {"json"}, store.KindTexts: {"_text"}, store.KindBytes: {"bytea"}, store.KindHalf: {"halfvec"}, store.KindCodes: {"bytea"},
	}
	n := 0
	for _, table := range store.Tables() {
		for i, c := range table.Columns {
			n++
			null, key := "NO", "value"
			if c.Optional {
				null = "YES"
			}
			if i < table.Key {
				key = "key"
			}
			if !slices.ContainsFunc(types[c.Kind], func(kind string) bool {
				return slices.Contains(have, strings.Join([]string{table.Name, c.Name, kind, null, key}, " "))
			}) {
				t.Errorf("store.Tables has %s.%s (%s, optional %v, %s); the schema does not", table.Name, c.Name, c.Kind, c.Optional, key)
			}
		}
	}
	if n != len(have) {
		t.Errorf("store.Tables has %d columns, the schema %d: %s", n, len(have), strings.Join(have, ", "))
	}
	steps, err := postgres.Migrations()
	if err != nil || steps[len(steps)-1].Version != store.MoveSchema {
		t.Errorf("the newest migration is %v (%v); store.MoveSchema is %d: bring it and store.Tables up to date", steps[len(steps)-1].File, err, store.MoveSchema)
	}
}
