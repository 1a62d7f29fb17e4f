package eval

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// fakeGateway answers with the notes, hits and contexts of a test.
type fakeGateway struct {
	notes  map[string][]string // sources by note
	hits   []FoundNote
	tokens int // reported by a context
	reads  int // number of single notes read
}

func (f *fakeGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/search"):
		found := Found{TookMs: 1.5}
		for _, n := range f.hits {
			found.Hits = append(found.Hits, Hit{Note: n, Score: 0.5})
		}
		_ = json.NewEncoder(w).Encode(found)
	case strings.HasSuffix(path, "/context"):
		_, _ = fmt.Fprintf(w, `{"text":"[1] The kiln is blue.","tokens":%d,"citations":[{"note":"summary"}]}`, f.tokens)
	default:
		f.reads++
		id := path[strings.LastIndex(path, "/")+1:]
		sources, ok := f.notes[id]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"code":"not_found","status":404}`)
			return
		}
		n := FoundNote{ID: id, Kind: "fact"}
		n.Provenance.Sources = sources
		_ = json.NewEncoder(w).Encode(n)
	}
}

func (f *fakeGateway) bench(t *testing.T) *Bench {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	ids := map[string]string{}
	for i := range 20 {
		ids[fmt.Sprintf("m%d", i)] = fmt.Sprintf("D1:%d", i)
	}
	d := &Dataset{Budgets: []int{10, 30}, Conversations: []Conversation{{ID: "c", Questions: []Question{
		{Text: "Which colour has the kiln?", Answer: "blue", Gold: []string{"D1:1", "D1:2"}, Audited: []string{"D1:1"}},
	}}}}
	return &Bench{Client: &Client{BaseURL: s.URL, Key: "k"}, Data: d, Policy: "some", Loaded: []Loaded{{Collection: "c", IDs: ids}}}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	many := make([]string, 13)
	for i := range many {
		many[i] = fmt.Sprintf("m%d", i)
	}
	f := &fakeGateway{notes: map[string][]string{
		"fact": {"m1", "m2"}, "summary": {"fact", "m2", "m3", "gone"}, "loop": {"loop", "m4"}, "wide": many, "twelve": many[:12], "page": {"summary", "loop"}, "none": nil,
	}}
	b := f.bench(t)
	o := newOrigins(b.Client, &b.Loaded[0])
	for id, want := range map[string][]string{
		"m7": {"D1:7"}, "fact": {"D1:1", "D1:2"}, "summary": {"D1:2", "D1:3", "D1:1"}, "loop": {"D1:4"}, "wide": nil, "none": nil,
		"page": {"D1:2", "D1:3", "D1:4", "D1:1"},
	} {
		got, err := o.Turns(t.Context(), FoundNote{ID: id})
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s covers %v, want %v: %v", id, got, want, err)
		}
	}
	if got, err := o.Turns(t.Context(), FoundNote{ID: "twelve"}); err != nil || len(got) != 12 {
		t.Errorf("a note from twelve turns covers %v: %v", got, err)
	}
}

// A hit costs the tokens of its text with its date, and covers the turns it was derived from.
func TestAskDerived(t *testing.T) {
	t.Parallel()
	hit := FoundNote{ID: "fact", Kind: "fact", Content: "The kiln is blue."} // 7 tokens with its brackets
	hit.Provenance.Sources = []string{"m1"}
	other := FoundNote{ID: "m2", Kind: "message", Content: "It is the second one."}
	f := &fakeGateway{hits: []FoundNote{hit, other}}
	rows := must.Get(f.bench(t).AskDerived(t.Context(), Variant{Mode: Hybrid}))(t)
	if got, want := rows[0].Score, (Score{0.5, 1, 1, 15, 1}); !slices.Equal(got, want) {
		t.Errorf("recall within 10 and 30 tokens, of the first ten, their tokens, and answer %v, want %v", got, want)
	}
	if got, want := rows[0].Audited, (Score{1, 1, 1, 15, 1}); !slices.Equal(got, want) {
		t.Errorf("audited %v, want %v", got, want)
	}
	if f.reads != 0 {
		t.Errorf("%d notes were read that were there", f.reads)
	}
}

// A context covers the turns it cites, and may not report more tokens than its budget.
func TestAskContext(t *testing.T) {
	t.Parallel()
	f := &fakeGateway{tokens: 9, notes: map[string][]string{"summary": {"m2"}}}
	b := f.bench(t)
	rows := must.Get(b.AskContext(t.Context()))(t)
	if got, want := rows[0].Score, (Score{0.5, 1, 9, 0.5, 1, 9}); !slices.Equal(got, want) {
		t.Errorf("%v are %v, want %v", contextMetrics(b.Data.Budgets), got, want)
	}
	f.tokens = 11
	if _, err := b.AskContext(t.Context()); err == nil || !strings.Contains(err.Error(), "11 tokens for a budget of 10") {
		t.Errorf("over its budget: %v", err)
	}
}

// A hit that is not a note of the conversation is an error, not a miss.
func TestLeakIsAnError(t *testing.T) {
	t.Parallel()
	f := &fakeGateway{hits: []FoundNote{{ID: "elsewhere"}}}
	if _, err := f.bench(t).Ask(t.Context(), Variant{Mode: Lexical}); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("a note of another collection: %v", err)
	}
}

// The distractors are reproducible, and hardly any repeats.
func TestDistractors(t *testing.T) {
	t.Parallel()
	a, b := newDistractors().next(2000), newDistractors()
	again := append(b.next(500), b.next(1500)...)
	seen := map[string]bool{}
	for i := range a {
		if a[i].Content != again[i].Content || !a[i].OccurredAt.Equal(*again[i].OccurredAt) {
			t.Fatalf("note %d differs: %q, %q", i, a[i].Content, again[i].Content)
		}
		seen[a[i].Content] = true
	}
	if len(seen) < 1990 {
		t.Errorf("%d different ones of 2000", len(seen))
	}
}
