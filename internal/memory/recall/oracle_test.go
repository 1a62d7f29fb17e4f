//go:build !race

package recall_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/test/must"
)

// The exact scan of the store is the oracle of the index. Over random vectors, some of them equal,
// in forks that hide notes, at any revision and with filters, both return the same notes in the same
// order.
func TestStoreAndIndexRankAlike(t *testing.T) {
	t.Parallel()
	onEngines(t, storeAndIndexRankAlike)
}

func storeAndIndexRankAlike(t *testing.T, r *fixture) {
	t.Helper()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		made := must.Get(r.collections.Create(context.Background(), r.all, notes.CollectionInput{Name: fmt.Sprintf("base-%d", round), Policy: memory.PolicyNone}, memory.Request{}))(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		pool := make([][]float32, 6)
		for i := range pool {
			pool[i] = randomVector(rng)
		}
		ids := make([]uuid.UUID, 16)
		for i := range ids {
			ids[i] = uuid.Must(uuid.NewV7())
		}
		write := func(c memory.Collection, most int, what string) {
			changes := r.drawChanges(t, ids, rapid.IntRange(0, most).Draw(t, what))
			for i := range changes {
				if changes[i].note.Vector != nil {
					changes[i].note.Vector = pool[rng.IntN(len(pool))]
				}
			}
			r.applyChanges(t, c, changes)
		}
		lineage := []memory.Collection{made.Collection}
		write(lineage[0], 25, "base")
		for range 2 {
			lineage = append(lineage, r.fork(lineage[len(lineage)-1], nil))
			write(lineage[len(lineage)-1], 10, "fork")
			write(lineage[0], 5, "later")
		}
		for _, c := range lineage {
			head := must.Get(r.recall.Open(context.Background(), r.all, c.ID.String(), nil, 0))(t)
			past := memory.Revision(rapid.Int64Range(0, int64(head.At)).Draw(t, "at"))
			for _, at := range []memory.Revision{head.At, past} {
				v, err := r.recall.Open(context.Background(), r.all, c.ID.String(), &at, 0)
				if err != nil {
					t.Fatal(err)
				}
				q := memory.NearestQuery{Vector: randomVector(rng), Limit: rapid.IntRange(1, len(ids)).Draw(t, "limit")}
				if rapid.Bool().Draw(t, "like one") {
					q.Vector = pool[0]
				}
				if rapid.Bool().Draw(t, "filtered") {
					if q.Filter, err = filter.Parse([]byte(`{"field":"tags","op":"contains","value":"` + rapid.SampledFrom(words).Draw(t, "tag") + `"}`)); err != nil {
						t.Fatal(err)
					}
				}
				r.checkSameRanking(t, v, q)
			}
		}
	})
}

// checkSameRanking compares both results. The index adds in 32 bits: different vectors with almost equal
// scores may change places, equal vectors may not.
func (r *fixture) checkSameRanking(t *rapid.T, v memory.View, q memory.NearestQuery) {
	ask := func(limit int) []memory.Nearest {
		q.Limit = limit
		found := must.Get(r.store.Nearest(context.Background(), r.all, v, q))(t)
		return found
	}
	limit := q.Limit
	score := map[uuid.UUID]float64{}
	for _, n := range ask(0) {
		score[n.Note] = n.Score
	}
	want := ask(limit)
	got := must.Get(r.recall.Nearest(context.Background(), r.all, v, memory.NearestQuery{Vector: q.Vector, Filter: q.Filter, Limit: limit}))(t)
	if len(got) != len(want) {
		t.Fatalf("at %d: the index finds %d, the store %d", v.At, len(got), len(want))
	}
	for i, w := range want {
		own, ok := score[got[i].Note]
		if !ok || !almostEqual(got[i].Score, own) || !almostEqual(own, w.Score) || got[i].Note != w.Note && own == w.Score {
			t.Fatalf("at %d, position %d: the index has %s %v, the store %s %v", v.At, i, got[i].Note, got[i].Score, w.Note, w.Score)
		}
		if i > 0 && w.Score == want[i-1].Score && bytes.Compare(want[i-1].Note[:], w.Note[:]) >= 0 {
			t.Fatalf("at %d, position %d: ties are not by id: %v", v.At, i, want)
		}
	}
}
