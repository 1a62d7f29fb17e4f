package main

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
)

// block is a fenced block of a document.
type block struct {
	language string
	notRun   string // why a shell block is not run; "" runs
	marked   bool   // the block says that it is not run
	text     string
	line     int
}

// notRunMark follows the language of a shell block that no test can run, with the reason:
// "```sh not-run: needs Docker". Renderers show neither.
const notRunMark = "not-run:"

// blocksOf returns the fenced blocks of a Markdown document in order.
func blocksOf(t *testing.T, file string) []block {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	open := false
	for i, line := range strings.Split(string(raw), "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !open:
			language, rest, _ := strings.Cut(info, " ")
			reason, marked := strings.CutPrefix(rest, notRunMark)
			blocks = append(blocks, block{language: language, notRun: strings.TrimSpace(reason), marked: marked, line: i + 1})
			if rest != "" && !marked {
				t.Errorf("%s:%d: %q is no mark of a block", file, i+1, rest)
			}
			open = true
		case fence:
			open = false
		case open:
			blocks[len(blocks)-1].text += line + "\n"
		}
	}
	return blocks
}

// A shell runs commands as a person pastes them, in one session, beside a gateway.
type shell struct {
	dir  string // holds bin/gateway and data
	addr string
	env  []string
}

// startShell starts a gateway and prepares a shell in which "gateway" and "bin/gateway" are the
// command under test. The gateway's address takes the place of the default one.
func startShell(t *testing.T, args ...string) (*shell, *process) {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the commands are for a person's shell, and %s is not installed", tool)
		}
	}
	s := &shell{dir: t.TempDir(), addr: freeAddr(t)}
	cmd := commandtest.Command(t, nil, "version")
	commandtest.CommandOf(t, "../slipbox", nil) // beside it, where a build has both
	if err := os.Mkdir(filepath.Join(s.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	binary, err := filepath.Abs(cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(s.dir, "bin", "gateway")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	s.env = append(slices.Clone(cmd.Env), "PATH="+path, "SLIPBOX_ADDR="+s.addr)
	p := launch(t, filepath.Join(s.dir, "data"), s.addr, nil, args...)
	p.Await(t, "the gateway printed a key", func() bool {
		out := p.Stdout.String()
		return keyText.MatchString(out) && (len(args) == 0 || strings.Contains(out, "scouts-demo"))
	})
	return s, p
}

// run runs blocks in one session and returns what each printed. It fails when a command fails.
func (s *shell) run(t *testing.T, blocks []string) []string {
	t.Helper()
	const mark = "\x1e" // between the blocks
	var script strings.Builder
	script.WriteString("set -E -o pipefail\ntrap 'echo \"<<<failed: $BASH_COMMAND>>>\"' ERR\n")
	for _, b := range blocks {
		script.WriteString("printf '" + `\036` + "'\n" + strings.ReplaceAll(b, "127.0.0.1:8080", s.addr) + "\n")
	}
	file := filepath.Join(s.dir, "pasted.sh")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", file)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the shell ended with %v", err)
	}
	printed := strings.Split(string(out), mark)
	if len(printed) != len(blocks)+1 {
		t.Fatalf("%d of %d blocks ran:\n%s", len(printed)-1, len(blocks), out)
	}
	return printed[1:]
}

var (
	problemText = regexp.MustCompile(`"type": ?"about:blank"`)
	codeText    = regexp.MustCompile(`"code": ?"(\w+)"`)
)

// checkDocument runs the shell blocks of a document in order, but for those that say why they are
// not run, of which there must be as many as skipped. A text block after one is what it prints, and a
// JSON block with a code is the problem that it is answered.
func checkDocument(t *testing.T, file string, skipped int, s *shell, before ...string) {
	t.Helper()
	blocks := blocksOf(t, file)
	pasted := append([]string{}, before...)
	var ran []int // by index of blocks
	for i, b := range blocks {
		switch {
		case b.language != "sh" && b.marked:
			t.Errorf("%s:%d: only shell blocks are run", file, b.line)
		case b.language != "sh":
		case b.marked && b.notRun == "":
			t.Errorf("%s:%d: the reason why the block is not run is missing", file, b.line)
		case b.marked:
			skipped--
		default:
			ran, pasted = append(ran, i), append(pasted, b.text)
		}
	}
	if skipped != 0 {
		t.Errorf("%s: %d shell blocks more than expected are run", file, skipped)
	}
	printed := s.run(t, pasted)[len(before):]
	for n, i := range ran {
		out := strings.TrimSpace(printed[n])
		var next block
		if i+1 < len(blocks) {
			next = blocks[i+1]
		}
		if strings.Contains(out, "<<<failed") || strings.Contains(out, "command not found") || out == "" && strings.Contains(blocks[i].text, "api ") {
			t.Errorf("%s:%d: a command failed:\n%s\nprints\n%s", file, blocks[i].line, blocks[i].text, out)
		}
		if problemText.MatchString(out) {
			want := codeText.FindStringSubmatch(next.text)
			if got := codeText.FindStringSubmatch(out); next.language != "json" || want == nil || got == nil || got[1] != want[1] {
				t.Errorf("%s:%d: a request is refused:\n%s\nprints\n%s", file, blocks[i].line, blocks[i].text, out)
			}
		}
		if next.language == "text" && strings.TrimSpace(next.text) != out {
			t.Errorf("%s:%d: the block prints\n%s\nand not\n%s", file, blocks[i].line, out, next.text)
		}
	}
}

func TestReadmeWorksAsPasted(t *testing.T) {
	t.Parallel()
	s, p := startShell(t, "--demo")
	exports := regexp.MustCompile(`(?m)^  export .*$`).FindAllString(p.Stdout.String(), -1)
	ask := regexp.MustCompile(`(?m)^  slipbox .*$`).FindString(p.Stdout.String())
	if len(exports) < 3 || ask == "" {
		t.Fatalf("the start prints no lines that make slipbox work, and one that asks:\n%s", p.Stdout)
	}
	asked := s.run(t, append(exports, ask))
	if out := asked[len(asked)-1]; !strings.Contains(out, `"hits"`) || !strings.Contains(out, "kiln") {
		t.Errorf("%s prints\n%s", ask, out)
	}
	checkDocument(t, "../../README.md", 3, s, exports...)
	if out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "-n", "run", "ADDR=127.0.0.1:9000").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "bin/gateway serve --demo --addr 127.0.0.1:9000") {
		t.Errorf("make run does not serve the demo: %v\n%s", err, out)
	}
}

func TestGuideWorksAsPasted(t *testing.T) {
	t.Parallel()
	s, _ := startShell(t)
	checkDocument(t, "../../docs/guide.md", 7, s)
}

// drawn is a commit of a picture of a log: of which collection, and what it shows.
var drawn = regexp.MustCompile(`id: "(\w+) (\d+ \w+)"`)

// The page about forks works as pasted, has room left for its reader, and its picture of the logs shows what its commands did.
func TestForksPageWorksAsPasted(t *testing.T) {
	t.Parallel()
	const page = "../../docs/forks.md"
	s, p := startShell(t, "--demo")
	exports := regexp.MustCompile(`(?m)^  export .*$`).FindAllString(p.Stdout.String(), -1)
	checkDocument(t, page, 0, s, exports...)
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(raw))); n > 1200 {
		t.Errorf("the page has %d words, and 1,200 are enough", n)
	}
	picture := drawn.FindAllStringSubmatch(string(raw), -1)
	if len(picture) < 6 {
		t.Fatalf("the picture shows %d changes", len(picture))
	}
	for _, collection := range []string{"workshop", "trial"} {
		out := s.run(t, append(exports, "slipbox changes --text -c "+collection))
		for _, m := range picture {
			if line := "revision " + strings.Replace(m[2], " ", "  ", 1) + "\n"; m[1] == collection && !strings.Contains(out[len(out)-1], line) {
				t.Errorf("the log of %s does not have %q, as the picture does:\n%s", collection, m[2], out[len(out)-1])
			}
		}
	}
}

// The quick start of the reference page, with the key that the start printed.
func TestQuickStartWorksAsPasted(t *testing.T) {
	t.Parallel()
	s, p := startShell(t)
	resp, err := http.Get(p.url + "/docs")
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	var steps []string
	for _, m := range regexp.MustCompile(`(?s)<pre data-step>(.*?)</pre>`).FindAllStringSubmatch(string(page), -1) {
		step := html.UnescapeString(m[1])
		steps = append(steps, strings.Replace(step, "sb_live_…", keyText.FindString(p.Stdout.String()), 1))
	}
	if len(steps) < 5 {
		t.Fatalf("%d steps are on the page", len(steps))
	}
	for i, out := range s.run(t, steps) {
		if strings.Contains(out, "<<<failed") || problemText.MatchString(out) || i > 0 && out == "" {
			t.Errorf("step %d:\n%s\nprints\n%s", i+1, steps[i], out)
		}
	}
}
