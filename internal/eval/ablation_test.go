package eval

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// weighed answers with the gold turn first when the weight of words is largest, otherwise second.
type weighed struct{ asked []Query }

func (w *weighed) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var q Query
	_ = json.NewDecoder(r.Body).Decode(&q)
	w.asked = append(w.asked, q)
	weight := func(signal string, usual float64) float64 {
		if v, ok := q.Weights[signal]; ok {
			return v
		}
		return usual
	}
	notes := []string{"other", "gold"}
	if words := weight("lexical", 0.6); words > 0 && words >= weight("late", 0.4) {
		notes = []string{"gold", "other"}
	}
	found := Found{Profile: "default", TookMs: 2}
	for _, n := range notes {
		h := Hit{Note: FoundNote{ID: n}, Score: 0.5}
		if q.Explain {
			h.Explain.Signals = []Signal{{Name: "lexical", Weight: 0.6}, {Name: "late", Weight: 0.4}}
		}
		found.Hits = append(found.Hits, h)
	}
	_ = json.NewEncoder(out).Encode(found)
}

func TestAblate(t *testing.T) {
	t.Parallel()
	gateway := &weighed{}
	s := httptest.NewServer(gateway)
	defer s.Close()
	d := &Dataset{Name: "talk", Apart: "trap", Categories: []string{"plain", "trap"}, Conversations: []Conversation{{ID: "c", Questions: []Question{
		{Text: "What is it?", Gold: []string{"D1:1"}, Category: "plain"}, {Text: "What is it not?", Gold: []string{"D1:2"}, Category: "trap"},
	}}}}
	b := &Bench{
		Client: &Client{BaseURL: s.URL, Key: "k"}, Data: d, Policy: "none",
		Loaded: []Loaded{{Collection: "c", IDs: map[string]string{"gold": "D1:1", "other": "D1:2"}}},
	}
	a := must.Get(b.Ablate(t.Context(), Variant{Mode: Hybrid}, t.Logf))(t)
	if a.Profile != "default" || a.Questions != 1 || len(a.Signals) != 2 || a.Whole["nDCG@10"].Mean != 1 {
		t.Fatalf("ablation %+v, want two signals over the one question that is not apart, found first", a)
	}
	const second = 0.6309 // 1/log2 3
	near := func(got, want float64) bool { return got > want-1e-4 && got < want+1e-4 }
	words, late := a.Signals[0], a.Signals[1]
	if !near(words.Off["nDCG@10"].Mean, second-1) || !near(words.Alone["nDCG@10"].Mean, 1) {
		t.Errorf("words off %+v, alone %+v; want %.4f and 1", words.Off["nDCG@10"], words.Alone["nDCG@10"], second-1)
	}
	if !near(late.Off["nDCG@10"].Mean, 0) || !near(late.Alone["nDCG@10"].Mean, second) {
		t.Errorf("late off %+v, alone %+v; want 0 and %.4f", late.Off["nDCG@10"], late.Alone["nDCG@10"], second)
	}
	// Words choose the notes for late interaction, with almost no weight.
	if last := gateway.asked[len(gateway.asked)-1]; last.Weights["lexical"] != 0.6*chooserShare {
		t.Errorf("late alone was asked with %v", last.Weights)
	}
	if text := a.Markdown(); !strings.Contains(text, "| `lexical` | +0.0000 (+0.000 to +0.000) | -0.3691 (-0.369 to -0.369) |") {
		t.Errorf("table:\n%s", text)
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	const document = "before\n<!-- a b -->\nold\n<!-- /a b -->\nafter\n"
	got, err := ReplaceBetween([]byte(document), "a b", "new\n")
	if err != nil || string(got) != "before\n<!-- a b -->\nnew\n<!-- /a b -->\nafter\n" {
		t.Errorf("%q, %v", got, err)
	}
	for name, text := range map[string]string{"no mark": "before\n", "no end": "<!-- a b -->\nold\n"} {
		if _, err := ReplaceBetween([]byte(text), "a b", "new\n"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
