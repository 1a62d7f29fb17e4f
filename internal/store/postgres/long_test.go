//go:build !race

package postgres_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestConformance runs the suite of every engine, and explains what it sends. Among its cases: C001 (each add is a note of its
// own), C003 (ids are stable), C031 (links are lists), C056 and C058 (read and delete by id), C060
// (values keep their type), C064 (collections never mix), C066 and C067 (forks and batched copies),
// C069 (agents share a base), C075 (dimensions are not mixed), C077 (any version is restored).
//
//nolint:tparallel // the plans are those of what the suite has sent
func TestConformance(t *testing.T) {
	t.Parallel()
	sent := &statements{}
	t.Run("suite", func(t *testing.T) {
		traced := func(t *testing.T) storetest.Harness {
			t.Helper()
			return openTraced(t, sent)
		}
		storetest.Run(t, traced)
		storetest.RunAtOnce(t, traced)
	})
	sent.beside(t)
	t.Run("complete", sent.complete)
	t.Run("plans", sent.check)
}

// TestRandomHistories compares what a store holds after random operations with a model of plain maps.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	storetest.RandomHistories(t, openDirect(t))
}

// TestPoolerModes runs the suite in the modes without prepared statements, through a pooler that uses
// another connection for each transaction. Only the encoding of values differs, not the meaning of
// statements: cases that test only the meaning run once, above. SLIPBOX_POOLER_MODES=all runs it in both modes; the default
// is the one of the two that encodes all values as text, with the groups that have each kind of value.
func TestPoolerModes(t *testing.T) {
	t.Parallel()
	modes, once := []string{"simple_protocol"}, []string{"Reach", "Forks", "Removal", "Concurrency"}
	if os.Getenv("SLIPBOX_POOLER_MODES") == "all" {
		modes = append(modes, "exec")
	} else {
		once = append(once, "Notes", "Links", "Copies", "Attachments", "Tools", "Spool", "Secrets", "Texts", "Access", "Lineage", "Deep")
	}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			pooled := func(t *testing.T) storetest.Harness {
				t.Helper()
				if slices.Contains(once, strings.Split(t.Name(), "/")[2]) {
					t.Skip("run in the default mode")
				}
				return open(mode, nil, func(t *testing.T, db postgrestest.Database) string {
					t.Helper()
					url, _ := db.Pooled(t)
					return url
				})(t)
			}
			storetest.Run(t, pooled)
			storetest.RunAtOnce(t, pooled)
		})
	}
}

// TestMigrate goes up, down and up, twice at once.
func TestMigrate(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewEmpty(t)
	ctx := t.Context()
	role, owner := connect(t, db.URL).Config().User, connect(t, db.OwnerURL).Config().User
	says(t, postgres.Migrate(ctx, db.OwnerURL, owner), fault.Conflict, "owns the tables")
	says(t, postgres.Migrate(ctx, db.OwnerURL, "slipbox_nobody"), fault.Conflict, "CREATE ROLE")
	tables := "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S') AND relname NOT LIKE 'goose%'"
	for range 2 {
		must.Do(t, postgres.MigrateDown(ctx, db.OwnerURL, 0))
		if left := texts(t, connect(t, db.OwnerURL), tables); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := postgres.Migrate(ctx, db.OwnerURL, role); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		schema, err := postgres.MigrationStatus(ctx, db.OwnerURL)
		if err != nil || schema.Current != schema.Known || schema.CompatibleFrom != 3 {
			t.Fatal(schema, err)
		}
		must.Do(t, refusal(t, postgres.Config{URL: db.URL}))
	}
	// Each step alone.
	schema := must.Get(postgres.MigrationStatus(ctx, db.OwnerURL))(t)
	for to := schema.Known - 1; to >= 0; to-- {
		if err := postgres.MigrateDown(ctx, db.OwnerURL, to); err != nil {
			t.Fatal(to, err)
		}
		if err := postgres.Migrate(ctx, db.OwnerURL, role); err != nil {
			t.Fatal(to, err)
		}
	}
}

// TestOpenRefusesRolesAndExtensions tests set-ups that only a superuser can create, on a Postgres
// of the test's own.
func TestOpenRefusesRolesAndExtensions(t *testing.T) {
	t.Parallel()
	if os.Getenv("DATABASE_URL") == "" && os.Getenv("SLIPBOX_REQUIRE_SERVICES") != "1" {
		t.Skip("no DATABASE_URL: run \"make services\" and eval \"$(make -s services/env)\"")
	}
	own := newInstance(t)
	serving, owner := own.url("slipbox_app"), own.url("slipbox_owner")
	must.Do(t, postgres.Migrate(t.Context(), owner, "slipbox_app"))
	must.Do(t, refusal(t, postgres.Config{URL: serving}))
	for _, tt := range []struct{ do, undo, says string }{
		{"ALTER ROLE slipbox_app SUPERUSER", "ALTER ROLE slipbox_app NOSUPERUSER", "is a superuser"},
		{"ALTER ROLE slipbox_app BYPASSRLS", "ALTER ROLE slipbox_app NOBYPASSRLS", "has BYPASSRLS"},
		{"GRANT slipbox_owner TO slipbox_app", "REVOKE slipbox_owner FROM slipbox_app", "is a member of the role slipbox_owner, which owns the tables"},
		{
			"CREATE ROLE between; GRANT slipbox_owner TO between; GRANT between TO slipbox_app", "DROP ROLE between",
			"is a member of the role slipbox_owner",
		},
		{
			"UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'",
			"UPDATE pg_extension SET extversion = '0.8.0' WHERE extname = 'vector'", "has version 0.7.4, 0.8.0 or newer is needed",
		},
	} {
		own.psql(tt.do)
		says(t, refusal(t, postgres.Config{URL: serving}), fault.Conflict, tt.says)
		own.psql(tt.undo)
		if err := refusal(t, postgres.Config{URL: serving}); err != nil {
			t.Errorf("after %s: %v", tt.undo, err)
		}
	}
	own.psql("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
	says(t, postgres.Migrate(t.Context(), owner, "slipbox_app"), fault.Conflict, "ALTER EXTENSION vector UPDATE")
}
