package archtest_test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipboxhq/slipbox/internal/archtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// root is the module that the tests judge.
const root = "../.."

func TestTreeFollowsTheMap(t *testing.T) {
	t.Parallel()
	found := must.Get(archtest.Verify(os.DirFS(root)))(t)
	for _, v := range found {
		t.Error(v)
	}
}

func TestMapIsSound(t *testing.T) {
	t.Parallel()
	layers := map[string]bool{}
	paths := map[string]archtest.Package{}
	for _, p := range archtest.Map() {
		if _, twice := paths[p.Path]; twice {
			t.Errorf("%s is listed twice", p.Path)
		}
		if p.Owns == "" {
			t.Errorf("%s does not say what it owns", p.Path)
		}
		paths[p.Path] = p
		layers["layer:"+string(p.Layer)] = true
	}
	for _, p := range archtest.Map() {
		if p.Layer == archtest.LayerLeaf && len(p.May) > 0 {
			t.Errorf("%s is a leaf and may not import upward", p.Path)
		}
		for _, may := range p.May {
			if _, ok := paths[may]; !ok && !layers[may] {
				t.Errorf("%s may import %s, which is not on the map", p.Path, may)
			}
			if l := paths[may].Layer; p.Layer == archtest.LayerCore && l != archtest.LayerCore && l != archtest.LayerLeaf {
				t.Errorf("%s belongs to the core and may import %s", p.Path, may)
			}
		}
	}
	for _, d := range archtest.Dependencies() {
		for _, only := range d.Only {
			if _, ok := paths[only]; !ok {
				t.Errorf("%s is for %s, which is not on the map", d.Prefix, only)
			}
		}
	}
}

func TestDocumentShowsTheMap(t *testing.T) {
	t.Parallel()
	document := must.Get(os.ReadFile(filepath.Join(root, "docs", "architecture", "packages.md")))(t)
	want := must.Get(archtest.ReplaceTable(string(document)))(t)
	if string(document) != want {
		t.Error("the package map in docs/architecture/packages.md is not that of the code: run make generate")
	}
}

func TestReplaceTableWantsItsMarks(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"", "<!-- package map: written by make generate -->\n"} {
		if _, err := archtest.ReplaceTable(document); err == nil {
			t.Errorf("%q was taken", document)
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const ours = archtest.Module + "/"
	tests := []struct {
		name, file, imported string
		refused              bool
	}{
		{"core imports a leaf", "internal/memory/a.go", ours + "internal/fault", false},
		{"core imports the client", "internal/memory/a.go", archtest.Client, true},
		{"command line imports the client", "internal/cli/a.go", archtest.Client, false},
		{"core imports an adapter", "internal/memory/a.go", ours + "internal/store/sqlite", true},
		{"core imports an edge", "internal/clone/a.go", ours + "internal/api", true},
		{"core test uses an engine", "internal/clone/a_test.go", ours + "internal/store/sqlite", false},
		{"core test uses an edge", "internal/clone/a_test.go", ours + "internal/api", true},
		{"memory imports the engine above it", "internal/memory/a.go", ours + "internal/memory/engine", true},
		{"policy imports memory", "internal/memory/policy/a.go", ours + "internal/memory", false},
		{"policy imports tenant", "internal/memory/policy/a.go", ours + "internal/tenant", true},
		{"policy names its faults", "internal/memory/policy/a.go", ours + "internal/fault", false},
		{"policy imports an index", "internal/memory/policy/a.go", ours + "internal/index", true},
		{"policy test reads text", "internal/memory/policy/a_test.go", ours + "internal/text", false},
		{"leaf imports a leaf", "internal/index/a.go", ours + "internal/text", false},
		{"leaf imports the core", "internal/index/a.go", ours + "internal/memory", true},
		{"adapter imports the core", "internal/llm/a.go", ours + "internal/memory", false},
		{"adapter imports an adapter", "internal/llm/a.go", ours + "internal/cache", true},
		{"engine imports store", "internal/store/sqlite/a.go", ours + "internal/store", false},
		{"engine imports an engine", "internal/store/postgres/a.go", ours + "internal/store/sqlite", true},
		{"store imports an engine", "internal/store/a.go", ours + "internal/store/sqlite", true},
		{"edge imports the core", "internal/api/a.go", ours + "internal/clone", false},
		{"edge imports an edge", "internal/mcp/a.go", ours + "internal/api", true},
		{"edge imports an adapter", "internal/api/a.go", ours + "internal/store", true},
		{"app imports an adapter", "internal/app/a.go", ours + "internal/store/sqlite", false},
		{"config imports an adapter", "internal/config/a.go", ours + "internal/llm", false},
		{"edge imports config", "internal/api/a.go", ours + "internal/config", true},
		{"command imports app", "cmd/gateway/main.go", ours + "internal/app", false},
		{"command imports the core", "cmd/gateway/main.go", ours + "internal/memory", true},
		{"app imports the evaluation", "internal/app/a.go", ours + "internal/eval", true},
		{"app test uses the evaluation", "internal/app/a_test.go", ours + "internal/eval", false},
		{"gateway imports the evaluation", "cmd/gateway/main.go", ours + "internal/eval", true},
		{"evaluation imports app", "internal/eval/a.go", ours + "internal/app", true},
		{"command of the evaluation", "cmd/eval/main.go", ours + "internal/eval/reference", false},
		{"app imports a command", "internal/app/a.go", ours + "cmd/gateway", true},
		{"below one entry", "internal/llm/llmtest/a.go", ours + "internal/llm", false},
		{"below another entry", "internal/index/a.go", ours + "internal/llm/llmtest", true},
		{"a package without an entry", "internal/memory/a.go", ours + "internal/util", true},

		{"auth makes scopes", "internal/auth/a.go", ours + "internal/tenant/grant", false},
		{"conformance makes scopes", "internal/store/storetest/a.go", ours + "internal/tenant/grant", false},
		{"api makes scopes", "internal/api/a.go", ours + "internal/tenant/grant", true},
		{"engine makes scopes", "internal/store/sqlite/a.go", ours + "internal/tenant/grant", true},
		{"a test makes scopes", "internal/memory/engine/a_test.go", ours + "internal/tenant/grant", false},

		{"gin in api", "internal/api/a.go", "github.com/gin-gonic/gin", false},
		{"gin in app", "internal/app/a.go", "github.com/gin-gonic/gin", true},
		{"HTTP in the core", "internal/memory/notes/a.go", "net/http", true},
		{"HTTP at an edge", "internal/api/a.go", "net/http", false},
		{"sqlite in its engine", "internal/store/sqlite/a.go", "modernc.org/sqlite", false},
		{"sqlite in app", "internal/app/a.go", "modernc.org/sqlite", true},
		{"sqlite in a test", "internal/app/a_test.go", "modernc.org/sqlite", false},
		{"go-openai in the core", "internal/memory/policy/a.go", "github.com/sashabaranov/go-openai", true},
		{"SDK of OpenTelemetry in the core", "internal/memory/a.go", "go.opentelemetry.io/otel/sdk/trace", true},
		{"SDK of OpenTelemetry in a test", "internal/memory/a_test.go", "go.opentelemetry.io/otel/sdk/trace", false},
		{"names of OpenTelemetry", "internal/store/a.go", "go.opentelemetry.io/otel/trace", false},
		{"standard library", "internal/fault/a.go", "errors", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := "package a\n\nimport _ \"" + tt.imported + "\"\n"
			found := must.Get(archtest.Verify(fstest.MapFS{tt.file: {Data: []byte(src)}}))(t)
			if !tt.refused {
				if len(found) > 0 {
					t.Fatalf("refused: %v", found)
				}
				return
			}
			if len(found) != 1 || found[0].File != tt.file || found[0].Line != 3 || found[0].Import != tt.imported || found[0].Reason == "" {
				t.Fatalf("got %v, want one violation in line 3", found)
			}
			if got := found[0].String(); !strings.HasPrefix(got, tt.file+":3: ") {
				t.Errorf("message %q does not begin with file and line", got)
			}
		})
	}
}

// Each dependency is refused everywhere but in the packages that may import it.
func TestVerifyConfinesDependencies(t *testing.T) {
	t.Parallel()
	everywhere := map[string]bool{}
	for _, p := range archtest.Map() {
		everywhere[p.Path] = true
	}
	for _, d := range archtest.Dependencies() {
		for pkg := range everywhere {
			may := slices.ContainsFunc(d.Only, func(only string) bool { return pkg == only || strings.HasPrefix(pkg, only+"/") })
			for file, refused := range map[string]bool{pkg + "/a.go": !may, pkg + "/a_test.go": !may && !d.Tests} {
				src := "package a\n\nimport _ \"" + d.Prefix + "x\"\n"
				found := must.Get(archtest.Verify(fstest.MapFS{file: {Data: []byte(src)}}))(t)
				if got := len(found) > 0; got != refused {
					t.Errorf("%s imports %s: refused %v, want %v", file, d.Prefix, got, refused)
				}
			}
		}
	}
}

func TestVerifyRefusesUnlistedPackageOnce(t *testing.T) {
	t.Parallel()
	source := &fstest.MapFile{Data: []byte("package util\n")}
	found := must.Get(archtest.Verify(fstest.MapFS{"internal/util/a.go": source, "internal/util/b.go": source}))(t)
	if len(found) != 1 || !strings.Contains(found[0].String(), "internal/util is not in the package map") {
		t.Fatalf("got %v, want one violation that names the package", found)
	}
}

func TestVerifySkipsOtherModules(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"sdk/go/go.mod": {Data: []byte("module x\n")}}
	for _, folder := range []string{"sdk/go", "internal/memory/testdata", ".cache", "vendor/x", "_old"} {
		tree[path.Join(folder, "a.go")] = &fstest.MapFile{Data: []byte("not Go at all")}
	}
	found, err := archtest.Verify(tree)
	if err != nil || len(found) > 0 {
		t.Fatalf("got %v, %v, want nothing", found, err)
	}
}

func TestVerifyFailsOnBrokenSource(t *testing.T) {
	t.Parallel()
	if _, err := archtest.Verify(fstest.MapFS{"internal/memory/a.go": {Data: []byte("package")}}); err == nil {
		t.Fatal("a file that is not Go was taken")
	}
}
