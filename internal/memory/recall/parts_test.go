package recall_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// linkStore answers queries for links only once several are under way, or refuses those of some notes.
type linkStore struct {
	memory.Reader
	waiting atomic.Int64
	want    int64
	all     chan struct{} // is closed when want queries are under way
	refuse  map[uuid.UUID]bool
}

func (l *linkStore) Links(ctx context.Context, s tenant.Scope, v memory.View, q memory.LinkQuery) ([]memory.Link, error) {
	if len(q.Notes) == 1 && l.refuse[q.Notes[0]] {
		return nil, errors.New("the link is down")
	}
	if l.want > 0 {
		if l.waiting.Add(1) == l.want {
			close(l.all)
		}
		select {
		case <-l.all:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return l.Reader.Links(ctx, s, v, q)
}

// bookSearch is a collection whose reading has two staged parts and one without a stage.
func bookSearch(r *fixture) (c memory.Collection, sessions, pages []uuid.UUID, fact uuid.UUID) {
	rd := memory.Reading{Kinds: []memory.Kind{memory.KindPassage, memory.KindFact}, K: 10, Parts: []memory.Part{
		{Name: "by session", Kinds: []memory.Kind{memory.KindPassage}, K: 2, Stage: &memory.PartStage{Kinds: []memory.Kind{memory.KindSession}, K: 1, Relation: "page"}},
		{Name: "by summary", Kinds: []memory.Kind{memory.KindPassage}, K: 2, Stage: &memory.PartStage{Kinds: []memory.Kind{memory.KindSummary}, K: 1}},
		{Name: "facts", Kinds: []memory.Kind{memory.KindFact}, K: 1},
	}}
	c = r.addWithReading("book", rd)
	add := func(k memory.Kind, s string) uuid.UUID { return r.addAt(c, k, "2026-03-02 09:30", s, nil) }
	sessions = []uuid.UUID{
		add(memory.KindSession, "The ferry to the island."), add(memory.KindSession, "Cooking soup with leeks."), add(memory.KindSummary, "The ferry in winter."),
	}
	pages = []uuid.UUID{
		add(memory.KindPassage, "The ferry leaves at seven."), add(memory.KindPassage, "The ferry takes an hour."), add(memory.KindPassage, "It is cold on deck."),
		add(memory.KindPassage, "The ferry has leeks on board."), add(memory.KindPassage, "In winter the ferry stays in the harbor."),
	}
	fact = add(memory.KindFact, "Ada takes the ferry.")
	add(memory.KindFact, "Ada cooks.")
	put := func(from uuid.UUID, links ...notes.LinkInput) {
		must.Get(r.notes.PutLinks(r.t.Context(), r.all, c.ID.String(), from, links, memory.Request{}))(r.t)
	}
	put(sessions[0], append(linkInputs("page", pages[0], pages[1], pages[2]), linkInputs("other", pages[3])...)...)
	put(sessions[1], linkInputs("page", pages[3])...)
	put(sessions[2], linkInputs("page", pages[4])...)
	return c, sessions, pages, fact
}

// A reading of several parts finds the notes of each, those of a stage only from its best notes, ranked together
// as one search ranks them. The caller's filter applies to all of them, and one on kinds replaces them.
func TestReadingParts(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c, _, pages, fact := bookSearch(r)
		for _, mode := range []recall.Mode{recall.Hybrid, recall.Vector, recall.Lexical} {
			out := r.search(c, recall.Query{Text: "ferry", Mode: mode})
			wantOnly(t, hitIDs(out), pages[0], pages[1], pages[4], fact)
			for i := 1; i < len(out.Hits); i++ {
				if out.Hits[i].Score > out.Hits[i-1].Score {
					t.Errorf("%s: the scores are out of order: %+v", mode, out.Hits)
				}
			}
			if out.Degraded != "" {
				t.Errorf("degraded: %s", out.Degraded)
			}
		}
		wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", K: 1})), hitIDs(r.search(c, recall.Query{Text: "ferry", K: 9}))[0])
		hour := parseFilter(t, `{"field":"attributes.x","op":"exists","value":true}`)
		wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", Filter: hour})))
		wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "leeks board", Mode: recall.Lexical, Filter: kindIs(t, memory.KindPassage)})), pages[3])
		if out := r.context(c, recall.ContextQuery{Text: "ferry"}); len(out.Citations) != 4 {
			t.Errorf("%+v", out)
		}
	})
}

// A note below the floor of a part is not a hit, unless it has a word of the query.
func TestPartFloor(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.addWithReading("floor", memory.Reading{Kinds: []memory.Kind{memory.KindFact}, Parts: []memory.Part{{Name: "facts", Floor: 0.999}}})
	fact := r.addAt(c, memory.KindFact, "2026-03-02 09:30", "Ada takes the ferry to the island in the morning.", nil)
	r.addAt(c, memory.KindFact, "2026-03-02 09:30", "Ben cooks soup.", nil)
	wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry"})), fact)
	wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", Mode: recall.Vector})))
}

// C238: the parts are searched at the same time, and one that fails leaves the others.
func TestPartsSearchAtOnceAndFailAlone(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c, sessions, pages, fact := bookSearch(r)
	links := &linkStore{Reader: r.store, want: 2, all: make(chan struct{})}
	var err error
	r.recall = must.Get(recall.New(recall.Deps{Store: links, Embedders: r.embedder, Policies: memory.NewPolicySet(policy.NewNone(), configuredPolicy{}), Clock: r.Now}, recall.Config{}))(t)
	t.Cleanup(func() { r.noError(r.recall.Stop(context.Background())) })
	// It would not return if one part waited for the other.
	wantOnly(t, hitIDs(r.search(c, recall.Query{Text: "ferry", Bare: true})), pages[0], pages[1], pages[4], fact)

	links.want, links.refuse = 0, map[uuid.UUID]bool{sessions[2]: true}
	out := r.search(c, recall.Query{Text: "ferry", Bare: true})
	wantOnly(t, hitIDs(out), pages[0], pages[1], fact)
	if !strings.Contains(out.Degraded, "by summary failed") {
		t.Errorf("degraded: %q", out.Degraded)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.recall.Search(ended, r.all, r.view(c), recall.Query{Text: "ferry", Bare: true}); err == nil {
		t.Error("a search that was given up found something")
	}
	only := r.addWithReading("only", memory.Reading{Kinds: []memory.Kind{memory.KindPassage}, Parts: []memory.Part{
		{Name: "by session", Stage: &memory.PartStage{Kinds: []memory.Kind{memory.KindSession}}},
	}})
	links.refuse[r.addAt(only, memory.KindSession, "2026-03-02 09:30", "The ferry.", nil)] = true
	_, err = r.recall.Search(t.Context(), r.all, r.view(only), recall.Query{Text: "ferry", Bare: true})
	if err == nil || fault.Is(err, fault.NotFound) {
		t.Errorf("all parts failed: %v", err)
	}
}

func linkInputs(relation string, to ...uuid.UUID) []notes.LinkInput {
	out := make([]notes.LinkInput, len(to))
	for i, id := range to {
		out[i] = notes.LinkInput{Target: id, Relation: relation}
	}
	return out
}
