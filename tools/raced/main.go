// Command raced prints which tests run with the race detector and which without, as arguments of "go test", one call a line. Run
// it in the root of the module.
//
//   - A package that starts goroutines or locks is tested whole with the race detector, and not again without it.
//   - Of all other packages the tests run that start goroutines. The packages in stories are among them: they put the others
//     together, and most of their tests are long, one step after another.
//   - A file of tests with "//go:build !race" computes for long, and starts no goroutine that other tests of its package do not
//     start. Its tests run without the race detector.
//
// Usage:
//
//	raced race            what the race detector runs
//	raced long            the tests in files that it leaves out
//	raced rest            the tests of packages of which it does not run all
//	raced all             every package; tests that start programs or measure are a line of their own
//	raced meet PACKAGE... the tests of these packages that start goroutines
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// stories are packages with goroutines of which the tests run that start some themselves.
var stories = []string{
	"internal/app", "internal/memory/engine", "internal/api", "internal/memory/policy/layered/layers", "internal/memory/policy/memgpt/agent",
}

// elsewhere are packages with goroutines or locks that the tests of others run with the race detector, each with the reason.
var elsewhere = map[string]string{ //nolint:gosec // no secret: internal/secret is a package
	"internal/cli":                         "a goroutine that reads an input; the tests of cmd/slipbox run it as a process",
	"internal/cpus":                        "its number is set once, before anything else starts",
	"internal/document":                    "a goroutine of the child, which shares nothing with what it watches",
	"internal/llm/llmtest":                 "the tests of internal/llm use it",
	"internal/memory":                      "a map of zones, which the tests of internal/app use",
	"internal/secret":                      "a list with a lock; the requests of internal/app share it",
	"internal/snapshot":                    "files with a lock; the tests of internal/memory/recall share them",
	"internal/store":                       "a counter and plans with a lock; the tests of both engines share them",
	"internal/store/postgres/postgrestest": "the tests of internal/store/postgres use it",
}

// outside are packages whose tests run programs that read the tree, so "go test" cannot know whether its last result still holds.
var outside = []string{"deploy", "docs/examples", "internal/archtest"}

// processes are the packages whose tests start the commands or measure.
const processes = "./cmd/... ./test/bench ./test/faults ./test/load"

// slowest are the packages to begin with, so that all processors are busy until the end.
var slowest = []string{
	"internal/app", "internal/api", "internal/memory/recall", "internal/store/sqlite", "internal/store/postgres", "internal/memory/engine",
	"internal/clone", "internal/llm",
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "raced:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	all, err := readTree(os.DirFS("."))
	if err != nil {
		return err
	}
	lines, err := all.lines(args)
	if err != nil {
		return err
	}
	fmt.Println(strings.Join(lines, "\n"))
	return nil
}

// lines returns what the command prints.
func (t tree) lines(args []string) ([]string, error) {
	whole, err := t.whole()
	if err != nil {
		return nil, err
	}
	others := without(t.tested(), whole)

	switch {
	case slices.Equal(args, []string{"race"}):
		return []string{packages(whole), t.byName("run", others, (*tests).concurrent)}, nil
	case slices.Equal(args, []string{"long"}):
		return []string{t.byName("run", whole, (*tests).unraced)}, nil
	case slices.Equal(args, []string{"rest"}):
		parted := slices.DeleteFunc(slices.Clone(others), func(dir string) bool { return len(t[dir].concurrent()) == 0 })
		return []string{t.byName("skip", parted, (*tests).concurrent), packages(without(without(others, parted), outside)), "-count=1 " + packages(outside)}, nil
	case slices.Equal(args, []string{"all"}):
		return []string{packages(without(t.tested(), outside)), "-count=1 " + packages(outside) + " " + processes}, nil
	case len(args) > 1 && args[0] == "meet":
		return []string{t.byName("run", args[1:], (*tests).concurrent)}, nil
	}
	return nil, errors.New("the argument is race, long, rest, all, or meet with packages")
}

func without(dirs, left []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return slices.Contains(left, dir) })
}

// tree is a module: its packages by their folders.
type tree map[string]*tests

// tested returns the packages with tests, the slowest first, but for those of programs that run or measure the product.
func (t tree) tested() []string {
	var out []string
	for _, dir := range slices.Sorted(maps.Keys(t)) {
		if top, _, _ := strings.Cut(dir, "/"); len(t[dir].calls) > 0 && top != "cmd" && top != "test" {
			out = append(out, dir)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

func rank(dir string) int {
	if i := slices.Index(slowest, dir); i >= 0 {
		return i
	}
	return len(slowest)
}

// whole returns the packages of which the race detector runs all tests.
func (t tree) whole() ([]string, error) {
	for dir := range elsewhere {
		if p := t[dir]; p == nil || !p.meet {
			return nil, fmt.Errorf("%s neither starts goroutines nor locks: remove it from elsewhere", dir)
		}
	}
	return slices.DeleteFunc(t.tested(), func(dir string) bool {
		_, other := elsewhere[dir]
		return !t[dir].meet || other || slices.Contains(stories, dir)
	}), nil
}

func packages(dirs []string) string { return "./" + strings.Join(dirs, " ./") }

// byName returns the arguments that run, or skip, some tests of these packages.
func (t tree) byName(flag string, dirs []string, choose func(*tests) []string) string {
	var names, from []string
	for _, dir := range dirs {
		if chosen := choose(t[dir]); len(chosen) > 0 {
			names, from = append(names, chosen...), append(from, dir)
		}
	}
	return fmt.Sprintf("-%s '^(%s)$' %s", flag, strings.Join(names, "|"), packages(from))
}
