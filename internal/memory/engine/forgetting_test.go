package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/test/must"
)

// forgetting plays random deletions, restores, erasures, rollbacks, merges and ends of notes in a base and its forks. What a caller has
// said has a word of its own.
type forgetting struct {
	*world
	rand   *rand.Rand
	in     []uuid.UUID
	words  map[uuid.UUID]string
	erased map[uuid.UUID]bool
	tail   map[uuid.UUID]map[uuid.UUID]memory.Revision // what was deleted from a collection last, with its last version
	log    []string
}

// TestForgetting: what is erased is nowhere, what was not named stays readable as it was said, and a restore brings back what a deletion
// took.
func TestForgetting(t *testing.T) {
	t.Parallel()
	seeds, first := 2, uint64(0)
	if text := os.Getenv("SLIPBOX_FORGETTING_SEEDS"); text != "" {
		n := must.Get(strconv.Atoi(text))(t)
		seeds, first = n, 100
	}
	for _, policy := range []string{memory.PolicyNone, memory.PolicyAMEM, "mem0", "mem0g", "memorybank", "memoryos", "layered", memory.PolicyMemGPT} {
		for seed := range seeds {
			t.Run(fmt.Sprint(policy, " ", seed), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{heuristic: true, policy: policy})
				f := &forgetting{
					world: w, rand: rand.New(rand.NewPCG(first+uint64(seed), 1)), in: []uuid.UUID{w.c.ID},
					words: map[uuid.UUID]string{}, erased: map[uuid.UUID]bool{}, tail: map[uuid.UUID]map[uuid.UUID]memory.Revision{},
				}
				for range 4 {
					f.talk()
				}
				for range 25 {
					f.step()
					if t.Failed() {
						t.Fatalf("after\n%s", strings.Join(f.log, "\n"))
					}
				}
			})
		}
	}
}

// talk says something new in one of the collections.
func (f *forgetting) talk() {
	f.t.Helper()
	c := f.in[f.rand.IntN(len(f.in))]
	word := fmt.Sprintf("zorb%dx", 1000+len(f.words))
	said := fmt.Sprintf("I keep my %s behind the %s in %s.", word, []string{"kiln", "stove", "barn"}[f.rand.IntN(3)], []string{"Graz", "Linz"}[f.rand.IntN(2)])
	in := notes.NewMessage{Role: memory.RoleUser, Content: said, Session: strconv.Itoa(f.rand.IntN(3))}
	if f.rand.IntN(6) == 0 {
		in.TTLSeconds = new(int64(7200))
	}
	out := must.Get(f.notes.AddMessages(f.t.Context(), f.s, c.String(), notes.NewMessages{Messages: []notes.NewMessage{in}, OnDuplicate: memory.DuplicateKeep}, memory.Request{}))(f.t)
	f.words[out.Messages[0].ID] = word
	f.log = append(f.log, fmt.Sprintf("%s said in %s", word, f.name(c)))
	f.settle()
}

// shown is what a collection shows of what was said.
func (f *forgetting) shown(c uuid.UUID) map[uuid.UUID]string {
	f.t.Helper()
	out := map[uuid.UUID]string{}
	found := must.Get(f.store.Notes(f.t.Context(), f.s, f.view(c), slices.Collect(maps.Keys(f.words)), memory.ReadOptions{}))(f.t)
	for i := range found {
		out[found[i].ID] = found[i].Content
	}
	return out
}

// learned lists what a collection has learned.
func (f *forgetting) learned(c uuid.UUID) (out []string) {
	for _, n := range append(f.all(c, memory.KindFact), f.all(c, memory.KindKnowledge)...) {
		out = append(out, n.Content)
	}
	return out
}

func (f *forgetting) name(c uuid.UUID) string { return fmt.Sprint("c", slices.Index(f.in, c)) }

func (f *forgetting) everywhere() map[uuid.UUID]map[uuid.UUID]string {
	out := map[uuid.UUID]map[uuid.UUID]string{}
	for _, c := range f.in {
		out[c] = f.shown(c)
	}
	return out
}

// same fails the test when a collection shows something else than before, but for one note.
func (f *forgetting) same(before map[uuid.UUID]map[uuid.UUID]string, but uuid.UUID) {
	f.t.Helper()
	for c, was := range before {
		now, was := f.shown(c), maps.Clone(was)
		delete(was, but)
		delete(now, but)
		if !maps.Equal(was, now) {
			f.t.Errorf("%s shows %q, not %q", f.name(c), slices.Sorted(maps.Values(now)), slices.Sorted(maps.Values(was)))
		}
	}
}

func (f *forgetting) step() {
	f.t.Helper()
	ctx, c := f.t.Context(), f.in[f.rand.IntN(len(f.in))]
	shown, before := f.shown(c), f.everywhere()
	ids := slices.SortedFunc(maps.Keys(shown), memory.CompareIDs)
	var id uuid.UUID
	if len(ids) > 0 {
		id = ids[f.rand.IntN(len(ids))]
	}
	learned := f.learned(c)
	say := func(what string) { f.log = append(f.log, fmt.Sprintf("%s %s in %s", what, f.words[id], f.name(c))) }
	switch f.rand.IntN(10) {
	case 0, 1:
		f.talk()
	case 2:
		if len(f.in) < 5 {
			say("fork")
			r := must.Get(f.clone.Clone(ctx, f.s, c.String(), clone.Input{Name: fmt.Sprint("fork-", len(f.in))}, memory.Request{}))(f.t)
			f.in = append(f.in, r.Collection.ID)
		}
	case 3, 4:
		if id == uuid.Nil {
			return
		}
		say("delete")
		at := f.getIn(c, id).From
		must.Get(f.notes.Delete(ctx, f.s, c.String(), id, memory.Request{}))(f.t)
		if f.tail[c] == nil {
			f.tail[c] = map[uuid.UUID]memory.Revision{}
		}
		f.tail[c][id] = at
		f.settle()
		f.same(before, id)
		if f.rand.IntN(2) == 0 {
			return
		}
		say("restore")
		must.Get(f.notes.Restore(ctx, f.s, c.String(), id, at, memory.Request{}))(f.t)
		f.settle()
		f.same(before, uuid.Nil)
		for _, was := range learned {
			alone := strings.Contains(was, f.words[id]) && strings.Count(was, "zorb") == 1
			if now := f.learned(c); alone && !slices.Contains(now, was) {
				f.t.Errorf("%q is not learned any more, but %q", was, now)
			}
		}
	case 5, 6:
		f.forget(c, id, before)
	case 7:
		v := f.view(c)
		floor := v.Collection.ParentRevision
		to := floor + memory.Revision(f.rand.Int64N(int64(v.At-floor)+1))
		say(fmt.Sprintf("roll back to %d of", to))
		_, err := f.clone.Rollback(ctx, f.s, c.String(), clone.RollbackInput{To: to})
		if err != nil && !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.RevisionGone) {
			f.t.Fatal(err)
		}
		f.settle()
	case 8:
		if len(f.in) < 2 {
			return
		}
		from := f.in[f.rand.IntN(len(f.in))]
		if from == c {
			return
		}
		say(fmt.Sprintf("merge %s at", f.name(from)))
		must.Get(f.clone.Merge(ctx, f.s, c.String(), clone.MergeInput{From: from.String(), Strategy: []merge.Strategy{merge.Ours, merge.Theirs}[f.rand.IntN(2)]}))(f.t)
		f.settle()
	case 9:
		say("two hours later,")
		f.advance(2 * time.Hour)
		for _, c := range f.in {
			must.Do(f.t, f.notes.RetireExpired(ctx, f.s, c))
		}
		f.settle()
	}
	f.gone()
}

// free fails the test when a text has a word that was erased.
func (f *forgetting) free(what string, c uuid.UUID, text string) {
	f.t.Helper()
	for id := range f.erased {
		if strings.Contains(text, f.words[id]) {
			f.t.Errorf("%s was erased, and is in %s %s: %s", f.words[id], what, f.name(c), text)
		}
	}
}

// forget erases a note from a collection, and what is kept of it elsewhere from there.
func (f *forgetting) forget(c, id uuid.UUID, before map[uuid.UUID]map[uuid.UUID]string) {
	f.t.Helper()
	if deleted := slices.SortedFunc(maps.Keys(f.tail[c]), memory.CompareIDs); f.rand.IntN(3) == 0 && len(deleted) > 0 {
		id = deleted[f.rand.IntN(len(deleted))] // it may be deleted still
	}
	if id == uuid.Nil {
		return
	}
	f.log = append(f.log, fmt.Sprintf("erase %s in %s", f.words[id], f.name(c)))
	for from, queue := c, []uuid.UUID{}; ; from, queue = queue[0], queue[1:] {
		out, err := f.notes.Erase(f.t.Context(), f.s, from.String(), id, notes.TakeSentences, memory.Request{})
		if fault.Is(err, fault.Conflict) && from == c {
			return // it is of the base
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			f.t.Fatal(err)
		}
		for _, k := range out.Kept {
			if k.ID != from && !slices.Contains(queue, k.ID) {
				queue = append(queue, k.ID)
			}
		}
		if len(queue) == 0 {
			break
		}
	}
	f.settle()
	f.erased[id] = true
	f.same(before, id)
}

// gone fails the test when something that was erased is anywhere.
func (f *forgetting) gone() {
	f.t.Helper()
	for _, c := range f.in {
		for _, h := range f.search(c, recall.Query{Text: "Where do I keep it?", K: 50}) {
			f.free("a search of", c, fmt.Sprint(h))
		}
		f.free("a context of", c, fmt.Sprint(f.context(c, recall.ContextQuery{Text: "Where do I keep it?"})))
	}
	for id := range f.erased {
		for _, c := range f.in {
			for _, left := range f.traces(c, f.words[id]) {
				f.t.Errorf("%s was erased, and is left in %s: %s", f.words[id], f.name(c), left)
			}
		}
	}
}
