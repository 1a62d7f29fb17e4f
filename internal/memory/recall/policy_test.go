package recall_test

import (
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
)

// bookish is a policy that stores notes as they are, and whose config holds the reading.
type bookish struct{ policy.None }

func (bookish) Name() string                      { return "bookish" }
func (bookish) CheckConfig(json.RawMessage) error { return nil }

func (bookish) Reading(config json.RawMessage) (out memory.Reading) {
	if len(config) > 0 {
		if err := json.Unmarshal(config, &out); err != nil { //nolint:musttag // only this test writes it
			panic(err)
		}
	}
	return out
}

// read creates a collection with this reading.
func (r *reading) read(name string, rd memory.Reading) memory.Collection {
	r.t.Helper()
	config, err := json.Marshal(rd) //nolint:musttag // only this test reads it
	r.must(err)
	v, err := r.collections.Create(r.t.Context(), r.all, notes.CollectionInput{Name: name, Policy: "bookish", PolicyConfig: config}, memory.Request{})
	r.must(err)
	return v.Collection
}

func parsed(t *testing.T, s string) filter.Expr {
	t.Helper()
	e, err := filter.Parse([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func only(t *testing.T, got []uuid.UUID, want ...uuid.UUID) {
	t.Helper()
	if len(got) != len(want) || slices.ContainsFunc(want, func(id uuid.UUID) bool { return !slices.Contains(got, id) }) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// The policy selects the kinds that a search returns, unless the caller names kinds anywhere in the
// filter.
func TestReadingKinds(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *reading) {
		t.Helper()
		c := r.read("facts", memory.Reading{Kinds: []memory.Kind{memory.KindFact, memory.KindNote}})
		message := r.put(c, memory.KindMessage, "2026-03-02 09:30", "The ferry leaves at seven.", nil)
		fact := r.put(c, memory.KindFact, "2026-03-02 09:30", "The ferry to the island leaves at seven.", nil)
		note := r.put(c, memory.KindNote, "2026-03-02 09:30", "The ferry is late.", nil)
		for _, mode := range []recall.Mode{recall.Hybrid, recall.Lexical, recall.Vector} {
			ask := func(e filter.Expr) []uuid.UUID {
				return found(r.search(c, recall.Query{Text: "ferry", Mode: mode, Filter: e}))
			}
			only(t, ask(nil), fact, note)
			only(t, ask(parsed(t, `{"field":"attributes.x","op":"exists","value":false}`)), fact, note)
			only(t, ask(kindIs(t, memory.KindMessage)), message)
			only(t, ask(parsed(t, `{"field":"kind","op":"exists","value":true}`)), message, fact, note)
			only(t, ask(parsed(t, `{"or":[{"not":{"field":"kind","op":"eq","value":"note"}},{"field":"tags","op":"contains","value":"x"}]}`)), message, fact)
		}
		only(t, found(r.search(c, recall.Query{Text: "ferry", Internal: true})), message, fact, note)
		if out := r.context(c, recall.ContextQuery{Text: "ferry"}); len(out.Citations) != 2 {
			t.Errorf("%+v", out)
		}
		usual := r.collection("usual")
		r.put(usual, memory.KindMessage, "2026-03-02 09:30", "The ferry leaves at seven.", map[string]any{"expires_at": "2020-01-01T00:00:00Z"})
		if out := r.search(usual, recall.Query{Text: "ferry"}); len(out.Hits) != 1 {
			t.Errorf("a policy that says nothing of reading hides something: %+v", out)
		}
	})
}

// Links lead to no kinds that the policy excludes.
func TestReadingHoldsForLinked(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.read("linked", memory.Reading{Kinds: []memory.Kind{memory.KindFact}})
	fact := r.put(c, memory.KindFact, "2026-03-02 09:30", "The ferry leaves at seven.", nil)
	message := r.put(c, memory.KindMessage, "2026-03-02 09:30", "Nothing of the kind.", nil)
	gone := r.put(c, memory.KindFact, "2026-03-02 09:30", "Something else.", map[string]any{"expires_at": "2026-11-01T00:00:00Z"})
	other := r.put(c, memory.KindFact, "2026-03-02 09:30", "Another matter.", nil)
	r.link(c, fact, message, gone, other)
	only(t, found(r.search(c, recall.Query{Text: "ferry", Mode: recall.Lexical, ExpandLinks: 1})), fact, other)
}

// The policy sets the default number of hits, and the caller may override it.
func TestReadingK(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.read("few", memory.Reading{K: 2})
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
	onEngines(t, func(t *testing.T, r *reading) {
		t.Helper()
		c := r.read("expiring", memory.Reading{Kinds: []memory.Kind{memory.KindFact}, K: 3})
		ends := r.put(c, memory.KindFact, "2026-03-02 09:30", "The ferry is free this week.", map[string]any{"expires_at": "2026-11-21T14:00:00+01:00"})
		odd := r.put(c, memory.KindFact, "2026-03-02 09:30", "The ferry is red.", map[string]any{"expires_at": "some day"})
		stays := r.put(c, memory.KindFact, "2026-03-02 09:30", "The ferry is old.", nil)
		for _, mode := range []recall.Mode{recall.Hybrid, recall.Lexical, recall.Vector} {
			only(t, found(r.search(c, recall.Query{Text: "ferry", Mode: mode})), ends, odd, stays)
		}
		r.pass(time.Hour) // 13:00 UTC
		for _, mode := range []recall.Mode{recall.Hybrid, recall.Lexical, recall.Vector} {
			only(t, found(r.search(c, recall.Query{Text: "ferry", Mode: mode})), odd, stays)
		}
		only(t, found(r.search(c, recall.Query{Text: "ferry", Filter: parsed(t, `{"field":"attributes.expires_at","op":"exists","value":true}`)})), ends, odd)
		only(t, found(r.search(c, recall.Query{Text: "ferry", Reference: r.clock().Add(-time.Minute)})), ends, odd, stays)
		if out := r.context(c, recall.ContextQuery{Text: "ferry"}); len(out.Citations) != 2 {
			t.Errorf("%+v", out)
		}
	})
}
