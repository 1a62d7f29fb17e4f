package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/test/must"
)

// Lists that are brought up to date from the log are those that the store reads, page by page, after all that was added, changed,
// deleted and restored meanwhile, also in a fork, and of the revisions shortly before. Each version is read once, and what was read of
// it goes with it. A listing of long before is left to the store.
func TestKeptListsAreThoseOfTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{heuristic: true, policy: memory.PolicyNone})
	rng := rand.New(rand.NewPCG(3, 4))
	c := w.c.ID
	var ids []uuid.UUID
	reads := map[memory.Version]int{}
	read := func(n *memory.Note) any {
		reads[n.Version()]++
		return n.Content
	}
	step := func(i int) {
		t.Helper()
		_, err := w.store.Write(t.Context(), w.s, c, memory.WriteOptions{Cause: memory.CausePatch}, func(ctx context.Context, tx memory.Tx) error {
			n := memory.Note{
				Kind: memory.KindFact, Content: fmt.Sprintf("Fact %d.", i), OccurredAt: tx.Now(), State: memory.StateEvolved,
				Attributes: map[string]any{"odd": strconv.FormatBool(i%2 == 1)},
			}
			if i%3 == 0 {
				n.Kind, n.Key = memory.KindSession, fmt.Sprintf("key-%d", i)
			}
			if len(ids) > 3 {
				id := ids[rng.IntN(len(ids))]
				seen, err := tx.Notes(ctx, []uuid.UUID{id}, memory.ReadOptions{})
				if err != nil {
					return err
				}
				switch {
				case len(seen) == 0: // it was deleted and comes back
					n.ID, n.Key = id, ""
				case rng.IntN(2) == 0:
					return tx.Delete(ctx, id)
				default:
					n = seen[0]
					n.Content += " Changed."
					_, err := tx.Put(ctx, n)
					return err
				}
			}
			put, err := tx.Put(ctx, n)
			if n.ID == uuid.Nil {
				ids = append(ids, put.ID)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	checkAt := func(v memory.View) {
		t.Helper()
		for _, q := range []memory.NoteQuery{
			{Kinds: []memory.Kind{memory.KindFact}, Limit: 3},
			{Kinds: []memory.Kind{memory.KindSession}, Limit: 100, Keyed: true},
			{Kinds: []memory.Kind{memory.KindFact}, Limit: 2, Newest: true},
			{Kinds: []memory.Kind{memory.KindFact}, Filter: filter.AttributeIs("odd", "true")},
		} {
			for range 2 {
				got, ok, err := w.engine.ListKept(t.Context(), w.s, v, q, read)
				if err != nil || !ok {
					t.Fatalf("%+v: %v, %v", q, ok, err)
				}
				want := must.Get(w.store.ListNotes(t.Context(), w.s, v, q))(t)
				if len(got) != len(want) {
					t.Fatalf("%+v: %d notes, the store has %d", q, len(got), len(want))
				}
				for i := range got {
					if !reflect.DeepEqual(*got[i].Note, want[i]) || got[i].Read != want[i].Content {
						t.Fatalf("%+v: %+v (%v was read), the store has %+v", q, *got[i].Note, got[i].Read, want[i])
					}
					got[i].Attributes["odd"] = "changed by a policy"
				}
				if len(got) > 0 {
					q.After = got[len(got)-1].ID
				}
			}
		}
	}
	var views []memory.View
	check := func() {
		t.Helper()
		views = append(views, w.view(c))
		for _, v := range slices.Backward(views[max(0, len(views)-4):]) { // a decision that began before another one
			checkAt(v)
		}
	}
	for i := range 60 {
		step(i)
		if i%4 == 0 {
			check()
		}
	}
	early := w.view(c)
	views = nil
	for i := range engine.KeptBack + 1 {
		step(61 + i)
	}
	check()
	if _, ok, err := w.engine.ListKept(t.Context(), w.s, early, memory.NoteQuery{Kinds: []memory.Kind{memory.KindFact}}, read); ok || err != nil {
		t.Errorf("a revision of long before is answered from what is kept: %v, %v", ok, err)
	}
	for version, times := range reads {
		if times > 1 {
			t.Errorf("%+v was read %d times", version, times)
		}
	}
	c, views = w.fork("kept"), nil
	for i := range 40 {
		step(1000 + i)
		if i%4 == 0 {
			check()
		}
	}
}

// A consolidation that follows from adds looks at what changed since the one before, and embeds what has no vector of it.
func TestConsolidationsOfAddsLookAtWhatChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: `{"evo_threshold":3}`})
	w.learn("Bread needs flour, water and salt.")
	for i := range 9 {
		w.learn(fmt.Sprintf("Sourdough bread number %d needs a starter.", i))
	}
	var looked []int
	for _, j := range w.jobs(uuid.Nil) {
		var r struct {
			Notes int `json:"notes"`
		}
		if j.Kind == memory.JobConsolidate {
			must.Do(t, json.Unmarshal(j.Result, &r))
			looked = append(looked, r.Notes)
		}
	}
	slices.Sort(looked)
	if len(looked) != 3 || looked[2] > 5 {
		t.Errorf("consolidations looked at %v notes: the first should be of all four, and the others of what three adds changed", looked)
	}
}
