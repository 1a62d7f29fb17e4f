package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// A Size is how many lines of Go a package has.
type Size struct {
	Product   int // written by hand, in what is built
	Tests     int // test files, and packages that only tests use
	Generated int // files that say so
}

// Sizes counts the lines of the module in root, by the path of the map's entry that covers them. What the map does not cover, as
// the modules inside, is left out.
func Sizes(root fs.FS) (map[string]Size, error) {
	j := newJudge(Map(), nil)
	sizes := map[string]Size{}
	err := WalkGo(root, func(file string) error {
		entry, ok := j.lookup(path.Dir(file))
		if !ok {
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		generated, err := isGenerated(file, src)
		if err != nil {
			return err
		}
		size, lines := sizes[entry.Path], bytes.Count(src, []byte("\n"))
		switch {
		case generated:
			size.Generated += lines
		case isTest(file):
			size.Tests += lines
		default:
			size.Product += lines
		}
		sizes[entry.Path] = size
		return nil
	})
	return sizes, err
}

// isGenerated reports whether a file carries the mark of "go help generate".
func isGenerated(file string, src []byte) (bool, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		return false, fmt.Errorf("parse %s: %w", file, err)
	}
	return ast.IsGenerated(parsed), nil
}

// isTest reports whether a file is a test or belongs to what only tests use: the folder test, and packages named after what they
// test, as httptest is.
func isTest(file string) bool {
	return strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "test/") || strings.HasSuffix(path.Dir(file), "test")
}
