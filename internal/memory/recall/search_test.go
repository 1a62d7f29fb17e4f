package recall_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// Vectors that only compare spellings get little weight beside words.
func TestWeightOfSpellings(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	r.add(c, "roses in the garden")
	r.add(c, "the train to Lisbon leaves at noon")
	weights := search.General.Weights()
	for meaning, want := range map[bool]float64{true: weights[search.Vector], false: search.SpellingVector} {
		r.embedder.meaning.Store(meaning)
		hit := r.search(c, recall.Query{Text: "garden roses", K: 1, Explain: true}).Hits[0]
		got := map[string]float64{}
		for _, s := range hit.Explain.Signals {
			got[s.Name] = s.Weight
		}
		if math.Abs(got["vector"]/got["lexical"]-want/weights[search.Lexical]) > 1e-9 {
			t.Errorf("meaning %v: weights %v", meaning, got)
		}
	}
}

// C040, C043, C047, C050: at most k notes, best first, with their fields; ids and scores alone on
// request.
func TestSearch(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	for i := range 20 {
		r.add(c, fmt.Sprintf("the garden has roses in bed number %d", i), "garden")
	}
	r.add(c, "the train to Lisbon leaves at noon")
	for _, mode := range []recall.Mode{recall.Hybrid, recall.Vector, recall.Lexical} {
		out := r.search(c, recall.Query{Text: "roses in the garden", Mode: mode})
		if len(out.Hits) != recall.DefaultK || out.Mode != mode || out.Revision != 21 || out.Degraded != "" {
			t.Errorf("%s: %+v", mode, out)
		}
		for i, h := range out.Hits {
			if h.Note == nil || h.Note.Content == "" || len(h.Note.Tags) == 0 || h.Note.OccurredAt.IsZero() || h.Note.Category == "" || h.IsNeighbor || len(h.Sources) == 0 {
				t.Errorf("%s: hit %+v", mode, h)
			}
			if i > 0 && h.Score > out.Hits[i-1].Score {
				t.Errorf("%s: scores rise at %d", mode, i)
			}
		}
	}
	out := r.search(c, recall.Query{Text: "roses", K: 3, IDsOnly: true, Explain: true})
	for _, h := range out.Hits {
		if h.Note != nil || h.ID == uuid.Nil || h.Score <= 0 || h.Explain == nil || len(h.Explain.Signals) == 0 || !strings.Contains(h.Explain.Version, h.ID.String()) {
			t.Errorf("hit %+v", h)
		}
	}
	if len(out.Hits) != 3 {
		t.Errorf("%d hits", len(out.Hits))
	}
	// The vector of a note finds the note.
	n := must.Get(r.recall.Get(t.Context(), r.all, r.view(c), out.Hits[0].ID, true))(t)
	near := r.search(c, recall.Query{Vector: n.Vector, K: 1, Embedding: true})
	if near.Hits[0].ID != n.ID || near.Hits[0].Score < 0.999 || len(near.Hits[0].Note.Vector) != 384 || near.Mode != recall.Vector && near.Mode != "" {
		t.Errorf("nearest is %+v", near.Hits[0])
	}
}

// C048, C049, C051, C318: a rare word is found by words, and only by them.
func TestRareWord(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	for i := range 30 {
		r.add(c, fmt.Sprintf("the river runs past the old mill and the weir, day %d", i))
	}
	rare := r.add(c, "zyzzyva")
	q := "the river and the old mill and the weir zyzzyva"
	hybrid := r.search(c, recall.Query{Text: q})
	if !slices.Contains(hitIDs(hybrid), rare) {
		t.Error("the rare word is not among the first")
	}
	vector := r.search(c, recall.Query{Text: q, Mode: recall.Vector})
	if slices.Contains(hitIDs(vector), rare) {
		t.Error("the case is not one: the vector finds it")
	}
	words := r.search(c, recall.Query{Text: "zyzzyva", Mode: recall.Lexical, K: 50})
	if !slices.Equal(hitIDs(words), []uuid.UUID{rare}) || !slices.Equal(words.Hits[0].Sources, []recall.Source{"lexical"}) {
		t.Errorf("by words: %+v", words.Hits)
	}
	if none := r.search(c, recall.Query{Text: "unknownword", Mode: recall.Lexical}); len(none.Hits) != 0 {
		t.Error("a note without the word was found by words")
	}
}

// C041, C042, C044, C045, C046, C322: links are followed in both directions, once, and linked notes
// are scored together with the hits.
func TestExpandLinks(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	hit := r.add(c, "quantum tunnelling explained")
	out, in := r.add(c, "annealing of metals"), r.add(c, "cooling schedules")
	far := r.add(c, "forges of the north")
	for i := range 10 {
		r.add(c, fmt.Sprintf("bread recipe %d", i))
	}
	r.link(c, hit, out)
	r.link(c, in, hit)
	r.link(c, out, far, hit) // a circle
	q := recall.Query{Text: "quantum tunnelling", Mode: recall.Lexical, K: 5}
	if got := hitIDs(r.search(c, q)); !slices.Equal(got, []uuid.UUID{hit}) {
		t.Fatalf("without links: %v", got)
	}
	q.ExpandLinks, q.Explain = 1, true
	one := r.search(c, q)
	ids := hitIDs(one)
	if len(ids) != 3 || ids[0] != hit || !slices.Contains(ids, out) || !slices.Contains(ids, in) {
		t.Errorf("one step: %v", ids)
	}
	for _, h := range one.Hits {
		if h.IsNeighbor != (h.ID != hit) || h.IsNeighbor && (!slices.Contains(h.Sources, "link") || h.Explain.Via == nil || *h.Explain.Via != hit || h.Explain.Hops != 1) {
			t.Errorf("hit %+v %+v", h, h.Explain)
		}
	}
	q.ExpandLinks = 2
	if ids := hitIDs(r.search(c, q)); len(ids) != 4 || !slices.Contains(ids, far) {
		t.Errorf("two steps: %v", ids)
	}
	q.K = 2
	if ids := hitIDs(r.search(c, q)); len(ids) != 2 || ids[0] != hit {
		t.Errorf("cut to k: %v", ids)
	}
	q.K, q.Filter = 5, parseFilter(t, `{"field":"tags","op":"contains","value":"none"}`)
	if ids := hitIDs(r.search(c, q)); len(ids) != 0 {
		t.Errorf("the filter lets %v pass", ids)
	}
}

func parseFilter(t *testing.T, s string) filter.Expr {
	t.Helper()
	e := must.Get(filter.Parse([]byte(s)))(t)
	return e
}

// C052, C053: a search of an empty collection returns no hits; a view serves any number of queries.
func TestEmptyAndBatch(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	for _, mode := range []recall.Mode{recall.Hybrid, recall.Vector, recall.Lexical} {
		if out := r.search(c, recall.Query{Text: "anything", Mode: mode, ExpandLinks: 2}); len(out.Hits) != 0 || out.Revision != 0 {
			t.Errorf("%s: %+v", mode, out)
		}
	}
	a := r.add(c, "apples and pears")
	v := r.view(c)
	b := r.add(c, "boats and barges")
	for text, want := range map[string][]uuid.UUID{"apples": {a}, "boats": nil} {
		out := must.Get(r.recall.Search(t.Context(), r.all, v, recall.Query{Text: text, Mode: recall.Lexical}))(t)
		if !slices.Equal(hitIDs(out), want) && len(want)+len(out.Hits) > 0 {
			t.Errorf("%s: %v", text, hitIDs(out))
		}
	}
	if got := hitIDs(r.search(c, recall.Query{Text: "boats", Mode: recall.Lexical})); !slices.Equal(got, []uuid.UUID{b}) {
		t.Errorf("a later view: %v", got)
	}
	if got := hitIDs(r.search(c, recall.Query{Messages: []recall.Message{{User: "hello", Assistant: "hi"}, {Role: "user", Content: "tell me of boats"}}, Mode: recall.Lexical})); !slices.Equal(got, []uuid.UUID{b}) {
		t.Errorf("by dialogue: %v", got)
	}
}

func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	r.add(c, "a note")
	vec := func(x float32) []float32 {
		v := make([]float32, 384)
		v[3] = x
		return v
	}
	v := r.view(c)
	for name, x := range map[string]struct {
		q     recall.Query
		field string
	}{
		"nothing":    {recall.Query{}, "query"},
		"two":        {recall.Query{Text: "x", Vector: vec(1)}, "query"},
		"blank":      {recall.Query{Text: "  "}, "query"},
		"nul":        {recall.Query{Text: "a\x00"}, "query"},
		"long":       {recall.Query{Text: strings.Repeat("x", 65<<10)}, "query"},
		"k":          {recall.Query{Text: "x", K: 201}, "k"},
		"k billion":  {recall.Query{Text: "x", K: 1_000_000_000}, "k"},
		"k negative": {recall.Query{Text: "x", K: -1}, "k"},
		"mode":       {recall.Query{Text: "x", Mode: "psychic"}, "mode"},
		"expand":     {recall.Query{Text: "x", ExpandLinks: 3}, "expand_links"},
		"rerank":     {recall.Query{Text: "x", Rerank: "dice"}, "rerank"},
		"budget":     {recall.Query{Text: "x", TokenBudget: -1}, "token_budget"},
		"dimension":  {recall.Query{Vector: []float32{1, 2}}, "vector"},
		"zero":       {recall.Query{Vector: vec(0)}, "vector"},
		"nan":        {recall.Query{Vector: vec(float32(math.NaN()))}, "vector"},
		"infinite":   {recall.Query{Vector: vec(float32(math.Inf(1)))}, "vector"},
		"messages":   {recall.Query{Messages: []recall.Message{}}, "messages"},
		"profile":    {recall.Query{Text: "x", Profile: "loud"}, "profile"},
		"weights":    {recall.Query{Text: "x", Weights: map[string]float64{"lexcial": 1}}, "weights"},
		"weight":     {recall.Query{Text: "x", Weights: map[string]float64{"lexical": math.NaN()}}, "weights"},
		"empty turn": {recall.Query{Messages: []recall.Message{{Role: "user"}}}, "messages"},
	} {
		_, err := r.recall.Search(t.Context(), r.all, v, x.q)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), x.field) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := r.recall.Search(t.Context(), r.all, v, recall.Query{Text: "a\xff"})
	r.wantFault(err, fault.Malformed)
	_, err = r.recall.Search(t.Context(), grant.Scope(r.tenant, uuid.Nil, "x", tenant.NotesWrite), v, recall.Query{Text: "x"})
	r.wantFault(err, fault.Forbidden)
	_, err = r.recall.Search(t.Context(), grant.Scope(uuid.New(), uuid.Nil, "x", tenant.NotesRead), v, recall.Query{Text: "x"})
	r.wantFault(err, fault.NotFound)
	_, err = r.recall.Open(t.Context(), r.all, "things", new(memory.Revision(9)), 0)
	r.wantFault(err, fault.Invalid)
	_, err = r.recall.Open(t.Context(), r.all, "nothing", nil, 0)
	r.wantFault(err, fault.NotFound)
}

// C054: the floor is the embedder's own, else 0.7.
func TestFloorOfNoise(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		own   float64
		shown int
	}{"none": {0, 1}, "the embedder's": {0.2, 2}} {
		r := open(t, recall.Config{})
		r.embedder.floor = x.own
		c := r.collection("things")
		r.add(c, "the lighthouse keeper's daughter and her boat")
		r.add(c, "the lighthouse keeper")
		r.model.answer = func(memory.Call) (string, error) { return `{"scores":[]}`, nil }
		r.search(c, recall.Query{Text: "the lighthouse keeper", Rerank: recall.RerankModel, Mode: recall.Vector})
		in, ok := r.model.calls[0].Input.(policy.RelevanceInput)
		if !ok || len(in.Candidates) != x.shown {
			t.Errorf("%s: the model sees %d notes, want %d", name, len(in.Candidates), x.shown)
		}
	}
}

// C054: notes at or below the threshold never reach the model, and it orders the others. If it
// fails, the coarse order is kept.
func TestRerank(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	r.embedder.floor = 0.2
	c := r.collection("things")
	far := r.add(c, "entirely different matters of state")
	first, second := r.add(c, "the lighthouse keeper's daughter"), r.add(c, "the lighthouse keeper")
	q := recall.Query{Text: "the lighthouse keeper", Rerank: recall.RerankModel, Mode: recall.Vector}
	r.model.answer = func(memory.Call) (string, error) {
		return `{"scores":[{"id":0,"score":0.6},{"id":1,"score":0.9},{"id":7,"score":1}]}`, nil
	}
	out := r.search(c, q)
	if got := hitIDs(out); !slices.Equal(got, []uuid.UUID{first, second}) || out.Hits[0].Score != 0.9 || out.Degraded != "" {
		t.Errorf("got %v %+v", got, out)
	}
	call := r.model.calls[0]
	in, ok := call.Input.(policy.RelevanceInput)
	if !ok || call.Name != "relevance" || len(in.Candidates) != 2 || strings.Contains(call.Prompt, "matters of state") {
		t.Errorf("the call is %+v", call)
	}
	r.model.answer = func(memory.Call) (string, error) {
		return `{"scores":[{"id":0,"score":0.1},{"id":1,"score":0.2}]}`, nil
	}
	if out := r.search(c, q); len(out.Hits) != 0 {
		t.Errorf("irrelevant notes stay: %v", hitIDs(out))
	}
	r.model.answer = func(memory.Call) (string, error) { return "", fault.New(fault.Unavailable, "down") }
	out = r.search(c, q)
	if got := hitIDs(out); !slices.Equal(got, []uuid.UUID{second, first}) || out.Degraded == "" {
		t.Errorf("coarse: %v %+v", got, out)
	}
	calls := len(r.model.calls)
	out = r.search(c, recall.Query{Text: "xylophone zebra", Rerank: recall.RerankModel})
	if slices.Contains(hitIDs(out), far) || len(r.model.calls) != calls {
		t.Error("the model was asked about noise")
	}
}

// If the embedder is down, words alone answer, and the result reports it.
func TestEmbedderDown(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	r.embedder.down.Store(true)
	id := r.add(c, "stored without a vector") // still a note
	out := r.search(c, recall.Query{Text: "vector"})
	if !slices.Equal(hitIDs(out), []uuid.UUID{id}) || out.Degraded == "" || out.Mode != recall.Hybrid {
		t.Errorf("got %+v", out)
	}
	_, err := r.recall.Search(t.Context(), r.all, r.view(c), recall.Query{Text: "vector", Mode: recall.Vector})
	r.wantFault(err, fault.Unavailable)
	out = r.search(c, recall.Query{Text: "vector", Mode: recall.Lexical})
	if len(out.Hits) != 1 || out.Degraded != "" {
		t.Errorf("words need no embedder: %+v", out)
	}
}

func TestScoreBudgetFilterAndTime(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	a := r.add(c, "one two three four five", "keep")
	b := r.add(c, "one two three nine ten", "drop")
	q := recall.Query{Text: "one two three four five", Mode: recall.Lexical}
	all := r.search(c, q)
	q.MinScore = new(all.Hits[0].Score)
	if got := hitIDs(r.search(c, q)); !slices.Equal(got, []uuid.UUID{a}) {
		t.Errorf("minimum score: %v", got)
	}
	q.MinScore, q.TokenBudget, q.Explain = nil, 10, true
	out := r.search(c, q)
	if got := hitIDs(out); !slices.Equal(got, []uuid.UUID{a}) || out.Hits[0].Explain.Tokens == 0 {
		t.Errorf("budget: %+v", out)
	}
	q = recall.Query{Text: "one two three", Filter: parseFilter(t, `{"field":"tags","op":"contains","value":"drop"}`)}
	if got := hitIDs(r.search(c, q)); !slices.Equal(got, []uuid.UUID{b}) {
		t.Errorf("filter: %v", got)
	}
	// C058, C057: deletions and changes are visible immediately, and the past with as_of.
	must.Get(r.notes.Delete(t.Context(), r.all, c.ID.String(), a, memory.Request{}))(t)
	must.Get(r.notes.Patch(t.Context(), r.all, c.ID.String(), b, notes.NotePatch{Content: new("eleven twelve")}, memory.Request{}))(t)
	if got := hitIDs(r.search(c, recall.Query{Text: "one two three", Mode: recall.Lexical})); len(got) != 0 {
		t.Errorf("still found: %v", got)
	}
	then := must.Get(r.recall.Open(t.Context(), r.all, c.ID.String(), new(memory.Revision(2)), 0))(t)
	past := must.Get(r.recall.Search(t.Context(), r.all, then, recall.Query{Text: "one two three", Mode: recall.Lexical}))(t)
	if len(past.Hits) != 2 || past.Revision != 2 || past.Hits[0].Note.Content == "eleven twelve" {
		t.Errorf("as of 2: %+v", past)
	}
	must.Get(r.recall.Open(t.Context(), r.all, c.ID.String(), nil, 4))(t)
	fast := must.Get(recall.New(recall.Deps{Store: r.store, Embedders: r.embedder}, recall.Config{MinRevisionWait: 30 * time.Millisecond}))(t)
	_, err := fast.Open(t.Context(), r.all, c.ID.String(), nil, 5)
	r.wantFault(err, fault.Invalid)
}

// C013, C014: a search counts each note that it returns once, at its time;
// internal look-ups count nothing.
func TestSearchesCountEachHitOnce(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	a, b := r.add(c, "counted words"), r.add(c, "other matters")
	usage := func(c memory.Collection, id uuid.UUID) memory.Usage {
		n := must.Get(r.recall.Get(t.Context(), r.all, r.view(c), id, false))(t)
		return n.Usage
	}
	r.Pass(time.Hour)
	searched := r.Now()
	q := recall.Query{Text: "counted words", Mode: recall.Lexical}
	r.search(c, q)
	if u := usage(c, a); u.AccessCount != 1 || !u.LastAccess.Equal(searched) || u.Strength != 1 {
		t.Errorf("before the flush: %+v", u)
	}
	r.noError(r.recall.Flush(t.Context()))
	r.Pass(time.Hour)
	r.search(c, q)
	if u := usage(c, a); u.AccessCount != 2 || !u.LastAccess.Equal(searched.Add(time.Hour)) {
		t.Errorf("after the flush: %+v", u)
	}
	q.Internal = true
	r.search(c, q)
	vectors := must.Get(r.embedder.Embed(t.Context(), r.all, []string{q.Text}))(t)
	near := must.Get(r.recall.Nearest(t.Context(), r.all, r.view(c), memory.NearestQuery{Vector: vectors[0].Vector, Limit: 2}))(t)
	if len(near) != 2 {
		t.Errorf("nearest are %+v", near)
	}
	if u := usage(c, a); u.AccessCount != 2 {
		t.Errorf("an internal look-up counted: %+v", u)
	}
	if u := usage(c, b); u.AccessCount != 0 || !u.LastAccess.IsZero() {
		t.Errorf("not returned, but counted: %+v", u)
	}
	// Counting in a fork does not touch the base.
	r.noError(r.recall.Flush(t.Context()))
	f := r.fork(c, nil)
	if u := usage(f, a); u.AccessCount != 2 {
		t.Errorf("the fork shows %+v", u)
	}
	q.Internal = false
	r.search(f, q)
	r.noError(r.recall.Stop(t.Context()))
	if u, base := usage(f, a), usage(c, a); u.AccessCount != 3 || base.AccessCount != 2 {
		t.Errorf("fork %+v, base %+v", u, base)
	}
	// A deleted collection does not prevent the counts of others.
	r.search(c, q)
	r.search(f, q)
	must.Get(r.collections.Delete(t.Context(), r.all, f.ID.String(), false))(t)
	r.noError(r.recall.Flush(t.Context()))
	if u := usage(c, a); u.AccessCount != 3 {
		t.Errorf("got %+v", u)
	}
}
