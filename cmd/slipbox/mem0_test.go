package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// mem0Double answers as mem0's platform and its open-source server do, a page of two at a time. Before its first answer to each path
// it is busy once and then breaks off in the middle of one.
type mem0Double struct {
	*httptest.Server

	mu     sync.Mutex
	faults map[string]int // by path, how many there were
}

const mem0Key = "m0-secret"

// mem0Stored is what it remembers.
var mem0Stored = []map[string]any{
	{"id": "2c1b9f0a-6a3f-4c0e-9a1d-000000000001", "memory": "Nora lives in Oslo.", "user_id": "nora@example.com", "agent_id": nil, "metadata": nil, "categories": []string{"home"}, "created_at": "2025-03-01T09:30:00.123456-07:00"},
	{"id": "2c1b9f0a-6a3f-4c0e-9a1d-000000000002", "memory": "Nora likes tea.", "user_id": "nora@example.com", "agent_id": "guide", "metadata": map[string]any{"source": "chat"}, "categories": nil, "created_at": "2025-03-02 09:30:00", "expiration_date": "2099-12-31"},
	{"id": "2c1b9f0a-6a3f-4c0e-9a1d-000000000003", "memory": "Nora likes tea.", "user_id": "nora@example.com", "agent_id": nil, "created_at": "2025-03-03T09:30:00Z"},
	{"id": "2c1b9f0a-6a3f-4c0e-9a1d-000000000004", "memory": "Nora lives in Rome.", "user_id": "nora@example.com", "created_at": "2025-03-04T09:30:00Z", "field_of_the_next_version": true},
	{"id": "no-uuid", "memory": "Be brief.", "agent_id": "guide", "created_at": "soon"},
	{"id": "2c1b9f0a-6a3f-4c0e-9a1d-000000000006", "memory": " ", "agent_id": "guide"},
	// Back where he was.
	{"id": "2c1b9f0a-6a3f-4c0e-9a1d-000000000007", "memory": "Ben lives in Oslo.", "user_id": "ben@example.com", "created_at": "2025-03-01T09:30:00Z"},
	{"id": "2c1b9f0a-6a3f-4c0e-9a1d-000000000008", "memory": "Ben lives in Rome.", "user_id": "ben@example.com", "created_at": "2025-03-02T09:30:00Z"},
	{"id": "2c1b9f0a-6a3f-4c0e-9a1d-000000000009", "memory": "Ben lives in Oslo.", "user_id": "ben@example.com", "created_at": "2025-03-03T09:30:00Z"},
	// The newer one cannot be imported.
	{"id": "2c1b9f0a-6a3f-4c0e-9a1d-00000000000a", "memory": "Ada lives in Oslo.", "user_id": "ada@example.com", "created_at": "2025-03-01T09:30:00Z"},
	{"id": "2c1b9f0a-6a3f-4c0e-9a1d-00000000000b", "memory": "Ada lives in Rome.", "user_id": "ada@example.com", "metadata": map[string]any{"log": strings.Repeat("x", 64<<10)}, "created_at": "2025-03-02T09:30:00Z"},
}

func newMem0(t *testing.T) *mem0Double {
	t.Helper()
	d := &mem0Double{faults: map[string]int{}}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

func (d *mem0Double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	oss := r.URL.Path == "/memories"
	if oss && r.Header.Get("X-Api-Key") != mem0Key || !oss && r.Header.Get("Authorization") != "Token "+mem0Key {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"detail":"Invalid API key"}`))
		return
	}
	d.mu.Lock()
	d.faults[r.URL.Path]++
	fault := d.faults[r.URL.Path]
	d.mu.Unlock()
	switch fault {
	case 1:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"detail":"Request was throttled."}`))
		return
	case 2:
		_, _ = w.Write([]byte(`{"results":[{"id":"2c1b9f`))
		return
	}
	var body struct {
		Filters map[string]string `json:"filters"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	query := r.URL.Query()
	var rows []map[string]any
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/v1/entities/":
		rows = []map[string]any{{"type": "agent", "name": "guide"}, {"type": "user", "name": "nora@example.com"}, {"type": "colour", "name": "red"}}
	case r.Method == http.MethodPost && r.URL.Path == "/v3/memories/", oss && r.Method == http.MethodGet:
		for _, name := range []string{"user_id", "agent_id", "app_id", "run_id"} {
			if id := body.Filters[name] + query.Get(name); id != "" {
				rows = append(rows, slices.Collect(func(yield func(map[string]any) bool) {
					for _, m := range mem0Stored {
						if m[name] == id && !yield(m) {
							return
						}
					}
				})...)
			}
		}
	default:
		http.NotFound(w, r)
		return
	}
	answer := map[string]any{"results": rows}
	if page, err := strconv.Atoi(query.Get("page")); err == nil {
		const size = 2
		from := min(len(rows), (page-1)*size)
		answer = map[string]any{"count": len(rows), "next": nil, "previous": nil, "results": rows[from:min(len(rows), from+size)]}
		if from+size < len(rows) {
			answer["next"] = fmt.Sprintf("https://api.mem0.ai%s?page=%d", r.URL.Path, page+1)
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// movesOnly is a model that says one thing about memories: a person who lives somewhere else does not live where they did.
func movesOnly(t *testing.T) *llmtest.Server {
	t.Helper()
	model := llmtest.New(t)
	model.Handle("decide", func(r llmtest.Request) llmtest.Reply {
		var d struct {
			Fact    string
			Similar []struct {
				Handle int
				Text   string
			}
		}
		r.ReadData(&d)
		who, where, _ := strings.Cut(d.Fact, " lives in ")
		for _, s := range d.Similar {
			if person, place, ok := strings.Cut(s.Text, " lives in "); ok && person == who && where != "" && place != where {
				return llmtest.JSON(map[string]any{"operation": "DELETE", "target": s.Handle, "text": nil, "why": "moved"})
			}
		}
		return llmtest.JSON(map[string]any{"operation": "ADD", "target": nil, "text": nil, "why": "new"})
	})
	return model
}

// What mem0 remembers is imported with its ids and times, once; what is there twice is reported, and what a model says
// contradicts.
func TestImportMem0(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "SLIPBOX_LLM=openai", "SLIPBOX_LLM_BASE_URL="+movesOnly(t).URL(), "SLIPBOX_LLM_MODEL=words")
	p.pipe(t, p.key+"\n", "login", p.url)
	mem0 := newMem0(t)
	run := func(args ...string) map[string]any {
		t.Helper()
		out, problems, code := p.runIn(t, []string{"MEM0_API_KEY=" + mem0Key}, "", append([]string{"import", "mem0", "--from", mem0.URL}, args...)...)
		if (code != 0) != (len(object(t, out)["refused"].([]any)) > 0) || strings.Contains(problems+out, mem0Key) {
			t.Fatalf("exit %d\n%s%s", code, out, problems)
		}
		return object(t, out)
	}
	want := func(got map[string]any, want string) {
		t.Helper()
		if text := fmt.Sprintf("%v memories of %v: %v imported, %v known, %d twice, %d refused", got["memories"], got["entities"], got["imported"], got["known"],
			len(got["duplicates"].([]any)), len(got["refused"].([]any))); text != want {
			t.Errorf("%s; want %s: %v", text, want, got)
		}
	}
	dry := run("--dry-run")
	want(dry, "6 memories of 2: 0 imported, 0 known, 1 twice, 1 refused")
	pairs := dry["contradictions"].([]any)
	if len(pairs) != 1 {
		t.Fatalf("contradictions: %v", pairs)
	}
	pair := pairs[0].(map[string]any)
	if pair["older"] != mem0Stored[0]["id"] || pair["newer"] != mem0Stored[3]["id"] || pair["retired"] != false || pair["entity"] != "user=nora@example.com" {
		t.Errorf("the pair: %v", pair)
	}
	if _, _, code := p.run(t, "", "search", "--user", "nora@example.com", "tea"); code != 3 {
		t.Errorf("a dry run writes: exit %d", code)
	}
	if left := p.get(t, "/v1/collections"); len(left["items"].([]any)) != 0 {
		t.Errorf("a dry run leaves %v", left)
	}

	want(run(), "6 memories of 2: 4 imported, 0 known, 1 twice, 1 refused")
	note := p.get(t, "/v1/collections/by/notes/"+mem0Stored[1]["id"].(string)+"?user=nora%40example.com")
	attributes := note["attributes"].(map[string]any)
	if note["content"] != "Nora likes tea." || note["kind"] != "fact" || note["created_at"] != "2025-03-02T09:30:00Z" || attributes["agent_id"] != "guide" || fmt.Sprint(attributes["metadata"]) != "map[source:chat]" {
		t.Errorf("imported: %v", note)
	}
	// It reads as it did, by the routes that mem0's clients call.
	memory := p.get(t, "/mem0/v1/memories/"+mem0Stored[1]["id"].(string)+"/")
	if memory["memory"] != "Nora likes tea." || memory["user_id"] != "nora@example.com" || memory["agent_id"] != "guide" || memory["expiration_date"] != "2099-12-31" {
		t.Errorf("by mem0's route: %v", memory)
	}
	if moved := p.get(t, "/mem0/v1/memories/"+mem0Stored[0]["id"].(string)+"/"); moved["created_at"] != "2025-03-01T16:30:00.123456Z" || fmt.Sprint(moved["categories"]) != "[home]" {
		t.Errorf("by mem0's route: %v", moved)
	}

	// Again, it continues where it was.
	want(run(), "6 memories of 2: 0 imported, 4 known, 1 twice, 1 refused")
	retired := run("--entity", "user=nora@example.com", "--retire")
	want(retired, "4 memories of 1: 0 imported, 3 known, 1 twice, 0 refused")
	if retired["contradictions"].([]any)[0].(map[string]any)["retired"] != true {
		t.Errorf("not retired: %v", retired)
	}
	hits := object(t, p.pipe(t, "", "search", "--user", "nora@example.com", "Where does Nora live?"))
	if text := fmt.Sprint(hits); strings.Contains(text, "Oslo") || !strings.Contains(text, "Rome") {
		t.Errorf("found: %v", hits)
	}
	// An older memory that still holds, or that nothing replaces, stays.
	for user, counts := range map[string]string{
		"ben@example.com": "3 memories of 1: 2 imported, 0 known, 1 twice, 0 refused", "ada@example.com": "2 memories of 1: 1 imported, 0 known, 0 twice, 1 refused",
	} {
		got := run("--entity", "user="+user, "--retire")
		want(got, counts)
		if pairs := got["contradictions"].([]any); len(pairs) != 1 || pairs[0].(map[string]any)["retired"] != false {
			t.Errorf("retired: %v", pairs)
		}
		if hits := p.pipe(t, "", "search", "--user", user, "Where do they live?"); !strings.Contains(hits, "Oslo") {
			t.Errorf("lost: %s", hits)
		}
	}
	// The open-source server.
	want(run("--oss", "--entity", "agent=guide", "--no-check"), "3 memories of 2: 0 imported, 2 known, 0 twice, 1 refused")
}

// Each mistake is answered with its fix.
func TestImportMem0Mistakes(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pipe(t, p.key+"\n", "login", p.url)
	mem0 := newMem0(t)
	for _, tt := range []struct {
		key  string
		args []string
		code int
		want string
	}{
		{"", []string{"--from", mem0.URL}, 1, "MEM0_API_KEY"},
		{"wrong", []string{"--from", mem0.URL}, 2, "MEM0_API_KEY"},
		{mem0Key, []string{"--from", mem0.URL, "--oss"}, 1, "--entity user=ID"},
		{mem0Key, []string{"--from", mem0.URL, "--entity", "nora"}, 1, "TYPE=ID"},
		{mem0Key, []string{"--from", p.url}, 1, "refuses"},
	} {
		out, problems, code := p.runIn(t, []string{"MEM0_API_KEY=" + tt.key}, "", append([]string{"import", "mem0"}, tt.args...)...)
		if code != tt.code || out != "" || !strings.Contains(problems, tt.want) || tt.key != "" && strings.Contains(problems, tt.key) {
			t.Errorf("%q: exit %d, stdout %q, %s", tt.args, code, out, problems)
		}
	}
}

// get reads from the API.
func (p *person) get(t *testing.T, path string) map[string]any {
	t.Helper()
	return p.call(t, http.MethodGet, path, http.NoBody)
}

// patch changes something by the API.
func (p *person) patch(t *testing.T, path, body string) {
	t.Helper()
	p.call(t, http.MethodPatch, path, strings.NewReader(body))
}

func (p *person) call(t *testing.T, method, path string, body io.Reader) map[string]any {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, p.url+path, body))(t)
	r.Header.Set("Authorization", "Bearer "+p.key)
	r.Header.Set("Content-Type", "application/json")
	resp := must.Get(http.DefaultClient.Do(r))(t)
	defer func() { _ = resp.Body.Close() }()
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("%s: %d %v %v", path, resp.StatusCode, out, err)
	}
	return out
}
