package main

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// tests is what is known of one package and its tests.
type tests struct {
	meet   bool                       // its own code starts goroutines or locks
	starts map[string]bool            // functions of its tests that start goroutines
	long   []string                   // its tests in files that the race detector leaves out
	calls  map[string]map[string]bool // what each function of its tests calls
}

// readTree parses every Go file of the module and of no other.
func readTree(files fs.FS) (tree, error) {
	all := tree{}
	err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, other := fs.Stat(files, path.Join(file, "go.mod"))
			if file != "." && (other == nil || entry.Name() == "testdata" || entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(file)
		if all[dir] == nil {
			all[dir] = &tests{starts: map[string]bool{}, calls: map[string]map[string]bool{}}
		}
		all[dir].add(path.Base(file), parsed)
		return nil
	})
	return all, err
}

// add takes in one file of the package.
func (p *tests) add(name string, file *ast.File) {
	if !strings.HasSuffix(name, "_test.go") {
		p.meet = p.meet || meets(file)
		return
	}

	left := leftOut(file)
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		if left && isTest(f.Name.Name) {
			p.long = append(p.long, f.Name.Name)
		}
		of := file.Name.Name
		id := anywhere + f.Name.Name
		if f.Recv == nil && !f.Name.IsExported() {
			id = of + id
		}
		// A server beside the test, as all tests of the package have one, does not count.
		if name != "setup_test.go" && !left && startsGoroutines(f.Body) {
			p.starts[id] = true
		}
		if p.calls[id] == nil {
			p.calls[id] = map[string]bool{}
		}
		maps.Copy(p.calls[id], calledIn(of, f.Body))
	}
}

// anywhere is before the name of a method, and of what both packages of a folder can call. A function has its package before that: the
// tests of a package and those beside it may have one of the same name each.
const anywhere = "."

// unraced returns the tests that the race detector leaves out.
func (p *tests) unraced() []string { return p.long }

// concurrent returns the tests that start goroutines, by themselves or by a function of the package's tests, and that the race
// detector does not leave out.
func (p *tests) concurrent() []string {
	for changed := true; changed; {
		changed = false
		for name, called := range p.calls {
			for other := range called {
				if p.starts[other] && !p.starts[name] {
					p.starts[name], changed = true, true
				}
			}
		}
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(p.starts)) {
		if name, ok := strings.CutPrefix(id, anywhere); ok && isTest(name) && !slices.Contains(p.long, name) {
			out = append(out, name)
		}
	}
	return out
}

func isTest(name string) bool {
	return strings.HasPrefix(name, "Test") && name != "TestMain" || strings.HasPrefix(name, "Fuzz")
}

// leftOut reports whether the race detector's builds leave a file out.
func leftOut(file *ast.File) bool {
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			return false
		}
		for _, c := range group.List {
			expr, err := constraint.Parse(c.Text)
			if err == nil && !expr.Eval(func(string) bool { return true }) {
				return true
			}
		}
	}
	return false
}

// meets reports whether code starts goroutines or locks. What is computed once (sync.Once and its kind) does not count.
func meets(file *ast.File) bool {
	found := startsGoroutines(file)
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if from, ok := s.X.(*ast.Ident); ok {
				found = found || from.Name == "sync" && !strings.HasPrefix(s.Sel.Name, "Once") || from.Name == "atomic"
			}
		}
		return !found
	})
	return found
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

// calledIn returns the functions and methods that a body of a package calls.
func calledIn(of string, body *ast.BlockStmt) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch f := call.Fun.(type) {
			case *ast.Ident:
				out[of+anywhere+f.Name] = true
				if f.IsExported() {
					out[anywhere+f.Name] = true
				}
			case *ast.SelectorExpr:
				out[anywhere+f.Sel.Name] = true
			}
		}
		return true
	})
	return out
}
