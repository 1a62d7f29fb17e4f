package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/test/must"
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
			must.Do(t, os.WriteFile(filepath.Join(dir, "go"), []byte(fake), 0o700))
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

// maxBinary is the largest size of a stripped gateway, in bytes. The reader of PDFs is 9 MB of it, the adapters of the local
// encoders 2.6 MB, the Model Context Protocol 1.6 MB, what reads texts in the encodings that they declare 0.7 MB.
const maxBinary = 67_200_000

// The gateway stays small. It was a fifth larger while it contained calls of methods by names that
// are known at run time only, for which the linker keeps every exported method.
func TestBinaryIsSmall(t *testing.T) {
	t.Parallel()
	path := commandtest.Command(t, nil).Path
	info := must.Get(buildinfo.ReadFile(path))(t)
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	if !strings.Contains(set["-tags"], "grpcnotrace") {
		const reason = `the gateway was built without the flags of the project: export GOFLAGS="$(make -s goflags)"`
		if os.Getenv("SLIPBOX_BINARIES") != "" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	if set["-race"] == "true" {
		t.Skip("the race detector's code is not part of a release")
	}
	content := must.Get(os.ReadFile(path))(t)
	// The names of functions are in every binary, for stack traces.
	has := func(function string) bool { return bytes.Contains(content, []byte("\x00"+function+"\x00")) }
	if !has("github.com/gin-gonic/gin.(*Engine).ServeHTTP") {
		t.Fatal("the names of functions were not found")
	}
	for function, cause := range map[string]string{
		"text/template.(*Template).Execute": "something renders a template: render it by make generate, as internal/api/docs does",
		"github.com/gin-gonic/gin.(*Context).BindXML": "nothing calls it, so something calls methods by name: " +
			"go build -ldflags=-dumpdep ./cmd/gateway 2>&1 | grep ReflectMethod",
	} {
		if has(function) {
			t.Errorf("the gateway contains %s: %s", function, cause)
		}
	}
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		t.Skipf("the size is known for Linux only: %v", err)
	}
	size := len(content)
	for _, s := range file.Sections {
		if s.Name == ".symtab" || s.Name == ".strtab" || strings.HasPrefix(s.Name, ".debug_") {
			size -= int(s.FileSize) // what the linker's flags -s and -w leave out
		}
	}
	t.Logf("%.1f MB stripped", float64(size)/1e6)
	if size > maxBinary {
		t.Errorf("the stripped gateway has %d bytes, want at most %d: look for what is new with go tool nm -size -sort size", size, maxBinary)
	}
}
