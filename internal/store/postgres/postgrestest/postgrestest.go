// Package postgrestest gives each test a database: one that an earlier test used, emptied, or a copy
// of a template that is migrated once per schema.
//
// It needs a server: DATABASE_URL connects with the serving role, MIGRATE_DATABASE_URL with an
// owner that may create databases ("make services" starts one). Without them tests are skipped, or
// fail when SLIPBOX_REQUIRE_SERVICES is 1. PGBOUNCER_URL connects through a pooler in transaction mode.
// internal/store/enginetest and the tests of internal/store/postgres call it.
package postgrestest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/migrations"
)

// Database is the database of a test.
type Database struct {
	URL      string // with the serving role
	OwnerURL string

	lent *lent
}

// Pooled returns the URL with the serving role, through a pooler that assigns another connection to
// each transaction and keeps no prepared statements. Without one the test is skipped or fails, as
// without a server. When PGBOUNCER_URL is "none", for servers without a pooler, it returns the URL of
// the server and false.
func (d Database) Pooled(tb testing.TB) (at string, pooled bool) {
	tb.Helper()
	pooler := os.Getenv("PGBOUNCER_URL")
	switch pooler {
	case "none":
		return d.URL, false
	case "":
		const missing = "PGBOUNCER_URL is not set: run \"make services\" and eval \"$(make -s services/env)\""
		if os.Getenv("SLIPBOX_REQUIRE_SERVICES") == "1" {
			tb.Fatal(missing)
		}
		tb.Skip(missing)
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		tb.Fatal(err)
	}
	// The pooler keeps its connections when the test has ended.
	d.lent.once = true
	return otherDatabase(pooler, strings.TrimPrefix(u.Path, "/")), true
}

const (
	// A test's own database, or one that is not lent yet.
	testPrefix     = "slipbox_test_"
	templatePrefix = "slipbox_template_"
	// makeLock is held while a template is made or leftovers are dropped.
	makeLock = 0x7465_7374_6462 // "testdb"
	// The age at which a database is a leftover of a crashed run, or of a schema that is no longer
	// tested.
	testLife     = time.Hour
	lentLife     = 24 * time.Hour
	templateLife = 7 * 24 * time.Hour
	// slowest is how long the server may take for a database.
	slowest = 2 * time.Minute
)

// New returns an empty database with the newest schema, for the length of the test.
func New(tb testing.TB) Database {
	tb.Helper()
	serving, owner := servers(tb)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), slowest)
	defer cancel()
	l, err := lend(ctx, serving, owner)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if !l.once {
			giveBack(l)
		} else if err := drop(owner, l.name); err != nil {
			tb.Error(err)
		}
	})
	return Database{URL: otherDatabase(serving, l.name), OwnerURL: otherDatabase(owner, l.name), lent: l}
}

// NewEmpty returns a database without a schema, whose owner may create the extension. It is dropped
// when the test ends.
func NewEmpty(tb testing.TB) Database {
	tb.Helper()
	serving, owner := servers(tb)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), slowest)
	defer cancel()
	conn, err := pgx.Connect(ctx, owner)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(ctx) //nolint:errcheck // what matters was checked
	name := newName()
	if err := createDatabase(ctx, conn, name, "template1"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := drop(owner, name); err != nil {
			tb.Error(err)
		}
	})
	return Database{URL: otherDatabase(serving, name), OwnerURL: otherDatabase(owner, name), lent: &lent{name: name}}
}

// servers returns the URLs of the serving role and of the owner.
func servers(tb testing.TB) (serving, owner string) {
	tb.Helper()
	serving, owner = os.Getenv("DATABASE_URL"), os.Getenv("MIGRATE_DATABASE_URL")
	if serving == "" || owner == "" {
		const missing = "DATABASE_URL and MIGRATE_DATABASE_URL are not set: run \"make services\" and eval \"$(make -s services/env)\""
		if os.Getenv("SLIPBOX_REQUIRE_SERVICES") == "1" {
			tb.Fatal(missing)
		}
		tb.Skip(missing)
	}
	return serving, owner
}

func newName() string {
	return fmt.Sprintf("%s%d_%s", testPrefix, time.Now().Unix(), strings.ToLower(rand.Text()[:12]))
}

// createDatabase logs the pages that it copies: copying files would take a checkpoint, for which
// all other tests would wait.
func createDatabase(ctx context.Context, conn *pgx.Conn, name, template string) error {
	_, err := conn.Exec(ctx, "CREATE DATABASE "+quoted(name)+" TEMPLATE "+quoted(template)+" STRATEGY wal_log")
	return err
}

func drop(owner, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), slowest)
	defer cancel()
	conn, err := pgx.Connect(ctx, owner)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // what matters was checked
	_, err = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quoted(name)+" WITH (FORCE)")
	return err
}

// makeTemplate makes the template of the schema unless it exists. It gets its name last: a database
// with that name is complete.
func makeTemplate(ctx context.Context, conn *pgx.Conn, serving, owner, sum string) (name string, err error) {
	role, err := url.Parse(serving)
	if err != nil {
		return "", fmt.Errorf("DATABASE_URL: %w", err)
	}
	name = templatePrefix + sum
	if there, err := exists(ctx, conn, name); err != nil || there {
		return name, err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(makeLock)); err != nil {
		return "", err
	}
	defer func() {
		if _, e := conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(makeLock)); err == nil {
			err = e
		}
	}()
	if there, err := exists(ctx, conn, name); err != nil || there {
		return name, err
	}
	half := name + "_half"
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quoted(half)+" WITH (FORCE)"); err != nil {
		return "", err
	}
	if err := createDatabase(ctx, conn, half, "template1"); err != nil {
		return "", err
	}
	if err := postgres.Migrate(ctx, otherDatabase(owner, half), role.User.Username()); err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, fmt.Sprintf("COMMENT ON DATABASE %s IS '%d'", quoted(half), time.Now().Unix())); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+quoted(half)+" RENAME TO "+quoted(name))
	return name, err
}

// sweep drops leftovers of crashed runs, lent databases that no process holds and that are old, and
// templates that are so old that their schema is probably no longer the newest.
func sweep(ctx context.Context, conn *pgx.Conn) error {
	var mine bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(makeLock)).Scan(&mine); err != nil || !mine {
		return err // another process sweeps
	}
	now := time.Now()
	rows, err := conn.Query(ctx, `SELECT d.datname, d.oid, made.lent IS NOT NULL FROM pg_database d CROSS JOIN LATERAL (SELECT
 substring(d.datname FROM '^`+testPrefix+`([0-9]{1,12})_') AS test,
 CASE WHEN d.datname LIKE '`+lentPrefix+`%' THEN substring(shobj_description(d.oid, 'pg_database') FROM '^[0-9]{1,12}') END AS lent,
 CASE WHEN d.datname LIKE '`+templatePrefix+`%' THEN substring(shobj_description(d.oid, 'pg_database') FROM '^[0-9]{1,12}$') END AS template) made
 WHERE d.datdba = (SELECT oid FROM pg_roles WHERE rolname = current_user) AND (made.test::bigint < $1 OR made.lent::bigint < $2 OR made.template::bigint < $3)`,
		now.Add(-testLife).Unix(), now.Add(-lentLife).Unix(), now.Add(-templateLife).Unix())
	if err != nil {
		return err
	}
	type leftover struct {
		Name string
		OID  uint32
		Lent bool
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[leftover])
	if err != nil {
		return err
	}
	for _, d := range found {
		if d.Lent {
			var free bool
			if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2)", lentLock, lockKey(d.OID)).Scan(&free); err != nil {
				return err
			} else if !free {
				continue
			}
		}
		if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quoted(d.Name)+" WITH (FORCE)"); err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(makeLock))
	return err
}

func exists(ctx context.Context, conn *pgx.Conn, name string) (there bool, err error) {
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there)
	return there, err
}

// schema returns a hash of the migrations.
func schema() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(migrations.Postgres, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := migrations.Postgres.ReadFile(path)
		if err == nil {
			_, err = fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:6]), err
}

// otherDatabase returns the URL of another database on the same server.
func otherDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server // unreachable: connecting has worked
	}
	u.Path = "/" + name
	return u.String()
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }
