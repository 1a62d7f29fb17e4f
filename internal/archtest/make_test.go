package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notRaced lists packages that start goroutines or use package sync, and that "make
// test/race" leaves out, each with the reason.
var notRaced = map[string]string{
	"cmd/eval":                              "a command without tests",
	"internal/app/command/commandtest":      "starts processes for tests",
	"internal/cli":                          "a goroutine that reads an input; the tests of cmd/slipbox run it as a process",
	"internal/cpus":                         "its number is set once, before anything else starts",
	"internal/llm/llmtest":                  "the tests of its users run it with the race detector",
	"internal/memory/policy/memgpt/agent":   "the tests of internal/api run it with the race detector",
	"internal/memory":                       "a map of zones; the tests of internal/app run it with the race detector",
	"internal/memory/jobs":                  "the tests of internal/worker run it with the race detector",
	"internal/memory/policy/layered/layers": "the tests of internal/api run it with the race detector",
	"internal/outbound/outboundtest":        "the tests of internal/memory/hooks run it with the race detector",
	"internal/redis/redistest":              "starts processes for tests",
	"internal/search/o200k":                 "reads its ranks once",
	"internal/store/enginetest":             "the tests of its users run it with the race detector",
	"internal/store/postgres/postgrestest":  "the tests of its users run it with the race detector",
	"internal/store/storetest":              "the tests of its users run it with the race detector",
	"internal/telemetry/telemetrytest":      "the tests of its users run it with the race detector",
	"internal/secret":                       "reads its table once",
	"api":                                   "reads its documents once",
	"internal/text":                         "reads its tables once",
	"test/load":                             "a program that measures, without tests",
}

// makeVariable returns the words of a variable of the Makefile.
func makeVariable(t *testing.T, name string) []string {
	t.Helper()
	makefile := strings.ReplaceAll(readFile(t, "Makefile"), "\\\n", " ")
	m := regexp.MustCompile(`(?m)^` + name + ` *:= *(.*)$`).FindStringSubmatch(makefile)
	if m == nil {
		t.Fatalf("the Makefile does not set %s", name)
	}
	return strings.Fields(regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(m[1], func(ref string) string {
		return strings.Join(makeVariable(t, strings.Trim(ref, "$()")), " ")
	}))
}

// The Makefile's list of packages for the race detector has every package where goroutines
// meet, and only packages with tests.
func TestRacePackages(t *testing.T) {
	t.Parallel()
	raced := slices.Concat(makeVariable(t, "RACE_PACKAGES"), makeVariable(t, "RACE_BY_NAME_PACKAGES"))
	for _, name := range []string{"RACE_PACKAGES", "RACE_BY_NAME_PACKAGES", "WITHOUT_RACE_PACKAGES", "OVER_STORE"} {
		for _, pkg := range makeVariable(t, name) {
			if tests, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go")); err != nil || len(tests) == 0 {
				t.Errorf("%s has %s, which has no tests", name, pkg)
			}
		}
	}
	for pkg := range notRaced {
		if slices.Contains(raced, pkg) {
			t.Errorf("%s is in RACE_PACKAGES and in notRaced", pkg)
		}
	}
	concurrent := map[string]bool{}
	eachPackageFile(t, func(file string, parsed *ast.File) {
		if !strings.HasSuffix(file, "_test.go") && isConcurrent(parsed) {
			concurrent[path.Dir(file)] = true
		}
	})
	for pkg := range concurrent {
		if _, ok := notRaced[pkg]; !ok && !slices.Contains(raced, pkg) {
			t.Errorf("%s starts goroutines or uses package sync: add it to RACE_PACKAGES of the Makefile, or to notRaced with a reason", pkg)
		}
	}
	for pkg := range notRaced {
		if !concurrent[pkg] {
			t.Errorf("%s is in notRaced, and neither starts goroutines nor uses package sync", pkg)
		}
	}
}

// What "make test/race" skips, "make test/rest" runs: skipped tests are only in the packages
// that it tests again without the race detector.
func TestSkippedInRaceRunElsewhere(t *testing.T) {
	t.Parallel()
	skipped := regexp.MustCompile(strings.Join(makeVariable(t, "WITHOUT_RACE"), ""))
	raced, again := makeVariable(t, "RACE_PACKAGES"), makeVariable(t, "WITHOUT_RACE_PACKAGES")
	found := map[string]bool{}
	eachPackageFile(t, func(file string, parsed *ast.File) {
		pkg := path.Dir(file)
		if !strings.HasSuffix(file, "_test.go") || !slices.Contains(raced, pkg) {
			return
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !skipped.MatchString(f.Name.Name) {
				continue
			}
			found[pkg] = true
			if !slices.Contains(again, pkg) {
				t.Errorf("%s: %s matches WITHOUT_RACE of the Makefile, so no target runs it: rename it, or add %s to WITHOUT_RACE_PACKAGES", file, f.Name.Name, pkg)
			}
		}
	})
	for _, pkg := range again {
		if !found[pkg] {
			t.Errorf("%s is in WITHOUT_RACE_PACKAGES and has no test that matches WITHOUT_RACE", pkg)
		}
	}
}

// A test that starts goroutines has a name by which "make test/race" runs it, in the packages of which it
// runs tests by name.
func TestRacesByName(t *testing.T) {
	t.Parallel()
	packages := makeVariable(t, "RACE_BY_NAME_PACKAGES")
	byName := regexp.MustCompile(strings.Join(makeVariable(t, "RACE_BY_NAME"), ""))
	starts := map[string]map[string]bool{}           // functions that start goroutines, by package
	calls := map[string]map[string]map[string]bool{} // by package and function
	eachPackageFile(t, func(file string, parsed *ast.File) {
		pkg := path.Dir(file)
		if !strings.HasSuffix(file, "_test.go") || !slices.Contains(packages, pkg) {
			return
		}
		if starts[pkg] == nil {
			starts[pkg], calls[pkg] = map[string]bool{}, map[string]map[string]bool{}
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				// A server beside the test, as all tests of the package have one, does not count.
				own := path.Base(file) != "setup_test.go"
				starts[pkg][f.Name.Name] = own && startsGoroutines(f.Body) || starts[pkg][f.Name.Name]
				calls[pkg][f.Name.Name] = calledIn(f.Body)
			}
		}
	})
	for _, pkg := range packages {
		found := 0
		for changed := true; changed; {
			changed = false
			for name, called := range calls[pkg] {
				for other := range called {
					if starts[pkg][other] && !starts[pkg][name] {
						starts[pkg][name], changed = true, true
					}
				}
			}
		}
		for name := range calls[pkg] {
			if !starts[pkg][name] || !strings.HasPrefix(name, "Test") {
				continue
			}
			found++
			if !byName.MatchString(name) {
				t.Errorf("%s: %s starts goroutines, and the race detector does not run it: rename it, or add to RACE_BY_NAME of the Makefile", pkg, name)
			}
		}
		if found == 0 {
			t.Errorf("%s is in RACE_BY_NAME_PACKAGES and has no test that starts goroutines", pkg)
		}
	}
}

// startsGoroutines reports whether code has a go statement, or hands a function literal to a method Go, as of
// a sync.WaitGroup.
func startsGoroutines(code ast.Node) bool {
	found := false
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" && len(n.Args) == 1 {
				_, literal := n.Args[0].(*ast.FuncLit)
				found = found || literal
			}
		}
		return !found
	})
	return found
}

// calledIn returns the names of the functions and methods that a body calls.
func calledIn(body *ast.BlockStmt) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch f := call.Fun.(type) {
			case *ast.Ident:
				out[f.Name] = true
			case *ast.SelectorExpr:
				out[f.Sel.Name] = true
			}
		}
		return true
	})
	return out
}

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

// eachPackageFile parses every Go file of the module and of no other.
func eachPackageFile(t *testing.T, visit func(file string, parsed *ast.File)) {
	t.Helper()
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
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
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isConcurrent reports whether a file starts goroutines or imports package sync.
func isConcurrent(file *ast.File) bool {
	for _, spec := range file.Imports {
		if spec.Path.Value == `"sync"` || spec.Path.Value == `"sync/atomic"` {
			return true
		}
	}
	return startsGoroutines(file)
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
	corpora, err := fs.Glob(os.DirFS(root), "internal/*/testdata/fuzz/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, corpus := range corpora {
		if !targets[corpus] {
			t.Errorf("%s belongs to no fuzz target: rename it with its target", corpus)
		}
	}
}
