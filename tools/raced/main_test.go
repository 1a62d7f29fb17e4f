package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipboxhq/slipbox/test/must"
)

// module returns a module with the packages that the lists of the command name, and these files.
func module(t *testing.T, files map[string]string) tree {
	t.Helper()
	all := fstest.MapFS{}
	for dir := range elsewhere {
		all[dir+"/a.go"] = &fstest.MapFile{Data: []byte("package a\nfunc F() { go F() }")}
	}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	read := must.Get(readTree(all))(t)
	return read
}

func TestLines(t *testing.T) {
	t.Parallel()
	const plain = "package a\nfunc TestPlain() {}"
	m := module(t, map[string]string{
		"goes/a.go":             "package a\nfunc f() { go f() }",
		"goes/a_test.go":        plain,
		"goes/long_test.go":     "//go:build !race\n\npackage a\nfunc TestLong() { go f() }",
		"waits/a.go":            "package a\nimport \"sync\"\nfunc f(w *sync.WaitGroup) { w.Go(func() {}) }",
		"waits/a_test.go":       plain,
		"locks/a.go":            "package a\nimport \"sync\"\nvar mu sync.Mutex",
		"locks/a_test.go":       plain,
		"once/a.go":             "package a\nimport \"sync\"\nvar read = sync.OnceValue(f)",
		"once/a_test.go":        "package a\nfunc TestMany() { all() }\nfunc TestOne() { one() }\nfunc all() { go one() }\nfunc one() {}",
		"once/long_test.go":     "//go:build !race\n\npackage a\nfunc TestLongMany() { all() }",
		"plain/a_test.go":       plain,
		"twice/a_test.go":       "package a\nfunc TestIn() { listen() }\nfunc listen() { go f() }",
		"twice/b_test.go":       "package a_test\nfunc TestBeside() { listen() }\nfunc listen() {}",
		"bare/a.go":             "package a\nfunc f() { go f() }",
		"cmd/a/a_test.go":       "package a\nfunc TestAll() { go f() }",
		"other/go.mod":          "module other",
		"other/a.go":            "package a\nfunc f() { go f() }",
		"other/a_test.go":       plain,
		"internal/api/a.go":     "package a\nfunc f() { go f() }",
		"internal/api/_test.go": "package a\nfunc TestStory() {}\nfunc TestMeet() { go f() }",
	})
	for mode, want := range map[string][]string{
		"race":              {"./goes ./locks ./waits", "-run '^(TestMeet|TestMany|TestIn)$' ./internal/api ./once ./twice"},
		"long":              {"-run '^(TestLong)$' ./goes"},
		"rest":              {"-skip '^(TestMeet|TestMany|TestIn)$' ./internal/api ./once ./twice", "./plain", "-count=1 ./deploy ./docs/examples ./internal/archtest"},
		"all":               {"./internal/api ./goes ./locks ./once ./plain ./twice ./waits", "-count=1 ./deploy ./docs/examples ./internal/archtest " + processes},
		"meet internal/api": {"-run '^(TestMeet)$' ./internal/api"},
	} {
		if got, err := m.lines(strings.Fields(mode)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", mode, got, err, want)
		}
	}
	if got, err := m.lines(nil); err == nil {
		t.Errorf("without arguments: %q", got)
	}
	delete(m, "internal/cli")
	if got, err := m.lines([]string{"race"}); err == nil {
		t.Errorf("with a package in elsewhere that is gone: %q", got)
	}
}

// Every package of this module with tests is run by one of the targets, and the packages that the command's lists name have tests.
func TestThisModule(t *testing.T) {
	t.Parallel()
	m := must.Get(readTree(os.DirFS("../..")))(t)
	var run []string
	for _, mode := range []string{"race", "rest"} {
		lines := must.Get(m.lines([]string{mode}))(t)
		for _, line := range lines {
			run = append(run, strings.Fields(line)...)
		}
	}
	for _, dir := range m.tested() {
		if !slices.Contains(run, "./"+dir) {
			t.Errorf("%s is run by no target", dir)
		}
	}
	for _, dir := range slices.Concat(stories, outside, slowest) {
		if !slices.Contains(m.tested(), dir) {
			t.Errorf("%s has no tests: remove it from the lists", dir)
		}
	}
	for _, dir := range stories {
		if len(m[dir].concurrent()) == 0 {
			t.Errorf("%s has no test that starts goroutines: remove it from stories", dir)
		}
	}
}
