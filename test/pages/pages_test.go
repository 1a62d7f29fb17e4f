// Package pages_test runs what the pages of this repository show: each fenced block of each page, by the runner of its
// language, as a reader who pastes it, or the block says why not. The pages share one gateway without a model, in the order
// of the README's list, so that what one page makes is in the way of no other.
//
//	sh      in one session of bash for a page
//	python  as one program for a page, with the packages of test/clients
//	ts      the same, after its types are checked
//	go      is a part of sdk/go/readme_test.go, which compiles and runs it
//	json    is the answer to the block before it
//	yaml    is read as what its mark says
//	text    is what the block before it prints
package pages_test

import (
	"context"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// tree is the root of this repository.
const tree = "../.."

func TestMain(m *testing.M) { commandtest.MainOf(m, "../../cmd/gateway") }

// limit is how long the blocks of one page may run.
const limit = 5 * time.Minute

// reader is a person with a gateway, whose address and key are in the environment.
type reader struct {
	url, key string
	dir      string // holds bin/gateway and data
	env      []string
	exports  []string // the lines that the start prints
	ask      string   // and the one that asks
}

var (
	keyText    = regexp.MustCompile(`sb_[A-Za-z0-9_-]+`)
	exportLine = regexp.MustCompile(`(?m)^  export .*$`)
	askLine    = regexp.MustCompile(`(?m)^  slipbox .*$`)
)

// newReader starts a gateway with the demo, and finds what a shell needs, in which "gateway" and "bin/gateway" are the
// command under test.
func newReader(t *testing.T) *reader {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the commands are for a person's shell, and %s is not installed", tool)
		}
	}
	r := &reader{dir: t.TempDir()}
	addr := "127.0.0.1:" + commandtest.FreePort(t)
	r.url = "http://" + addr
	cmd := commandtest.Command(t, nil, "serve", "--addr", addr, "--data", filepath.Join(r.dir, "data"), "--demo")
	commandtest.CommandOf(t, "../../cmd/slipbox", nil) // beside it, where a build has both
	binary := must.Get(filepath.Abs(cmd.Path))(t)
	must.Do(t, os.Mkdir(filepath.Join(r.dir, "bin"), 0o700))
	for _, name := range []string{"gateway", "slipbox"} {
		must.Do(t, os.Symlink(filepath.Join(filepath.Dir(binary), name), filepath.Join(r.dir, "bin", name)))
	}
	path := filepath.Join(r.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	// SLIPBOX_URL is the reader's own, and no page may replace it.
	r.env = append(slices.Clone(cmd.Env), "PATH="+path, "SLIPBOX_ADDR="+addr, "SLIPBOX_URL="+r.url, "PYTHONDONTWRITEBYTECODE=1",
		"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "HOME="+r.dir)
	p := commandtest.Start(t, cmd)
	p.Await(t, "the gateway printed a key", func() bool {
		out := p.Stdout.String()
		return keyText.MatchString(out) && strings.Contains(out, "scouts-demo")
	})
	out := p.Stdout.String()
	r.key, r.exports, r.ask = keyText.FindString(out), exportLine.FindAllString(out, -1), askLine.FindString(out)
	if len(r.exports) < 3 || r.ask == "" {
		t.Fatalf("the start prints no lines that make slipbox work, and one that asks:\n%s", out)
	}
	r.env = append(r.env, "SLIPBOX_KEY="+r.key)
	return r
}

// sh runs blocks in one session and returns what each printed. It fails when the session does.
func (r *reader) sh(t *testing.T, blocks []string) []string {
	t.Helper()
	const mark = "\x1e" // between the blocks
	var script strings.Builder
	script.WriteString("set -E -o pipefail\ntrap 'echo \"<<<failed: $BASH_COMMAND>>>\"' ERR\n")
	for _, b := range blocks {
		script.WriteString("printf '" + `\036` + "'\n" + b + "\n")
	}
	file := filepath.Join(r.dir, "pasted.sh")
	must.Do(t, os.WriteFile(file, []byte(script.String()), 0o600))
	out, err := r.run(t, r.dir, nil, "bash", file)
	if err != nil {
		t.Errorf("the shell ended with %v", err)
	}
	printed := strings.Split(out, mark)
	if len(printed) != len(blocks)+1 {
		t.Fatalf("%d of %d blocks ran:\n%s", len(printed)-1, len(blocks), out)
	}
	return printed[1:]
}

// run runs a command with the reader's environment, and returns what it printed.
func (r *reader) run(t *testing.T, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(r.env), env...)
	cmd.WaitDelay = 5 * time.Second // what a block started may hold its output
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Each block of each page runs, and what a page makes is in the way of no other.
func TestPages(t *testing.T) { //nolint:tparallel // pages are read one after the other
	t.Parallel()
	r := newReader(t)
	asked := r.sh(t, append(slices.Clone(r.exports), r.ask))
	if out := asked[len(asked)-1]; !strings.Contains(out, `"hits"`) || !strings.Contains(out, "kiln") {
		t.Errorf("%s prints\n%s", r.ask, out)
	}
	all := pages(t)
	typed := newTypeScript(t, r, all)
	for _, page := range all {
		//nolint:paralleltest // a page is read after those before it
		t.Run(page, func(t *testing.T) {
			blocks := blocksOf(t, page)
			if format, ok := strings.CutPrefix(page, "docs/history/"); ok {
				r.export(t, strings.TrimSuffix(format, ".md"), blocks)
			}
			checkRead(t, page, blocks)
			r.checkShell(t, page, blocks)
			for _, mark := range marks["python"] {
				r.python(t, page, mark, of(blocks, "python", mark))
			}
			typed.run(t, page)
			if page == "docs/forks.md" {
				r.checkDrawnLogs(t, page)
			}
		})
	}
	//nolint:paralleltest // it uses the same gateway
	t.Run("quick start", func(t *testing.T) { r.checkQuickStart(t) })
}

// checkShell runs the shell blocks of a page. A text block after one is what it prints, and a JSON block what it is answered.
func (r *reader) checkShell(t *testing.T, page string, blocks []block) {
	t.Helper()
	pasted := slices.Clone(r.exports)
	for _, b := range of(blocks, "sh", "") {
		pasted = append(pasted, b.text)
	}
	if len(pasted) == len(r.exports) {
		return
	}
	printed := r.sh(t, pasted)[len(r.exports):]
	for i, b := range blocks {
		if b.language != "sh" || b.notRun {
			continue
		}
		out := strings.TrimSpace(printed[0])
		printed = printed[1:]
		var next block
		if i+1 < len(blocks) {
			next = blocks[i+1]
		}
		if wrong := wrongWith(b, out, next); wrong != "" {
			t.Errorf("%s:%d: %s:\n%s\nprints\n%s", page, b.line, wrong, b.text, out)
		}
	}
}

var problemText = regexp.MustCompile(`"type": ?"about:blank"`)

// wrongWith says what is wrong with what a shell block printed; "" if nothing is.
func wrongWith(b block, out string, next block) string {
	shown := next.language == "json" && !next.notRun
	switch {
	case strings.Contains(out, "<<<failed"), strings.Contains(out, "command not found"):
		return "a command failed"
	case out == "" && strings.Contains(b.text, "api "):
		return "a request is not answered"
	case problemText.MatchString(out) && !shown:
		return "a request is refused"
	case shown && !answers(next.text, out):
		return "the answer is not the one of the page"
	case next.language == "text" && strings.TrimSpace(next.text) != out:
		return "the page shows another text"
	}
	return ""
}

// given are the names that the programs of a page take as the reader's own, in one line.
var given = map[string]string{
	"docs/guide.md python": `import time; from standardwebhooks import Webhook as W; from datetime import datetime, timezone; ` +
		`secret, body, at = "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "{}", int(time.time()); headers = {"webhook-id": "1", ` +
		`"webhook-timestamp": str(at), "webhook-signature": W(secret).sign("1", datetime.fromtimestamp(at, timezone.utc), body)}`,
	"sdk/python/README.md python": `import slipbox; slipbox.Slipbox().create_collection(name="otto", policy="memgpt", ` +
		`policy_config={"approve": ["conversation_search", "send_message"]})`,
	"sdk/typescript/README.md ts": `const otto = new Slipbox().collection('otto-ts'); await new Slipbox().createCollection({ name: 'otto-ts', ` +
		`policy: 'memgpt', policy_config: { approve: ['conversation_search', 'send_message'] } }); ` +
		`const tools: Record<string, (a: unknown) => string> = {}; const { SLIPBOX_URL: url = '', SLIPBOX_KEY: key = '' } = process.env`,
}

// filled returns a program with the address and the key of the reader, where the page shows samples of them.
func (r *reader) filled(page, language string, blocks []block) string {
	samples := strings.NewReplacer("http://127.0.0.1:8080", r.url, "http://localhost:8080", r.url, "sb_live_…", r.key)
	return samples.Replace(program(given[page+" "+language], blocks))
}

// runner is the folder of test/clients that runs the Python of a mark.
var runner = map[string]string{"": "sdk-python-all", "mem0": "mem0"}

// python runs blocks as one program.
func (r *reader) python(t *testing.T, page, mark string, blocks []block) {
	t.Helper()
	if len(blocks) == 0 {
		return
	}
	file := filepath.Join(t.TempDir(), "page.py")
	must.Do(t, os.WriteFile(file, []byte(r.filled(page, "python", blocks)), 0o600))
	sources := must.Get(filepath.Abs(tree + "/sdk/python/src"))(t)
	interpreter := installed(t, runner[mark]) + "/venv/bin/python"
	env := []string{"PYTHONPATH=" + sources, "CREWAI_DISABLE_TELEMETRY=true", "OTEL_SDK_DISABLED=true", "LITELLM_LOCAL_MODEL_COST_MAP=True"}
	if out, err := r.run(t, filepath.Dir(file), env, interpreter, file); err != nil {
		t.Errorf("the Python of %s: %v\n%s", page, err, out)
	}
}

// installed returns where a folder of clients is installed.
func installed(t *testing.T, folder string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tree+"/scripts/install-clients.sh", folder)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("install the clients of %s: %v\n%s", folder, err, problems.String())
	}
	return strings.TrimSpace(string(out))
}

// drawn is a commit of a picture of a log: of which collection, and what it shows.
var drawn = regexp.MustCompile(`id: "(\w+) (\d+ \w+)"`)

// checkDrawnLogs checks that the page about forks has room left for its reader, and that its picture of the logs shows what
// its commands did.
func (r *reader) checkDrawnLogs(t *testing.T, page string) {
	t.Helper()
	raw := must.Get(os.ReadFile(filepath.Join(tree, page)))(t)
	if n := len(strings.Fields(string(raw))); n > 1200 {
		t.Errorf("the page has %d words, and 1,200 are enough", n)
	}
	picture := drawn.FindAllStringSubmatch(string(raw), -1)
	if len(picture) < 6 {
		t.Fatalf("the picture shows %d changes", len(picture))
	}
	for _, collection := range []string{"workshop", "trial"} {
		out := r.sh(t, append(slices.Clone(r.exports), "slipbox changes --text -c "+collection))
		for _, m := range picture {
			line := "revision " + strings.Replace(m[2], " ", "  ", 1) + "\n"
			if m[1] == collection && !strings.Contains(out[len(out)-1], line) {
				t.Errorf("the log of %s does not have %q, as the picture does:\n%s", collection, m[2], out[len(out)-1])
			}
		}
	}
}

// What the README says of make run is what it does, and so is what the gateway advises when an address is taken.
func TestMakeRun(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "make", "-C", tree, "-n", "run", "ADDR=127.0.0.1:9000").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "bin/gateway serve --demo --addr 127.0.0.1:9000") {
		t.Errorf("make run does not serve the demo: %v\n%s", err, out)
	}
	advised := exec.CommandContext(t.Context(), "make", "-C", tree, "-n", "run")
	advised.Env = append(os.Environ(), "SLIPBOX_ADDR=127.0.0.1:9001", "SLIPBOX_DATA=/elsewhere")
	out, err = advised.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--addr 127.0.0.1:9001 --data /elsewhere") {
		t.Errorf("make run does not follow the settings of the gateway: %v\n%s", err, out)
	}
}

// checkQuickStart runs the quick start of the reference page, with the key that the start printed.
func (r *reader) checkQuickStart(t *testing.T) {
	t.Helper()
	resp := must.Get(http.Get(r.url + "/docs"))(t)
	page, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	samples := strings.NewReplacer("sb_live_…", r.key, "http://127.0.0.1:8080", r.url)
	var steps []string
	for _, m := range regexp.MustCompile(`(?s)<pre data-step>(.*?)</pre>`).FindAllStringSubmatch(string(page), -1) {
		steps = append(steps, samples.Replace(html.UnescapeString(m[1])))
	}
	if len(steps) < 5 {
		t.Fatalf("%d steps are on the page", len(steps))
	}
	for i, out := range r.sh(t, steps) {
		if strings.Contains(out, "<<<failed") || problemText.MatchString(out) || i > 0 && out == "" {
			t.Errorf("step %d:\n%s\nprints\n%s", i+1, steps[i], out)
		}
	}
}
