package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// A common mistake is answered with its fix.
func TestMistakesNameTheFix(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	taken := strings.TrimPrefix(serve(t, data, nil).url, "http://")
	file := filepath.Join(t.TempDir(), "notes.txt")
	must.Do(t, os.WriteFile(file, []byte("not a database, but long enough to look like one"), 0o600))
	fresh := filepath.Join(t.TempDir(), "fresh")
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"mistyped command", []string{"srve"}, []string{`"srve"`, "serve"}},
		{"mistyped subcommand", []string{"tenant", "remove"}, []string{`"remove"`, "delete", "gateway tenant --help"}},
		{"mistyped flag", []string{"serve", "--prot", "1"}, []string{"--prot", "gateway serve --help"}},
		{"no argument", []string{"backup"}, []string{"FILE", "gateway backup --help"}},
		{"no id", []string{"key", "revoke"}, []string{"ID", "gateway key list"}},
		{"one argument too many", []string{"check", "all"}, []string{`"all"`, "gateway check --help"}},
		{"no store there", []string{"key", "list", "--data", fresh}, []string{fresh, "gateway serve", "--data"}},
		{"a file instead of a directory", []string{"check", "--data", file}, []string{file, "--data"}},
		{"unknown tenant", []string{"key", "create", "--tenant", "nobody", "--data", data}, []string{`"nobody"`, "`gateway tenant list` lists the tenants\n"}},
		{"unknown tenant to suspend", []string{"tenant", "suspend", "nobody", "--data", data}, []string{`"nobody"`, "gateway tenant list"}},
		{"unknown key", []string{"key", "revoke", "nothing", "--data", data}, []string{`"nothing"`, "gateway key list"}},
		{"unknown scope", []string{"key", "create", "--scopes", "notes:all", "--data", data}, []string{"notes:all", "notes:read"}},
		{"unknown id", []string{"key", "create", "--external", "name=ida", "--data", data}, []string{"name=ida", "user=ida@example.com"}},
		{"a file that is not a backup", []string{"restore", file, "--data", fresh}, []string{file, "gateway backup"}},
		{"restore over a store", []string{"restore", file, "--data", data}, []string{"in use", "--data"}},
		{"an address that is taken", []string{"serve", "--addr", taken, "--data", fresh}, []string{taken, "with --addr or SLIPBOX_ADDR"}},
		{"served already", []string{"serve", "--data", data}, []string{"in use", "stop that gateway", "with --data or SLIPBOX_DATA"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, msg, code := run(t, nil, tt.args...)
			if code != 1 || out != "" {
				t.Errorf("exit %d, want 1; stdout %q", code, out)
			}
			if _, err := os.Stat(fresh); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it leaves a directory: %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(msg, want) {
					t.Errorf("%q is missing in: %s", want, msg)
				}
			}
		})
	}
}

// Doctor reports what a start would find at the address and in the data directory.
func TestDoctorLooksAtAddressAndData(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data, nil)
	addr := strings.TrimPrefix(p.url, "http://")
	if out, msg, code := run(t, []string{"SLIPBOX_ADDR=" + addr}, "doctor", "--data", data); code != 0 || !strings.Contains(out, "answers on "+addr) {
		t.Errorf("beside a gateway: exit %d\n%s%s", code, out, msg)
	}
	p.Stop(t)
	if out, msg, code := run(t, []string{"SLIPBOX_ADDR=" + addr}, "doctor", "--data", data); code != 0 || !strings.Contains(out, "nothing listens on "+addr) {
		t.Errorf("without a gateway: exit %d\n%s%s", code, out, msg)
	}
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	below := filepath.Join(file, "data")
	if out, msg, code := run(t, nil, "doctor", "--data", below); code != 1 || !strings.Contains(out, "bad   data") || !strings.Contains(out, "--data") {
		t.Errorf("a directory that cannot be created: exit %d\n%s%s", code, out, msg)
	}
}

var demoCommand = regexp.MustCompile(`(?m)^  (export SLIPBOX_\w+=\S+|curl .*\\\n.*)$`)

// The commands that the demo prints work as pasted.
func TestDemoCommandsWorkAsPrinted(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the commands need %s, which is not installed", tool)
		}
	}
	p := launch(t, t.TempDir(), freeAddr(t), nil, "--demo")
	p.Await(t, "the demo printed its commands", func() bool { return strings.Contains(p.Stdout.String(), "scouts-demo") })
	commands := demoCommand.FindAllString(p.Stdout.String(), -1)
	if len(commands) != 6 {
		t.Fatalf("found %d commands, want three exports and three requests:\n%s", len(commands), p.Stdout)
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-c", strings.Join(commands, "\n")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != 3 {
		t.Fatalf("%d answers, want one line for each request:\n%s", len(answers), out)
	}
	for i, want := range [][]string{
		{`"state":"evolved"`, `"relation":"related"`, `"analyst":"heuristic"`},
		{`"hits":[{`, "gas kiln"},
		{`"name":"scouts-demo"`, `"parent":{`},
	} {
		for _, w := range want {
			if !strings.Contains(answers[i], w) {
				t.Errorf("%s is missing in answer %d: %s", w, i+1, answers[i])
			}
		}
	}
}

// A variable whose name is misspelled would be ignored silently. The start warns of it once, and doctor reports it.
func TestMisspelledVariablesAreReported(t *testing.T) {
	t.Parallel()
	env := []string{"SLIPBOX_JOB_WORKRES=3", "SLIPBOX_COLOR=red"}
	const want = "SLIPBOX_COLOR, SLIPBOX_JOB_WORKRES (did you mean SLIPBOX_JOB_WORKERS?)"
	data := t.TempDir()
	p := serve(t, data, env)
	if log := p.Stderr.String(); strings.Count(log, want) != 1 || !strings.Contains(log, "WARN") {
		t.Errorf("the start does not warn once of %s:\n%s", want, log)
	}
	out, _, code := run(t, env, "doctor", "--data", data)
	if code != 0 || !strings.Contains(out, "note  settings") || !strings.Contains(out, want) {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
}
