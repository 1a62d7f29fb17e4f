package recall_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// net is a graph as a policy stores it: entities, edges, and the notes that state the edges.
type net struct {
	*fixture
	c        memory.Collection
	entities map[string]uuid.UUID
}

func (r *fixture) addNet(rd memory.Reading) *net {
	r.t.Helper()
	return &net{r, r.addWithReading("net", rd), map[string]uuid.UUID{}}
}

// graphic reads facts and triples, with the graph.
var graphic = memory.Reading{Kinds: []memory.Kind{memory.KindFact, memory.KindKnowledge}, Graph: true}

// addEdges adds edges, "subject|relation|object", each with a fact of its own.
func (n *net) addEdges(edges ...string) (facts []uuid.UUID) {
	n.t.Helper()
	now := memory.Instant(n.Now())
	must.Get(n.store.Write(n.t.Context(), n.all, n.c.ID, memory.WriteOptions{Cause: memory.CauseExtract}, func(ctx context.Context, tx memory.Tx) error {
		facts = nil
		put := func(note memory.Note) (memory.Note, error) {
			note.State, note.Context, note.OccurredAt = memory.StateEvolved, memory.DefaultContext, now
			made, err := n.embedder.Embed(ctx, n.all, []string{memory.EmbedText(&note)})
			if err != nil {
				return note, err
			}
			note.Embed(made[0], n.embedder.Name())
			return tx.Put(ctx, note)
		}
		for i, s := range edges {
			p := strings.Split(s, "|")
			fact, err := put(memory.Note{Kind: memory.KindFact, Content: fmt.Sprintf("Statement %d of %s.", i, p[0])})
			if err != nil {
				return err
			}
			facts = append(facts, fact.ID)
			id := memory.LinkID{Relation: p[1]}
			for j, name := range []string{p[0], p[2]} {
				key := graph.EntityKey(name)
				if n.entities[key] == uuid.Nil {
					e, err := put(memory.Note{Kind: memory.KindEntity, Key: key, Content: name, Category: "thing"})
					if err != nil {
						return err
					}
					n.entities[key] = e.ID
				}
				if j == 0 {
					id.Source = n.entities[key]
				} else {
					id.Target = n.entities[key]
				}
			}
			triple, err := put(memory.Note{
				Kind: memory.KindKnowledge, Category: graph.CategoryTriple, Content: p[0] + " " + strings.ReplaceAll(p[1], "_", " ") + " " + p[2],
				Attributes: graph.TripleAttributes(id, p[0], p[2]), Provenance: memory.Provenance{Sources: []uuid.UUID{fact.ID}},
			})
			if err != nil {
				return err
			}
			e := graph.Edge{Valid: true, ValidFrom: now, Mentions: 1, Sources: []uuid.UUID{fact.ID}, CreatedAt: now, UpdatedAt: now, Triple: triple.ID}
			if _, err := tx.Link(ctx, memory.Link{LinkID: id, Confidence: 0.8, Attributes: e.Attributes()}); err != nil {
				return err
			}
			if _, err := tx.Link(ctx, memory.Link{LinkID: memory.LinkID{Source: triple.ID, Target: fact.ID, Relation: graph.DerivedFrom}, Confidence: 1}); err != nil {
				return err
			}
		}
		return nil
	}))(n.t)
	return facts
}

// searchGraph returns the hits that the graph led to, in order, and all hits.
func (n *net) searchGraph(q recall.Query) (out []string, all []recall.Hit) {
	n.t.Helper()
	r := n.search(n.c, q)
	for _, h := range r.Hits {
		if slices.Contains(h.Sources, recall.Source("graph")) {
			out = append(out, h.Note.Content)
		}
	}
	return out, r.Hits
}

func graphSearch(t *testing.T, r *fixture) {
	t.Helper()
	n := r.addNet(graphic)
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("Ann|owns|coin %d", i))
	}
	n.addEdges(many...)
	n.addEdges("Ann|works_at|Acme", "Acme|is_based_in|Oslo", "Oslo|lies_in|Norway", "Bob|admires|Ann", "Cid|owns|coin 7")
	got, hits := n.searchGraph(recall.Query{Text: "In which city is the employer of Ann, who works at it, based?", K: 10, Explain: true})
	for _, want := range []string{"Ann works at Acme", "Acme is based in Oslo"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	if slices.Contains(got, "Oslo lies in Norway") || len(got) > 10 {
		t.Errorf("three hops: %q", got)
	}
	seen := map[uuid.UUID]bool{}
	for _, h := range hits {
		if seen[h.ID] || h.IsNeighbor {
			t.Errorf("%q twice, or as a neighbour", h.Note.Content)
		}
		seen[h.ID] = true
		if h.Note.Content == "Acme is based in Oslo" && (h.Explain.Hops != 2 || h.Explain.Via == nil) {
			t.Errorf("explained as %+v", h.Explain)
		}
	}
	if got, _ := n.searchGraph(recall.Query{Text: "who admires Ann?", K: 10}); !slices.Contains(got, "Bob admires Ann") {
		t.Errorf("in-edges: %q", got)
	}
	if got, _ := n.searchGraph(recall.Query{Text: "what about nobody known?", K: 10}); len(got) != 0 {
		t.Errorf("of nobody: %q", got)
	}
	if got, _ := n.searchGraph(recall.Query{Text: "who admires Ann?", K: 10, Mode: recall.Lexical}); !slices.Contains(got, "Bob admires Ann") {
		t.Errorf("by words alone: %q", got)
	}
	n.embedder.down.Store(true)
	got, _ = n.searchGraph(recall.Query{Text: "who admires Ann?", K: 10})
	n.embedder.down.Store(false)
	if !slices.Contains(got, "Bob admires Ann") {
		t.Errorf("without an embedder: %q", got)
	}
}

// A query that names nobody is about the person whose name the facts carry, in each language; with two such persons it names none.
func TestGraphSearchSelf(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		n := r.addNet(graphic)
		n.addEdges("Nora|likes|tea", "Bob|likes|jazz")
		tell := func(name string, role memory.Role) {
			t.Helper()
			must.Get(n.store.Write(t.Context(), n.all, n.c.ID, memory.WriteOptions{Cause: memory.CauseExtract}, func(ctx context.Context, tx memory.Tx) error {
				_, err := tx.Put(ctx, memory.Note{
					Kind: memory.KindFact, Content: "Something that " + name + " said.", State: memory.StateEvolved, Context: memory.DefaultContext,
					OccurredAt: memory.Instant(n.Now()), Attributes: map[string]any{memory.AttrName: name, memory.AttrRole: string(role)},
				})
				return err
			}))(t)
		}
		asked := recall.Query{Text: "What do I like?", K: 10}
		if got, _ := n.searchGraph(asked); len(got) != 0 {
			t.Errorf("nobody has a name: %q", got)
		}
		tell("Nora", memory.RoleUser)
		tell("Bob", memory.RoleAssistant)
		for _, q := range []string{asked.Text, "Was trinke ich am liebsten?", "好きな飲み物は何ですか？", "Any idea for a present?"} {
			if got, _ := n.searchGraph(recall.Query{Text: q, K: 10}); !slices.Equal(got, []string{"Nora likes tea"}) {
				t.Errorf("one has, asked %q: %q", q, got)
			}
		}
		if got, _ := n.searchGraph(recall.Query{Text: "What does Bob like?", K: 10}); !slices.Equal(got, []string{"Bob likes jazz"}) {
			t.Errorf("asked about another: %q", got)
		}
		tell("Ann", memory.RoleUser)
		if got, _ := n.searchGraph(asked); len(got) != 0 {
			t.Errorf("two have: %q", got)
		}
	})
}

// A collection whose policy keeps no graph is searched without one.
func TestGraphSearchOff(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	n := r.addNet(memory.Reading{Kinds: graphic.Kinds})
	n.addEdges("Bob|admires|Ann")
	if got, hits := n.searchGraph(recall.Query{Text: "who admires Ann?", K: 10}); len(got) != 0 || len(hits) == 0 {
		t.Errorf("found %q of %d", got, len(hits))
	}
}

func pagesOfFactsAreStable(t *testing.T, r *fixture) {
	t.Helper()
	n := r.addNet(graphic)
	var edges []string
	for i := range 120 {
		edges = append(edges, fmt.Sprintf("Person %03d|knows|Person %03d", i, (i+1)%120))
	}
	facts := n.addEdges(edges...)
	all := func(c memory.Collection, q recall.FactsQuery) (out []recall.Fact) {
		t.Helper()
		for {
			page := must.Get(r.recall.Facts(t.Context(), r.all, r.view(c), q))(t)
			out = append(out, page.Items...)
			if q.After = page.Next; q.After == "" {
				return out
			}
		}
	}
	whole := all(n.c, recall.FactsQuery{Limit: 200})
	for _, limit := range []int{7, 50, 119, 120} {
		got := all(n.c, recall.FactsQuery{Limit: limit})
		if !slices.EqualFunc(whole, got, func(a, b recall.Fact) bool { return a.SubjectID == b.SubjectID && a.ObjectID == b.ObjectID }) || len(got) != 120 {
			t.Errorf("pages of %d: %d edges, or another order", limit, len(got))
		}
	}
	if f := all(n.c, recall.FactsQuery{Subject: "Person 005"}); len(f) != 1 || f[0].Object != "Person 006" || !slices.Equal(f[0].Sources, facts[5:6]) {
		t.Errorf("of one: %+v", f)
	}
	if f := all(n.c, recall.FactsQuery{Object: n.entities["person_006"].String()}); len(f) != 1 || f[0].Subject != "Person 005" {
		t.Errorf("by id: %+v", f)
	}
	fork := r.fork(n.c, nil)
	before := r.view(n.c)
	must.Get(r.notes.Delete(t.Context(), r.all, n.c.ID.String(), facts[5], memory.Request{}))(t)
	triple := must.Get(r.store.ListNotes(t.Context(), r.all, r.view(n.c), memory.NoteQuery{Kinds: []memory.Kind{memory.KindKnowledge}, Limit: 1}))(t)
	must.Get(r.notes.Delete(t.Context(), r.all, n.c.ID.String(), triple[0].ID, memory.Request{}))(t)
	if got := all(n.c, recall.FactsQuery{}); len(got) != 118 {
		t.Errorf("%d edges after a fact and a triple were deleted", len(got))
	}
	if got := all(fork, recall.FactsQuery{}); len(got) != 120 {
		t.Errorf("%d edges in the fork", len(got))
	}
	page, err := r.recall.Facts(t.Context(), r.all, before, recall.FactsQuery{Subject: "person 005"})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("as it stood: %+v, %v", page, err)
	}
	if got := all(n.c, recall.FactsQuery{ValidAt: r.Now().Add(-time.Hour)}); len(got) != 0 {
		t.Errorf("%d edges before the first", len(got))
	}
	if _, err := r.recall.Facts(t.Context(), r.all, before, recall.FactsQuery{Limit: 500}); err == nil {
		t.Error("a page of 500")
	}
}
