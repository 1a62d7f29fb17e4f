package archtest_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipboxhq/slipbox/internal/archtest"
	"github.com/slipboxhq/slipbox/migrations"
	"github.com/slipboxhq/slipbox/test/must"
)

// stepsOf returns the steps of a folder.
func stepsOf(t *testing.T, folder fs.FS) []migrations.Step {
	t.Helper()
	steps := must.Get(migrations.Steps(folder))(t)
	return steps
}

// TestMigrationsOnlyAdd: an older build works on the schema of a newer one until a step says
// otherwise, so that a release can be rolled back.
func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	sqlite, postgres := stepsOf(t, os.DirFS(root+"/migrations/sqlite")), stepsOf(t, os.DirFS(root+"/migrations/postgres"))
	if len(sqlite) < 1 || len(postgres) < 1 {
		t.Fatalf("%d and %d steps: the test looks at the wrong folder", len(sqlite), len(postgres))
	}
	for _, wrong := range archtest.CheckMigrations(sqlite, postgres) {
		t.Error(wrong)
	}
}

// folder returns the steps of a folder whose first step makes the table notes.
func folder(t *testing.T, header, up string) []migrations.Step {
	t.Helper()
	return stepsOf(t, fstest.MapFS{
		"00001_init.sql": {Data: []byte("-- compatible-from: 1\n-- +goose Up\nDO $$ BEGIN END $$; CREATE TABLE notes (id uuid);\n")},
		"00002_next.sql": {Data: []byte(header + "\n-- +goose Up\n" + up + "\n-- +goose Down\nDROP TABLE notes;\n")},
	})
}

func TestStepsThatOnlyAdd(t *testing.T) {
	t.Parallel()
	for _, up := range []string{
		"CREATE TABLE more (id uuid NOT NULL); CREATE UNIQUE INDEX more_id ON more (id); ALTER TABLE more ENABLE ROW LEVEL SECURITY;\n" +
			"CREATE POLICY own_tenant ON more USING (true); ALTER TABLE \"more\" DROP COLUMN id; DELETE FROM more;",
		"CREATE INDEX notes_id ON notes (id) WHERE kind <> 'DROP TABLE notes;';",
		"-- DROP TABLE notes;\n/* DROP TABLE notes; */ alter table notes\n\tadd column tokens bytea not null default '', ADD COLUMN weight numeric(8, 2);",
		"ALTER TABLE notes ADD COLUMN a bigint; UPDATE notes SET a = coalesce(b, 1), a = 2 WHERE b > 0;",
		"ALTER TABLE notes ALTER COLUMN id SET STORAGE EXTERNAL, SET (fillfactor = 70);",
		"-- +goose StatementBegin\nCREATE OR REPLACE FUNCTION due() RETURNS int LANGUAGE plpgsql AS $f$ BEGIN DROP TABLE x; END $f$;\n-- +goose StatementEnd\n" +
			"REVOKE EXECUTE ON FUNCTION due() FROM PUBLIC;",
		"SELECT set_config('search_path', 'public', true);",
		"INSERT INTO notes VALUES (1);",
		"ALTER TABLE notes ADD a text COLLATE \"C\" NOT NULL DEFAULT '', ADD b text NOT NULL DEFAULT '';\n" +
			"CREATE UNIQUE INDEX notes_a ON notes (id, a, b) WHERE a || b <> '' AND kind <> 'raw'; CREATE UNIQUE INDEX notes_b ON notes (b) WHERE b <> '';",
	} {
		steps := folder(t, "-- compatible-from: 1", up)
		if wrong := archtest.CheckMigrations(steps, steps); len(wrong) > 0 {
			t.Errorf("%s\nwas refused: %s", up, wrong)
		}
	}
}

func TestStepsThatDoMore(t *testing.T) {
	t.Parallel()
	for up, want := range map[string]string{
		"DROP TABLE notes;":                                                                                             "does more than add",
		"DROP INDEX notes_id;":                                                                                          "does more than add",
		"DROP FUNCTION due();":                                                                                          "does more than add",
		"ALTER TABLE notes DROP COLUMN id;":                                                                             "changes what older builds read or write",
		"ALTER TABLE notes ADD COLUMN a text, DROP id;":                                                                 "changes what older builds read or write",
		"ALTER TABLE notes RENAME TO memories;":                                                                         "changes what older builds read or write",
		"ALTER TABLE notes RENAME COLUMN id TO note;":                                                                   "changes what older builds read or write",
		"ALTER TABLE notes ALTER COLUMN id TYPE text;":                                                                  "changes what older builds read or write",
		"ALTER TABLE notes ALTER id SET NOT NULL;":                                                                      "changes what older builds read or write",
		"ALTER TABLE notes ALTER id DROP DEFAULT;":                                                                      "changes what older builds read or write",
		"ALTER TABLE notes ENABLE ROW LEVEL SECURITY;":                                                                  "changes what older builds read or write",
		"ALTER TABLE notes ADD COLUMN a text NOT NULL;":                                                                 "give it a default",
		"ALTER TABLE notes ADD a text UNIQUE;":                                                                          "can refuse rows",
		"ALTER TABLE notes ADD CONSTRAINT c CHECK (id > 0);":                                                            "can refuse rows",
		"ALTER TABLE notes ADD PRIMARY KEY (id);":                                                                       "can refuse rows",
		"create unique index notes_id on notes (id);":                                                                   "can refuse rows",
		"create unique index notes_id on notes (id) where id <> '';":                                                    "can refuse rows",
		"ALTER TABLE notes ADD a text NOT NULL DEFAULT ''; CREATE UNIQUE INDEX i ON notes (a);":                         "can refuse rows",
		"ALTER TABLE notes ADD a text NOT NULL DEFAULT ''; CREATE UNIQUE INDEX i ON notes (a) WHERE a = '';":            "can refuse rows",
		"ALTER TABLE notes ADD a text NOT NULL DEFAULT ''; CREATE UNIQUE INDEX i ON notes (a) WHERE a <> 'x';":          "can refuse rows",
		"ALTER TABLE notes ADD a text NOT NULL DEFAULT 'x'; CREATE UNIQUE INDEX i ON notes (a) WHERE a <> '';":          "can refuse rows",
		"ALTER TABLE notes ADD a text NOT NULL DEFAULT ''; CREATE UNIQUE INDEX i ON notes (a) WHERE a <> '' OR id > 0;": "can refuse rows",
		"ALTER TABLE notes ADD a text NOT NULL DEFAULT ''; CREATE UNIQUE INDEX i ON notes (a) WHERE a || id <> '';":     "can refuse rows",
		"ALTER TABLE notes ADD a text NOT NULL DEFAULT ''; CREATE UNIQUE INDEX i ON more (a) WHERE a <> '';":            "can refuse rows",
		"CREATE POLICY p ON notes USING (false);":                                                                       "changes what older builds read or write",
		"CREATE TRIGGER t BEFORE INSERT ON notes EXECUTE PROCEDURE f();":                                                "changes what older builds read or write",
		"DELETE FROM notes WHERE id = 1;":                                                                               "removes rows",
		"TRUNCATE notes;":                                                                                               "removes rows",
		"UPDATE notes SET id = 1;":                                                                                      "changes values",
		"ALTER TABLE notes ADD a int; UPDATE notes SET a = 1, id = 2;":                                                  "changes values",
		"DO $$ BEGIN DROP TABLE notes; END $$;":                                                                         "write its statements out",
		"REVOKE SELECT ON notes FROM slipbox_app;":                                                                      "does more than add",
		"ALTER ROLE slipbox_app NOLOGIN;":                                                                               "does more than add",
		"SELECT 'a;b'; VACUUM;":                                                                                         "does more than add",
	} {
		steps := folder(t, "-- compatible-from: 1", up)
		wrong := archtest.CheckMigrations(steps, nil)
		found := 0
		for _, w := range wrong {
			if strings.HasPrefix(w, "migrations/sqlite/00002_next.sql: \"") && strings.Contains(w, want) && strings.Contains(w, "contract") {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%s: got %q, want %q", up, wrong, want)
		}
		marked := folder(t, "-- compatible-from: 2\n-- contract: notes are gone", up)
		if wrong := archtest.CheckMigrations(marked, marked); len(wrong) > 0 {
			t.Errorf("a contract with %s was refused: %s", up, wrong)
		}
	}
}

// TestDroppedIndexes: Postgres' statements name no index, so that one may be dropped if it refuses no rows.
func TestDroppedIndexes(t *testing.T) {
	t.Parallel()
	plain := folder(t, "-- compatible-from: 1", "CREATE INDEX notes_id ON notes (id); DROP INDEX notes_id;")
	unique := folder(t, "-- compatible-from: 1", "CREATE TABLE more (id uuid); CREATE UNIQUE INDEX more_id ON more (id); DROP INDEX more_id;")
	harmless := folder(t, "-- compatible-from: 1", "CREATE TABLE more (id uuid);")
	for name, c := range map[string]struct {
		sqlite, postgres []migrations.Step
		refused          int
	}{
		"plain":     {harmless, plain, 0},
		"unique":    {harmless, unique, 1},
		"in SQLite": {plain, harmless, 1},
	} {
		if wrong := archtest.CheckMigrations(c.sqlite, c.postgres); len(wrong) != c.refused {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

func TestStepsOfBothEngines(t *testing.T) {
	t.Parallel()
	plain := folder(t, "-- compatible-from: 1", "CREATE TABLE more (id uuid);")
	marked := folder(t, "-- compatible-from: 2\n-- contract: it is", "CREATE TABLE more (id uuid);")
	renamed := stepsOf(t, fstest.MapFS{"00001_begin.sql": {Data: []byte("-- compatible-from: 1\n")}})
	for name, c := range map[string]struct {
		sqlite, postgres []migrations.Step
		want             string
	}{
		"only Postgres": {plain[:1], plain, "migrations/postgres/00002_next.sql: migrations/sqlite has no step 2"},
		"only SQLite":   {plain, plain[:1], "migrations/sqlite/00002_next.sql: migrations/postgres has no step 2"},
		"other header":  {plain, marked, "says another compatible-from"},
		"other name":    {plain[:1], renamed, "another name in migrations/postgres: 00001_begin.sql"},
	} {
		if wrong := archtest.CheckMigrations(c.sqlite, c.postgres); len(wrong) != 1 || !strings.Contains(wrong[0], c.want) {
			t.Errorf("%s: %q, want %q", name, wrong, c.want)
		}
	}
}
