package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
)

// A database can spread its tenants over machines by the extension Citus: the tables of tenants are distributed by the tenant, and
// all rows of a tenant are on one machine. Citus plans a statement for a machine when it names the tenant for each table, as all
// statements of this package do. It refuses recursion and limits inside of subqueries where a statement is for all tenants, so the
// functions that look for work of all tenants have another form there.

// Distribute spreads the tables of tenants, and gives the functions that look at all tenants the form that such a database runs.
// It follows Migrate, and may run twice. Without the extension it is a Conflict that says what to do.
func Distribute(ctx context.Context, ownerURL string) error {
	return migrating(ctx, ownerURL, func(ctx context.Context, conn *pgx.Conn, _ *store.Migrator) error {
		var missing bool
		if err := conn.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM pg_proc WHERE proname = 'create_distributed_table')").Scan(&missing); err != nil {
			return err
		}
		if missing {
			return fault.New(fault.Conflict, "the database does not have the extension citus; let an administrator run CREATE EXTENSION citus in this database on the coordinator and each worker, and CREATE EXTENSION vector on the workers, then run \"gateway migrate up\" again (SLIPBOX_DATABASE_DISTRIBUTED)")
		}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return distribute(ctx, tx) })
	})
}

func distribute(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, undistributed)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, table := range tables {
		// Tables with the same type of column and as many shards are together, unless one was told to be apart.
		if _, err := tx.Exec(ctx, "SELECT create_distributed_table($1::text::regclass, 'tenant')", table); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	if _, err := tx.Exec(ctx, "SELECT create_reference_table('tenants'::regclass) WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'tenants'::regclass)"); err != nil {
		return fmt.Errorf("table tenants: %w", err)
	}
	if _, err := tx.Exec(ctx, "SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true)"); err != nil {
		return err
	}
	for _, text := range acrossMachines {
		if _, err := tx.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// undistributed are the tables of tenants that are on the coordinator alone.
const undistributed = `SELECT t.oid::regclass::text FROM pg_class t JOIN pg_policy p ON p.polrelid = t.oid AND p.polname = 'own_tenant'
 WHERE t.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('collections'))
 AND NOT EXISTS (SELECT FROM pg_dist_partition d WHERE d.logicalrelid = t.oid) ORDER BY 1`

// acrossMachines are the functions of the migrations that look at all tenants, without recursion and without limits inside: each
// machine groups its own rows. They read all that wait, where those of the migrations step from collection to collection.
var acrossMachines = []string{
	strings.ReplaceAll(`CREATE OR REPLACE FUNCTION due_collections(at timestamptz, most integer) RETURNS TABLE (tenant uuid, collection uuid)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT g.tenant, g.collection FROM (
        SELECT j.tenant, j.collection,
            bool_or(j.stage <> 'decide' AND CLAIMABLE) AS beside,
            min(j.seq) FILTER (WHERE j.stage = 'decide' AND (CLAIMABLE OR j.state = 'queued' AND j.attempts = 0 AND j.losses = 0)) AS first,
            min(j.seq) FILTER (WHERE j.stage = 'decide' AND CLAIMABLE) AS due,
            bool_or(j.stage = 'decide' AND j.state = 'running' AND j.lease_until > at) AS decides,
            min(j.seq) FILTER (WHERE j.stage = 'prepare' AND j.attempts = 0 AND j.losses = 0) AS unprepared
        FROM jobs j WHERE j.state IN ('queued', 'running') GROUP BY j.tenant, j.collection) g
    WHERE g.beside OR g.due = g.first AND NOT g.decides AND (g.unprepared IS NULL OR g.unprepared > g.first)
    ORDER BY random() LIMIT most
$$`, "CLAIMABLE", "(j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= at) OR j.state = 'running' AND j.lease_until <= at)"),
	`CREATE OR REPLACE FUNCTION expiring_collections(at timestamptz, most integer) RETURNS TABLE (tenant uuid, collection uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT h.tenant, h.collection FROM collection_heads h JOIN collections c ON c.tenant = h.tenant AND c.id = h.collection
    WHERE h.next_expiry <= at AND c.state = 'active' ORDER BY h.next_expiry, h.collection LIMIT most
$$`,
	`CREATE OR REPLACE FUNCTION next_due() RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT min(coalesce(CASE j.state WHEN 'queued' THEN j.not_before ELSE j.lease_until END, 'epoch')) FROM jobs j WHERE j.state IN ('queued', 'running')
$$`,
	`CREATE OR REPLACE FUNCTION stale_parts(before timestamptz, most integer) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT s.tenant FROM spool s LEFT JOIN jobs j ON j.tenant = s.tenant AND j.id = s.job AND j.state IN ('queued', 'running')
    WHERE s.at < before AND (s.name <> 'body' OR j.id IS NULL) GROUP BY s.tenant LIMIT most
$$`,
}

// entered returns the statements that begin work for a tenant in a database that spreads tenants: parameters that SET LOCAL sets in
// a transaction hold on the machine of the tenant, too, where row-level security reads one of them.
func (c *Config) entered(tenant uuid.UUID) []statement {
	return []statement{
		{text: "SET LOCAL citus.propagate_set_commands TO 'local'"},
		{text: "SET LOCAL slipbox.tenant TO '" + tenant.String() + "'"},
		{text: "SET LOCAL statement_timeout TO " + millis(c.StatementTimeout)},
		{text: "SET LOCAL lock_timeout TO " + millis(c.LockTimeout)},
		{text: "SET LOCAL timezone TO 'UTC'"},
		{text: "SET LOCAL enable_seqscan TO off"},
		{text: "SELECT set_config('synchronous_commit', " + durableCommit + ", true)"},
	}
}
