package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// Every build has the same tags. An image also embeds the time zones, which scratch lacks.
func TestBuildTags(t *testing.T) {
	t.Parallel()
	tagsOf := func(file, pattern string) []string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(readFile(t, file))
		if m == nil {
			t.Fatalf("%s sets no tags", file)
		}
		return strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })
	}
	want := tagsOf("Makefile", `(?m)^BUILD_FLAGS :=.* -tags=(\S+)`)
	if got := tagsOf("deploy/Dockerfile", `(?m)^ENV .*GOFLAGS=".* -tags=timetzdata,([^\s"]+)`); !slices.Equal(got, want) {
		t.Errorf("deploy/Dockerfile builds with %q, the Makefile with %q", got, want)
	}
	if got := tagsOf(".goreleaser.yaml", `(?m)^ +tags: \[(.*)\]`); !slices.Equal(got, want) {
		t.Errorf(".goreleaser.yaml builds with %q, the Makefile with %q", got, want)
	}
}

// Chart, clients and changelog name one version, so that a tag does not find otherwise.
func TestReleaseHasOneVersion(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), root+"/scripts/release-versions.sh").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}

	out, err = exec.CommandContext(t.Context(), root+"/scripts/release-versions.sh", "0.0.7").CombinedOutput()
	if err == nil || strings.Count(string(out), "0.0.7") < 6 {
		t.Errorf("another version: %v: %s", err, out)
	}
}

// A command that opens /dev/stderr truncates the file that the stream is redirected to.
func TestStreamsAreNotOpened(t *testing.T) {
	t.Parallel()
	opened := regexp.MustCompile(`(?m)^.*/dev/(stdout|stderr|fd/).*$`)
	for _, file := range append(must.Get(filepath.Glob(root+"/scripts/*.sh"))(t), root+"/Makefile", root+"/.ci/run") {
		for _, line := range opened.FindAllString(string(must.Get(os.ReadFile(file))(t)), -1) {
			t.Errorf("%s: %s: write to >&2, or let tee write to >(cat >&2)", file, line)
		}
	}
}

// eachPackageFile parses every Go file of the module and of no other.
func eachPackageFile(t *testing.T, visit func(file string, parsed *ast.File)) {
	t.Helper()
	tree := os.DirFS(root)
	must.Do(t, fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, other := fs.Stat(tree, path.Join(file, "go.mod"))
			if file != "." && (other == nil || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		visit(file, parsed)
		return nil
	}))
}

// A corpus that no fuzz target reads is one of a target that was renamed.
func TestCorporaHaveTargets(t *testing.T) {
	t.Parallel()
	targets := map[string]bool{}
	eachPackageFile(t, func(file string, parsed *ast.File) {
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Fuzz") {
				targets[path.Join(path.Dir(file), "testdata", "fuzz", f.Name.Name)] = true
			}
		}
	})
	corpora := must.Get(fs.Glob(os.DirFS(root), "internal/*/testdata/fuzz/*"))(t)
	for _, corpus := range corpora {
		if !targets[corpus] {
			t.Errorf("%s belongs to no fuzz target: rename it with its target", corpus)
		}
	}
}
