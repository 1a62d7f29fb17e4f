// Package clients_test runs the clients that people have, unchanged, against a gateway with a fake
// model.
//
// Each folder is one family of clients. It has pinned versions (requirements.txt, package.json with
// package-lock.json), which scripts/install-clients.sh installs outside the tree, and scripts in Python
// (*.py) and JavaScript (*.mjs). Each script is a subtest, and fails when it does not exit with 0. A name
// that begins with _ is a module of the scripts. A script runs in a copy of its folder and finds
//
//	SLIPBOX_URL      address of the gateway, without /v1
//	SLIPBOX_API_KEY  key with all scopes of a tenant that no other script uses
//	SLIPBOX_TREE     root of this repository
//
// What the model answers is said at [answer].
package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestMain(m *testing.M) { commandtest.MainOf(m, "../../cmd/gateway") }

// limit is how long one script may run. It ends what hangs: where the processors are taken, a script
// takes many times as long.
const limit = 10 * time.Minute

// C195: clients that people already have work unchanged.
func TestForeignClients(t *testing.T) {
	t.Parallel()
	folders := must.Get(os.ReadDir("."))(t)
	chosen := strings.Fields(os.Getenv("SLIPBOX_CLIENTS"))
	folders = slices.DeleteFunc(folders, func(f os.DirEntry) bool {
		if len(chosen) > 0 {
			return !slices.Contains(chosen, f.Name())
		}
		large := f.Name() == "librechat" && os.Getenv("SLIPBOX_SETUPS") != "all" // 37,000 files: at night, or by its name
		return !f.IsDir() || large
	})
	if len(folders) < len(chosen) {
		t.Fatalf("SLIPBOX_CLIENTS names folders that are not there: %v", chosen)
	}
	g := start(t)
	for _, f := range folders {
		folder := f.Name()
		scripts, err := filepath.Glob(filepath.Join(folder, "[^_]*"))
		scripts = slices.DeleteFunc(scripts, func(s string) bool { return interpreter(s) == nil })
		if err != nil || len(scripts) == 0 {
			t.Errorf("%s has no script: %v", folder, err)
		}
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			installed := install(t, folder)
			for _, script := range scripts {
				t.Run(filepath.Base(script), func(t *testing.T) {
					t.Parallel()
					g.run(t, installed, script)
				})
			}
		})
	}
}

// interpreter returns the command that runs a script, within the folder of an install; nil for another file.
func interpreter(script string) []string {
	switch filepath.Ext(script) {
	case ".py":
		return []string{"venv/bin/python"}
	case ".mjs":
		return []string{"node"}
	}
	return nil
}

// install installs what the scripts of a folder run with, and returns where.
func install(t *testing.T, folder string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../../scripts/install-clients.sh", folder)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("install the clients of %s: %v\n%s", folder, err, problems.String())
	}
	return strings.TrimSpace(string(out))
}

// gateway is a running gateway with a fake model.
type gateway struct {
	url, data string
}

func start(t *testing.T) *gateway {
	t.Helper()
	model := llmtest.New(t)
	model.Handle("", answer)
	model.Handle(llmtest.Tool, answer)
	g := &gateway{data: t.TempDir()}
	addr := "127.0.0.1:" + commandtest.FreePort(t)
	g.url = "http://" + addr
	env := []string{
		"SLIPBOX_LLM=openai", "SLIPBOX_LLM_MODEL=fake", "SLIPBOX_LLM_BASE_URL=" + model.URL(),
		"SLIPBOX_LLM_MAX_TRIES=1", "SLIPBOX_LLM_BREAKER_FAILURES=1000", "SLIPBOX_LOG_LEVEL=warn",
		// What clients find by their defaults depends on the scores of the encoder that users have.
		"SLIPBOX_EMBEDDER=local", "SLIPBOX_ENCODER_DIR=" + os.Getenv("SLIPBOX_ENCODER_DIR"),
	}
	p := commandtest.Start(t, commandtest.Command(t, env, "serve", "--addr", addr, "--data", g.data))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the gateway's log:\n%s", p.Stderr)
		}
	})
	p.Await(t, "it was ready", func() bool {
		resp, err := http.Get(g.url + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return g
}

// newKey returns a key of a new tenant.
func (g *gateway) newKey(t *testing.T) string {
	t.Helper()
	tenant := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(t.Name()), "-"), "-")
	for _, args := range [][]string{{"tenant", "create", tenant}, {"key", "create", "--tenant", tenant}} {
		out, problems, code := commandtest.Run(t, nil, append(args, "--data", g.data)...)
		if code != 0 {
			t.Fatalf("gateway %s: exit %d\n%s", strings.Join(args, " "), code, problems)
		}
		if args[0] == "key" {
			return strings.TrimSpace(out)
		}
	}
	return ""
}

// run runs a script in a copy of its folder.
func (g *gateway) run(t *testing.T, installed, script string) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Dir(script))))
	tree := must.Get(filepath.Abs("../.."))(t)
	// Node looks for packages in the folder of the module that imports them, and in those above it.
	must.Do(t, os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(dir, "node_modules")))
	args := append(interpreter(script), filepath.Base(script))
	if strings.Contains(args[0], "/") {
		args[0] = filepath.Join(installed, args[0])
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	// Nothing else of this machine's settings reaches the clients.
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"SLIPBOX_URL=" + g.url, "SLIPBOX_API_KEY=" + g.newKey(t), "SLIPBOX_TREE=" + tree,
	}
	// What a script started may hold its output after its end.
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
}

// Marks around what the gateway adds from memory, and the words that break a stream off.
const (
	openMark  = "<slipbox-memory>"
	closeMark = "</slipbox-memory>"
	breakOff  = "break off"
)

// answer is the fake model. It repeats what the user said last, and what memory was shown to it:
//
//	You said: Where do I live? Memory: …
//
// If tools are offered and the last message is not a tool's, it calls the first one; each text among the
// arguments is the last word that the user said. After a tool it says "The tool said: …". If the user says
// "break off", half of an answer comes.
func answer(r llmtest.Request) llmtest.Reply {
	if strings.Contains(r.User, breakOff) {
		return llmtest.CutBody()
	}
	if len(r.Messages) == 0 {
		return llmtest.Default()
	}
	memory := "nothing"
	// A gateway puts memory behind what the user said, a client's own middleware into the instructions.
	for _, shown := range []string{r.System, r.User} {
		if _, rest, ok := strings.Cut(shown, openMark); ok {
			rest, _, _ = strings.Cut(rest, closeMark)
			if _, known, ok := strings.Cut(rest, "asked about it.\n\n"); ok { // the end of the instructions
				rest = known
			}
			memory = strings.Join(strings.Fields(rest), " ")
		}
	}
	r.User, _, _ = strings.Cut(r.User, openMark)
	r.User = strings.TrimSpace(r.User)
	if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
		return llmtest.Text("The tool said: " + last.Content)
	}
	if r.Tools > 0 && r.ToolChoice != `"none"` {
		return call(r)
	}
	return llmtest.Text(fmt.Sprintf("You said: %s Memory: %s", r.User, memory))
}

// call calls the first tool.
func call(r llmtest.Request) llmtest.Reply {
	var body struct {
		Tools []struct {
			Function struct {
				Name       string `json:"name"`
				Parameters struct {
					Properties map[string]struct {
						Type string `json:"type"`
					} `json:"properties"`
				} `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Tools) == 0 {
		return llmtest.StatusText(http.StatusBadRequest, "the tools cannot be read")
	}
	said := strings.Fields(r.User)
	word := ""
	if len(said) > 0 {
		word = strings.Trim(said[len(said)-1], "?.!")
	}
	arguments := map[string]any{}
	for name, property := range body.Tools[0].Function.Parameters.Properties {
		if property.Type == "string" {
			arguments[name] = word
		}
	}
	return llmtest.Calling(body.Tools[0].Function.Name, arguments)
}
