package recall_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// configuredPolicy is a policy that stores notes as they are, and whose config holds the reading.
type configuredPolicy struct{ policy.None }

func (configuredPolicy) Name() string                      { return "bookish" }
func (configuredPolicy) CheckConfig(json.RawMessage) error { return nil }

func (configuredPolicy) Reading(config json.RawMessage) (out memory.Reading) {
	if len(config) > 0 {
		if err := json.Unmarshal(config, &out); err != nil { //nolint:musttag // only this test writes it
			panic(err)
		}
	}
	return out
}

// addWithReading creates a collection with this reading.
func (r *fixture) addWithReading(name string, rd memory.Reading) memory.Collection {
	r.t.Helper()
	config, err := json.Marshal(rd) //nolint:musttag // only this test reads it
	r.noError(err)
	v := must.Get(r.collections.Create(r.t.Context(), r.all, notes.CollectionInput{Name: name, Policy: "bookish", PolicyConfig: config}, memory.Request{}))(r.t)
	return v.Collection
}

func wantOnly(t *testing.T, got []uuid.UUID, want ...uuid.UUID) {
	t.Helper()
	if len(got) != len(want) || slices.ContainsFunc(want, func(id uuid.UUID) bool { return !slices.Contains(got, id) }) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// The policy selects the kinds that a search returns, unless the caller names kinds anywhere in the
// filter.
func TestReadingKinds(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.addWithReading("facts", memory.Reading{Kinds: []memory.Kind{memory.KindFact, memory.KindNote}})
		message := r.addAt(c, memory.KindMessage, "2026-03-02 09:30", "The ferry leaves at seven.", nil)
		fact := r.addAt(c, memory.KindFact, "2026-03-02 09:30", "The ferry to the island leaves at seven.", nil)
		note := r.addAt(c, memory.KindNote, "2026-03-02 09:30", "The ferry is late.", nil)
		for _, mode := range []recall.Mode{recall.Hybrid, recall.Lexical, recall.Vector} {
			ask := func(e filter.Expr) []uuid.UUID {
				return hitIDs(r.search(c, recall.Query{Text: "ferry", Mode: mode, Filter: e}))
			}
			wantOnly(t, ask(nil), fact, note)
			wantOnly(t, ask(parseFilter(t, `{"field":"attributes.x","op":"exists","value":false}`)), fact, note)
			wantOnly(t, ask(kindIs(t, memory.KindMessage)), message)
			wantOnly(t, ask(parseFilter(t, `{"field":"kind","op":"exists","value":true}`)), message, fact, note)
			wantOnly(t, ask(parseFilter(t, `{"or":[{"not":{"field":"kind","op":"eq","value":"note"}},{"field":"tags","op":"contains","value":"x"}]}`)), message, fact)
		}
		wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", Internal: true})), message, fact, note)
		if out := r.context(c, recall.ContextQuery{Text: "ferry"}); len(out.Citations) != 2 {
			t.Errorf("%+v", out)
		}
		usual := r.collection("usual")
		r.addAt(usual, memory.KindMessage, "2026-03-02 09:30", "The ferry leaves at seven.", map[string]any{"expires_at": "2020-01-01T00:00:00Z"})
		if out := r.search(usual, recall.Query{Text: "ferry"}); len(out.Hits) != 1 {
			t.Errorf("a policy that says nothing of reading hides something: %+v", out)
		}
	})
}

// Links lead to no kinds that the policy excludes.
func TestReadingHoldsForLinked(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.addWithReading("linked", memory.Reading{Kinds: []memory.Kind{memory.KindFact}})
	fact := r.addAt(c, memory.KindFact, "2026-03-02 09:30", "The ferry leaves at seven.", nil)
	message := r.addAt(c, memory.KindMessage, "2026-03-02 09:30", "Nothing of the kind.", nil)
	gone := r.addAt(c, memory.KindFact, "2026-03-02 09:30", "Something else.", map[string]any{"expires_at": "2026-11-01T00:00:00Z"})
	other := r.addAt(c, memory.KindFact, "2026-03-02 09:30", "Another matter.", nil)
	r.link(c, fact, message, gone, other)
	wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", Mode: recall.Lexical, ExpandLinks: 1})), fact, other)
}

// The policy sets how far contexts follow links, and the caller may override it. Searches follow them when they are asked to.
func TestReadingExpandsLinks(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.addWithReading("linked", memory.Reading{ExpandLinks: 1})
		hit, near, far := r.add(c, "The ferry leaves at seven."), r.add(c, "Coffee is sold on deck."), r.add(c, "Storms close the harbor.")
		r.link(c, hit, near)
		r.link(c, near, far)
		cited := func(steps *int) []uuid.UUID {
			var ids []uuid.UUID
			for _, cited := range r.context(c, recall.ContextQuery{Text: "ferry", Mode: recall.Lexical, ExpandLinks: steps}).Citations {
				ids = append(ids, cited.Note)
			}
			return ids
		}
		wantOnly(t, cited(nil), hit, near)
		wantOnly(t, cited(new(0)), hit)
		wantOnly(t, cited(new(2)), hit, near, far)
		wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", Mode: recall.Lexical})), hit)
	})
}

// Formulas read the use of their candidates, and of no other note of the collection.
func TestUsageIsReadForCandidates(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		counted := &usageStore{Reader: r.store}
		r.recall = must.Get(recall.New(recall.Deps{Store: counted, Embedders: r.embedder, Clock: r.Now}, recall.Config{}))(t)
		t.Cleanup(func() { r.noError(r.recall.Stop(context.Background())) })
		c := r.collection("mixed")
		var facts []uuid.UUID
		for _, content := range []string{"one", "two", "three"} {
			facts = append(facts, r.addAt(c, memory.KindFact, "2026-03-02 09:30", "ferry "+content, nil))
			r.addAt(c, memory.KindMessage, "2026-03-02 09:30", "ferry message "+content, nil)
		}
		found := hitIDs(r.search(c, recall.Query{
			Text: "ferry", K: 1, Filter: memory.OfKinds(memory.KindFact), Internal: true,
			Formula: &memory.Formula{Overlap: 1, Access: 1, AccessCap: 10},
		}))
		if len(found) != 1 {
			t.Errorf("found %v", found)
		}
		slices.SortFunc(counted.asked, memory.CompareIDs)
		wantOnly(t, slices.Compact(counted.asked), facts...)
	})
}

// The policy sets the default number of hits, and the caller may override it.
func TestReadingK(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.addWithReading("few", memory.Reading{K: 2})
	for _, s := range []string{"one", "two", "three", "four"} {
		r.add(c, "ferry "+s)
	}
	if n := len(r.search(c, recall.Query{Text: "ferry"}).Hits); n != 2 {
		t.Errorf("%d hits", n)
	}
	if n := len(r.search(c, recall.Query{Text: "ferry", K: 3}).Hits); n != 3 {
		t.Errorf("%d hits of 3", n)
	}
	if n := len(r.context(c, recall.ContextQuery{Text: "ferry"}).Citations); n != 4 {
		t.Errorf("%d citations: a context goes by its tokens", n)
	}
}

// Expired notes are not found, also among other notes, except by a filter on the expiry.
func TestExpired(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.addWithReading("expiring", memory.Reading{Kinds: []memory.Kind{memory.KindFact}, K: 3})
		ends := r.addAt(c, memory.KindFact, "2026-03-02 09:30", "The ferry is free this week.", map[string]any{"expires_at": "2026-11-21T14:00:00+01:00"})
		odd := r.addAt(c, memory.KindFact, "2026-03-02 09:30", "The ferry is red.", map[string]any{"expires_at": "some day"})
		stays := r.addAt(c, memory.KindFact, "2026-03-02 09:30", "The ferry is old.", nil)
		for _, mode := range []recall.Mode{recall.Hybrid, recall.Lexical, recall.Vector} {
			wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", Mode: mode})), ends, odd, stays)
		}
		r.Pass(time.Hour) // 13:00 UTC
		for _, mode := range []recall.Mode{recall.Hybrid, recall.Lexical, recall.Vector} {
			wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", Mode: mode})), odd, stays)
		}
		wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", Filter: parseFilter(t, `{"field":"attributes.expires_at","op":"exists","value":true}`)})), ends, odd)
		wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", Reference: r.Now().Add(-time.Minute)})), ends, odd, stays)
		if out := r.context(c, recall.ContextQuery{Text: "ferry"}); len(out.Citations) != 2 {
			t.Errorf("%+v", out)
		}
	})
}
