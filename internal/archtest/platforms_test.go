package archtest_test

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// noImports resolves no import, so a check needs no compiled packages.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not resolved") }

// filesFor returns the Go files of a folder that one platform builds.
func filesFor(t *testing.T, dir, goos, goarch string) []string {
	t.Helper()
	platform := build.Default
	platform.GOOS, platform.GOARCH, platform.CgoEnabled = goos, goarch, false
	pkg, err := platform.ImportDir(dir, 0)
	var none *build.NoGoError
	if err != nil && !errors.As(err, &none) {
		t.Fatal(err)
	}
	return pkg.GoFiles
}

// undefined returns the names that a package of these files uses and does not declare. Some are of
// packages that it imports.
func undefined(t *testing.T, dir string, sources []string) map[string]bool {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range sources {
		file := must.Get(parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution))(t)
		files = append(files, file)
	}
	names := map[string]bool{}
	config := types.Config{Importer: noImports{}, Error: func(err error) {
		if _, name, found := strings.Cut(err.Error(), "undefined: "); found {
			names[name] = true
		}
	}}
	_, _ = config.Check(dir, set, files, nil) // errors are collected above
	return names
}

// Releases are built for platforms that no developer may have. A package with files for one platform
// declares the same names on all.
func TestPlatformsHaveTheSameNames(t *testing.T) {
	t.Parallel()
	dirs := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "testdata" || file != "." && strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(file, ".go") && strings.HasPrefix(file, "internal/") {
			dirs[path.Dir(file)] = true
		}
		return err
	})
	if err != nil || !dirs["internal/encoder"] {
		t.Fatal(len(dirs), err)
	}
	compared := 0
	for dir := range dirs {
		in := filepath.Join(root, dir)
		reference := filesFor(t, in, "linux", "amd64")
		for _, platform := range [][2]string{{"linux", "arm64"}, {"darwin", "arm64"}, {"darwin", "amd64"}} {
			files := filesFor(t, in, platform[0], platform[1])
			if slices.Equal(files, reference) {
				continue
			}
			compared++
			known := undefined(t, in, reference)
			for name := range undefined(t, in, files) {
				if !known[name] {
					t.Errorf("%s: %s is not declared for %s/%s", dir, name, platform[0], platform[1])
				}
			}
		}
	}
	if compared == 0 {
		t.Error("no package has files for one platform: delete this test")
	}
}
