package postgrestest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestNew: a test finds no rows of the test before, nor a changed schema, though it has the same database
// where only rows were written.
func TestNew(t *testing.T) {
	t.Parallel()
	use := func(change string) (oid, tenants, next int64) {
		t.Run("", func(t *testing.T) {
			conn := must.Get(pgx.Connect(t.Context(), postgrestest.New(t).OwnerURL))(t)
			defer conn.Close(t.Context())
			must.Do(t, conn.QueryRow(t.Context(), `SELECT (SELECT oid FROM pg_database WHERE datname = current_database())::bigint,
 (SELECT count(*) FROM tenants), nextval('audit_ids')`).Scan(&oid, &tenants, &next))
			must.Get(conn.Exec(t.Context(), change))(t)
		})
		return oid, tenants, next
	}
	first, _, _ := use("INSERT INTO tenants (id, name, state, limits, created_at) VALUES (gen_random_uuid(), 'acme', 'active', '{}', now())")
	second, tenants, next := use("ALTER TABLE notes DISABLE ROW LEVEL SECURITY")
	if second != first || tenants != 0 || next != 1 {
		t.Errorf("after rows were written: database %d, then %d with %d tenants and the number %d; want the same, empty", first, second, tenants, next)
	}
	for _, change := range []string{"CREATE TABLE more ()", "UPDATE schema_compat SET compatible_from = 0", "SELECT"} {
		third, tenants, next := use(change)
		if third == second || tenants != 0 || next != 1 {
			t.Errorf("after the schema was changed, before %s: database %d, then %d with %d tenants and the number %d; want another, empty", change, second, third, tenants, next)
		}
		second = third
	}
}
