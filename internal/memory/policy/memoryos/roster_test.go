package memoryos

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// A roster that follows an earlier one is what a new one would be, after sessions were opened, changed, damaged and evicted anywhere. It
// makes only the leaves again in which something changed, and keeps few leaves.
func TestRosterFollows(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	made, next := 0, 0
	note := func(id uuid.UUID) memory.ReadNote {
		n := &memory.Note{
			ID: id, Keywords: []string{fmt.Sprint("word", rng.IntN(90))}, Vector: []float32{rng.Float32(), rng.Float32()},
			Attributes: map[string]any{"pages": 3.0, "fresh": float64(rng.IntN(2)), "interaction": float64(rng.IntN(5)), "due": rng.IntN(50) == 0, "pending": rng.IntN(50) == 0},
		}
		n.Provenance.Sources = []uuid.UUID{{15: byte(rng.IntN(200))}}
		if rng.IntN(40) == 0 {
			n.Attributes["fresh"] = 9.0 // more than it has pages
		}
		made++
		return memory.ReadNote{Note: n, Read: newReadSession(n)}
	}
	open := func() memory.ReadNote {
		next++
		return note(uuid.UUID{13: byte(next >> 16), 14: byte(next >> 8), 15: byte(next)})
	}
	var list []memory.ReadNote
	var r *roster
	for round := range 2000 {
		switch at := rng.IntN(max(len(list), 1)); {
		case len(list) < 300 || round%1000 < 300 && len(list) < 900 || rng.IntN(2) == 0:
			list = append(list, open())
		case rng.IntN(3) == 0:
			list[at] = note(list[at].ID)
		default:
			list = slices.Delete(list, at, at+1)
		}
		was := r
		r, _ = sumRoster(any(was), slices.Clone(list)).(*roster)
		again := 0
		for i := range r.leaves {
			if was == nil || !slices.ContainsFunc(was.leaves, func(l leaf[rosterLeaf]) bool { return l.of == r.leaves[i].of }) {
				again++
			}
		}
		if most := 4*len(list)/leafNotes + 2; again > 3 || len(r.leaves) > most {
			t.Fatalf("round %d: of %d leaves %d were made again", round, len(r.leaves), again)
		}
		if round%50 != 0 {
			continue
		}
		whole, _ := sumRoster(nil, list).(*roster)
		if !slices.Equal(r.ids, whole.ids) || !slices.Equal(r.damaged, whole.damaged) {
			t.Fatalf("round %d: the sessions are %v, want %v", round, r.ids, whole.ids)
		}
		for k, id := range r.ids {
			if at, found := r.find(id); !found || at != k || *r.at(k) != *whole.at(k) {
				t.Fatalf("round %d: session %d is %+v, want %+v", round, k, *r.at(k), *whole.at(k))
			}
		}
		for i := range r.leaves {
			got, want := *r.leaves[i].of, *newRosterLeaf(r.leaves[i].notes)
			same := slices.Equal(got.ids, want.ids) && slices.Equal(got.lines, want.lines) && slices.Equal(got.marks, want.marks) && reflect.DeepEqual(got.vectors, want.vectors)
			if !same || got.last != want.last || got.torn != want.torn || got.due != want.due || got.warm != want.warm {
				t.Fatalf("round %d: leaf %d is %+v, want %+v", round, i, got, want)
			}
		}
	}
}
