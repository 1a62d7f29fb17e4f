//go:build !race

package recall_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// C066: a fork without writes ranks as its base did, a fork with writes as a copy with the same
// writes. The base never changes.
func TestForkRanksLikeCopy(t *testing.T) {
	t.Parallel()
	onEngines(t, forkRanksLikeCopy)
}

// Eight layers, each with changes of its own, answer the same at every revision while the
// collections below are deleted one after the other and the others are made independent.
func TestEightLayersMadeIndependent(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	chain := []memory.Collection{r.collection("base")}
	var ids []uuid.UUID
	for i := range 12 {
		ids = append(ids, r.add(chain[0], fmt.Sprintf("inherited word%d", i)))
	}
	r.link(chain[0], ids[0], ids[1], ids[2], ids[11])
	r.search(chain[0], recall.Query{Text: "word3"})
	r.noError(r.recall.Flush(t.Context()))
	for depth := 1; depth < memory.MaxLineage; depth++ {
		c := r.fork(chain[depth-1], nil)
		chain = append(chain, c)
		must.Get(r.notes.Patch(t.Context(), r.all, c.ID.String(), ids[depth], notes.NotePatch{Content: new(fmt.Sprintf("inherited and changed in layer%d", depth))}, memory.Request{}))(t)
		_, err := r.notes.Delete(t.Context(), r.all, c.ID.String(), ids[11-depth%4], memory.Request{})
		if depth <= 4 {
			r.noError(err)
		} else if !fault.Is(err, fault.NotFound) {
			t.Fatal(err)
		}
		r.link(c, r.add(c, fmt.Sprintf("own of layer%d", depth)), ids[0])
		r.search(c, recall.Query{Text: "word4"})
		r.noError(r.recall.Flush(t.Context()))
	}
	last := chain[len(chain)-1]
	if n := len(r.view(last).Layers); n != memory.MaxLineage {
		t.Fatalf("%d layers", n)
	}
	picture := func() (out []string) {
		head := r.view(last).At
		for rev := memory.Revision(1); rev <= head; rev++ {
			v := must.Get(r.recall.Open(t.Context(), r.all, last.ID.String(), &rev, 0))(t)
			for _, q := range []string{"inherited", "own layer3", "word3 changed"} {
				got := must.Get(r.recall.Search(t.Context(), r.all, v, recall.Query{Text: q, K: 50, ExpandLinks: 1, Internal: true}))(t)
				line := []string{fmt.Sprint(rev, q)}
				for _, h := range got.Hits {
					line = append(line, fmt.Sprintf("[%s %d %.9f %v %q %d %v]", h.ID, h.Note.From, h.Score, h.Sources, h.Note.Content, h.Note.Usage.AccessCount, len(h.Note.Links)))
				}
				out = append(out, strings.Join(line, " "))
			}
		}
		for _, id := range ids {
			past := must.Get(r.store.History(t.Context(), r.all, r.view(last), id, 0, 100))(t)
			for _, h := range past {
				out = append(out, fmt.Sprint(id, h.Note.From, h.Note.Deleted, h.Note.Content, h.Changeset.Revision, h.Changeset.Cause, h.Changeset.At))
			}
		}
		return out
	}
	before := picture()
	for _, c := range chain[:len(chain)-1] {
		must.Get(r.collections.Delete(t.Context(), r.all, c.ID.String(), true))(t)
		job := memory.Job{Collection: c.ID}
		r.noError(r.clones.RunRemove(t.Context(), r.all, job, func(context.Context, memory.Progress) error { return nil }))
		if after := picture(); !slices.Equal(after, before) {
			for i := range before {
				if i < len(after) && after[i] != before[i] {
					t.Fatalf("without %s:\n%s\nbefore:\n%s", c.Name, after[i], before[i])
				}
			}
			t.Fatalf("%d lines, before %d", len(after), len(before))
		}
	}
	if n := len(r.view(last).Layers); n != 1 {
		t.Errorf("%d layers are left", n)
	}
}

// TestUnionRanksAsOne: a space that is divided by time or by topic has the same hits with the same scores as the
// whole (C081).
func TestUnionRanksAsOne(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		space := spokenSpace()
		whole := r.divide(space, func(int, *spoken) string { return "whole" })
		divided := map[string][]string{
			"by time":        r.divide(space, func(i int, _ *spoken) string { return fmt.Sprint("week-", i*4/len(space)) }),
			"within a day":   r.divide(space, func(i int, _ *spoken) string { return fmt.Sprint("part-", i/25) }),
			"by topic":       r.divide(space, func(_ int, s *spoken) string { return "topic-" + s.topic }),
			"one by one":     r.divide(space[:40], func(i int, _ *spoken) string { return fmt.Sprint("single-", i) }),
			"the first part": r.divide(space[:40], func(int, *spoken) string { return "first" }),
		}
		one := r.openAll(whole...)
		first := r.openAll(divided["the first part"]...)
		for _, q := range []recall.Query{
			{Text: "Where did Nora leave the tandem?"}, {Text: "frost"}, {Text: "What did Tomas say about honey and the hive on 3 March 2026?"}, {Text: "violin concert", Mode: recall.Lexical},
			{Text: "the ferry to the island in a storm", Mode: recall.Vector}, {Text: "clay bowls from the kiln", Profile: recall.Mem0, Explain: true}, {Text: "seeds and compost", Profile: recall.General, K: 50},
			{Messages: []recall.Message{{Role: "user", Content: "I repaired the saddle."}, {Role: "assistant", Content: "And the chain?"}}, K: 20},
		} {
			want := r.hitsOf(one, q)
			for name, parts := range divided {
				if len(parts) == 1 {
					continue
				}
				want := want
				if name == "one by one" {
					want = r.hitsOf(first, q)
				}
				got := r.hitsOf(r.openAll(parts...), q)
				if len(want.Hits) < 4 || len(got.Hits) != len(want.Hits) || got.Profile != want.Profile {
					t.Fatalf("%s, %q: %d hits by %s, the whole has %d by %s", name, q.Text, len(got.Hits), got.Profile, len(want.Hits), want.Profile)
				}
				for i := range got.Hits {
					g, w := &got.Hits[i], &want.Hits[i]
					if g.Note.Content != w.Note.Content || math.Abs(g.Score-w.Score) > 1e-9 || g.Collection != g.Note.Collection || g.Collection == uuid.Nil {
						t.Errorf("%s, %q: hit %d is %q %.9f, of the whole %q %.9f", name, q.Text, i, g.Note.Content, g.Score, w.Note.Content, w.Score)
					}
				}
			}
			whole := must.Get(r.recall.Context(t.Context(), r.all, one, recall.ContextQuery{Text: "frost and seeds", TokenBudget: 300}))(t)
			parts := must.Get(r.recall.Context(t.Context(), r.all, r.openAll(divided["by topic"]...), recall.ContextQuery{Text: "frost and seeds", TokenBudget: 300}))(t)
			if parts.Text != whole.Text || whole.Text == "" {
				t.Errorf("the context of the parts is\n%s\nof the whole\n%s", parts.Text, whole.Text)
			}
		}
	})
}

// A collection with cold layers answers as it does later: at any revision, through forks, with
// filters.
func TestColdAnswersLikeWarm(t *testing.T) {
	t.Parallel()
	onEngines(t, coldAnswersLikeWarm)
}

// C204, C206: a search finds the edges of an entity that the query names, and the edges of the
// entities at their other ends, even of an entity with very many edges.
func TestGraphSearch(t *testing.T) {
	t.Parallel()
	onEngines(t, graphSearch)
}

// C196, C207: pages of edges over more entities than are read in one call are stable. An edge of a
// deleted fact or of a deleted triple is left out. A fork shows its own edges.
func TestPagesOfFactsAreStable(t *testing.T) {
	t.Parallel()
	onEngines(t, pagesOfFactsAreStable)
}
