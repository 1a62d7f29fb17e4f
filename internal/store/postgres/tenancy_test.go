package postgres_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/test/must"
)

// ofNoTenant are the tables that belong to no tenant.
var ofNoTenant = []string{"tenants", "signing_keys", "goose_db_version", "schema_compat"}

// values returns a row of any table, by the types of its columns.
var values = map[string]string{
	"uuid": "gen_random_uuid()", "text": "'x'", "bigint": "1", "integer": "1", "boolean": "false", "double precision": "1",
	"timestamp with time zone": "now()", "json": "'{}'", "jsonb": "'{}'", "bytea": `'\x00'`, "text[]": "'{}'", "halfvec": "'[1,0]'",
}

// tenancy is a database with a row of each of two tenants in every table.
type tenancy struct {
	db             postgrestest.Database
	owner, serving *pgx.Conn
	mine, other    uuid.UUID
	tables         []string // that belong to tenants
	inserts        map[string]string
}

func newTenancy(t *testing.T) *tenancy {
	t.Helper()
	db := postgrestest.New(t)
	y := &tenancy{db: db, owner: connect(t, db.OwnerURL), serving: connect(t, db.URL), mine: uuid.New(), other: uuid.New(), inserts: map[string]string{}}
	for _, name := range texts(t, y.owner, "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1") {
		if slices.Contains(ofNoTenant, name) {
			continue
		}
		y.tables = append(y.tables, name)
		var columns, row []string
		for _, c := range texts(t, y.owner, `SELECT attname || ' ' || format_type(atttypid, NULL) FROM pg_attribute
 WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, name) {
			column, kind, _ := strings.Cut(c, " ")
			value, ok := values[kind]
			if !ok {
				t.Fatalf("%s.%s: no value of type %s", name, column, kind)
			}
			if column == "tenant" {
				value = "$1"
			}
			columns, row = append(columns, column), append(row, value)
		}
		y.inserts[name] = "INSERT INTO " + name + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(row, ", ") + ")"
		for _, id := range []uuid.UUID{y.mine, y.other} {
			if _, err := y.owner.Exec(t.Context(), y.inserts[name], id); err != nil {
				t.Fatal(name, err)
			}
		}
	}
	if len(y.tables) < 15 {
		t.Fatalf("only %d tables: %v", len(y.tables), y.tables)
	}
	return y
}

func connect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn := must.Get(pgx.Connect(tb.Context(), url))(tb)
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func texts(t *testing.T, conn *pgx.Conn, query string, args ...any) []string {
	t.Helper()
	rows := must.Get(conn.Query(t.Context(), query, args...))(t)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(query, err)
	}
	return out
}

// as runs fn in a transaction of a tenant on the serving connection; "" sets none.
func (y *tenancy) as(t *testing.T, tenant string, fn func(tx pgx.Tx)) {
	t.Helper()
	tx := must.Get(y.serving.Begin(t.Context()))(t)
	defer tx.Rollback(t.Context())
	if tenant != "" {
		must.Get(tx.Exec(t.Context(), "SELECT set_config('slipbox.tenant', $1, true)", tenant))(t)
	}
	fn(tx)
	if err := tx.Commit(t.Context()); err != nil && !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Fatal(err)
	}
}

// sees counts the rows that a transaction sees in each table.
func (y *tenancy) sees(t *testing.T, tenant string, want int) {
	t.Helper()
	for _, name := range y.tables {
		y.as(t, tenant, func(tx pgx.Tx) {
			var n int
			if err := tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM "+name).Scan(&n); err != nil {
				t.Fatal(name, err)
			}
			if n != want {
				t.Errorf("as tenant %q: %d rows of %s, want %d", tenant, n, name, want)
			}
		})
	}
}

// TestStatementsSeeTheirTenant tests the limit that the server itself puts on a statement, in case
// ours forgets the tenant.
func TestStatementsSeeTheirTenant(t *testing.T) {
	t.Parallel()
	y := newTenancy(t)
	y.sees(t, "", 0)
	y.sees(t, uuid.NewString(), 0)
	y.sees(t, y.mine.String(), 1)
	// The same connection after a commit that had a tenant, as a pool hands it out again.
	y.sees(t, "", 0)
}

func TestStatementsWriteForTheirTenant(t *testing.T) {
	t.Parallel()
	y := newTenancy(t)
	for _, name := range y.tables {
		for what, text := range map[string]string{
			"insert for": y.inserts[name], "give to": "UPDATE " + name + " SET tenant = $1",
		} {
			for _, as := range []string{"", y.mine.String()} {
				y.as(t, as, func(tx pgx.Tx) {
					tag, err := tx.Exec(t.Context(), text, y.other)
					e, ok := errors.AsType[*pgconn.PgError](err)
					if refused := ok && e.Code == "42501"; !refused && (err != nil || tag.RowsAffected() > 0) {
						t.Errorf("as tenant %q: %s another: %s: %d rows, %v", as, what, name, tag.RowsAffected(), err)
					}
				})
			}
		}
		y.as(t, y.mine.String(), func(tx pgx.Tx) {
			for _, text := range []string{"UPDATE " + name + " SET tenant = tenant WHERE tenant = $1", "DELETE FROM " + name + " WHERE tenant = $1"} {
				if tag, err := tx.Exec(t.Context(), text, y.other); err != nil || tag.RowsAffected() > 0 {
					t.Errorf("%s: %d rows, %v", text, tag.RowsAffected(), err)
				}
			}
		})
		var n int
		if err := y.owner.QueryRow(t.Context(), "SELECT COUNT(*) FROM "+name+" WHERE tenant = $1", y.other).Scan(&n); err != nil || n != 1 {
			t.Errorf("%s: %d rows of the other tenant, %v", name, n, err)
		}
	}
}

// TestEveryTableIsHeldToTenants reads from the catalog what a migration could forget.
func TestEveryTableIsHeldToTenants(t *testing.T) {
	t.Parallel()
	owner := connect(t, postgrestest.New(t).OwnerURL)
	for what, query := range map[string]string{
		"tables without row-level security": `SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
 AND NOT (relrowsecurity AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = pg_class.oid AND p.polname = 'own_tenant' AND p.polcmd = '*' AND p.polroles = '{0}'))
 AND relname <> ALL($1)`,
		"tables with a second policy": `SELECT polrelid::regclass::text FROM pg_policy WHERE $1::text[] IS NOT NULL GROUP BY polrelid HAVING COUNT(*) > 1`,
		"views without the condition of the policies, or that somebody may write": `SELECT relname::text FROM pg_class v
 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('v', 'm') AND relname <> ALL($1) AND (relkind = 'm'
  OR replace(pg_get_viewdef(oid), substr(relname, 8) || '.', '') NOT LIKE '%FROM ' || substr(relname, 8) || E'\n  WHERE (tenant = (NULLIF(current_setting(''slipbox.tenant''::text, true), ''''::text))::uuid);'
  OR EXISTS (SELECT FROM aclexplode(v.relacl) a WHERE a.grantee <> v.relowner AND (a.grantee = 0 OR a.privilege_type <> 'SELECT')))`,
		"unique keys that do not begin with the tenant": `SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
 WHERE t.relnamespace = 'public'::regnamespace AND t.relname <> ALL($1) AND i.indisunique
 AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attnum = i.indkey[0] AND a.attname = 'tenant')`,
		"foreign keys that do not begin with the tenant": `SELECT c.conname::text FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
 WHERE c.contype = 'f' AND t.relnamespace = 'public'::regnamespace AND t.relname <> ALL($1)
 AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attnum = c.conkey[1] AND a.attname = 'tenant')`,
		"functions with the owner's rights that anybody may call, whose path is open, or that give more than ids, times and numbers": `SELECT f.oid::regprocedure::text FROM pg_proc f
 WHERE f.pronamespace = 'public'::regnamespace AND f.prosecdef AND $1::text[] IS NOT NULL AND (
  EXISTS (SELECT FROM aclexplode(COALESCE(f.proacl, acldefault('f', f.proowner))) a WHERE a.grantee = 0)
  OR NOT EXISTS (SELECT FROM unnest(f.proconfig) s WHERE s = 'search_path=public, pg_temp')
  OR EXISTS (SELECT FROM unnest(CASE WHEN f.proargmodes IS NULL THEN ARRAY[f.prorettype]
    ELSE ARRAY(SELECT o.type FROM unnest(f.proallargtypes, f.proargmodes) o (type, mode) WHERE o.mode IN ('o', 'b', 't')) END) r (type)
   WHERE r.type NOT IN ('uuid'::regtype, 'timestamptz'::regtype, 'bigint'::regtype)))`,
	} {
		if found := texts(t, owner, query, ofNoTenant); len(found) > 0 {
			t.Errorf("%s: %v", what, found)
		}
	}
	// The queries do find rows where there are some.
	if found := texts(t, owner, "SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef"); len(found) < 2 {
		t.Errorf("functions that cross tenants: %v", found)
	}
}

// TestCallersDoNotBorrowTheOwner: a function with the owner's rights must not read views that the
// serving role creates, which would run with those rights.
func TestCallersDoNotBorrowTheOwner(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	serving := connect(t, db.URL)
	for _, text := range []string{
		"CREATE FUNCTION pg_temp.as_whom() RETURNS uuid LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran as %', current_user; END $$",
		"CREATE TEMP VIEW collections AS SELECT pg_temp.as_whom() AS tenant, gen_random_uuid() AS id, now() AS expires_at, 'active'::text AS state, true AS ephemeral",
		"CREATE TEMP VIEW jobs AS SELECT pg_temp.as_whom() AS tenant, gen_random_uuid() AS collection, 1::bigint AS seq, 'task'::text AS stage, 'queued'::text AS state, 0 AS attempts, now() AS not_before, now() AS lease_until",
		"GRANT ALL ON pg_temp.collections, pg_temp.jobs TO PUBLIC",
	} {
		if _, err := serving.Exec(t.Context(), text); err != nil {
			t.Fatal(text, err)
		}
	}
	for _, text := range []string{
		"SELECT * FROM expired_collections('infinity', 1)", "SELECT * FROM expiring_collections('infinity', 1)", "SELECT * FROM ephemeral_collections(1)",
		"SELECT * FROM due_collections('infinity', 1)", "SELECT next_due()",
	} {
		if _, err := serving.Exec(t.Context(), text); err != nil {
			t.Error(text, err)
		}
	}
}
