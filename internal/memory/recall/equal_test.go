package recall_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// words are few, so that notes share them, and in two scripts.
var words = strings.Fields("tide moon harbour boat sail rope knot anchor chart star wind storm calm light house keeper gull salt 海 潮汐 灯台 running runs ran")

func drawSentence(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 9).Draw(t, "words"), " ")
}

// change is one write that can be applied to several collections.
type change struct {
	note   memory.Note
	delete bool
	link   *memory.Link
}

// applyChanges writes changes, each in a changeset of its own. It skips changes to notes that do not exist.
func (r *fixture) applyChanges(t *rapid.T, c memory.Collection, changes []change) {
	for _, x := range changes {
		must.Get(r.store.Write(context.Background(), r.all, c.ID, memory.WriteOptions{Cause: memory.CauseImport}, func(ctx context.Context, tx memory.Tx) error {
			visible, err := tx.Notes(ctx, []uuid.UUID{x.note.ID}, memory.ReadOptions{})
			if err != nil {
				return err
			}
			switch {
			case x.link != nil:
				ends, err := tx.Notes(ctx, []uuid.UUID{x.link.Source, x.link.Target}, memory.ReadOptions{})
				if err != nil || len(ends) < 2 {
					return err
				}
				_, err = tx.Link(ctx, *x.link)
				return err
			case x.delete && len(visible) == 0:
				return nil
			case x.delete:
				return tx.Delete(ctx, x.note.ID)
			}
			_, err = tx.Put(ctx, x.note)
			return err
		}))(t)
	}
}

// drawChanges draws writes over a set of ids. A note that exists is replaced.
func (r *fixture) drawChanges(t *rapid.T, ids []uuid.UUID, n int) []change {
	out := make([]change, n)
	for i := range out {
		id := rapid.SampledFrom(ids).Draw(t, "id")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			out[i] = change{note: memory.Note{ID: id}, delete: true}
		case 1, 2:
			other := rapid.SampledFrom(ids).Draw(t, "target")
			if other != id {
				out[i] = change{link: &memory.Link{LinkID: memory.LinkID{Source: id, Target: other, Relation: memory.RelatedTo}, Confidence: 1}}
				break
			}
			fallthrough
		default:
			note := memory.Note{ID: id, Content: drawSentence(t), Tags: rapid.SliceOfN(rapid.SampledFrom(words), 0, 2).Draw(t, "tags")}
			if rapid.IntRange(0, 5).Draw(t, "vector") > 0 {
				v := must.Get(r.embedder.Embed(context.Background(), r.all, []string{memory.EmbedText(&note)}))(t)
				note.Vector = v[0].Vector
			}
			out[i] = change{note: note}
		}
	}
	return out
}

// renderAnswers returns what a set of queries finds, as text.
func (r *fixture) renderAnswers(t *rapid.T, c memory.Collection, at *memory.Revision, queries []recall.Query) []string {
	v := must.Get(r.recall.Open(context.Background(), r.all, c.ID.String(), at, 0))(t)
	out := make([]string, len(queries))
	for i, q := range queries {
		found := must.Get(r.recall.Search(context.Background(), r.all, v, q))(t)
		var b strings.Builder
		fmt.Fprintf(&b, "%s k=%d x=%d: ", q.Mode, q.K, q.ExpandLinks)
		for _, h := range found.Hits {
			fmt.Fprintf(&b, "%s %.9f %v %t %q; ", h.ID, math.Round(h.Score*1e9)/1e9, h.Sources, h.IsNeighbor, h.Note.Content)
		}
		out[i] = b.String()
	}
	return out
}

func forkRanksLikeCopy(t *testing.T, r *fixture) {
	t.Helper()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		made := must.Get(r.collections.Create(context.Background(), r.all, notes.CollectionInput{Name: fmt.Sprintf("base-%d", round), Policy: memory.PolicyNone}, memory.Request{}))(t)
		base := made.Collection
		ids := make([]uuid.UUID, 12)
		for i := range ids {
			ids[i] = uuid.Must(uuid.NewV7())
		}
		queries := make([]recall.Query, 4)
		for i := range queries {
			queries[i] = recall.Query{
				Text: drawSentence(t), Mode: rapid.SampledFrom([]recall.Mode{recall.Hybrid, recall.Vector, recall.Lexical}).Draw(t, "mode"),
				K: rapid.IntRange(1, 8).Draw(t, "k"), ExpandLinks: rapid.IntRange(0, 2).Draw(t, "expand"), Internal: true,
			}
		}
		first := r.drawChanges(t, ids, rapid.IntRange(1, 20).Draw(t, "n"))
		r.applyChanges(t, base, first)
		gone := map[uuid.UUID]bool{}
		for _, c := range first {
			if c.link == nil {
				gone[c.note.ID] = c.delete
			}
		}
		before := r.renderAnswers(t, base, nil, queries)
		v := must.Get(r.recall.Open(context.Background(), r.all, base.ID.String(), nil, 0))(t)
		at := v.At
		fork, copied := r.fork(base, nil), r.copyOf(base, nil)
		inner := r.fork(fork, nil)
		r.applyChanges(t, base, r.drawChanges(t, ids, rapid.IntRange(0, 6).Draw(t, "later"))) // not seen by either
		wantSame(t, "the fork", r.renderAnswers(t, fork, nil, queries), before)
		wantSame(t, "the fork of the fork", r.renderAnswers(t, inner, nil, queries), before)
		wantSame(t, "the copy", r.renderAnswers(t, copied, nil, queries), before)
		wantSame(t, "the base as it was", r.renderAnswers(t, base, &at, queries), before)
		later := r.renderAnswers(t, base, nil, queries)

		// A deleted note that is added again in a fork has its links again; a copy contains neither.
		writable := slices.DeleteFunc(slices.Concat(ids, []uuid.UUID{uuid.Must(uuid.NewV7())}), func(id uuid.UUID) bool { return gone[id] })
		writes := r.drawChanges(t, writable, rapid.IntRange(1, 12).Draw(t, "writes"))
		r.applyChanges(t, fork, writes)
		r.applyChanges(t, inner, writes)
		r.applyChanges(t, copied, writes)
		want := r.renderAnswers(t, copied, nil, queries)
		wantSame(t, "the fork with writes", r.renderAnswers(t, fork, nil, queries), want)
		wantSame(t, "the fork of the fork with writes", r.renderAnswers(t, inner, nil, queries), want)
		wantSame(t, "the base afterwards", r.renderAnswers(t, base, nil, queries), later)
	})
}

func wantSame(t *rapid.T, what string, got, want []string) {
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s ranks\n%s\nand should\n%s", what, got[i], want[i])
		}
	}
}
