package postgres_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/test/must"
)

// onEachNode are the tables that have no tenant, or are one: small, and the same on each node of a database that spreads the
// others by tenant, such as Citus.
var onEachNode = []string{"goose_db_version", "schema_compat", "signing_keys", "tenants"}

// Tables can be spread over machines by tenant: each has it in its primary key and in all its unique indexes, and none refers to
// another or counts rows for all. So Citus documents it (https://docs.citusdata.com/en/stable/sharding/data_modeling.html).
func TestTablesAreTenants(t *testing.T) {
	t.Parallel()
	owner := must.Get(pgx.Connect(t.Context(), postgrestest.New(t).OwnerURL))(t)
	t.Cleanup(func() { _ = owner.Close(context.WithoutCancel(t.Context())) })
	list := func(text string) []string {
		rows := must.Get(owner.Query(t.Context(), text, onEachNode))(t)
		out := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
		return out
	}
	const tables = ` FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> ALL($1)`
	if n := len(list("SELECT c.relname" + tables)); n < 20 {
		t.Fatalf("%d tables of tenants", n)
	}
	for problem, text := range map[string]string{
		"no primary key with the tenant": "SELECT c.relname" + tables + ` AND NOT EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey::int[])
 WHERE i.indrelid = c.oid AND i.indisprimary AND a.attname = 'tenant' AND a.atttypid = 'uuid'::regtype)`,
		"a unique index without the tenant": `SELECT c.relname || ' ' || i.indexrelid::regclass` + strings.Replace(tables, "WHERE", "JOIN pg_index i ON i.indrelid = c.oid WHERE", 1) + ` AND i.indisunique
 AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY(i.indkey::int[]) AND a.attname = 'tenant')`,
		"a reference or an exclusion": `SELECT c.relname || ' ' || k.conname` + strings.Replace(tables, "WHERE", "JOIN pg_constraint k ON k.conrelid = c.oid WHERE", 1) + ` AND k.contype IN ('f', 'x')`,
		"a trigger":                   `SELECT c.relname || ' ' || g.tgname` + strings.Replace(tables, "WHERE", "JOIN pg_trigger g ON g.tgrelid = c.oid WHERE", 1) + ` AND NOT g.tgisinternal`,
		"a sequence": `SELECT s.relname FROM pg_class s WHERE s.relnamespace = 'public'::regnamespace AND s.relkind = 'S' AND s.relname NOT LIKE ALL(SELECT x || '%' FROM unnest($1::text[]) x)
 AND s.relname <> 'audit_ids'`, // of which only the order within a tenant matters
	} {
		if found := list(text); len(found) > 0 {
			t.Errorf("%s: %s", problem, strings.Join(found, ", "))
		}
	}
}

// acrossTenants matches the statements that are meant to look at rows of all tenants: due work, checks, and what has expired.
var acrossTenants = regexp.MustCompile(`(?s)x\.tenant <>`)

// strays returns the tables that a statement reads or changes by something else than the tenant: a database that is spread by
// tenant would ask all its machines for them, or move their rows between two.
func (n planNode) strays(text string) (out []string) {
	if acrossTenants.MatchString(text) {
		return nil
	}
	n.each(func(n planNode) {
		if n.Table == "" || strings.HasPrefix(n.Table, "pg_") || slices.Contains(onEachNode, n.Table) || n.Type == "ModifyTable" {
			return
		}
		if !ofOneTenant.MatchString(n.Cond + n.Recheck + n.Filter) {
			out = append(out, "without the tenant: "+n.Type+" "+n.Table+" "+n.Index+" "+n.Cond)
		}
	})
	return out
}

// ofOneTenant matches the condition of a scan that reads one tenant: a value, a parameter, or the tenant of the row it is joined to.
var ofOneTenant = regexp.MustCompile(`\btenant = (\$\d+|'[0-9a-f-]{36}'::uuid|([\w.*\" ]+\.)?tenant)`)
