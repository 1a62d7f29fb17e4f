package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/migrations"
)

// migrationLock is the key of the advisory lock under which one process at a time migrates a
// database: "slipbox".
const migrationLock = 0x736c6970_626f78

// Migrate applies the migrations that are missing and grants the serving role the rights that it
// needs, and no more; role "" is granted nothing. ownerURL connects as the owner of the tables,
// directly: not through a pooler that uses another connection for each transaction. Migrate may run
// twice, and in several processes concurrently.
//
// A role that does not exist, a missing extension and a database that a newer build has migrated
// are Conflicts that say what to do.
func Migrate(ctx context.Context, ownerURL, role string) error {
	return migrating(ctx, ownerURL, func(ctx context.Context, conn *pgx.Conn, m *store.Migrator) error {
		if err := m.Up(ctx); err != nil {
			return err
		}
		var version string
		if err := conn.QueryRow(ctx, vectorVersion).Scan(&version); err != nil {
			return err
		}
		if err := checkVector(version); err != nil {
			return err
		}
		if role == "" {
			return nil
		}
		return grant(ctx, conn, role)
	})
}

// MigrateDown migrates the schema back to a version; 0 removes everything but the extension.
func MigrateDown(ctx context.Context, ownerURL string, to int64) error {
	return migrating(ctx, ownerURL, func(ctx context.Context, _ *pgx.Conn, m *store.Migrator) error { return m.DownTo(ctx, to) })
}

// MigrationStatus returns the version of the database. It creates nothing, and does not wait for a
// running migration.
func MigrationStatus(ctx context.Context, ownerURL string) (s store.Schema, err error) {
	err = connected(ctx, ownerURL, func(conn *pgx.Conn) (err error) {
		s, err = readSchema(func(text string, dest ...any) error { return conn.QueryRow(ctx, text).Scan(dest...) })
		return err
	})
	return s, err
}

// migrating runs fn while no other process migrates the database.
func migrating(ctx context.Context, ownerURL string, fn func(context.Context, *pgx.Conn, *store.Migrator) error) error {
	return connected(ctx, ownerURL, func(conn *pgx.Conn) (err error) {
		// The lock ends with its connection.
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		db := stdlib.OpenDB(*conn.Config())
		defer func() { err = errors.Join(err, db.Close()) }()
		m, err := newMigrator(db)
		if err != nil {
			return err
		}
		return explain(fn(ctx, conn, m))
	})
}

// connected runs fn with a connection of the owner, and translates its error.
func connected(ctx context.Context, ownerURL string, fn func(*pgx.Conn) error) (err error) {
	if ownerURL == "" {
		return fault.InvalidField("migrate_database_url", "is required")
	}
	cc, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return fault.InvalidField("migrate_database_url", "cannot be read: %v", err)
	}
	if cc.RuntimeParams["application_name"] == "" {
		cc.RuntimeParams["application_name"] = "slipbox migrate"
	}
	defer func() { err = new(Store).translate(err) }()
	conn, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return fn(conn)
}

func newMigrator(db *sql.DB) (*store.Migrator, error) {
	folder, err := fs.Sub(migrations.Postgres, "postgres")
	if err != nil {
		return nil, err
	}
	return store.NewMigrator(db, store.Postgres, folder)
}

// Migrations returns the steps that this build knows, oldest first.
var Migrations = sync.OnceValues(func() ([]migrations.Step, error) {
	folder, err := fs.Sub(migrations.Postgres, "postgres")
	if err != nil {
		return nil, err
	}
	return migrations.Steps(folder)
})

// explain returns a fault that says what to do when the owner may not create the extension or the
// tables, or when the server lacks the extension.
func explain(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok || fault.CodeOf(err) != fault.Internal: // explained already
	case e.Code == "42501": // insufficient_privilege
		return fault.Wrap(err, fault.Conflict, "the owner lacks a right: %s; let an administrator run CREATE EXTENSION vector in this database and make the role of MIGRATE_DATABASE_URL the owner of the database or give it CREATE on the schema, then run \"gateway migrate up\" again", e.Message)
	case slices.Contains([]string{"0A000", "58P01"}, e.Code): // feature_not_supported, undefined_file
		return fault.Wrap(err, fault.Conflict, "the server does not have the extension vector; install pgvector %s or newer on it, then run \"gateway migrate up\" again", oldestVector)
	}
	return err
}

// grant grants the serving role its rights, and revokes the default rights of all others.
func grant(ctx context.Context, conn *pgx.Conn, role string) error {
	var known, owns bool
	if err := conn.QueryRow(ctx, `SELECT r.oid IS NOT NULL, COALESCE(pg_has_role(r.oid, c.relowner, 'MEMBER'), false)
 FROM pg_class c LEFT JOIN pg_roles r ON r.rolname = $1 WHERE c.oid = to_regclass('collections')`, role).Scan(&known, &owns); err != nil {
		return err
	}
	name := pgx.Identifier{role}.Sanitize()
	if owns {
		return fault.New(fault.Conflict, "the role %s owns the tables, or may act as their owner, so that row-level security would not hold it to a tenant; name another serving role in SLIPBOX_DATABASE_ROLE, then run \"gateway migrate up\" again", role)
	}
	if !known {
		return fault.New(fault.Conflict, "the serving role %s does not exist; let an administrator run CREATE ROLE %s LOGIN PASSWORD '…', then run \"gateway migrate up\" again (SLIPBOX_DATABASE_ROLE names another)", role, name)
	}
	rows, err := conn.Query(ctx, `WITH home AS (SELECT relnamespace AS id, relowner AS owner FROM pg_class WHERE oid = to_regclass('collections'))
SELECT format('SCHEMA %I', n.nspname), 'USAGE' FROM pg_namespace n, home WHERE n.oid = home.id
UNION ALL SELECT format('TABLE %s', t.oid::regclass), 'SELECT, INSERT, UPDATE, DELETE' FROM pg_class t, home
 WHERE t.relnamespace = home.id AND (t.relname IN ('tenants', 'signing_keys') OR t.oid IN (SELECT polrelid FROM pg_policy WHERE polname = 'own_tenant'))
UNION ALL SELECT format('TABLE %s', v.oid::regclass), 'SELECT' FROM pg_class v, home WHERE v.relnamespace = home.id AND v.relowner = home.owner AND v.relkind = 'v' AND v.relname IN ('tenant_notes', 'tenant_jobs')
UNION ALL SELECT format('TABLE %s', to_regclass('`+versionTable+`')), 'SELECT'
UNION ALL SELECT format('TABLE %s', to_regclass('`+store.CompatTable+`')), 'SELECT'
UNION ALL SELECT format('SEQUENCE %s', to_regclass('audit_ids')), 'USAGE'
UNION ALL SELECT format('FUNCTION %s', f.oid::regprocedure), 'EXECUTE' FROM pg_proc f, home
 WHERE f.pronamespace = home.id AND f.proowner = home.owner AND f.prosecdef`)
	if err != nil {
		return err
	}
	type right struct{ On, What string }
	rights, err := pgx.CollectRows(rows, pgx.RowToStructByPos[right])
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(t pgx.Tx) error {
		for i, r := range rights {
			statements := []string{fmt.Sprintf("GRANT %s ON %s TO %s", r.What, r.On, name)}
			if i > 0 { // the schema may be used by others too
				statements = append([]string{
					fmt.Sprintf("REVOKE ALL ON %s FROM PUBLIC", r.On), fmt.Sprintf("REVOKE ALL ON %s FROM %s", r.On, name),
				}, statements...)
			}
			for _, text := range statements {
				if _, err := t.Exec(ctx, text); err != nil {
					return fmt.Errorf("%s: %w", text, err)
				}
			}
		}
		return nil
	})
}
