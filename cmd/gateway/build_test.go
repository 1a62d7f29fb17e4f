package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The build script counts what is compiled, passes everything else on, and fails when go does.
func TestBuildShowsProgress(t *testing.T) {
	t.Parallel()
	const script = "../../scripts/build.sh"
	for _, tt := range []struct {
		name, compiled string
		code           string
		want           []string
	}{
		{"a first build", "for i in $(seq 120); do echo example.com/p$i; done", "0", []string{"up to 3 packages", "50 packages", "120 packages compiled"}},
		{"nothing to do", ":", "0", nil},
		{"an error", "echo net/http; echo '# example.com/p'; echo './p.go:1:2: undefined: x'", "1", []string{"undefined: x", "1 packages compiled"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fake := "#!/usr/bin/env bash\nif [[ $1 == list ]]; then printf 'a\\nb\\nc\\n'; exit 0; fi\n{ " + tt.compiled + "; } >&2\nexit " + tt.code + "\n"
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte(fake), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "bash", script, "-s", "./cmd/gateway")
			cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if (err != nil) != (tt.code != "0") {
				t.Errorf("%v\n%s", err, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
			if len(tt.want) == 0 && len(out) > 0 {
				t.Errorf("a build with nothing to do prints %s", out)
			}
		})
	}
}
