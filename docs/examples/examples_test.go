// Package examples_test runs the examples as a reader would.
package examples_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

// network returns the command line that runs a script in its own network namespace, which has only a
// loopback device. ok is false if the system does not allow that.
func network(ctx context.Context, script string) (args []string, ok bool) {
	const up = "ip link set lo up"
	if exec.CommandContext(ctx, "unshare", "-rn", "sh", "-c", up).Run() != nil {
		return nil, false
	}
	return []string{"unshare", "-rn", "sh", "-c", up + ` && exec "$0"`, script}, true
}

// firstPort is below the range from which systems take the ports of clients. Examples that run at the same time have
// ports of their own.
var firstPort = 20_000 + 10*rand.IntN(1_000)

// output is what an example printed.
type output struct {
	t    *testing.T
	text string
}

// part returns what was printed below a heading that begins with name.
func (o output) part(name string) string {
	o.t.Helper()
	_, rest, ok := strings.Cut(o.text, "\n== "+name)
	if !ok {
		o.t.Fatalf("there is no part %q:\n%s", name, o.text)
	}
	body, _, _ := strings.Cut(rest, "\n== ")
	return body
}

// has checks what a part has and has not.
func (o output) has(name string, want, not []string) {
	o.t.Helper()
	part := o.part(name)
	for _, w := range want {
		if !strings.Contains(part, w) {
			o.t.Errorf("%s lacks %q:\n%s", name, w, part)
		}
	}
	for _, w := range not {
		if strings.Contains(part, w) {
			o.t.Errorf("%s has %q:\n%s", name, w, part)
		}
	}
}

// run runs an example on its own port, without a network if the system allows that, and checks that it came to
// its end and left no process and no file.
func run(t *testing.T, example string, number int) output {
	t.Helper()
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the example needs %s, which is not installed", tool)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	script := must.Get(filepath.Abs(filepath.Join(example, "run.sh")))(t)
	args, alone := network(ctx, script)
	if !alone {
		args = []string{script}
	}
	t.Logf("without a network: %v", alone)
	temp := t.TempDir()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	// Settings of the machine, such as a model, must not reach the example.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GATEWAY=" + gateway(t), "PORT=" + strconv.Itoa(firstPort+number), "TMPDIR=" + temp}
	// The gateway writes to the script's standard error: while it runs, the output has no end.
	cmd.WaitDelay = 30 * time.Second
	raw, err := cmd.CombinedOutput()
	o := output{t, string(raw)}
	if errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("the example left its gateway running:\n%s", o.text)
	}
	if err != nil {
		t.Fatalf("the example failed: %v\n%s", err, o.text)
	}
	if !strings.Contains(o.part("verify"), "the store is sound") || !strings.HasSuffix(o.text, "done\n") {
		t.Errorf("the example did not reach its end:\n%s", o.text)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("the example left files: %v (%v)", left, err)
	}
	return o
}

// gateway returns the gateway that the examples run, which is built once if it is not given.
func gateway(t *testing.T) string {
	t.Helper()
	if built := os.Getenv("SLIPBOX_BINARIES"); built != "" {
		return filepath.Join(built, "gateway")
	}
	file := must.Get(build())(t)
	return file
}

var (
	dir   string
	build = sync.OnceValues(func() (string, error) {
		file := filepath.Join(dir, "gateway")
		out, err := exec.Command("go", "build", "-o", file, "../../cmd/gateway").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("build the gateway: %w\n%s", err, out)
		}
		return file, nil
	})
)

func TestMain(m *testing.M) {
	var err error
	if dir, err = os.MkdirTemp("", "examples"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// C086: the shipped example runs offline from start to finish: a gateway starts, a collection is
// created, notes are added and found, and no process is left running.
func TestC086ExampleRunsOffline(t *testing.T) {
	t.Parallel()
	o := run(t, "offline", 0)
	const asked, about = "Grandmother's sourdough bread recipe", "Bob thinks"
	o.has("init", []string{"diary"}, nil)
	if add := o.part("add"); strings.Count(add, `"keywords":["`) != 4 {
		t.Errorf("not every note was described:\n%s", add)
	}
	o.has("search", []string{asked}, nil)
	if search := o.part("search"); strings.Count(search, "\n  - ") != 2 {
		t.Errorf("the search did not find two notes:\n%s", search)
	}
	bobs, adas, ok := strings.Cut(o.part("fork"), "ada's:")
	if !ok || !strings.Contains(bobs, about) || !strings.Contains(bobs, asked) || strings.Contains(adas, about) {
		t.Errorf("the fork is not separate from its base:\n%s%s", bobs, adas)
	}
	o.has("history", []string{"- add", "- evolve"}, nil)
}

// C246: a companion knows the days of a person by what was said, and what would fade.
func TestCompanion(t *testing.T) {
	t.Parallel()
	o := run(t, "companion", 1)
	o.has("configure", []string{"memorybank"}, nil)
	o.has("days", []string{"watercolor of the harbor", "I am worried about my sister Anna", "the surgery went fine"}, nil)
	o.has("history", []string{"2026-03-01: Mira: I was so happy", "2026-03-06: Mira: Anna is well"}, nil)
	o.has("context", []string{"## Profile", "speaking style: warm, and short", "## Summaries", "### Friday 2026-03-06", "Mira: Anna is well"}, nil)
	o.has("fading: none", nil, []string{`"forgotten":0`})
	// Two summaries of days are not shown, as the messages that say the same are.
	o.has("fading: what", []string{`"forgotten":2`}, nil)
}

// C246, C290: an assistant is built on two calls, and says what it keeps, what it does not and what contradicts.
func TestAssistant(t *testing.T) {
	t.Parallel()
	o := run(t, "assistant", 5)
	o.has("configure", []string{"layered"}, nil)
	o.has("remember", []string{
		"an architect.\n      working\n      episodic\n      semantic", "no meetings before ten.\n      not semantic",
		"gray day.\n      not episodic: importance 0.10 is below the threshold of 0.3",
	}, nil)
	o.has("contradict", []string{"place: Porto (0.48) contested", "place: Lisbon (0.4) contested", "name: Nora Weiss (0.6)\n"}, nil)
	o.has("settle", []string{"place: Lisbon (0.6)\n"}, []string{"place: Porto", "contested"})
	live, meetings, ok := strings.Cut(o.part("recall"), "About meetings:")
	if !ok || !strings.Contains(strings.SplitN(live, "\n", 3)[1], "The user lives in Lisbon [semantic") || !strings.Contains(strings.SplitN(meetings, "\n", 3)[1], "no meetings before ten. [episodic, working]") {
		t.Errorf("the best answer does not come first:\n%s", o.part("recall"))
	}
	o.has("consolidate", []string{"\"copied\":1\n\"copied\":0\n"}, nil)
	o.has("answer", []string{"Dr. Prado"}, nil)
}

// C246: an agent has what it always sees in its context, pages the rest in, and answers an event.
func TestAgent(t *testing.T) {
	t.Parallel()
	o := run(t, "agent", 2)
	o.has("configure", []string{"memgpt", "keep the calendar of Nora", "No meetings before ten"}, nil)
	o.has("page in", []string{"Dr. Prado", "sister Anna visits in May"}, nil)
	o.has("act", []string{"terminal_tool", "No model is configured; this is what memory holds:\n- ", ": The dentist of Nora is Dr. Prado, Rua Augusta 12.\n"}, nil)
	o.has("context", []string{`"part":"blocks"`, `"window":8192`}, nil)
}

// C246: customer service has what was said, the newest first, and what was known before, and no card number.
func TestService(t *testing.T) {
	t.Parallel()
	o := run(t, "service", 3)
	o.has("configure", []string{"mem0g", "none"}, nil)
	o.has("first", []string{"Ben, 2026-03-02: “I live in Porto.”", "“I work at the Hotel Miramar. My kettle K3 leaks.”"}, nil)
	o.has("second", []string{"Ben, 2026-03-20: “I live in Lisbon now.”", "Slipbox-Redacted: card number", "My card is [redacted: card number]"}, []string{"“My card"})
	o.has("where", []string{"  - Ben, 2026-03-20: “I live in Lisbon now.”\n  - Ben, 2026-03-02: “I live in Porto.”"}, nil)
	o.has("then", []string{"I live in Porto"}, []string{"Lisbon"})
	o.has("answer", []string{"replaced within two years", "] Ben: I live in Lisbon now."}, nil)
	if strings.Contains(o.text, "4111") {
		t.Errorf("a card number was answered:\n%s", o.text)
	}
}

// C246: a tutor finds an old mistake beside a new one by its theme, and a profile of what was said, with dates.
func TestTutor(t *testing.T) {
	t.Parallel()
	o := run(t, "tutor", 4)
	const oldMistake, newMistake = "1/2 + 1/3 is 2/5", "a/2 + a/3 is 2a/5"
	o.has("configure", []string{"memoryos"}, nil)
	o.has("moves", []string{"short to mid: joined the session: the match is", "short to mid: opened a session: there is none yet", "mid to long: analyzed: its heat is"}, nil)
	o.has("profile", []string{"2026-02-02: Lea: I want to understand why", "2026-02-16: Lea: I am nervous about the test"}, nil)
	o.has("plan", []string{oldMistake, "The same mistake as with 1/2 + 1/3"}, []string{"chess"})
	o.has("context", []string{"## Profile", oldMistake, newMistake, "## Recent messages\n  ### Monday 2026-03-02"}, nil)
	themes := strings.Split(strings.TrimSpace(o.part("themes")), "\n")
	if len(themes) != 5 || !strings.Contains(themes[1], "Fractions: pages 5") || !strings.Contains(o.part("themes"), "village, scale: pages 1") {
		t.Errorf("the themes are not fractions (the hottest), two of maps and one of a brother:\n%s", o.part("themes"))
	}
}

// Two agents on one shared base: what one learned in its fork is known to the other after a person approved it, and not before.
func TestForks(t *testing.T) {
	t.Parallel()
	o := run(t, "forks", 6)
	const sure, guess = "Rutile turns the ash glaze blue.", "Perhaps salt makes the ash glaze crack."
	o.has("learn", []string{"- added: " + sure, "- added: " + guess, `"code":"forbidden"`}, nil)
	o.has("propose", []string{sure}, []string{guess})
	o.has("before", nil, []string{sure})
	o.has("approve", []string{`"state":"approved"`}, nil)
	base, own, ok := strings.Cut(o.part("after"), `"merged":{"links":0,"notes":1}`)
	if !ok || !strings.Contains(base, sure) || !strings.Contains(own, sure) || strings.Contains(base+own, guess) {
		t.Errorf("the seller does not know what was approved, or more:\n%s%s", base, own)
	}
	o.has("blame", []string{`"cause":"merge"`, `"revision":2`}, nil)
	o.has("follow", []string{`"cause":"merge"`}, []string{`"cause":"add"`})
	o.has("rollback", []string{`"changed":1`}, []string{sure})
}
