package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

const watchingPage = "../../docs/watching.md"

// documents fails unless the page has each metric that was exported.
func documents(t *testing.T, metrics []string) {
	t.Helper()
	page := must.Get(os.ReadFile(watchingPage))(t)
	if len(metrics) < 10 {
		t.Errorf("only %v were exported", metrics)
	}
	for _, m := range metrics {
		family := m[:strings.LastIndex(m, ".")+1] + "*"
		if parts := strings.Split(m, "."); len(parts) > 3 {
			family = strings.Join(parts[:3], ".") + ".*"
		}
		if !strings.Contains(string(page), "`"+m+"`") && !strings.Contains(string(page), "`"+family+"`") {
			t.Errorf("%s does not name the metric %s", watchingPage, m)
		}
	}
}

var (
	ourName  = regexp.MustCompile("`(slipbox\\.[a-z_.]+)`")
	constant = regexp.MustCompile(`attribute\.Key\("([a-z_.]+)"\)`)
)

// The page names every attribute, and no metric or attribute that does not exist.
func TestWatchingPageIsTrue(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile(watchingPage))(t)
	list := must.Get(os.ReadFile("../telemetry/attributes.go"))(t)
	found := constant.FindAllStringSubmatch(string(list), -1)
	if len(found) < 20 {
		t.Fatalf("only %d attributes are found", len(found))
	}
	for _, m := range found {
		if !strings.Contains(string(page), "`"+m[1]+"`") {
			t.Errorf("%s does not name the attribute %s", watchingPage, m[1])
		}
	}
	code := sources(t)
	for _, m := range ourName.FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(code, `"`+m[1]+`"`) {
			t.Errorf("%s names %s, which no code does", watchingPage, m[1])
		}
	}
}

// sources returns the code below internal, without tests.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	must.Do(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		all.Write(src)
		return err
	}))
	return all.String()
}
