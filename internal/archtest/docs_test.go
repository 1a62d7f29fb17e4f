package archtest_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/archtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// readFile returns a file of the module.
func readFile(t *testing.T, file string) string {
	t.Helper()
	content := must.Get(os.ReadFile(filepath.Join(root, file)))(t)
	return string(content)
}

// section returns the text below a heading, up to the next heading of its level or above.
func section(t *testing.T, document, heading string) string {
	t.Helper()
	level, _, _ := strings.Cut(heading, " ")
	_, rest, ok := strings.Cut("\n"+document, "\n"+heading+"\n")
	if !ok {
		t.Fatalf("there is no section %q", heading)
	}
	for i := range rest {
		line, _, _ := strings.Cut(rest[i:], "\n")
		marks, _, isHeading := strings.Cut(line, " ")
		if (i == 0 || rest[i-1] == '\n') && isHeading && strings.Trim(marks, "#") == "" && marks != "" && len(marks) <= len(level) && !inFence(rest[:i]) {
			return rest[:i]
		}
	}
	return rest
}

func inFence(before string) bool { return strings.Count(before, "\n```")%2 == 1 }

var envTag = regexp.MustCompile(`\benv:"([A-Z][A-Z0-9_]*)`)

// C087: each variable that the code reads settings from has a line in the guide.
func TestGuideNamesEveryVariable(t *testing.T) {
	t.Parallel()
	settings := section(t, readFile(t, "docs/guide.md"), "## Settings")
	tree := os.DirFS(root)
	var named int
	must.Do(t, fs.WalkDir(tree, "internal", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		for _, m := range envTag.FindAllStringSubmatch(string(src), -1) {
			named++
			if !strings.Contains(settings, "`"+m[1]+"`") {
				t.Errorf("%s reads %s, which the settings in docs/guide.md lack", file, m[1])
			}
		}
		return nil
	}))
	if named == 0 {
		t.Error("no variable was found in the code: the test looks for the wrong thing")
	}
}

// C088: the guide covers binary, source and container, and the check after installing.
// The sections on good practice are compared with the product by a test of internal/app (C089).
func TestGuideHoldsItsSections(t *testing.T) {
	t.Parallel()
	guide := readFile(t, "docs/guide.md")
	for heading, words := range map[string][]string{
		"## Install":          {"go install github.com/slipboxhq/slipbox/cmd/gateway", "go build ./cmd/gateway", "docker build -f deploy/Dockerfile"},
		"## First-run check":  {"gateway doctor", "gateway check"},
		"### Clear content":   {"occurred_at"},
		"### Consistent tags": {"attributes"},
		"### Tuning k":        {"`k`", "token_budget", "min_score", "expand_links"},
		"## Errors":           {"Idempotency-Key", "Retry-After", "examples/client/main.go"},
	} {
		text := section(t, guide, heading)
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("section %q does not speak of %q", heading, word)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(root, "deploy", "Dockerfile")); err != nil {
		t.Error(err)
	}
}

// C091: one command runs all tests and prints their coverage. It is run here on a package
// with few tests, and fails when one fails.
func TestMakeCoverPrintsCoverage(t *testing.T) {
	t.Parallel()
	// -o: servers and weights are not needed for these packages.
	makeCover := func(args ...string) (string, error) {
		args = append([]string{"-C", root, "--no-print-directory", "-o", "services", "-o", "encoder", "cover"}, args...)
		cmd := exec.CommandContext(t.Context(), "make", args...)
		// Nothing of a make that runs this test takes part.
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "PACKAGES", "COVERAGE"}, name)
		})
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if recipe, err := makeCover("-n"); err != nil || !regexp.MustCompile(`(?m)go test .* \./\.\.\.$`).MatchString(recipe) {
		t.Errorf("make cover does not run the tests of all packages: %v\n%s", err, recipe)
	}
	out, err := makeCover("PACKAGES=./internal/when", "COVERAGE="+filepath.Join(t.TempDir(), "coverage.out"))
	if err != nil || !regexp.MustCompile(`(?m)^total:\s+\(statements\)\s+[1-9][0-9.]*%$`).MatchString(out) {
		t.Errorf("make cover prints no total: %v\n%s", err, out)
	}
	if out, err := makeCover("PACKAGES=./internal/nosuch"); err == nil {
		t.Errorf("make cover succeeds without tests:\n%s", out)
	}
}

var (
	markdownLink = regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^)]*))?\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.*)$`)
	code         = regexp.MustCompile("(?s)```.*?\n```|`[^`\n]*`")
	fenced       = regexp.MustCompile("(?s)```.*?\n```")
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func TestDocumentsLinkToWhatExists(t *testing.T) {
	t.Parallel()
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found := must.Get(filepath.Glob(filepath.Join(root, pattern)))(t)
		documents = append(documents, found...)
	}
	if len(documents) < 5 {
		t.Fatalf("found only %v", documents)
	}
	for _, document := range documents {
		content := must.Get(os.ReadFile(document))(t)
		for _, m := range markdownLink.FindAllStringSubmatch(code.ReplaceAllString(string(content), ""), -1) {
			target := document
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(document), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", document, m[1])
			} else if m[2] != "" && !slices.Contains(anchors(t, target), m[2]) {
				t.Errorf("%s links to %s#%s, a heading that does not exist", document, m[1], m[2])
			}
		}
	}
}

// anchors returns the names by which links find the headings of a page, as GitHub makes them.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	content := must.Get(os.ReadFile(page))(t)
	var names []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(content), ""), -1) {
		names = append(names, strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

// holdsTable says how the page about storage calls what a table of the database holds.
var holdsTable = map[string]string{
	"notes": "versions of notes", "links": "and links", "changesets": "changesets", "collections": "collections", "collection_heads": "collections",
	"vectors": "vectors", "jobs": "outbox", "spool": "imports", "reviews": "reviews", "attachments": "attached blocks",
	"snapshots": "snapshots", "tools": "tools of tenants", "webhooks": "webhooks", "deliveries": "deliveries", "tenants": "tenants", "agents": "tenants", "api_keys": "hashes of keys", "grants": "grants",
	"signing_keys": "signing keys", "audit": "audit", "idempotency": "idempotency keys", "usage": "usage counters", "model_use": "usage counters",
	"schema_compat": "versions of the schema",
}

// holdsRedis says how the page about storage calls what a package puts into Redis.
var holdsRedis = map[string]string{"internal/redis": "request limits", "internal/cache": "cache of versions"}

var storeRow = regexp.MustCompile(`(?m)^\| \*\*(.*?)\*\*[^|]*\|([^|]*)\|([^|]*)\|$`)

var createTable = regexp.MustCompile(`(?i)CREATE TABLE (?:IF NOT EXISTS )?([a-z_]+)`)

// C315: the architecture says which store holds what, and why. Every table of the database
// and every package that uses Redis is in it, so a new one is described before it is used.
func TestArchitectureSaysWhatIsKeptWhere(t *testing.T) {
	t.Parallel()
	rows := map[string][]string{} // by store: what it holds, and why
	for _, m := range storeRow.FindAllStringSubmatch(section(t, readFile(t, "docs/architecture/storage.md"), "## Where things are kept"), -1) {
		if rows[m[1]] = m[2:]; strings.TrimSpace(m[3]) == "" {
			t.Errorf("the table does not say why %s is used", m[1])
		}
	}
	holds := func(store, what, by string) {
		t.Helper()
		if row := rows[store]; len(row) == 0 || what == "" || !strings.Contains(row[0], what) {
			t.Errorf("%s keeps data in %q, and the table does not say so (%q)", by, store, what)
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "migrations", "*", "*.sql"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		sql := must.Get(os.ReadFile(file))(t)
		for _, m := range createTable.FindAllStringSubmatch(string(sql), -1) {
			holds("SQLite file", holdsTable[m[1]], "the table "+m[1])
		}
	}
	if row := rows["Postgres with pgvector"]; len(row) == 0 || !strings.Contains(row[0], "the same tables") {
		t.Error("the table does not say that Postgres has the same tables")
	}
	for _, d := range archtest.Dependencies() {
		if d.Prefix == "github.com/redis/" {
			for _, pkg := range d.Only {
				holds("Redis", holdsRedis[pkg], pkg)
			}
		}
	}
}

// The overview is one page, and each part of the architecture has a page that is read in a
// few minutes.
func TestArchitecturePagesAreShort(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "architecture", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, filepath.Join(root, "docs", "architecture.md")) {
		content := must.Get(os.ReadFile(page))(t)
		if n := len(strings.Fields(string(content))); n >= 1200 {
			t.Errorf("%s has %d words: 1,200 are too many for a page", page, n)
		}
	}
}
