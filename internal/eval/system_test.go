package eval

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// messageGateway is a gateway that derives a fact from each request with messages.
type messageGateway struct {
	t        *testing.T
	requests [][]Message
	failed   bool
}

func (g *messageGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/messages"):
		var in struct {
			Messages []Message `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			g.t.Error(err)
		}
		var ids []string
		for i := range in.Messages {
			ids = append(ids, fmt.Sprintf(`{"id":"m%d-%d"}`, len(g.requests), i))
		}
		g.requests = append(g.requests, in.Messages)
		_, _ = fmt.Fprintf(w, `{"messages":[%s],"revision":1}`, strings.Join(ids, ","))
	case strings.HasPrefix(path, "/v1/jobs"):
		if g.failed && r.URL.Query().Get("state") == "dead" {
			_, _ = fmt.Fprint(w, `{"items":[{}]}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"items":[]}`)
	case strings.HasSuffix(path, "/notes"):
		var items []string
		for _, of := range g.requests {
			for range of {
				items = append(items, `{"kind":"message","content":"one two three","attributes":{"name":"Ada"}}`)
			}
			items = append(items, `{"kind":"fact","content":"four"}`)
		}
		_, _ = fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(items, ","))
	default:
		_, _ = fmt.Fprint(w, `{"id":"c","embedder":"hash"}`)
	}
}

func TestOpenTalk(t *testing.T) {
	t.Parallel()
	g := &messageGateway{t: t}
	s := httptest.NewServer(g)
	defer s.Close()
	var turns []Turn
	for i, session := range []string{"1", "1", "1", "2", "2"} {
		turns = append(turns, Turn{
			ID: fmt.Sprintf("D%d", i), Speaker: "Ada", Session: session, Text: "Ada: what Ada: said",
			Attributes: map[string]any{"speaker": "Ada"},
		})
	}
	d := &Dataset{Name: "x", Conversations: []Conversation{{ID: "c", Turns: turns}}}
	c := &Client{BaseURL: s.URL, Key: "k"}
	b := must.Get(OpenTalk(t.Context(), c, d, "p-", System{Name: "mem0", Policy: "mem0", Step: true}, t.Logf))(t)
	var sizes []int
	for _, r := range g.requests {
		sizes = append(sizes, len(r))
	}
	if !slices.Equal(sizes, []int{2, 1, 2}) { // never two sessions in one request
		t.Errorf("messageGateway in parts of %v", sizes)
	}
	if m := g.requests[0][1]; m.Content != "what Ada: said" || m.Name != "Ada" || m.Role != "user" || m.Session != "1" || !maps.Equal(m.Attributes, map[string]any{"dia_id": "D1"}) {
		t.Errorf("messageGateway %+v", m)
	}
	if want := map[string]string{"m0-0": "D0", "m0-1": "D1", "m1-0": "D2", "m2-0": "D3", "m2-1": "D4"}; !maps.Equal(b.Loaded[0].IDs, want) {
		t.Errorf("notes %v", b.Loaded[0].IDs)
	}
	if got := b.Stored[0]; got.Messages != 5 || got.Notes() != 3 || got.Raw != 5*7 || got.Tokens != 3*3 || got.Share() != 9.0/35 {
		t.Errorf("stored %+v", got)
	}
	g.failed, g.requests = true, nil
	if _, err := OpenTalk(t.Context(), c, d, "p-", System{Name: "mem0", Policy: "mem0", Step: true}, t.Logf); err == nil || !strings.Contains(err.Error(), "1 jobs failed") {
		t.Errorf("a failed job: %v", err)
	}
}

func TestPrintStored(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := &Result{Track: "derived-mem0", Loading: 12.4, Stored: &Stored{Conversations: 2, Messages: 9, Derived: map[string]int{"summary": 1, "fact": 4}, Tokens: 50, Raw: 200}}
	must.Do(t, PrintStored(&b, []*Result{{Track: "locomo"}, r, r}))
	if want := "| derived-mem0 | 5 | fact 4, summary 1 | 50 | 0.250 | 25 | 12 |\n"; !strings.HasSuffix(b.String(), want) || strings.Count(b.String(), "derived-mem0") != 1 {
		t.Errorf("printed\n%s", b.String())
	}
}
