// Command size prints how large the house is: lines by package beside their budgets, packages, operations of the contracts,
// interfaces. Run it in the root of the module; complexity is the linter's.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/slipboxhq/slipbox/internal/archtest"
)

func main() {
	if err := run(os.DirFS(".")); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(root fs.FS) error {
	sizes, err := archtest.Sizes(root)
	if err != nil {
		return err
	}
	budgets, sum := archtest.Budgets(), archtest.Size{}
	var table strings.Builder
	table.WriteString("product\tbudget\ttests\tgenerated\t  package\n")
	for _, p := range archtest.Map() {
		s := sizes[p.Path]
		sum.Product, sum.Tests, sum.Generated = sum.Product+s.Product, sum.Tests+s.Tests, sum.Generated+s.Generated
		fmt.Fprintf(&table, "%d\t%d\t%d\t%d\t  %s\n", s.Product, budgets[p.Path], s.Tests, s.Generated, p.Path)
	}
	fmt.Fprintf(&table, "%d\t\t%d\t%d\t  in all\n", sum.Product, sum.Tests, sum.Generated)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := w.Write([]byte(table.String())); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}

	packages, interfaces, err := declared(root)
	if err != nil {
		return err
	}
	operations, err := operations(root)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("\n%d packages, %d interfaces, %d operations\n", packages, interfaces, operations)
	return err
}

// declared counts the packages with code that is not a test, and the interfaces that they declare.
func declared(root fs.FS) (packages, interfaces int, err error) {
	folders := map[string]bool{}
	err = archtest.WalkGo(root, func(file string) error {
		if !strings.HasPrefix(file, "internal/") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folders[path.Dir(file)] = true
		for n := range ast.Preorder(parsed) {
			if t, ok := n.(*ast.TypeSpec); ok {
				if _, ok := t.Type.(*ast.InterfaceType); ok {
					interfaces++
				}
			}
		}
		return nil
	})
	return len(folders), interfaces, err
}

// operations counts those of the contracts in the folder api.
func operations(root fs.FS) (n int, err error) {
	files, err := fs.Glob(root, "api/*.yaml")
	if err != nil {
		return 0, err
	}
	for _, file := range slices.Sorted(slices.Values(files)) {
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return 0, err
		}
		n += strings.Count(string(src), "operationId:")
	}
	return n, nil
}
