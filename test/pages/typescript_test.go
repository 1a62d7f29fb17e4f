package pages_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// typescript has the TypeScript of the pages, whose types were checked and which was translated at once: that takes seconds.
type typescript struct {
	reader  *reader
	dir     string
	openAI  string
	modules map[string]string // by page
}

// tsconfig is that of a program that uses the packages.
const tsconfig = `{
  "compilerOptions": {
    "target": "ES2022", "module": "NodeNext", "moduleResolution": "NodeNext", "types": ["node"], "strict": true,
    "skipLibCheck": true, "rootDir": ".", "outDir": "out"
  },
  "include": ["*.mts"]
}`

// newTypeScript translates the TypeScript of pages, and says to the test what is wrong with it. A fake model is OpenAI.
func newTypeScript(t *testing.T, r *reader, pages []string) *typescript {
	t.Helper()
	ts := &typescript{reader: r, dir: t.TempDir(), openAI: llmtest.New(t).URL(), modules: map[string]string{}}
	slug := regexp.MustCompile(`\W+`)
	for _, page := range pages {
		if blocks := of(blocksOf(t, page), "ts", ""); len(blocks) > 0 {
			ts.modules[page] = slug.ReplaceAllString(page, "_")
			write(t, filepath.Join(ts.dir, ts.modules[page]+".mts"), r.filled(page, "ts", blocks))
		}
	}
	write(t, filepath.Join(ts.dir, "tsconfig.json"), tsconfig)
	own := installed(t, "typescript")
	for _, from := range []string{own, installed(t, "openai"), installed(t, "mem0"), installed(t, "mastra")} {
		linkModules(t, filepath.Join(from, "node_modules"), filepath.Join(ts.dir, "node_modules"))
	}
	client := ts.dir + "/node_modules/@slipbox/client"
	for _, name := range []string{"package.json", "src", "tsconfig.json", "tsconfig.build.json"} {
		source := filepath.Join(tree, "sdk", "typescript", name)
		if info, err := os.Stat(source); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			must.Do(t, os.CopyFS(filepath.Join(client, name), os.DirFS(source)))
			continue
		}
		raw := must.Get(os.ReadFile(source))(t)
		write(t, filepath.Join(client, name), string(raw))
	}
	compiler := own + "/node_modules/typescript/bin/tsc"
	for _, config := range []string{filepath.Join(client, "tsconfig.build.json"), "tsconfig.json"} {
		if out, err := r.run(t, ts.dir, nil, "node", compiler, "-p", config); err != nil {
			t.Errorf("the types of the pages' TypeScript: %v\n%s", err, out)
		}
	}
	return ts
}

// run runs the TypeScript of a page.
func (ts *typescript) run(t *testing.T, page string) {
	t.Helper()
	module, ok := ts.modules[page]
	if !ok {
		return
	}
	env := []string{"OPENAI_BASE_URL=" + ts.openAI, "OPENAI_API_KEY=x"}
	if out, err := ts.reader.run(t, ts.dir, env, "node", "out/"+module+".mjs"); err != nil {
		t.Errorf("the TypeScript of %s: %v\n%s", page, err, out)
	}
}

// linkModules makes links to the packages of a folder that are not there yet.
func linkModules(t *testing.T, from, to string) {
	t.Helper()
	entries := must.Get(os.ReadDir(from))(t)
	must.Do(t, os.MkdirAll(to, 0o700))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		source, link := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if strings.HasPrefix(e.Name(), "@") {
			linkModules(t, source, link)
			continue
		}
		if err := os.Symlink(source, link); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
}
