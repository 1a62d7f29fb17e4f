package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/migrations"
	"github.com/slipboxhq/slipbox/test/must"
)

func refused(t *testing.T, err error, code fault.Code, words ...string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got %v, want a fault %q", err, code)
	}
	for _, w := range words {
		if !strings.Contains(f.Message, w) {
			t.Fatalf("%q does not say %q", f.Message, w)
		}
	}
}

// raw opens the file without the store.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db := must.Get(sql.Open("sqlite", dsn(Config{Path: path, BusyTimeout: time.Second}, false)))(t)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func schema(t *testing.T, db *sql.DB) (out []string) {
	t.Helper()
	rows := must.Get(db.QueryContext(t.Context(), "SELECT COALESCE(sql, name) FROM sqlite_schema WHERE name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%' ORDER BY name"))(t)
	for rows.Next() {
		var s string
		must.Do(t, rows.Scan(&s))
		out = append(out, s)
	}
	must.Do(t, errors.Join(rows.Err(), rows.Close()))
	return out
}

// migrated returns a database on which all migrations are applied, and what applied them.
func migrated(t *testing.T) (*sql.DB, *store.Migrator) {
	t.Helper()
	db := raw(t, filepath.Join(t.TempDir(), "m.db"))
	folder := must.Get(fs.Sub(migrations.SQLite, "sqlite"))(t)
	m := must.Get(store.NewMigrator(db, store.SQLite, folder))(t)
	must.Do(t, m.Up(t.Context()))
	return db, m
}

func TestMigrationsUpDownUp(t *testing.T) {
	t.Parallel()
	db, m := migrated(t)
	ctx := t.Context()
	up := schema(t, db)
	if len(up) < 20 {
		t.Fatalf("schema: %v", up)
	}
	must.Do(t, m.DownTo(ctx, 0))
	if left := schema(t, db); len(left) > 0 {
		t.Fatalf("down left %v", left)
	}
	must.Do(t, errors.Join(m.Up(ctx), m.Up(ctx)))
	if again := schema(t, db); !reflect.DeepEqual(up, again) {
		t.Fatalf("up again gives\n%v\nnot\n%v", again, up)
	}
}

// TestSchemaKeysStartWithTenant: data can be distributed by tenant.
func TestSchemaKeysStartWithTenant(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	db := raw(t, b.path)
	rows := must.Get(db.QueryContext(t.Context(), `SELECT m.name, p.name FROM sqlite_schema m JOIN pragma_table_info(m.name) p ON p.pk = 1
 WHERE m.type = 'table' AND m.name NOT LIKE 'goose%' AND m.name NOT LIKE 'sqlite%' AND m.name <> 'schema_compat'`))(t)
	tables := map[string]string{}
	for rows.Next() {
		var table, first string
		must.Do(t, rows.Scan(&table, &first))
		tables[table] = first
	}
	must.Do(t, errors.Join(rows.Err(), rows.Close()))
	for table, first := range tables {
		if first != "tenant" && table != "tenants" && table != "signing_keys" {
			t.Errorf("the key of %s starts with %s", table, first)
		}
	}
	// Removing a tenant empties all of them.
	if len(tables) != len(tenantTables)+2 {
		t.Errorf("%d tables, of which %d are emptied with a tenant", len(tables), len(tenantTables))
	}
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	s := openTest(t, Config{})
	for p, cache := range map[*pool]string{s.write: "-16384", s.read: "-4096"} {
		q := must.Get(p.take(t.Context()))(t)
		for name, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "secure_delete": "1", "busy_timeout": "10000", "temp_store": "2", "cache_size": cache,
		} {
			var got string
			if _, err := q.get(t.Context(), "PRAGMA "+name, nil, &got); err != nil || got != want {
				t.Errorf("%s is %s (%v), want %s", name, got, err, want)
			}
		}
		if p == s.read {
			if _, err := q.exec(t.Context(), "DELETE FROM tenants"); err == nil {
				t.Error("a reader can write")
			}
		}
		p.give(q)
	}
}

// TestNewerSchema: a file of a newer build is used when its schema says that this build can work on
// it, and refused otherwise.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	db := raw(t, b.path)
	run := func(text string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(text, err)
		}
	}
	refuse := func() {
		t.Helper()
		for _, tool := range []bool{false, true} {
			_, err := Open(t.Context(), Config{Path: b.path, NoMigrate: tool}, Deps{})
			refused(t, err, fault.Conflict, "schema version 99", "the newer build")
		}
	}
	known := b.schema.Known
	run("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
	refuse()
	run(fmt.Sprintf("INSERT INTO schema_compat VALUES (99, %d)", known+1))
	refuse()
	run(fmt.Sprintf("UPDATE schema_compat SET compatible_from = %d WHERE version = 99", known))
	for _, tool := range []bool{false, true} {
		s := openTest(t, Config{Path: b.path, NoMigrate: tool})
		if got, err := s.Schema(t.Context()); err != nil || got != (store.Schema{Current: 99, Known: known, CompatibleFrom: known}) {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := s.EnsureAgent(t.Context(), b.scope, "older"); err != nil {
			t.Error(err)
		}
	}
}

// TestUnreleasedSchema: the last schema from before the first release is adopted by a server, and not by a tool; earlier ones are refused.
func TestUnreleasedSchema(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	agent := must.Get(b.EnsureAgent(t.Context(), b.scope, "earlier"))(t)
	db := raw(t, b.path)
	run := func(text string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(text, err)
		}
	}
	chain := func(newest int) {
		t.Helper()
		run("DELETE FROM goose_db_version WHERE version_id > 1")
		for v := 5; v <= newest; v++ {
			run(fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)", v))
		}
	}
	refuse := func(tool bool, words ...string) {
		t.Helper()
		_, err := Open(t.Context(), Config{Path: b.path, NoMigrate: tool}, Deps{})
		refused(t, err, fault.Conflict, words...)
	}

	ends := b.add(t, memory.Note{Content: "kept"}, memory.Note{Content: "deleted"})
	for _, change := range []func(tx memory.Tx) error{
		func(tx memory.Tx) error {
			_, err := tx.Link(t.Context(), memory.Link{LinkID: memory.LinkID{Source: ends[0].ID, Target: ends[1].ID}})
			return err
		},
		func(tx memory.Tx) error { return tx.Delete(t.Context(), ends[1].ID) },
	} {
		must.Get(b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{}, func(_ context.Context, tx memory.Tx) error { return change(tx) }))(t)
	}
	run("ALTER TABLE jobs DROP COLUMN worked") // what later steps changed
	run("ALTER TABLE jobs DROP COLUMN claimed_at")
	run("CREATE INDEX notes_key ON notes (tenant, layer, kind, key) WHERE key <> ''")
	run("DROP INDEX jobs_kind")
	run("DROP INDEX notes_session")
	run("DROP INDEX notes_session_lists")
	run("DROP INDEX jobs_ended")
	run("ALTER TABLE collection_heads DROP COLUMN s_hidden")
	run("INSERT INTO schema_compat VALUES (23, 18)")
	chain(22)
	refuse(false, "before the first release", "version 22 of 23")
	chain(23)
	refuse(true, "before the first release", "start the gateway")
	s := openTest(t, Config{Path: b.path})
	if got, err := s.Schema(t.Context()); err != nil || got != b.schema {
		t.Errorf("%+v, %v", got, err)
	}
	if again, err := s.EnsureAgent(t.Context(), b.scope, "earlier"); err != nil || again.ID != agent.ID {
		t.Errorf("%+v, %v", again, err)
	}
	used, err := s.TenantUsage(t.Context(), b.scope)
	if problems, e := s.Verify(t.Context()); err != nil || e != nil || len(problems) > 0 || used.Links != 0 {
		t.Errorf("a link to a deleted note was counted again: %+v, %v, %v, %v", used, problems, err, e)
	}
	if err := errors.Join(s.Close(), openTest(t, Config{Path: b.path, NoMigrate: true}).Close()); err != nil {
		t.Error(err)
	}

	run("DELETE FROM goose_db_version WHERE version_id > 1")
	run("DROP TABLE schema_compat") // the first of those steps had none
	refuse(false, "before the first release", "version 1 of 23")
}

// TestVersionsAreRecorded: a new file says for each step which builds can work on it, and a start
// repairs what an interrupted one left out.
func TestVersionsAreRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	known := b.schema.CompatibleFrom
	if s := b.schema; s.Current != s.Known || known < 1 || known > s.Known || s.Usable() != nil {
		t.Fatal(s)
	}
	db := raw(t, b.path)
	rows := func() (n int64) {
		t.Helper()
		must.Do(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM schema_compat").Scan(&n))
		return n
	}
	all := rows()
	if _, err := db.ExecContext(t.Context(), "DELETE FROM schema_compat"); err != nil || all != b.schema.Known {
		t.Fatal(all, err)
	}
	if s := openTest(t, Config{Path: b.path, NoMigrate: true}).schema; s.CompatibleFrom != s.Current || rows() > 0 {
		t.Error(s)
	}
	if s := openTest(t, Config{Path: b.path}).schema; s.CompatibleFrom != known || rows() != all {
		t.Error(s)
	}
}

// TestVersionsAreRecordedFirst: when a step takes effect, its row is there, so that an older build
// that serves meanwhile never finds a version that does not say who may use it.
func TestVersionsAreRecordedFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	next := b.schema.Known + 1
	folder := fstest.MapFS{fmt.Sprintf("%05d_next.sql", next): {Data: fmt.Appendf(nil, "-- compatible-from: %d\n-- +goose Up\nCREATE TABLE seen AS SELECT version FROM schema_compat;\n", b.schema.CompatibleFrom)}}
	files := must.Get(fs.Glob(migrations.SQLite, "sqlite/*.sql"))(t)
	for _, file := range files {
		text := must.Get(fs.ReadFile(migrations.SQLite, file))(t)
		folder[filepath.Base(file)] = &fstest.MapFile{Data: text}
	}
	db := raw(t, b.path)
	m := must.Get(store.NewMigrator(db, store.SQLite, folder))(t)
	must.Do(t, m.Up(t.Context()))
	var newest int64
	if err := db.QueryRowContext(t.Context(), "SELECT max(version) FROM seen").Scan(&newest); err != nil || newest != next {
		t.Errorf("the step found a row of version %d (%v), want its own, %d", newest, err, next)
	}
	if s := openTest(t, Config{Path: b.path}).schema; s != (store.Schema{Current: next, Known: next - 1, CompatibleFrom: b.schema.CompatibleFrom}) {
		t.Error(s)
	}
}

func TestToolDoesNotMigrate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	_, err := Open(t.Context(), Config{Path: path, NoMigrate: true}, Deps{})
	refused(t, err, fault.NotFound, path)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("a tool made the file")
	}
	must.Do(t, os.WriteFile(path, nil, 0o600))
	_, err = Open(t.Context(), Config{Path: path, NoMigrate: true}, Deps{})
	refused(t, err, fault.Conflict, "this build needs")
	if !errors.Is(err, store.ErrOlder) || !strings.Contains(err.Error(), "start the server") {
		t.Errorf("%v does not say what to do", err)
	}
}

func TestDamagedFileIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	must.Do(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600))
	_, err := Open(t.Context(), Config{Path: path}, Deps{})
	refused(t, err, fault.Internal, "damaged", "gateway restore")
}

func TestDamagedPages(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	b := newBenchAt(t, path)
	for range 20 {
		b.add(t, memory.Note{Content: strings.Repeat("x", 10_000)})
	}
	must.Do(t, b.Close())
	data := must.Get(os.ReadFile(path))(t)
	for i := 8192; i < len(data); i += 3 {
		data[i] ^= 0xff
	}
	must.Do(t, os.WriteFile(path, data, 0o600))
	s, err := Open(t.Context(), Config{Path: path}, Deps{})
	if err != nil {
		refused(t, err, fault.Internal, "damaged")
		return
	}
	problems, err := s.Verify(t.Context())
	if err == nil && len(problems) == 0 {
		t.Error("the damage was not seen")
	}
	if err != nil {
		refused(t, err, fault.Internal, "damaged")
	}
	if err := s.Close(); err != nil {
		t.Logf("close: %v", err)
	}
}

func TestUnwritablePlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Open(t.Context(), Config{Path: filepath.Join(dir, "none", "x.db")}, Deps{})
	refused(t, err, fault.Unavailable, "none")
	_, err = Open(t.Context(), Config{Path: dir}, Deps{})
	refused(t, err, fault.Unavailable, dir)
	_, err = Open(t.Context(), Config{}, Deps{})
	refused(t, err, fault.Invalid)
}

// TestStorageFull simulates a full disk by a page limit.
func TestStorageFull(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(t, memory.Note{Content: "kept"})
	q := must.Get(b.write.take(t.Context()))(t)
	var pages, most int
	must.Get(q.get(t.Context(), "PRAGMA page_count", nil, &pages))(t)
	must.Do(t, q.conn.QueryRowContext(t.Context(), "PRAGMA max_page_count = "+strconv.Itoa(pages+4)).Scan(&most))
	b.write.give(q)
	big := func() error {
		_, err := b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Put(ctx, memory.Note{Content: strings.Repeat("x", memory.MaxContentBytes)})
			return err
		})
		return err
	}
	refused(t, big(), fault.StorageFull, "no space left")
	refused(t, big(), fault.StorageFull)
	v, err := b.OpenView(t.Context(), b.scope, "c", memory.At{})
	if err != nil || v.At != 1 {
		t.Fatalf("at %d: %v", v.At, err)
	}
	if p, err := b.Verify(t.Context()); err != nil || len(p) > 0 {
		t.Fatalf("half-written: %v, %v", p, err)
	}
	if q, err = b.write.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	must.Do(t, q.conn.QueryRowContext(t.Context(), "PRAGMA max_page_count = 1000000").Scan(&most))
	b.write.give(q)
	if err := big(); err != nil {
		t.Fatalf("with space again: %v", err)
	}
}

// TestIgnoredErrorCannotBeCommitted: a closure that ignores a failed statement commits nothing.
func TestIgnoredErrorCannotBeCommitted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, mtx memory.Tx) error {
		if _, err := mtx.Put(ctx, memory.Note{Content: "x"}); err != nil {
			return err
		}
		inner, ok := mtx.(*store.Tx).Session().(*session)
		if !ok {
			t.Error("not the transaction of this engine")
			return nil
		}
		_, _ = inner.exec(ctx, "INSERT INTO tenants (id) VALUES (NULL)")
		return nil
	})
	refused(t, err, fault.Internal)
	v, err := b.OpenView(t.Context(), b.scope, "c", memory.At{})
	if err != nil || v.At != 0 {
		t.Fatalf("at %d: %v", v.At, err)
	}
}

// TestTwoProcesses: a tool works beside the server; a write that waits too long fails.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := openTest(t, Config{Path: b.path, BusyTimeout: 20 * time.Millisecond, NoMigrate: true})
	done := make(chan error, 1)
	go func() {
		for range 50 {
			if _, err := other.EnsureAgent(context.Background(), b.scope, "tool"); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range 50 {
		b.add(t, memory.Note{Content: "x"})
	}
	if err := <-done; err != nil && !fault.Is(err, fault.Unavailable) {
		t.Fatal(err)
	}
	must.Get(b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{}, func(context.Context, memory.Tx) error {
		_, err := other.CreateCollection(context.Background(), b.scope, memory.NewCollection{Collection: memory.Collection{Name: "busy"}})
		refused(t, err, fault.Unavailable, "busy")
		v, err := other.OpenView(context.Background(), b.scope, "c", memory.At{})
		if err != nil || v.At != 50 {
			t.Errorf("a reader waits for no writer: at %d, %v", v.At, err)
		}
		return nil
	}))(t)
}

func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ü #?%.db")
	b := newBenchAt(t, path)
	n := b.add(t, memory.Note{Content: "kept", Vector: vector(1)})
	must.Do(t, errors.Join(b.Close(), b.Close()))
	refused(t, b.Ping(t.Context()), fault.Unavailable, "closed")
	if st, err := os.Stat(path + "-wal"); err == nil && st.Size() > 0 {
		t.Errorf("the WAL was left with %d bytes", st.Size())
	}
	s := openTest(t, Config{Path: path})
	v := must.Get(s.OpenView(t.Context(), b.scope, "c", memory.At{}))(t)
	got, err := s.Notes(t.Context(), b.scope, v, []uuid.UUID{n[0].ID}, memory.ReadOptions{Vector: true})
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], n[0]) {
		t.Fatalf("got %+v, %v, want %+v", got, err, n[0])
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestBackup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(t, memory.Note{Content: "saved"})
	path := filepath.Join(t.TempDir(), "b.db")
	must.Do(t, b.Backup(t.Context(), path))
	refused(t, b.Backup(t.Context(), path), fault.Exists, path)
	b.add(t, memory.Note{Content: "later"})
	s := openTest(t, Config{Path: path})
	v, err := s.OpenView(t.Context(), b.scope, "c", memory.At{})
	if err != nil || v.At != 1 {
		t.Fatalf("at %d, %v", v.At, err)
	}
	if p, err := s.Verify(t.Context()); err != nil || len(p) > 0 {
		t.Fatal(p, err)
	}
	if err := b.Backup(t.Context(), filepath.Join(t.TempDir(), "none", "b.db")); err == nil {
		t.Fatal("a backup into no directory")
	}
	entries := must.Get(os.ReadDir(filepath.Dir(path)))(t)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "b.db") {
			t.Errorf("left behind: %s", e.Name())
		}
	}
	if n, err := b.Size(t.Context()); err != nil || n < 4096 {
		t.Errorf("size %d, %v", n, err)
	}
}

// TestVerifyFinds: each rule finds its damage.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind store.ProblemKind
		sql  string
	}{
		"orphan rows":    {store.ProblemOrphan, "UPDATE notes SET layer = zeroblob(16) WHERE rowid = 1"},
		"no head":        {store.ProblemOrphan, "DELETE FROM collection_heads"},
		"no tenant":      {store.ProblemOrphan, "DELETE FROM tenants"},
		"lost parent":    {store.ProblemOrphan, "UPDATE collections SET parent = randomblob(16)"},
		"gap":            {store.ProblemRevision, "DELETE FROM changesets WHERE revision = 2"},
		"head":           {store.ProblemRevision, "UPDATE collection_heads SET head = head + 1"},
		"beyond":         {store.ProblemRevision, "UPDATE notes SET from_rev = 99 WHERE from_rev = 3"},
		"overlap":        {store.ProblemInterval, "UPDATE notes SET to_rev = 9223372036854775807 WHERE from_rev = 1"},
		"hole":           {store.ProblemInterval, "DELETE FROM notes WHERE from_rev = 3"},
		"lost vector":    {store.ProblemVector, "DELETE FROM vectors"},
		"stray vector":   {store.ProblemVector, "UPDATE vectors SET note = zeroblob(16)"},
		"vector length":  {store.ProblemVector, "UPDATE vectors SET vec = zeroblob(8)"},
		"lease":          {store.ProblemJob, "UPDATE jobs SET state = 'running'"},
		"job state":      {store.ProblemJob, "UPDATE jobs SET state = 'odd'"},
		"job place":      {store.ProblemJob, "UPDATE jobs SET seq = 1"},
		"not removed":    {store.ProblemJob, "UPDATE collections SET state = 'deleting'"},
		"counts":         {store.ProblemCount, "UPDATE collection_heads SET v_notes = 77"},
		"stored":         {store.ProblemCount, "UPDATE collection_heads SET s_bytes = 77"},
		"link endpoint":  {store.ProblemLink, "UPDATE links SET target = zeroblob(16)"},
		"key used twice": {store.ProblemKey, "UPDATE notes SET key = 'k' WHERE to_rev = 9223372036854775807"},
		"attached":       {store.ProblemAttachment, "INSERT INTO attachments SELECT tenant, id, randomblob(16), id, 'x', 'rw', 0 FROM collections"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			n := b.add(t, memory.Note{Content: "a", Vector: vector(1)})
			m := b.add(t, memory.Note{Content: "b"})
			b.add(t, memory.Note{ID: n[0].ID, Content: "a2", Vector: vector(2)})
			must.Get(b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
				_, err := tx.Link(ctx, memory.Link{LinkID: memory.LinkID{Source: n[0].ID, Target: m[0].ID}})
				return err
			}))(t)
			if p, err := b.Verify(t.Context()); err != nil || len(p) > 0 {
				t.Fatal(p, err)
			}
			must.Get(raw(t, b.path).ExecContext(t.Context(), c.sql))(t)
			problems := must.Get(b.Verify(t.Context()))(t)
			for _, p := range problems {
				if p.Kind == c.kind {
					return
				}
			}
			t.Fatalf("%s was not found among %+v", c.kind, problems)
		})
	}
}

// TestSecureDelete: removed data is no longer in the file.
func TestSecureDelete(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	b := newBenchAt(t, path)
	secret := "needle-" + uuid.NewString()
	for range 50 {
		b.add(t, memory.Note{Content: secret, Tags: []string{secret}, Key: uuid.NewString() + secret})
	}
	must.Get(b.DeleteCollection(t.Context(), b.scope, b.collection, false, memory.AuditEntry{}))(t)
	for gone := false; !gone; {
		var err error
		if gone, err = b.RemoveRows(t.Context(), b.scope, b.collection, 7); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, b.Close())
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("the secret is still in the file %s", suffix)
		}
	}
}
