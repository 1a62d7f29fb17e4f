package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// These tests run the real binary against the real gateway, over real pipes.

func TestMain(m *testing.M) { commandtest.Main(m) }

var keyText = regexp.MustCompile(`sb_[A-Za-z0-9_-]+`)

// person is someone at a shell, with a home of their own and a gateway.
type person struct {
	home, url, key, data string
	env                  []string
	gateway              *commandtest.Process
}

// newPerson starts a gateway and returns a person who has its first key and has not logged in.
func newPerson(t *testing.T, env ...string) *person {
	t.Helper()
	p := &person{home: t.TempDir(), data: filepath.Join(t.TempDir(), "data")}
	p.url = "http://127.0.0.1:" + commandtest.FreePort(t)
	p.env = []string{"HOME=" + p.home, "XDG_CONFIG_HOME=", "TZ=UTC", "COLUMNS=", "NO_COLOR="}
	p.start(t, env...)
	if p.key = keyText.FindString(p.gateway.Stdout.String()); p.key == "" {
		t.Fatalf("no first key:\n%s", p.gateway.Stdout)
	}
	return p
}

// start starts the gateway on its data, with settings in env.
func (p *person) start(t *testing.T, env ...string) {
	t.Helper()
	args := []string{"serve", "--addr", strings.TrimPrefix(p.url, "http://"), "--data", p.data}
	p.gateway = commandtest.Start(t, commandtest.CommandOf(t, "../gateway", env, args...))
	p.gateway.Await(t, "it was ready", func() bool {
		resp, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// login keeps the key and a collection, which it creates.
func (p *person) login(t *testing.T) {
	t.Helper()
	p.pipe(t, p.key+"\n", "login", p.url)
	p.pipe(t, "", "add", "--create", "amem", "-c", "diary", "The blue kiln is inspected on Friday.")
	p.pipe(t, p.key+"\n", "login", "-c", "diary")
}

// run runs a command with an input, and returns what it prints and its exit code.
func (p *person) run(t *testing.T, in string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return p.runIn(t, nil, in, args...)
}

// runIn is run with more of an environment.
func (p *person) runIn(t *testing.T, env []string, in string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := commandtest.Command(t, append(slices.Clip(p.env), env...), args...)
	cmd.Stdin = strings.NewReader(in)
	run := commandtest.Start(t, cmd)
	select {
	case <-run.Done:
	case <-time.After(time.Minute):
		t.Fatalf("%v did not end within a minute:\n%s", args, run.Stderr)
	}
	return run.Stdout.String(), run.Stderr.String(), run.ExitCode()
}

// pipe runs a command that has to work and returns its stdout.
func (p *person) pipe(t *testing.T, in string, args ...string) string {
	t.Helper()
	out, problems, code := p.run(t, in, args...)
	if code != 0 {
		t.Fatalf("%v: exit %d\n%s%s", args, code, out, problems)
	}
	return out
}

// Nothing of the server is in the binary: it starts in milliseconds before every prompt.
func TestNoServerInside(t *testing.T) {
	t.Parallel()
	info := must.Get(buildinfo.ReadFile(commandtest.Command(t, nil).Path))(t)
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/gin-gonic/gin", "modernc.org/sqlite", "github.com/jackc/pgx/v5", "go.opentelemetry.io/otel":
			t.Errorf("the binary contains %s", m.Path)
		}
	}
}

// object decodes the JSON that a command prints.
func object(t *testing.T, out string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return o
}

// From a fresh home: a key is kept for its owner alone, a note is added once, found, and printed for people and for
// programs.
func TestLoginAddSearch(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	if _, problems, code := p.run(t, "", "search", "kiln"); code != 2 || !strings.Contains(problems, "slipbox login") {
		t.Errorf("before the login: exit %d, %s", code, problems)
	}
	if _, problems, code := p.run(t, "sb_live_wrong\n", "login", p.url); code != 2 || !strings.Contains(problems, "gateway key create") {
		t.Errorf("a wrong key: exit %d, %s", code, problems)
	}
	file := filepath.Join(p.home, ".config", "slipbox", "profiles.json")
	if _, err := os.Stat(file); err == nil {
		t.Error("a wrong key was kept")
	}
	p.login(t)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of keys: %v, %v", info, err)
	}
	first := object(t, p.pipe(t, "Nora asked the gallery to hold two vases back.\n", "add", "--tag", "people"))
	again := object(t, p.pipe(t, "", "add", "Nora asked the gallery to hold two vases back.", "--tag", "people"))
	if first["note"].(map[string]any)["id"] != again["note"].(map[string]any)["id"] {
		t.Errorf("the same note is stored twice: %v, %v", first, again)
	}
	if got := p.pipe(t, "", "add", "--text", "Nora asked the gallery to hold two vases back."); !strings.Contains(got, "known · ") {
		t.Errorf("a note that is there: %q", got)
	}
	// No job follows from a note of a collection that learns nothing, and the note is new nevertheless.
	for _, want := range []string{"added · ", "known · "} {
		if got := p.pipe(t, "", "add", "--text", "-c", "plain", "--create", "none", "Tea is at four."); !strings.Contains(got, want) {
			t.Errorf("a note without a job: %q, want %q", got, want)
		}
	}
	hits := object(t, p.pipe(t, "", "search", "two", "vases", "-k", "1"))["hits"].([]any)
	if len(hits) != 1 || !strings.Contains(hits[0].(map[string]any)["note"].(map[string]any)["content"].(string), "vases") {
		t.Errorf("found %v", hits)
	}
	out, _, code := p.runIn(t, []string{"COLUMNS=40"}, "", "search", "--text", "--explain", "vases")
	if code != 0 || !strings.Contains(out, " 1 Nora asked the gallery") || !strings.Contains(out, "lexical 0.") || strings.Contains(out, "\x1b") {
		t.Errorf("exit %d\n%s", code, out)
	}
	for line := range strings.Lines(out) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 40 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	// The ids of an application name a collection, too.
	p.pipe(t, "", "add", "--user", "nora@example.com", "--create", "amem", "I am a vegetarian.")
	if out := p.pipe(t, "", "search", "--user", "nora@example.com", "food"); !strings.Contains(out, "vegetarian") {
		t.Errorf("by the id of a user: %s", out)
	}
}

// A key that is piped in wins over that of the environment, which is sent to no address but its own.
func TestLoginSendsTheRightKey(t *testing.T) {
	t.Parallel()
	const own, piped = "sb_live_environment", "sb_live_piped"
	var sent sync.Map
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Store(r.Host+" "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), true)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items":[]}`))
	}))
	t.Cleanup(gateway.Close)
	other := "http://localhost" + gateway.URL[strings.LastIndex(gateway.URL, ":"):]
	for _, tt := range []struct {
		name, env, in string
		args          []string
		code          int
		sent          string // the address and the key
	}{
		{"a key that is piped to another address", "SLIPBOX_KEY", piped, []string{"login", other, "--profile", "other"}, 0, other + " " + piped},
		{"a key that is piped to its own address", "SLIPBOX_API_KEY", piped, []string{"login", gateway.URL, "--profile", "work"}, 0, gateway.URL + " " + piped},
		{"a key that is piped, and no address", "SLIPBOX_API_KEY", piped, []string{"login"}, 0, gateway.URL + " " + piped},
		{"nothing is piped", "SLIPBOX_API_KEY", "", []string{"login", gateway.URL + "/"}, 0, gateway.URL + " " + own},
		{"nothing is piped to another address", "SLIPBOX_KEY", "", []string{"login", other}, 2, ""},
		{"nothing is piped to the address of a flag", "SLIPBOX_API_KEY", "\n", []string{"login", "--url", other}, 2, ""},
		{"another command with the address of a flag", "SLIPBOX_API_KEY", "", []string{"list", "--url", other}, 2, ""},
		{"another command", "SLIPBOX_API_KEY", "", []string{"list"}, 0, gateway.URL + " " + own},
	} {
		sent.Clear()
		p := &person{home: t.TempDir()}
		p.env = []string{"HOME=" + p.home, "XDG_CONFIG_HOME=", "SLIPBOX_URL=" + gateway.URL, tt.env + "=" + own}
		_, problems, code := p.run(t, tt.in, tt.args...)
		if code != tt.code || code != 0 && !strings.Contains(problems, "SLIPBOX_URL") {
			t.Errorf("%s: exit %d, %s", tt.name, code, problems)
		}
		var got []string
		sent.Range(func(k, _ any) bool { got = append(got, "http://"+k.(string)); return true })
		if strings.Join(got, ", ") != tt.sent {
			t.Errorf("%s: sent %q, want %q", tt.name, got, tt.sent)
		}
		kept, _ := os.ReadFile(filepath.Join(p.home, ".config", "slipbox", "profiles.json"))
		if tt.args[0] == "login" && tt.code == 0 && !strings.Contains(string(kept), tt.sent[strings.Index(tt.sent, " ")+1:]) {
			t.Errorf("%s: kept %s", tt.name, kept)
		}
	}
}

// A file of profiles that cannot be read stops no command that needs none of it.
func TestBrokenProfiles(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	file := filepath.Join(p.home, ".config", "slipbox", "profiles.json")
	must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("{"), 0o600)))
	if out, problems, code := p.runIn(t, []string{"SLIPBOX_URL=" + p.url, "SLIPBOX_KEY=" + p.key}, "", "list"); code != 0 {
		t.Errorf("with all in the environment: exit %d\n%s%s", code, out, problems)
	}
	for _, env := range [][]string{{"SLIPBOX_URL=" + p.url}, {"SLIPBOX_KEY=" + p.key}, nil} {
		if _, problems, code := p.runIn(t, env, "", "list"); code != 1 || !strings.Contains(problems, file) {
			t.Errorf("%d variables: exit %d: %s", len(env), code, problems)
		}
	}
}

// A first note that is refused creates no memory of the user; one that is not does.
func TestRefusedFirstNote(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"add", "--user", "first", "--create", "mem0", "--expires-at", "2001-01-01T00:00:00Z", "x"}, 1, "--expires-at"},
		{[]string{"search", "--user", "first", "x"}, 3, `of user "first"`},
		{[]string{"add", "--user", "first", "--create", "none", "x"}, 0, ""},
		{[]string{"search", "--user", "first", "x"}, 0, ""},
	} {
		if _, problems, code := p.runIn(t, nil, "", tt.args...); code != tt.code || !strings.Contains(problems, tt.want) {
			t.Errorf("%v: exit %d: %s", tt.args, code, problems)
		}
	}
}

// A mistake is answered with its fix and an exit code for its kind.
func TestErrorsNameTheFix(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	away := "http://127.0.0.1:" + commandtest.FreePort(t)
	list := filepath.Join(t.TempDir(), "list.json")
	must.Do(t, os.WriteFile(list, []byte("[1, 2]"), 0o600))
	nothing := write(t, "nothing.jsonl", "")
	// A shell completes what exists.
	for args, want := range map[string]string{"--help": "completion", "__complete search -c ": "diary", "__complete search --profile ": "default", "completion bash": "slipbox"} {
		if out := p.pipe(t, "", strings.Split(args, " ")...); !strings.Contains(out, want) {
			t.Errorf("%s prints %s", args, out)
		}
	}
	for _, tt := range []struct {
		name string
		env  []string
		in   string
		args []string
		code int
		want []string
	}{
		{"a mistyped command", nil, "", []string{"serch"}, 1, []string{"search"}},
		{"an unknown shell", nil, "", []string{"completion", "basch"}, 1, []string{"bash, fish"}},
		{"one argument too many", nil, "", []string{"fork", "one", "two"}, 1, []string{"two", "slipbox fork --help"}},
		{"a mistyped flag", nil, "", []string{"search", "--k", "3"}, 1, []string{"--k", "slipbox search --help"}},
		{"an empty question", nil, "\n", []string{"search"}, 1, []string{"question", "pipe"}},
		{"an unknown collection", nil, "", []string{"search", "-c", "dairy", "x"}, 3, []string{"diary", "--collection"}},
		{"an unknown collection to add to", nil, "", []string{"add", "-c", "dairy", "x"}, 3, []string{"diary", "--create"}},
		{"an unknown user", nil, "", []string{"add", "--user", "x", "x"}, 3, []string{`of user "x"`, "--create"}},
		{"two collections", nil, "", []string{"add", "-c", "diary", "--user", "x", "x"}, 1, []string{"--user", "use one"}},
		{"an unknown policy", nil, "", []string{"add", "-c", "new", "--create", "amme", "x"}, 1, []string{"--create: unknown policy"}},
		{"an unknown policy of a user", nil, "", []string{"add", "--user", "x", "--create", "amme", "x"}, 1, []string{"--create: unknown policy"}},
		{"too long a note", nil, strings.Repeat("long ", 1<<16), []string{"add"}, 1, []string{"content"}},
		{"far too long a note", nil, strings.Repeat("long ", 1<<18), []string{"add"}, 1, []string{"slipbox import"}},
		{"a revision of the future", nil, "", []string{"search", "--as-of", "999", "x"}, 1, []string{"--as-of"}},
		{"a wrong number of hits", nil, "", []string{"search", "-k", "many", "x"}, 1, []string{"--limit"}},
		{"no time", nil, "", []string{"add", "--at", "yesterday", "x"}, 1, []string{"--at", "2026-03-01T09:30:00Z"}},
		{"an end in the past", nil, "", []string{"add", "--expires-at", "2020-01-01T00:00:00Z", "x"}, 1, []string{"--expires-at", "future"}},
		{"an end that is none", nil, "", []string{"add", "--ttl", "-1h", "x"}, 1, []string{"--ttl"}},
		{"two ends", nil, "", []string{"add", "--ttl", "1h", "--expires-at", "2099-01-01T00:00:00Z", "x"}, 1, []string{"--ttl", "--expires-at"}},
		{"no time of a fact", nil, "", []string{"facts", "--valid-at", "yesterday"}, 1, []string{"--valid-at", "2026-03-01T09:30:00Z"}},
		{"a name that is taken", nil, "", []string{"fork", "diary"}, 1, []string{"diary", "another name"}},
		{"an unknown note", nil, "", []string{"history", "01a1fdda-ccd6-713d-97db-eda78326c93a"}, 3, []string{"slipbox search"}},
		{"an unknown job", nil, "", []string{"watch", "01a1fdda-ccd6-713d-97db-eda78326c93a"}, 3, []string{"`slipbox watch`"}},
		{"a collection to import into", nil, "", []string{"import", "-c", "dairy", "../../README.md"}, 3, []string{"diary", "--create"}},
		{"two forms of output", nil, "", []string{"search", "x", "--text", "--json"}, 1, []string{"--json and --text exclude each other", "slipbox search --help"}},
		{"an empty file", nil, "", []string{"import", nothing}, 1, []string{"is empty"}},
		{"a hook of a collection", nil, "{}", []string{"hook", "codex", "install", "-c", "diary", "--dry-run"}, 1, []string{"--user"}},
		{"an unknown job to cancel", nil, "", []string{"job", "cancel", "01a1fdda-ccd6-713d-97db-eda78326c93a"}, 3, []string{"`slipbox watch`"}},
		{"an empty note", nil, "", []string{"add", " "}, 1, []string{"empty", "pipe"}},
		{"the link of the console", nil, "", []string{"login", p.url + "/console#key=x"}, 1, []string{p.url + ";", "/console", "asks for the key"}},
		{"no memory of MemoryBank", nil, "", []string{"import", "--format", "memorybank", list}, 1, []string{"an object is missing"}},
		{"another format", nil, "", []string{"import", "--format", "slack", histories + "whatsapp/WhatsApp Chat with Nora.txt"}, 1, []string{"is not an export of a Slack workspace"}},
		{"a file whose name controls terminals", nil, "", []string{"import", "\x1b[2J.md"}, 1, []string{"\uFFFD[2J.md"}},
		{"no gateway", nil, "", []string{"search", "--url", away, "x"}, 2, []string{away, "slipbox login"}},
		{"no gateway, with a key", []string{"SLIPBOX_URL=" + away, "SLIPBOX_API_KEY=" + p.key}, "", []string{"search", "x"}, 4, []string{away, "gateway serve"}},
		{"no address", nil, "", []string{"search", "--url", "localhost:8080", "x"}, 1, []string{"http://127.0.0.1:8080"}},
		{"a key in the address", nil, "", []string{"login", "http://user:key@127.0.0.1"}, 1, []string{"slipbox login"}},
		{"a torn key", []string{"SLIPBOX_API_KEY=sb_live_\x01", "SLIPBOX_URL=" + p.url}, "", []string{"search", "x"}, 2, []string{"gateway key create"}},
		{"an unknown profile", nil, "", []string{"search", "--profile", "work", "x"}, 1, []string{"default", "slipbox login"}},
		{"no base", nil, "", []string{"diff"}, 1, []string{"AGAINST: ", "--against-at", "no parent"}},
		{"a revision that is none", nil, "", []string{"diff", "--against-at", "tomorrow"}, 1, []string{"--against-at", "snapshot"}},
		{"an unknown kind", nil, "", []string{"diff", "diary", "--at", "1", "--kind", "thing"}, 1, []string{"--kind"}},
		{"nothing to merge from", nil, "", []string{"merge"}, 1, []string{"merge from", "slipbox merge --help"}},
		{"itself", nil, "", []string{"merge", "diary"}, 1, []string{"itself", "rollback"}},
		{"an unknown strategy", nil, "", []string{"merge", "x", "--strategy", "mine"}, 1, []string{"--strategy", "theirs"}},
		{"no note", nil, "", []string{"merge", "x", "--note", "x"}, 1, []string{"--note", "slipbox diff"}},
		{"an unknown fork", nil, "", []string{"merge", "dairy"}, 3, []string{"diary"}},
		{"a revision that will be", nil, "", []string{"rollback", "999"}, 1, []string{"999", "ends at"}},
		{"an unknown snapshot", nil, "", []string{"rollback", "before"}, 1, []string{"snapshot"}},
		{"a snapshot that looks like a number", nil, "", []string{"snapshot", "create", "12"}, 1, []string{"letter"}},
		{"no snapshot", nil, "", []string{"snapshot", "delete", "before"}, 3, []string{"slipbox snapshot list"}},
		{"an unknown note to blame", nil, "", []string{"blame", "01a1fdda-ccd6-713d-97db-eda78326c93a"}, 3, []string{"slipbox search"}},
		{"changes before all", nil, "", []string{"changes", "--after", "-1"}, 1, []string{"--after"}},
		{"a host that is not allowed", nil, "", []string{"webhook", "create", "https://example.com"}, 1, []string{"SLIPBOX_ALLOW_HOSTS"}},
		{"an address that is not allowed", nil, "", []string{"webhook", "create", "http://127.0.0.1:1/"}, 1, []string{"slipbox: URL: "}},
		{"no webhook", nil, "", []string{"webhook", "rotate", "01a1fdda-ccd6-713d-97db-eda78326c93a"}, 3, []string{"slipbox webhook list"}},
		{"no delivery", nil, "", []string{"webhook", "retry", "x"}, 1, []string{"deliveries"}},
		{"no home", []string{"HOME="}, "", []string{"login", p.url}, 1, []string{"SLIPBOX_URL"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, problems, code := p.runIn(t, tt.env, tt.in, tt.args...)
			if code != tt.code || out != "" {
				t.Errorf("exit %d, want %d; stdout %q", code, tt.code, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(problems, want) {
					t.Errorf("%q is missing in: %s", want, problems)
				}
			}
			if strings.Contains(problems, p.key) {
				t.Errorf("a key is printed: %s", problems)
			}
		})
	}
}
