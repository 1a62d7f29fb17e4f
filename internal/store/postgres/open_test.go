package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/test/must"
)

// refusal opens a store and returns the error.
func refusal(t *testing.T, c postgres.Config) error {
	t.Helper()
	s, err := postgres.Open(t.Context(), c, postgres.Deps{})
	if err == nil {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return nil
	}
	return err
}

func changed(t *testing.T, of string, change func(*url.URL)) string {
	t.Helper()
	u := must.Get(url.Parse(of))(t)
	change(u)
	return u.String()
}

// says fails unless err is a fault of the code whose public sentence contains the words.
func says(t *testing.T, err error, code fault.Code, words string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want a fault %q", err, code)
		return
	}
	if text := err.Error(); !strings.Contains(text, words) {
		t.Errorf("%q does not say %q", text, words)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	must.Do(t, refusal(t, postgres.Config{URL: db.URL}))
	for name, c := range map[string]struct {
		config postgres.Config
		code   fault.Code
		words  string
	}{
		"no URL":         {postgres.Config{}, fault.Invalid, "database_url"},
		"no URL at all":  {postgres.Config{URL: "postgres://a:b@h:port"}, fault.Invalid, "database_url"},
		"unknown mode":   {postgres.Config{URL: db.URL, ExecMode: "fast"}, fault.Invalid, "simple_protocol"},
		"wrong password": {postgres.Config{URL: changed(t, db.URL, func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wrong") })}, fault.Unauthenticated, "password"},
		"no server":      {postgres.Config{URL: changed(t, db.URL, func(u *url.URL) { u.Host = "127.0.0.1:1" })}, fault.Unavailable, "cannot be reached"},
		"no database":    {postgres.Config{URL: changed(t, db.URL, func(u *url.URL) { u.Path = "/slipbox_none" })}, fault.Conflict, "does not exist"},
		"owner":          {postgres.Config{URL: db.OwnerURL}, fault.Conflict, "owns the tables"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := refusal(t, c.config)
			says(t, err, c.code, c.words)
			if strings.Contains(err.Error(), "dev-only") {
				t.Error("the password is in the error")
			}
		})
	}
	if err := refusal(t, postgres.Config{URL: db.OwnerURL, AnyRole: true}); err != nil {
		t.Error(err)
	}
}

func TestOpenWithoutSchema(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewEmpty(t)
	const missing = "no schema; run \"gateway migrate up\""
	says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, missing)
	if schema, err := postgres.MigrationStatus(t.Context(), db.OwnerURL); err != nil || schema.Current != 0 || schema.Known < 1 {
		t.Error(schema, err)
	}
	if made := texts(t, connect(t, db.OwnerURL), "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace"); len(made) > 0 {
		t.Errorf("to ask where an empty database stands made %v", made)
	}
	says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, missing)
	run(t, db.OwnerURL, "CREATE EXTENSION IF NOT EXISTS vector")
	says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, missing)
	// A first step that failed, or "migrate down --to 0", leaves the database like this.
	must.Do(t, postgres.MigrateDown(t.Context(), db.OwnerURL, 0))
	says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, missing)
	run(t, db.OwnerURL, "DROP EXTENSION vector")
	says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, missing)
}

func TestOpenWithoutVector(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	run(t, db.OwnerURL, "DROP EXTENSION vector CASCADE")
	says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, "no extension vector")
	run(t, db.OwnerURL, "CREATE SCHEMA elsewhere", "CREATE EXTENSION vector SCHEMA elsewhere")
	says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, "no extension vector")
}

func TestOpenWithoutRowSecurity(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	run(t, db.OwnerURL, "ALTER TABLE notes DISABLE ROW LEVEL SECURITY")
	says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, "row-level security is off for notes")
}

func TestOpenOtherSchema(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: db.URL}, postgres.Deps{}))(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
	// A newer version that does not say which builds can work on it counts as its own.
	run(t, db.OwnerURL, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)")
	refused := func() {
		t.Helper()
		const words = "schema version 9999, which needs a build that knows version 9999; this build knows"
		says(t, s.CheckSchema(t.Context()), fault.Conflict, words)
		says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, words)
		says(t, postgres.Migrate(t.Context(), db.OwnerURL, ""), fault.Conflict, words)
	}
	refused()
	says(t, postgres.MigrateDown(t.Context(), db.OwnerURL, 0), fault.Conflict, "only the newer build can go back")
	run(t, db.OwnerURL, "INSERT INTO schema_compat VALUES (9999, 9999)")
	refused()
	schema := must.Get(postgres.MigrationStatus(t.Context(), db.OwnerURL))(t)
	run(t, db.OwnerURL, fmt.Sprintf("UPDATE schema_compat SET compatible_from = %d WHERE version = 9999", schema.Known+1))
	says(t, s.CheckSchema(t.Context()), fault.Conflict, "the newer build")
	says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, "the newer build")
	// One that says so is used, and the runner leaves it alone.
	run(t, db.OwnerURL, fmt.Sprintf("UPDATE schema_compat SET compatible_from = %d WHERE version = 9999", schema.Known))
	role := connect(t, db.URL).Config().User
	if err := errors.Join(s.CheckSchema(t.Context()), refusal(t, postgres.Config{URL: db.URL}), postgres.Migrate(t.Context(), db.OwnerURL, role)); err != nil {
		t.Error(err)
	}
	if got, err := s.Schema(t.Context()); err != nil || got != (store.Schema{Current: 9999, Known: schema.Known, CompatibleFrom: schema.Known}) {
		t.Error(got, err)
	}
	if got, err := postgres.MigrationStatus(t.Context(), db.OwnerURL); err != nil || !got.Newer() || got.CompatibleFrom != schema.Known {
		t.Error(got, err)
	}
	says(t, postgres.MigrateDown(t.Context(), db.OwnerURL, 0), fault.Conflict, "only the newer build can go back")
	run(t, db.OwnerURL, "DELETE FROM goose_db_version WHERE version_id > 0")
	says(t, s.CheckSchema(t.Context()), fault.Conflict, "gateway migrate up")
	says(t, refusal(t, postgres.Config{URL: db.URL}), fault.Conflict, "gateway migrate up")
}

// TestUnreleasedSchema: as on SQLite.
func TestUnreleasedSchema(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	must.Do(t, postgres.MigrateDown(t.Context(), db.OwnerURL, 1))
	const last = "INSERT INTO goose_db_version (version_id, is_applied) VALUES (23, true)"
	run(t, db.OwnerURL, "INSERT INTO goose_db_version (version_id, is_applied) SELECT v, true FROM generate_series(5, 22) v", "INSERT INTO schema_compat VALUES (23, 18)")
	refused := func(err error, words string) {
		t.Helper()
		says(t, err, fault.Conflict, "before the first release")
		says(t, err, fault.Conflict, words)
	}
	refused(refusal(t, postgres.Config{URL: db.URL}), "version 22 of 23")
	refused(postgres.Migrate(t.Context(), db.OwnerURL, ""), "version 22 of 23")
	run(t, db.OwnerURL, last)
	refused(refusal(t, postgres.Config{URL: db.URL}), "gateway migrate up")
	refused(postgres.MigrateDown(t.Context(), db.OwnerURL, 0), "gateway migrate up")
	must.Do(t, postgres.Migrate(t.Context(), db.OwnerURL, connect(t, db.URL).Config().User))
	if got, err := postgres.MigrationStatus(t.Context(), db.OwnerURL); err != nil || got.Current != got.Known || got.CompatibleFrom != 3 || got.Unreleased {
		t.Error(got, err)
	}
	if err := refusal(t, postgres.Config{URL: db.URL}); err != nil {
		t.Error(err)
	}
}

// TestCompatibleVersionsAreRepaired: an Up that ended before it recorded the versions is completed
// by the next; going back removes them.
func TestCompatibleVersionsAreRepaired(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	rows := func() int { return len(texts(t, connect(t, db.OwnerURL), "SELECT version::text FROM schema_compat")) }
	all := rows()
	run(t, db.OwnerURL, "DELETE FROM schema_compat")
	schema, err := postgres.MigrationStatus(t.Context(), db.OwnerURL)
	if err != nil || schema.CompatibleFrom != schema.Current {
		t.Fatal(schema, err)
	}
	must.Do(t, postgres.Migrate(t.Context(), db.OwnerURL, ""))
	if n := rows(); n != all || n < 1 {
		t.Errorf("%d rows, want %d", n, all)
	}
	run(t, db.OwnerURL, "INSERT INTO schema_compat VALUES (9999, 1)")
	must.Do(t, postgres.MigrateDown(t.Context(), db.OwnerURL, schema.Known))
	if n := rows(); n != all {
		t.Errorf("%d rows after going back, want %d", n, all)
	}
}

func TestOpenWithoutRights(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	role := connect(t, db.URL).Config().User
	name := pgx.Identifier{role}.Sanitize()
	run(t, db.OwnerURL, "REVOKE DELETE ON notes FROM "+name, "REVOKE USAGE ON SEQUENCE audit_ids FROM "+name,
		"REVOKE EXECUTE ON FUNCTION ephemeral_collections(integer) FROM "+name)
	err := refusal(t, postgres.Config{URL: db.URL})
	says(t, err, fault.Conflict, "lacks DELETE on table notes, EXECUTE on function ephemeral_collections, USAGE on sequence audit_ids;")
	must.Do(t, postgres.Migrate(t.Context(), db.OwnerURL, role))
	if err := refusal(t, postgres.Config{URL: db.URL}); err != nil {
		t.Error(err)
	}
}

func run(tb testing.TB, url string, statements ...string) {
	tb.Helper()
	conn := connect(tb, url)
	for _, text := range statements {
		if _, err := conn.Exec(tb.Context(), text); err != nil {
			tb.Fatal(text, err)
		}
	}
}

// TestServingOnABrokenSetUp: a problem that operators have to fix is not blamed on what callers
// sent, such as their key.
func TestServingOnABrokenSetUp(t *testing.T) {
	t.Parallel()
	const unfit = "the store cannot serve now"
	for name, broken := range map[string]string{
		"right":  "REVOKE SELECT ON tenants FROM ",
		"schema": "REVOKE USAGE ON SCHEMA public FROM PUBLIC, ",
		"table":  "ALTER TABLE tenants RENAME TO ",
		"login":  "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.New(t)
			s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: db.URL}, postgres.Deps{}))(t)
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			serving := connect(t, db.URL).Config()
			if broken != "" {
				run(t, db.OwnerURL, broken+serving.User)
			} else {
				run(t, db.OwnerURL, "REVOKE CONNECT ON DATABASE "+serving.Database+" FROM PUBLIC, "+serving.User,
					"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = '"+serving.User+"'")
			}
			_, err := s.TenantByID(t.Context(), uuid.New())
			for end := time.Now().Add(10 * time.Second); err != nil && !strings.Contains(err.Error(), unfit) && time.Now().Before(end); {
				_, err = s.TenantByID(t.Context(), uuid.New()) // by a connection that was ended
			}
			says(t, err, fault.Unavailable, unfit)
		})
	}
}

// TestOwnerWithoutRights: the owner may not create the extension, or the tables of the schema.
func TestOwnerWithoutRights(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewEmpty(t)
	// The serving role owns nothing.
	says(t, postgres.Migrate(t.Context(), db.URL, ""), fault.Conflict, "MIGRATE_DATABASE_URL")
	says(t, postgres.Migrate(t.Context(), "", ""), fault.Invalid, "migrate_database_url")
}

// What is acknowledged survives a crash of the server, also where sessions begin with synchronous_commit = off, with and without a
// pooler. A setting that waits for standbys stays.
func TestCommitsAreDurable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ mode, set, want string }{{"", "off", "on"}, {"exec", "off", "on"}, {"", "remote_apply", "remote_apply"}} {
		b := newBench(t)
		run(t, b.db.OwnerURL, "CREATE TABLE durability (setting text)", `CREATE FUNCTION note_durability() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN INSERT INTO durability VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$`,
			"CREATE TRIGGER notes_durability AFTER INSERT ON collections FOR EACH ROW EXECUTE FUNCTION note_durability()")
		other := b
		url := changed(t, b.db.URL, func(u *url.URL) { u.RawQuery += "&options=" + url.QueryEscape("-csynchronous_commit="+c.set) })
		var err error
		if other.Store, err = postgres.Open(t.Context(), postgres.Config{URL: url, ExecMode: c.mode}, postgres.Deps{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() })
		other.create(t, memory.Collection{Name: "d", Policy: "amem", Embedder: "hash", Dim: 384})
		var got []string
		must.Do(t, connect(t, b.db.OwnerURL).QueryRow(t.Context(), "SELECT array_agg(setting) FROM durability").Scan(&got))
		if !slices.Equal(got, []string{c.want}) {
			t.Errorf("mode %q, synchronous_commit %s: written with %v", c.mode, c.set, got)
		}
	}
}
