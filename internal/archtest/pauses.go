package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// mayPause lists the files that may wait for a fixed time, as prefixes of paths.
var mayPause = []string{
	"test/faults/",                  // paces the faults that it injects
	"internal/queue/runner_test.go", // its pass advances the fake clock of bubbles
}

// FindPauses returns the statements that wait for a fixed time only: "<-time.After(d)" is
// time.Sleep in another form, and so is a select with no other case. Bubbles of
// testing/synctest, where the clock is fake, may pause. It fails when a file cannot be read
// or is not Go.
func FindPauses(root fs.FS) ([]Remark, error) {
	var found []Remark
	err := walkOurs(root, func(file string) error {
		if path.Ext(file) != ".go" || hasPrefix(file, mayPause) {
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse %s: %w", file, err)
		}
		cases := map[ast.Node]bool{} // of a select that has others
		ast.Inspect(parsed, func(n ast.Node) bool {
			if isCallOf(n, "synctest", "Test") || cases[n] {
				return false
			}
			if s, ok := n.(*ast.SelectStmt); ok && len(s.Body.List) > 1 {
				addCases(cases, s)
			}
			if isPause(n) {
				found = append(found, Remark{file, set.Position(n.Pos()).Line, "waits for a fixed time: wait for a signal, with a time limit, or use testing/synctest"})
			}
			return true
		})
		return nil
	})
	return found, err
}

func addCases(cases map[ast.Node]bool, s *ast.SelectStmt) {
	for _, clause := range s.Body.List {
		if c, ok := clause.(*ast.CommClause); ok && c.Comm != nil {
			cases[c.Comm] = true
		}
	}
}

func hasPrefix(file string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(file, p) {
			return true
		}
	}
	return false
}

// isPause reports whether a statement only waits for time to pass.
func isPause(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ExprStmt:
		return isReceiveOfAfter(n.X)
	case *ast.AssignStmt:
		return len(n.Rhs) == 1 && isReceiveOfAfter(n.Rhs[0])
	}
	return false
}

// isReceiveOfAfter reports whether an expression is "<-time.After(d)".
func isReceiveOfAfter(e ast.Expr) bool {
	receive, ok := e.(*ast.UnaryExpr)
	return ok && receive.Op == token.ARROW && isCallOf(receive.X, "time", "After")
}

// isCallOf reports whether a node calls a function of a package.
func isCallOf(n ast.Node, pkg, name string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != name {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	return ok && of.Name == pkg
}
