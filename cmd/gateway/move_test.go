package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/test/must"
)

// exported creates a store with a key and exports it to a file, by the commands.
func exported(t *testing.T) (file, key string) {
	t.Helper()
	data := t.TempDir()
	p := serve(t, data, nil)
	key = newKey(t, data)
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "c", "policy": "none"})
	for i := range 100 {
		p.must(t, key, 201, "POST", "/v1/collections/c/notes", object{"content": strings.Repeat(sentence(i)+" ", 100)})
	}
	file = filepath.Join(t.TempDir(), "all.ndjson")
	out, errOut, code := run(t, nil, "export", file, "--data", data) // while the gateway runs
	if code != 0 || out != file+"\n" || !strings.Contains(errOut, "notes: 100 rows exported") {
		t.Fatalf("export: exit %d\n%s\n%s", code, out, errOut)
	}
	p.Stop(t)
	return file, key
}

// killImport sends half of a file to an import and kills it.
func killImport(t *testing.T, file string, env []string, args ...string) {
	t.Helper()
	whole := must.Get(os.ReadFile(file))(t)
	cmd := commandtest.Command(t, env, append([]string{"import", "-"}, args...)...)
	stdin := must.Get(cmd.StdinPipe())(t)
	p := commandtest.Start(t, cmd)
	if _, err := io.Copy(stdin, bytes.NewReader(whole[:len(whole)*2/3])); err != nil {
		t.Fatalf("feed the import: %v\n%s", err, p.Stderr)
	}
	// Half of the file ends among the notes, which are most of it.
	p.Await(t, "the import began", func() bool { return strings.Contains(p.Stderr.String(), "changesets: ") })
	p.Kill()
	if cmd.ProcessState.Success() {
		t.Fatalf("the import ended before the kill:\n%s", p.Stderr)
	}
}

// An import that is killed leaves an empty target, into which the file can be imported.
func TestKilledImportLeavesNothing(t *testing.T) {
	t.Parallel()
	file, key := exported(t)
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		data := filepath.Join(t.TempDir(), "new")
		killImport(t, file, nil, "--data", data)
		if _, err := os.Stat(filepath.Join(data, "slipbox.db")); !os.IsNotExist(err) {
			t.Errorf("there is a database: %v", err)
		}
		if out, msg, code := run(t, nil, "import", file, "--data", data); code != 0 || !strings.Contains(out, data) {
			t.Fatalf("import: exit %d\n%s\n%s", code, out, msg)
		}
		if out, msg, code := run(t, nil, "check", "--data", data); code != 0 || !strings.Contains(out, "sound") {
			t.Errorf("check: exit %d\n%s\n%s", code, out, msg)
		}
		p := serve(t, data, nil)
		if n := p.must(t, key, 200, "GET", "/v1/collections/c", nil)["counts"].(object)["notes"]; n != 100.0 {
			t.Errorf("%v notes, want 100", n)
		}
		if again := keyText.FindAllString(p.Stdout.String(), -1); len(again) != 0 {
			t.Errorf("the first start of a moved store prints a key:\n%s", p.Stdout)
		}
	})
	t.Run("servers", func(t *testing.T) {
		t.Parallel()
		database := postgrestest.New(t)
		owner := []string{"MIGRATE_DATABASE_URL=" + database.OwnerURL}
		killImport(t, file, owner)
		// A target that is not empty would be refused.
		if out, msg, code := run(t, owner, "import", file); code != 0 || out != "imported into the database\n" {
			t.Fatalf("import: exit %d\n%s\n%s", code, out, msg)
		}
		// An import that was killed after its commit, while it verified, is recognized.
		if out, msg, code := run(t, owner, "import", file); code != 0 || out != "imported into the database\n" || !strings.Contains(msg, "already") {
			t.Errorf("the import again: exit %d\n%s\n%s", code, out, msg)
		}
		other, _ := exported(t)
		if _, msg, code := run(t, owner, "import", other); code != 1 || !strings.Contains(msg, "not empty") {
			t.Errorf("the import of another file: exit %d\n%s", code, msg)
		}
		back := file + ".gz"
		if out, msg, code := run(t, owner, "export", back); code != 0 || out != back+"\n" {
			t.Fatalf("export: exit %d\n%s\n%s", code, out, msg)
		}
		if _, msg, code := run(t, nil, "import", back, "--data", filepath.Join(t.TempDir(), "home")); code != 0 {
			t.Errorf("import back: exit %d\n%s", code, msg)
		}
	})
}

func TestMoveMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		env  string
		says string
	}{
		{[]string{"export"}, "", "FILE"},
		{[]string{"import"}, "", "FILE"},
		{[]string{"export", "x", "--data", "d"}, "DATABASE_URL=postgres://nobody@127.0.0.1:1/x", "no store in d"},
		{[]string{"import", "/dev/null", "--data", "d"}, "", "no file that `gateway export` wrote"},
	} {
		if _, msg, code := run(t, []string{c.env}, c.args...); code != 1 || !strings.Contains(msg, c.says) {
			t.Errorf("%v: exit %d: %s", c.args, code, msg)
		}
	}
}
