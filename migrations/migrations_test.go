package migrations_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipboxhq/slipbox/migrations"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestStepsOfThisBuild(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fs.FS{"sqlite": migrations.SQLite, "postgres": migrations.Postgres} {
		folder := must.Get(fs.Sub(files, name))(t)
		steps := must.Get(migrations.Steps(folder))(t)
		if first := steps[0]; first.Version != 1 || first.Name != "initial" || first.CompatibleFrom != 1 || first.Contract != "" || !strings.Contains(first.SQL, "CREATE TABLE notes") {
			t.Errorf("%s begins with %+v", name, first)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	steps := func(files ...string) ([]migrations.Step, error) {
		folder := fstest.MapFS{}
		for i := 0; i < len(files); i += 2 {
			folder[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
		}
		return migrations.Steps(folder)
	}
	got, err := steps(
		"00010_contract.sql", "-- compatible-from: 9\n-- contract: the old columns are gone\n",
		"00009_expand_more.sql", "-- compatible-from: 1\n-- contracts are something else\n",
		"00001_init.sql", "-- compatible-from: 1")
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	if s := got[1]; s.Version != 9 || s.Name != "expand more" || s.CompatibleFrom != 1 || s.Contract != "" {
		t.Errorf("%+v", s)
	}
	if s := got[2]; s.Version != 10 || s.CompatibleFrom != 9 || s.Contract != "the old columns are gone" {
		t.Errorf("%+v", s)
	}
	const first = "-- compatible-from: 1\n"
	for want, files := range map[string][]string{
		"its first line must be":                {"00001_init.sql", "CREATE TABLE notes (id uuid);"},
		`must be "-- compatible-from: N"`:       {"00001_init.sql", "-- compatible-from: one\n"},
		"between 1 and its own version 1":       {"00001_init.sql", "-- compatible-from: 2\n"},
		"between 1 and its own version 2":       {"00001_init.sql", first, "00002_a.sql", "-- compatible-from: 0\n"},
		"its name must be a number":             {"init.sql", first},
		`must say "-- compatible-from: 1"`:      {"00001_init.sql", first, "00002_a.sql", "-- compatible-from: 2\n"},
		"a contract must raise compatible-from": {"00001_init.sql", first, "00002_a.sql", "-- compatible-from: 1\n-- contract: it is\n"},
		"00001_init.sql has the same number":    {"00001_init.sql", first, "1_more.sql", first},
	} {
		if got, err := steps(files...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want an error with %q", got, err, want)
		}
	}
}
