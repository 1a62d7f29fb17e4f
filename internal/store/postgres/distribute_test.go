package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/test/must"
)

// standIn has the functions of Citus that Distribute calls. They move nothing; they refuse what the documentation of Citus says
// that it refuses (https://docs.citusdata.com/en/stable/develop/api_udf.html, reference_ddl.html): unique keys without the column
// that distributes, references to tables that are not together, triggers, a column of another type, and a table for the second time.
const standIn = `
CREATE TABLE pg_dist_partition (logicalrelid regclass PRIMARY KEY, distributed_by text);
CREATE FUNCTION create_distributed_table(table_name regclass, distribution_column text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = table_name) THEN
        RAISE EXCEPTION '% is distributed already', table_name;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = table_name AND a.attname = distribution_column AND a.attnotnull AND a.atttypid = 'uuid'::regtype) THEN
        RAISE EXCEPTION '% has no such column', table_name;
    END IF;
    IF EXISTS (SELECT FROM pg_index i WHERE i.indrelid = table_name AND (i.indisunique OR i.indisexclusion)
        AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = table_name AND a.attname = distribution_column AND a.attnum = ANY(i.indkey::int[]))) THEN
        RAISE EXCEPTION 'cannot create constraint on %: it does not contain the distribution column', table_name;
    END IF;
    IF EXISTS (SELECT FROM pg_constraint c WHERE c.contype = 'f' AND table_name IN (c.conrelid, c.confrelid)) THEN
        RAISE EXCEPTION '% has a foreign key', table_name;
    END IF;
    IF EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = table_name AND NOT g.tgisinternal) THEN
        RAISE EXCEPTION '% has a trigger', table_name;
    END IF;
    IF EXISTS (SELECT FROM pg_inherits h WHERE table_name IN (h.inhrelid, h.inhparent)) OR EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = table_name) THEN
        RAISE EXCEPTION '% inherits or has a rule', table_name;
    END IF;
    INSERT INTO pg_dist_partition VALUES (table_name, distribution_column);
END $$;
CREATE FUNCTION create_reference_table(table_name regclass) RETURNS void LANGUAGE sql AS 'INSERT INTO pg_dist_partition VALUES (table_name, NULL)';
`

// distributed returns a database that was distributed by the stand-in.
func distributed(t *testing.T) (postgrestest.Database, *pgx.Conn) {
	t.Helper()
	db := postgrestest.New(t)
	owner := connect(t, db.OwnerURL)
	direct(t, owner, standIn)
	must.Do(t, postgres.Distribute(t.Context(), db.OwnerURL))
	return db, owner
}

func TestDistributeNeedsCitus(t *testing.T) {
	t.Parallel()
	err := postgres.Distribute(t.Context(), postgrestest.New(t).OwnerURL)
	says(t, err, fault.Conflict, "CREATE EXTENSION citus")
}

// TestDistribute: each table of tenants is distributed by the tenant, once; that of tenants is on each machine.
func TestDistribute(t *testing.T) {
	t.Parallel()
	db, owner := distributed(t)
	if err := postgres.Distribute(t.Context(), db.OwnerURL); err != nil {
		t.Fatal("the second time:", err)
	}
	if got := texts(t, owner, "SELECT logicalrelid::text FROM pg_dist_partition WHERE distributed_by IS NULL"); !slices.Equal(got, []string{"tenants"}) {
		t.Errorf("on each machine: %v", got)
	}
	left := texts(t, owner, `SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
 AND NOT EXISTS (SELECT FROM pg_dist_partition d WHERE d.logicalrelid = c.oid) ORDER BY 1`)
	if !slices.Equal(left, []string{"goose_db_version", "pg_dist_partition", "schema_compat", "signing_keys"}) {
		t.Errorf("on the coordinator alone: %v", left)
	}
	// What Citus refuses where a statement is for all tenants.
	if bad := texts(t, owner, `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef
 AND (prosrc ~ 'RECURSIVE|LATERAL' OR prosrc ~* 'limit\s+1')`); len(bad) > 0 {
		t.Errorf("functions with recursion, or with a limit inside: %v", bad)
	}
	if bad := texts(t, owner, `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef
 AND NOT ('search_path=public, pg_temp' = ANY(proconfig))`); len(bad) > 0 {
		t.Errorf("functions whose path is open: %v", bad)
	}
}

// TestDistributedConformance runs what is about writes, claims and due work with transactions that set the tenant by SET LOCAL, and
// with the functions of a distributed database. The statements of lineages are the same: with SLIPBOX_SETUPS=all they run here, too.
func TestDistributedConformance(t *testing.T) {
	t.Parallel()
	storetest.RunAtOnce(t, func(t *testing.T) storetest.Harness {
		t.Helper()
		if strings.Split(t.Name(), "/")[1] == "Deep" && os.Getenv("SLIPBOX_SETUPS") != "all" {
			t.Skip("run in the default mode")
		}
		db, _ := distributed(t)
		clock := storetest.NewClock()
		s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: db.URL, Connections: 8, Distributed: true, StatementTimeout: patient}, postgres.Deps{Clock: clock.Now}))(t)
		t.Cleanup(func() { _ = s.Close() })
		return storetest.Harness{Store: s, Clock: clock}
	})
}

// TestDistributedFunctionsAgree compares the functions of a distributed database with those of the migrations, on random jobs and
// parts.
func TestDistributedFunctionsAgree(t *testing.T) {
	t.Parallel()
	plain := connect(t, postgrestest.New(t).OwnerURL)
	_, spread := distributed(t)
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	id := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	at := func() any {
		if random.IntN(3) == 0 {
			return nil
		}
		return now.Add(time.Duration(random.IntN(7)-3) * time.Minute)
	}
	both := func(text string, args ...any) {
		direct(t, plain, text, args...)
		direct(t, spread, text, args...)
	}
	for n := range 600 {
		tenant, job := random.IntN(4), id(1000+n)
		pick := func(of ...string) string { return of[random.IntN(len(of))] }
		both(`INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, losses, error, not_before, lease, lease_until, created_at)
 VALUES ($1, $2, $3, $2, 'note', $4, $5, $6, $7, $8, '', $9, $2, $10, $11)`, id(tenant), job, id(100+random.IntN(150)), pick("prepare", "decide", "decide", "task", "send"),
			pick("queued", "queued", "running", "done"), n, random.IntN(2), random.IntN(2), at(), at(), now)
		if random.IntN(3) == 0 {
			both("INSERT INTO spool (tenant, job, name, part, at, data) VALUES ($1, $2, $3, 1, $4, '')", id(random.IntN(40)), job, pick("body", "result"), now.Add(-time.Duration(random.IntN(9))*time.Hour))
		}
	}
	for _, text := range []string{
		"SELECT tenant::text || collection FROM due_collections($1, NULL) ORDER BY 1", "SELECT next_due()::text WHERE $1::timestamptz IS NOT NULL",
		"SELECT stale_parts($1::timestamptz - interval '4 hours', NULL)::text ORDER BY 1",
	} {
		for _, offset := range []time.Duration{-time.Hour, -time.Minute, 0, time.Minute, time.Hour} {
			want, got := texts(t, plain, text, now.Add(offset)), texts(t, spread, text, now.Add(offset))
			if !slices.Equal(want, got) {
				t.Errorf("%s at %s: %d rows, want %d", text, offset, len(got), len(want))
			}
		}
	}
	if len(texts(t, plain, "SELECT tenant::text FROM due_collections($1, NULL)", now)) < 10 {
		t.Error("the jobs are too few")
	}
}
