package archtest

import (
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Violation is an import that the map does not allow, or a package that it lacks.
type Violation struct {
	// File and Line are the position of the import. File is relative to the module.
	File string
	Line int
	// Import is the path imported, empty when the package itself has no entry.
	Import string
	Reason string
}

// String returns the violation in the form of a compiler's message.
func (v Violation) String() string {
	if v.Import == "" {
		return fmt.Sprintf("%s: %s", v.File, v.Reason)
	}
	return fmt.Sprintf("%s:%d: import %q: %s", v.File, v.Line, v.Import, v.Reason)
}

// Verify compares the imports of every Go file of the module in root with the map. It skips
// hidden and underscored folders, vendor, testdata, and folders that are modules of their
// own. It fails when a file cannot be read or is not Go.
func Verify(root fs.FS) ([]Violation, error) {
	j := newJudge(Map(), Dependencies())
	err := WalkGo(root, func(file string) error {
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, src, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("parse %s: %w", file, err)
		}
		if !j.isCovered(file) {
			return nil
		}
		for _, spec := range parsed.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("parse import of %s: %w", file, err)
			}
			if reason := j.refuse(file, target); reason != "" {
				j.found = append(j.found, Violation{file, set.Position(spec.Pos()).Line, target, reason})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(j.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return j.found, nil
}

// WalkGo calls visit for every Go file of the module in root, but not of the modules in it.
func WalkGo(root fs.FS, visit func(file string) error) error {
	return fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if !entry.IsDir() {
			if path.Ext(name) == ".go" {
				return visit(file)
			}
			return nil
		}
		if file == "." {
			return nil
		}
		if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			return fs.SkipDir
		}
		if _, err := fs.Stat(root, path.Join(file, "go.mod")); err == nil {
			return fs.SkipDir
		}
		return nil
	})
}

// judge compares single imports with the map.
type judge struct {
	packages []Package
	outside  []Dependency
	found    []Violation
	unknown  map[string]bool
}

func newJudge(packages []Package, outside []Dependency) *judge {
	return &judge{packages: packages, outside: outside, unknown: map[string]bool{}}
}

// lookup returns the entry that covers a path: its own, or the one of the nearest folder
// above it.
func (j *judge) lookup(pkg string) (Package, bool) {
	for at := pkg; at != "." && at != "/"; at = path.Dir(at) {
		if i := slices.IndexFunc(j.packages, func(p Package) bool { return p.Path == at }); i >= 0 {
			return j.packages[i], true
		}
	}
	return Package{}, false
}

// isCovered reports whether the map covers the package of a file. It adds a violation for
// the first file of each package that is not covered.
func (j *judge) isCovered(file string) bool {
	pkg := path.Dir(file)
	if _, ok := j.lookup(pkg); ok {
		return true
	}
	if !j.unknown[pkg] {
		j.unknown[pkg] = true
		j.found = append(j.found, Violation{File: file, Reason: "package " + pkg + " is not in the package map: add it to archtest.Map"})
	}
	return false
}

// refuse returns why a file may not import a target, or "" when it may.
func (j *judge) refuse(file, target string) string {
	isTest := strings.HasSuffix(file, "_test.go")
	pkg := path.Dir(file)
	from, _ := j.lookup(pkg)
	if inside, ok := strings.CutPrefix(target, Module+"/"); ok && !strings.HasPrefix(target, Client) {
		return j.refuseInside(from, inside, isTest)
	}
	for _, d := range j.outside {
		if !strings.HasPrefix(target, d.Prefix) || isTest && d.Tests {
			continue
		}
		if !slices.ContainsFunc(d.Only, func(only string) bool { return pkg == only || strings.HasPrefix(pkg, only+"/") }) {
			return d.Prefix + " is for " + strings.Join(d.Only, ", ") + " only"
		}
	}
	return ""
}

func (j *judge) refuseInside(from Package, target string, isTest bool) string {
	to, ok := j.lookup(target)
	switch {
	case !ok:
		return "that package is not in the package map"
	case to.Path == from.Path, to.Layer == LayerLeaf && from.Layer != LayerTool && (!from.Strict || isTest):
		return ""
	case slices.Contains(from.May, to.Path), (isTest || from.Layer == LayerTool) && (target == "test/must" || target == "test/clock"):
		return ""
	case !named(to.Path) && slices.Contains(from.May, layer(to.Layer)):
		return ""
	case isTest && from.Layer != LayerTool && (to.Layer == LayerAdapter || to.Layer == LayerCore || to.Layer == LayerTool):
		// Tests run on the real embedded store, with scopes of their own making and with the evaluation.
		return ""
	}
	return fmt.Sprintf("%s (%s) may not import %s (%s)", from.Path, from.Layer, to.Path, to.Layer)
}

// named reports whether the importers of a package are listed one by one, so that
// "every core" does not include it: the maker of scopes, and the packages of single
// policies, of which only their list, their folder and the analyst know. What a folder
// has beside the policy itself is read by edges, as other packages of the core are.
func named(pkg string) bool {
	policy, single := strings.CutPrefix(pkg, "internal/memory/policy/")
	return pkg == "internal/tenant/grant" || single && policy != "policies" && !strings.Contains(policy, "/")
}
