package pages_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// block is a fenced block of a page.
type block struct {
	language string
	mark     string // what runs it, where a language has several; "" is the usual one
	notRun   bool   // the block says why no test runs it
	text     string
	line     int // of the fence
}

// notRunMark follows the language of a block that no test can run, with the reason:
// "```sh not-run: needs Docker". Renderers show neither.
const notRunMark = "not-run:"

// marks are what may follow a language, with what it means: see [runner] and [checkYAML].
var marks = map[string][]string{
	"sh": {""}, "go": {""}, "ts": {""}, "json": {""}, "text": {""}, "mermaid": {""},
	"python": {"", "mem0"},
	"yaml":   {"", "settings", "values"},
}

var fence = regexp.MustCompile("^( *)```([a-z0-9]*) *(.*)$")

// blocksOf returns the fenced blocks of a page in order, without the indentation of their fence.
func blocksOf(t *testing.T, file string) []block {
	t.Helper()
	raw := must.Get(os.ReadFile(filepath.Join(tree, file)))(t)
	var blocks []block
	indent, open := "", false
	for i, line := range strings.Split(string(raw), "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil && !open:
			b := block{language: m[2], mark: m[3], line: i + 1}
			if reason, marked := strings.CutPrefix(m[3], notRunMark); marked {
				b.notRun, b.mark = true, ""
				if strings.TrimSpace(reason) == "" {
					t.Errorf("%s:%d: the reason why the block is not run is missing", file, i+1)
				}
			}
			if !slices.Contains(marks[b.language], b.mark) {
				t.Errorf("%s:%d: nothing runs a block of %q; see marks, and %q", file, i+1, line, notRunMark)
			}
			blocks, indent, open = append(blocks, b), m[1], true
		case m != nil:
			open = false
		case open:
			blocks[len(blocks)-1].text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	return blocks
}

// link is a link of the README's list of pages.
var link = regexp.MustCompile(`(?m)^- \[[^\]]*\]\(([^)]+\.md)\)`)

// pages returns the pages that have blocks: the README, those of its list in its order, and the others.
func pages(t *testing.T) []string {
	t.Helper()
	readme := must.Get(os.ReadFile(filepath.Join(tree, "README.md")))(t)
	found := []string{"README.md"}
	for _, m := range link.FindAllStringSubmatch(string(readme), -1) {
		found = append(found, m[1])
	}
	must.Do(t, filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "node_modules" || name == "testdata" || name == "data" || strings.HasPrefix(name, ".") && len(name) > 2) {
			return filepath.SkipDir
		}
		page, err := filepath.Rel(tree, path)
		if err == nil && filepath.Ext(name) == ".md" && !slices.Contains(found, page) {
			found = append(found, page)
		}
		return err
	}))
	return slices.DeleteFunc(found, func(page string) bool { return len(blocksOf(t, page)) == 0 })
}

// of returns the blocks of a language and a mark that are run.
func of(blocks []block, language, mark string) []block {
	var found []block
	for _, b := range blocks {
		if b.language == language && b.mark == mark && !b.notRun {
			found = append(found, b)
		}
	}
	return found
}

// program returns blocks as one program, each on the lines that it has in its page, so that errors name them. The first
// line, where a page has its title, is what the page takes as given.
func program(given string, blocks []block) string {
	lines := []string{given}
	for _, b := range blocks {
		for len(lines) < b.line {
			lines = append(lines, "")
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")...)
	}
	return strings.Join(lines, "\n") + "\n"
}
