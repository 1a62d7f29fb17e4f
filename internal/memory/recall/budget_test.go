package recall_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// More layers than fit are read in turn and concurrently. The least recently used ones are dropped and
// filled again, answers stay correct, and the indexes stay within the budget.
func TestIndexesStayWithinTheirBudget(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	const collections, notes = 6, 20
	var all []memory.Collection
	for i := range collections {
		c := r.collection(fmt.Sprintf("things-%d", i))
		for j := range notes {
			r.add(c, fmt.Sprintf("note %d only in collection%d", j, i))
		}
		all = append(all, c)
	}
	fork := r.fork(all[0], nil)
	r.add(fork, "note 20 only in collection0")
	r.search(all[0], recall.Query{Text: "note"})
	one := r.recall.Resident() // the other layers are about as large, except the fork's
	budget := one*5/2 + one/4
	w := r.watch(recall.Config{IndexBytes: budget, WarmNotes: -1})
	ask := func(c memory.Collection, i, want int) {
		out, err := r.recall.Search(t.Context(), r.all, r.view(c), recall.Query{Text: fmt.Sprintf("collection%d", i), Mode: recall.Lexical, K: 50})
		if err != nil || len(out.Hits) != want {
			t.Errorf("collection %d: %d hits, %v", i, len(out.Hits), err)
			return
		}
		for _, h := range out.Hits {
			if !bytes.HasSuffix([]byte(h.Note.Content), fmt.Appendf(nil, "collection%d", i)) {
				t.Errorf("collection %d has %q", i, h.Note.Content)
			}
		}
	}
	held := func() {
		t.Helper()
		if n := r.recall.Resident(); n > budget {
			t.Errorf("%d bytes are held of %d", n, budget)
		}
	}
	state := func(c memory.Collection) string { return r.recall.IndexState(r.view(c)).State }

	ask(all[1], 1, notes)
	ask(all[2], 2, notes)
	ask(all[1], 1, notes)
	ask(all[3], 3, notes) // there is room for two: the second one is dropped
	if state(all[1]) != recall.StateReady || state(all[2]) != recall.StateCold || state(all[3]) != recall.StateReady {
		t.Errorf("states are %s, %s, %s", state(all[1]), state(all[2]), state(all[3]))
	}
	held()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		if i := rng.IntN(collections + 1); i < collections {
			ask(all[i], i, notes)
		} else {
			ask(fork, 0, notes+1)
		}
		held()
	}
	if n := w.reads.Load(); n < 20 {
		t.Errorf("%d loads: nothing was dropped", n)
	}
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 30 {
				i = (i*(g+1) + g) % collections
				ask(all[i], i, notes)
			}
		})
	}
	group.Wait()
	ask(all[0], 0, notes)
	held()

	// One layer alone may be larger than the budget.
	r.watch(recall.Config{IndexBytes: 1})
	ask(all[0], 0, notes)
	ask(all[1], 1, notes)
	if state(all[0]) != recall.StateCold || state(all[1]) != recall.StateReady {
		t.Errorf("states are %s, %s", state(all[0]), state(all[1]))
	}
}

// failingStore is a store that refuses counts while down is set, and records all that it gets.
type failingStore struct {
	memory.Reader
	down   atomic.Bool
	mu     sync.Mutex
	deltas [][]memory.UsageDelta
}

func (f *failingStore) AddUsage(ctx context.Context, s tenant.Scope, v memory.View, d []memory.UsageDelta) error {
	f.mu.Lock()
	f.deltas = append(f.deltas, slices.Clone(d))
	f.mu.Unlock()
	if f.down.Load() {
		return errors.New("the store is down")
	}
	return f.Reader.AddUsage(ctx, s, v, d)
}

// Counts are written in the order of notes, so that processes that write the same ones cannot
// deadlock. Counts that could not be written are kept, and reads include them.
func TestCountsOutliveAFailedFlush(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	var ids []uuid.UUID
	for i := range 20 {
		ids = append(ids, r.add(c, fmt.Sprintf("note %d", i)))
	}
	store := &failingStore{Reader: r.store}
	var err error
	r.recall = must.Get(recall.New(recall.Deps{Store: store, Embedders: r.embedder, Clock: r.Now}, recall.Config{}))(t)
	t.Cleanup(func() { r.noError(r.recall.Stop(context.Background())) })
	count := func(want int64) {
		t.Helper()
		n := must.Get(r.recall.Get(t.Context(), r.all, r.view(c), ids[7], false))(t)
		if n.Usage.AccessCount != want {
			t.Errorf("%d accesses, want %d", n.Usage.AccessCount, want)
		}
	}
	q := recall.Query{Text: "note", Mode: recall.Lexical, K: 50}
	store.down.Store(true)
	r.search(c, q)
	if r.recall.Flush(t.Context()) == nil {
		t.Error("a flush that failed told nobody")
	}
	count(1)
	r.search(c, q)
	if r.recall.Flush(t.Context()) == nil {
		t.Error("a flush that failed told nobody")
	}
	count(2)
	// Hot notes do not include counts that cannot be written.
	hot := must.Get(r.recall.Hot(t.Context(), r.all, r.view(c), 0))(t)
	if len(hot) != 0 {
		t.Errorf("%d hot notes", len(hot))
	}
	store.down.Store(false)
	r.noError(r.recall.Flush(t.Context()))
	count(2)
	hot = must.Get(r.recall.Hot(t.Context(), r.all, r.view(c), 5))(t)
	if len(hot) != 5 || hot[0].Note.ID != ids[0] || hot[0].Score != 2 || hot[0].Note.Usage.AccessCount != 2 {
		t.Errorf("hot notes are %+v", hot)
	}
	_, err = r.recall.Hot(t.Context(), r.all, r.view(c), 201)
	if err == nil {
		t.Error("201 hot notes were given")
	}
	for _, d := range store.deltas {
		if !slices.IsSortedFunc(d, func(a, b memory.UsageDelta) int { return memory.CompareIDs(a.Note, b.Note) }) {
			t.Error("counts were not written in order of note")
		}
	}
	if last := store.deltas[len(store.deltas)-1]; len(last) != 20 || last[3].Accesses != 2 {
		t.Errorf("the last batch has %d notes", len(last))
	}
}

// Two processes that count the same notes and flush concurrently lose no count.
func TestCountsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	id := r.add(c, "counted")
	other := must.Get(recall.New(recall.Deps{Store: r.store, Embedders: r.embedder, Clock: r.Now}, recall.Config{}))(t)
	v := r.view(c)
	var all sync.WaitGroup
	for _, process := range []*recall.Service{r.recall, other} {
		all.Go(func() {
			for range 40 {
				if _, err := process.Search(t.Context(), r.all, v, recall.Query{Text: "counted", Mode: recall.Lexical}); err != nil {
					t.Error(err)
				}
				if err := process.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	u := must.Get(r.store.Usage(t.Context(), r.all, v, []uuid.UUID{id}))(t)
	if u[id].AccessCount != 80 {
		t.Errorf("%d accesses", u[id].AccessCount)
	}
}
