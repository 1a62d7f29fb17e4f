package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/test/must"
)

// pooled returns the URL of the pooler, and skips the test when there is none on purpose.
func pooled(t *testing.T, db postgrestest.Database) string {
	t.Helper()
	url, ok := db.Pooled(t)
	if !ok {
		t.Skip("PGBOUNCER_URL is none")
	}
	return url
}

// TestPreparedStatementsBehindAPooler: connections that the pooler shares lose or repeat prepared
// statements, and the error names the setting.
func TestPreparedStatementsBehindAPooler(t *testing.T) {
	t.Parallel()
	url := pooled(t, postgrestest.New(t))
	// A store that opens leaves its statements on a connection of the server that had none of them. The
	// pooler keeps few, so before long one of the stores finds the statements of another.
	const most = 100 // more than the connections of any pooler for tests
	var err error
	for try := 0; err == nil && try < most; try++ {
		err = refusal(t, postgres.Config{URL: url})
	}
	says(t, err, fault.Conflict, "set SLIPBOX_DATABASE_EXEC_MODE (database.exec_mode) to exec")
	for _, mode := range []string{"exec", "simple_protocol"} {
		if err := refusal(t, postgres.Config{URL: url, ExecMode: mode}); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// TestSettingsBehindAPooler: what a connection is set to holds in each transaction, and stays with no
// connection that others use next.
func TestSettingsBehindAPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			url := pooled(t, b.db)
			s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: url, ExecMode: mode, LockTimeout: 50 * time.Millisecond}, postgres.Deps{}))(t)
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			err := pgx.BeginFunc(t.Context(), connect(t, b.db.OwnerURL), func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), "SELECT 1 FROM collection_heads FOR UPDATE"); err != nil {
					return err
				}
				// Without the limit it would wait for this transaction, for longer than the test.
				_, err := s.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
					_, err := tx.Put(ctx, memory.Note{Content: "late"})
					return err
				})
				says(t, err, fault.Unavailable, "busy with other writes")
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			cc := must.Get(pgx.ParseConfig(url))(t)
			cc.DefaultQueryExecMode = pgx.QueryExecModeExec
			other := must.Get(pgx.ConnectConfig(t.Context(), cc))(t)
			defer func() { _ = other.Close(t.Context()) }()
			var scans, locks string
			if err := other.QueryRow(t.Context(), "SELECT current_setting('enable_seqscan'), current_setting('lock_timeout')").Scan(&scans, &locks); err != nil || scans != "on" || locks != "0" {
				t.Errorf("the next client of the pooler finds enable_seqscan %s and lock_timeout %s (%v)", scans, locks, err)
			}
		})
	}
}

// TestTenantsBehindAPooler: tenants that share the few connections of a pooler at the same time see their own rows alone, also where a
// statement forgets the tenant, and the next client of a connection that sets none sees nothing.
func TestTenantsBehindAPooler(t *testing.T) {
	t.Parallel()
	const tenants, rounds = 24, 20 // more than the pooler has connections
	y := newTenancy(t)
	ids := make([]uuid.UUID, tenants)
	for i := range ids {
		ids[i] = uuid.New()
		for range 1 + i%3 {
			direct(t, y.owner, y.inserts["reviews"], ids[i])
		}
	}
	url := pooled(t, y.db)
	err := together(tenants, func(i int) error {
		cc, err := pgx.ParseConfig(url)
		if err != nil {
			return err
		}
		cc.DefaultQueryExecMode = pgx.QueryExecModeExec
		conn, err := pgx.ConnectConfig(t.Context(), cc)
		if err != nil {
			return err
		}
		defer conn.Close(t.Context())
		for range rounds {
			var own, others, unset int
			err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), "SELECT set_config('slipbox.tenant', $1, true)", ids[i].String()); err != nil {
					return err
				}
				return tx.QueryRow(t.Context(), "SELECT COUNT(*) FILTER (WHERE tenant = $1), COUNT(*) FILTER (WHERE tenant <> $1) FROM reviews", ids[i]).Scan(&own, &others)
			})
			if err == nil {
				err = conn.QueryRow(t.Context(), "SELECT COUNT(*) FROM reviews").Scan(&unset)
			}
			if err != nil {
				return err
			}
			if own != 1+i%3 || others != 0 || unset != 0 {
				return fmt.Errorf("tenant %d sees %d of its %d rows and %d of others, and %d without a tenant", i, own, 1+i%3, others, unset)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
