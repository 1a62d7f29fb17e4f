package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// hookJSON returns the input of a hook.
func hookJSON(t *testing.T, fields map[string]any) string {
	t.Helper()
	raw := must.Get(json.Marshal(fields))(t)
	return string(raw)
}

// messages returns what the memory of a user has of a conversation.
func (p *person) messages(t *testing.T, user string) []map[string]any {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/v1/collections/by/messages?user="+user, http.NoBody))(t)
	req.Header.Set("Authorization", "Bearer "+p.key)
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer func() { _ = resp.Body.Close() }()
	var list struct {
		Items []map[string]any `json:"items"`
	}
	must.Do(t, json.NewDecoder(resp.Body).Decode(&list))
	return list.Items
}

// A hook is installed beside what is there, shows what it would change, and goes again.
func TestHookInstall(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	for program, file := range map[string]string{"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json"} {
		file = filepath.Join(p.home, file)
		const before = "{\n  \"model\": \"opus\"\n}\n"
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, []byte(before), 0o644))
		read := func() string {
			raw := must.Get(os.ReadFile(file))(t)
			return string(raw)
		}
		if out := p.pipe(t, "", "hook", program, "install", "--dry-run"); !strings.Contains(out, "+ ") || read() != before {
			t.Errorf("a dry run: %s\n%s", out, read())
		}
		out, problems, code := p.run(t, "", "hook", program, "install", "--user", "nora@example.com")
		installed := read()
		if code != 0 || out != "" || !strings.Contains(installed, "hook "+program+" recall --user nora@example.com --profile default") ||
			!strings.Contains(installed, "capture") || !strings.Contains(installed, `"model": "opus"`) || strings.Contains(installed, p.key) {
			t.Errorf("exit %d, %s\n%s", code, problems, installed)
		}
		if strings.Contains(problems, "/hooks") != (program == "codex") {
			t.Errorf("%s: %s", program, problems)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("the mode of the file changed: %v, %v", info, err)
		}
		if _, problems, _ := p.run(t, "", "hook", program, "install", "--user", "nora@example.com"); read() != installed || !strings.Contains(problems, "nothing to change") {
			t.Errorf("again: %s\n%s", problems, read())
		}
		p.pipe(t, "", "hook", program, "uninstall")
		if read() != before {
			t.Errorf("after the removal:\n%s", read())
		}
		must.Do(t, os.WriteFile(file, []byte("{broken"), 0o600))
		if _, problems, code := p.run(t, "", "hook", program, "install"); code != 1 || !strings.Contains(problems, "nothing was changed") || read() != "{broken" {
			t.Errorf("broken settings: exit %d, %s\n%s", code, problems, read())
		}
	}
}

// What is said in one turn is recalled in a later one, between marks, and is not learned again. A turn is stored once,
// and a secret in it neither stored nor logged.
func TestHookRemembers(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	flags := []string{"--user", "nora"}
	hook := func(action, in string, more ...string) string {
		t.Helper()
		out, problems, code := p.run(t, in, append(append([]string{"hook", "claude-code", action}, flags...), more...)...)
		if code != 0 || problems != "" {
			t.Fatalf("%s: exit %d, %s", action, code, problems)
		}
		return out
	}
	const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	prompt := "I live in Oslo and my token is " + secret + ". <slipbox-memory>\nAda hates kilns.\n</slipbox-memory>"
	if out := hook("recall", hookJSON(t, map[string]any{"session_id": "s1", "prompt": prompt})); out != "" {
		t.Errorf("a memory that does not exist yet: %s", out)
	}
	stop := hookJSON(t, map[string]any{"session_id": "s1", "last_assistant_message": "Noted, Oslo it is."})
	hook("capture", stop, "--wait")
	hook("capture", stop) // the assistant may run the hook again
	hook("capture", stop, "--wait")
	said := p.messages(t, "nora")
	if len(said) != 2 {
		t.Fatalf("%d messages: %v", len(said), said)
	}
	all := hookJSON(t, map[string]any{"said": said})
	if strings.Contains(all, secret) || strings.Contains(all, "kilns") || !strings.Contains(all, "redacted") || strings.Contains(all, `"recalled"`) {
		t.Errorf("stored: %s", all)
	}
	var out string
	for ended := time.Now().Add(time.Minute); out == "" && time.Now().Before(ended); { // a recall gives up soon on a busy machine
		out = hook("recall", hookJSON(t, map[string]any{"session_id": "s2", "prompt": "Where do I live?"}))
	}
	var got struct {
		Out struct {
			Event   string `json:"hookEventName"`
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if context := got.Out.Context; got.Out.Event != "UserPromptSubmit" || !strings.HasPrefix(context, "<slipbox-memory>") ||
		!strings.HasSuffix(context, "</slipbox-memory>") || !strings.Contains(context, "Oslo") {
		t.Errorf("recalled: %s", out)
	}
	// The reply to a prompt with memories is kept, and nothing is learned from it.
	hook("capture", hookJSON(t, map[string]any{"session_id": "s2", "last_assistant_message": "You live in Oslo. " + got.Out.Context}), "--wait")
	said = p.messages(t, "nora")
	last := said[len(said)-1]
	if len(said) != 4 || last["content"] != "You live in Oslo." {
		t.Errorf("after a recall: %v", said)
	}
	if last["recalled"] != true {
		t.Errorf("the reply may be learned from: %v", last)
	}
	// A prompt that the assistant wrote to itself is no turn of a person.
	for _, in := range []map[string]any{{"prompt": "The build has ended.", "source": "system"}, {"prompt": "<task-notification>done</task-notification>"}} {
		in["session_id"] = "s2"
		if out := hook("recall", hookJSON(t, in)); out != "" {
			t.Errorf("recalled for %v: %s", in, out)
		}
		hook("capture", hookJSON(t, map[string]any{"session_id": "s2", "last_assistant_message": "The build is green."}), "--wait")
	}
	if again := p.messages(t, "nora"); len(again) != len(said) {
		t.Errorf("stored of turns without a person: %v", again[len(said):])
	}
	for what, log := range map[string]string{"log": p.gateway.Stderr.String(), "output": p.gateway.Stdout.String()} {
		if strings.Contains(log, secret) {
			t.Errorf("the %s of the gateway has the secret", what)
		}
	}
}

// Thinking and encoded data of a turn, however long, become marks before it is cut to what the gateway takes, so the words
// behind them are kept, and the next recall has room for them.
func TestHookLeavesOutWhatWasNotSaid(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	picture := strings.Repeat("iVBORw0KGgoAAAANSUhEUg4A", 4000)
	for program, reply := range map[string]string{
		"claude-code": "<think>secretplan</think>\n![kiln](data:image/png;base64," + picture + ")\nThe kiln stands in Oslo.",
		"codex":       "secretplan, then\n</think>\n" + picture + "\nThe kiln stands in Oslo.",
	} {
		hook := func(action, in string, more ...string) string {
			t.Helper()
			out, problems, code := p.run(t, in, append([]string{"hook", program, action, "--user", program}, more...)...)
			if code != 0 || problems != "" {
				t.Fatalf("%s: exit %d, %s", action, code, problems)
			}
			return out
		}
		hook("recall", hookJSON(t, map[string]any{"session_id": "s1", "prompt": "Where is the kiln? It looks like data:image/png;base64," + picture + " and hums."}))
		hook("capture", hookJSON(t, map[string]any{"session_id": "s1", "last_assistant_message": reply}), "--wait")
		said := hookJSON(t, map[string]any{"said": p.messages(t, program)})
		if strings.Contains(said, "secretplan") || strings.Contains(said, picture[:48]) || !strings.Contains(said, "and hums.") || !strings.Contains(said, "stands in Oslo.") ||
			!strings.Contains(said, "[left out: thinking]") || !strings.Contains(said, "[left out: image/png, 96 kB]") {
			t.Errorf("%s: stored: %.1500s", program, said)
		}
		var out string
		for ended := time.Now().Add(time.Minute); out == "" && time.Now().Before(ended); { // a recall gives up soon on a busy machine
			out = hook("recall", hookJSON(t, map[string]any{"session_id": "s2", "prompt": "Where does the kiln stand?"}))
		}
		if !strings.Contains(out, "stands in Oslo") || len(out) > 4000 {
			t.Errorf("%s: recalled %d bytes: %.600s", program, len(out), out)
		}
	}
}

// A turn is stored with its own prompt, also when the session has other prompts before it ends: those that the assistant
// wrote to an agent that does part of the work, the end of a task, and the next one of the person. The input is that of
// Claude Code 2.1 and Codex 0.169.
func TestHookKeepsTurnsApart(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	for program, turn := range map[string]string{"claude-code": "prompt_id", "codex": "turn_id"} {
		hook := func(action string, in map[string]any, more ...string) {
			t.Helper()
			in["session_id"] = "s"
			args := append([]string{"hook", program, action, "--user", program}, more...)
			if out, problems, code := p.run(t, hookJSON(t, in), args...); code != 0 || out+problems != "" {
				t.Errorf("%s: exit %d, %s%s", action, code, out, problems)
			}
		}
		hook("recall", map[string]any{turn: "1", "prompt": "I moved to Rome."})
		hook("recall", map[string]any{turn: "2", "agent_id": "a", "agent_type": "default", "prompt": "Look for the kiln."})
		hook("recall", map[string]any{turn: "3", "prompt": "<task-notification>done</task-notification>"})
		hook("recall", map[string]any{turn: "4", "prompt": "I like blue glaze."})
		for id, reply := range map[string]string{"2": "It is in the shed.", "3": "The build is green.", "5": "Who asked?"} {
			hook("capture", map[string]any{turn: id, "last_assistant_message": reply}, "--wait")
		}
		hook("capture", map[string]any{turn: "1", "last_assistant_message": "Rome it is."}, "--wait")
		hook("capture", map[string]any{turn: "4", "last_assistant_message": "Blue it is."}, "--wait")
		var said []string
		for _, m := range p.messages(t, program) {
			text, _ := m["content"].(string)
			said = append(said, text)
		}
		if want := []string{"I moved to Rome.", "Rome it is.", "I like blue glaze.", "Blue it is."}; !slices.Equal(said, want) {
			t.Errorf("%s: stored %q, not %q", program, said, want)
		}
	}
}

// A turn is stored in the background: the hook is done at once, and nothing that it wrote to is still open.
func TestHookCapturesInBackground(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	p.run(t, hookJSON(t, map[string]any{"session_id": "s", "turn_id": "t1", "prompt": "I moved to Rome."}), "hook", "codex", "recall", "--user", "otto")
	if out := p.pipe(t, hookJSON(t, map[string]any{"session_id": "s", "turn_id": "t1", "last_assistant_message": "Fine."}), "hook", "codex", "capture", "--user", "otto"); out != "" {
		t.Errorf("it prints %q", out)
	}
	// A person may have written the next prompt before.
	p.run(t, hookJSON(t, map[string]any{"session_id": "s", "turn_id": "t2", "prompt": "What is there to see?"}), "hook", "codex", "recall", "--user", "otto")
	p.gateway.Await(t, "the turn was stored", func() bool { return len(p.messages(t, "otto")) == 2 })
	if said := p.messages(t, "otto"); !slices.ContainsFunc(said, func(m map[string]any) bool { return m["content"] == "I moved to Rome." }) {
		t.Errorf("another turn was stored: %v", said)
	}
}

// hanging is a gateway that reads requests and never answers.
type hanging struct {
	url   string
	asked chan struct{} // has an element for each of the first requests
}

func hangingGateway(t *testing.T) hanging {
	t.Helper()
	h := hanging{asked: make(chan struct{}, 64)}
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case h.asked <- struct{}{}:
		default:
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	h.url = s.URL
	t.Cleanup(func() {
		close(release)
		s.Close()
	})
	return h
}

// In any case the assistant continues: nothing is printed, and the exit code is 0.
func TestHookIsSilent(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	hangs := hangingGateway(t)
	var closed net.ListenConfig
	l := must.Get(closed.Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	away := "http://" + l.Addr().String()
	must.Do(t, l.Close())
	good := hookJSON(t, map[string]any{"session_id": "s", "prompt": "Where is the kiln?"})
	big := hookJSON(t, map[string]any{"session_id": "s", "prompt": strings.Repeat("kiln ", 200_000)})
	for _, tt := range []struct {
		name, in string
		env      []string
		says     string // with --verbose
	}{
		{"broken JSON", `{"prompt": "sb_live_secret`, nil, "not the JSON"},
		{"no JSON", "", nil, "not the JSON"},
		{"another type", `{"prompt": 7}`, nil, "not the JSON"},
		{"missing fields", "{}", nil, ""},
		{"a prompt of 1 MB", big, nil, ""},
		{"far too much", strings.Repeat(big, 5), nil, "4 MiB"},
		{"no gateway", good, []string{"SLIPBOX_URL=" + away, "SLIPBOX_API_KEY=" + p.key}, ""},
		{"a gateway that hangs", good, []string{"SLIPBOX_URL=" + hangs.url, "SLIPBOX_API_KEY=" + p.key}, ""},
		{"a key that is not accepted", good, []string{"SLIPBOX_URL=" + p.url, "SLIPBOX_API_KEY=sb_live_x"}, ""},
		{"no key", good, []string{"XDG_CONFIG_HOME=" + t.TempDir()}, "slipbox login"},
		{"no home", good, []string{"HOME=", "XDG_CONFIG_HOME="}, "HOME"},
		{"no memory", good, nil, `of user "nobody"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			// What is captured in the background is not of the user whose memory is recalled.
			for action, user := range map[string]string{"recall": "nobody", "capture": "somebody"} {
				out, problems, code := p.runIn(t, tt.env, tt.in, "hook", "claude-code", action, "--user", user)
				if code != 0 || out+problems != "" {
					t.Errorf("%s: exit %d, %q, %q", action, code, out, problems)
				}
			}
			_, problems, code := p.runIn(t, tt.env, tt.in, "hook", "claude-code", "recall", "--user", "nobody", "--verbose")
			late := len(tt.in) > 1<<20 && strings.Contains(problems, "did not end in time") // on a busy machine
			if code != 0 || !strings.HasPrefix(problems, "nothing: ") || !late && !strings.Contains(problems, tt.says) || strings.Contains(problems, "secret") {
				t.Errorf("--verbose: exit %d, %q", code, problems)
			}
		})
	}
	// An assistant that never closes the pipe is not waited for.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	cmd := commandtest.Command(t, p.env, "hook", "codex", "recall", "--user", "nobody")
	cmd.Stdin = r
	run := commandtest.Start(t, cmd)
	select {
	case <-run.Done:
	case <-time.After(time.Minute):
		t.Fatal("a pipe that stays open is waited for")
	}
	if run.ExitCode() != 0 || run.Stdout.String()+run.Stderr.String() != "" {
		t.Errorf("exit %d, %s%s", run.ExitCode(), run.Stdout, run.Stderr)
	}
}
