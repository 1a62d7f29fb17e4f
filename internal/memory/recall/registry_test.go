package recall_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// watchedStore is a store that counts reads, and can block reads of the log.
type watchedStore struct {
	memory.Reader
	reads  atomic.Int64 // of layers from the log
	rows   atomic.Int64 // that they returned
	notes  atomic.Int64 // by id
	scans  atomic.Int64
	erased atomic.Int64          // is added to the erase epochs of views and layers
	gate   chan struct{}         // nil: open
	read   func()                // is called after a layer was read; nil: nothing is
	warmed chan []memory.Version // nil: reads by version are not reported
}

func (w *watchedStore) OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (memory.View, error) {
	v, err := w.Reader.OpenView(ctx, s, ref, at)
	for i := range v.Layers {
		v.Layers[i].EraseEpoch += w.erased.Load()
	}
	return v, err
}

func (w *watchedStore) LayerStates(ctx context.Context, s tenant.Scope, ids []uuid.UUID) (map[uuid.UUID]memory.LayerState, error) {
	states, err := w.Reader.LayerStates(ctx, s, ids)
	for id, l := range states {
		l.EraseEpoch += w.erased.Load()
		states[id] = l
	}
	return states, err
}

func (w *watchedStore) Notes(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID, o memory.ReadOptions) ([]memory.Note, error) {
	w.notes.Add(1)
	return w.Reader.Notes(ctx, s, v, ids, o)
}

func (w *watchedStore) Nearest(ctx context.Context, s tenant.Scope, v memory.View, q memory.NearestQuery) ([]memory.Nearest, error) {
	w.scans.Add(1)
	return w.Reader.Nearest(ctx, s, v, q)
}

func (w *watchedStore) Versions(ctx context.Context, s tenant.Scope, v memory.View, keys []memory.Version) ([]memory.Note, error) {
	out, err := w.Reader.Versions(ctx, s, v, keys)
	if w.warmed != nil {
		w.warmed <- keys
	}
	return out, err
}

func (w *watchedStore) Log(ctx context.Context, s tenant.Scope, v memory.View, layer int, after memory.Revision, embedder string, fn func(memory.LogRow) error) (memory.Revision, error) {
	w.reads.Add(1)
	if w.gate != nil {
		select {
		case <-w.gate:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	upTo, err := w.Reader.Log(ctx, s, v, layer, after, embedder, func(row memory.LogRow) error {
		w.rows.Add(1)
		return fn(row)
	})
	if w.read != nil {
		w.read()
	}
	return upTo, err
}

func (r *fixture) watch(cfg recall.Config) *watchedStore {
	r.t.Helper()
	w := &watchedStore{Reader: r.store}
	r.recall = must.Get(recall.New(recall.Deps{Store: w, Embedders: r.embedder, Clock: r.Now}, cfg))(r.t)
	r.t.Cleanup(func() { r.noError(r.recall.Stop(context.Background())) })
	return w
}

// One load serves all readers, forks included, and later reads only read the rest of the log.
func TestLayersAreLoadedOnce(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	for i := range 50 {
		r.add(c, fmt.Sprintf("note %d about tides", i))
	}
	w := r.watch(recall.Config{ColdNotes: -1}) // a search that gives up after ColdWait begins the load again
	if s := r.recall.IndexState(r.view(c)); s.State != recall.StateCold {
		t.Errorf("state is %+v", s)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { r.search(c, recall.Query{Text: "tides"}) })
	}
	group.Wait()
	if n := w.reads.Load(); n != 1 {
		t.Errorf("%d loads", n)
	}
	f := r.fork(c, nil)
	r.search(f, recall.Query{Text: "tides"})
	if n := w.reads.Load(); n != 2 { // the fork's own layer, which is empty
		t.Errorf("%d loads with a fork", n)
	}
	r.add(c, "one more")
	r.search(c, recall.Query{Text: "tides"})
	r.search(c, recall.Query{Text: "tides"})
	if n := w.reads.Load(); n != 3 {
		t.Errorf("%d loads after a write", n)
	}
	if s := r.recall.IndexState(r.view(c)); s.State != recall.StateReady || s.Revision != 51 || s.Notes != 51 || s.Bytes <= 0 {
		t.Errorf("state is %+v", s)
	}
	// C039: an index that was rebuilt from the log answers the same.
	before := r.search(c, recall.Query{Text: "note 7 about tides", K: 20})
	r.noError(r.recall.Rebuild(t.Context(), r.all, r.view(c)))
	if n := w.reads.Load(); n != 4 {
		t.Errorf("%d loads after a rebuild", n)
	}
	if after := r.search(c, recall.Query{Text: "note 7 about tides", K: 20}); !slices.Equal(hitIDs(before), hitIDs(after)) {
		t.Error("a rebuilt index answers otherwise")
	}
	r.recall.Evict(r.tenant, c.ID)
	if s := r.recall.IndexState(r.view(c)); s.State != recall.StateCold {
		t.Errorf("state is %+v", s)
	}
}

// A rebuild does not hold up reads, such as those of decisions: they use the old index until the new one
// is complete.
func TestReadsBesideARebuild(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	for i := range 20 {
		r.add(c, fmt.Sprintf("note %d about tides", i))
	}
	w := r.watch(recall.Config{})
	q := recall.Query{Text: "note 7 about tides", K: 20}
	before := hitIDs(r.search(c, q))
	reads := w.reads.Load()
	w.gate = make(chan struct{})
	rebuilt := make(chan error, 1)
	view := r.view(c)
	go func() { rebuilt <- r.recall.Rebuild(t.Context(), r.all, view) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for w.reads.Load() == reads { // it reads the log, which is blocked
		<-tick.C
	}
	if got := hitIDs(r.search(c, q)); !slices.Equal(got, before) {
		t.Errorf("beside the rebuild %v, before %v", got, before)
	}
	if got := w.reads.Load(); got != reads+1 {
		t.Errorf("the search read the log: %d reads", got-reads)
	}
	close(w.gate)
	r.noError(<-rebuilt)
	if got := hitIDs(r.search(c, q)); !slices.Equal(got, before) {
		t.Errorf("after the rebuild %v, before %v", got, before)
	}
}

// The least recently used layers are dropped when the budget is exceeded; answers stay the same.
func TestIndexBudget(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	var all []memory.Collection
	for i := range 4 {
		c := r.collection(fmt.Sprintf("things-%d", i))
		r.add(c, fmt.Sprintf("only in %d", i))
		all = append(all, c)
	}
	w := r.watch(recall.Config{IndexBytes: 1, ColdNotes: -1}) // a search that gives up after ColdWait begins the load again
	for range 2 {
		for i, c := range all {
			if out := r.search(c, recall.Query{Text: "only"}); len(out.Hits) != 1 || out.Hits[0].Note.Content != fmt.Sprintf("only in %d", i) {
				t.Errorf("collection %d: %+v", i, out)
			}
		}
	}
	if n := w.reads.Load(); n != 8 {
		t.Errorf("%d loads under a budget of nothing", n)
	}
	r.search(all[3], recall.Query{Text: "only"})
	if n := w.reads.Load(); n != 8 {
		t.Error("the layer in use was dropped")
	}
}

// A read that waits too long for a cold layer is told to retry.
func TestColdLayerPastDeadline(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	r.add(c, "slow to load")
	w := r.watch(recall.Config{LoadTimeout: 20 * time.Millisecond})
	w.gate = make(chan struct{})
	_, err := r.recall.Search(t.Context(), r.all, r.view(c), recall.Query{Text: "slow"})
	r.wantFault(err, fault.Unavailable)
	close(w.gate)
	v := r.view(c)
	until(t, "the load", func() bool { // on a busy machine it may again take longer
		out, err := r.recall.Search(t.Context(), r.all, v, recall.Query{Text: "slow"})
		return err == nil && len(out.Hits) == 1
	})
}

// C062, C003: after a restart the same search gives the same answer.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	for i := range 40 {
		r.add(c, fmt.Sprintf("entry %d of the log book, wind %s", i, []string{"north", "south", "east"}[i%3]))
	}
	q := recall.Query{Text: "log book entry with east wind", K: 20}
	before := r.search(c, q)
	r.noError(r.recall.Stop(t.Context()))
	r.noError(r.store.Close())
	r.openStore()
	r.start(recall.Config{})
	after := r.search(c, q)
	if len(before.Hits) != 20 || !slices.Equal(hitIDs(before), hitIDs(after)) || before.Hits[0].Score != after.Hits[0].Score {
		t.Errorf("before %v, after %v", hitIDs(before), hitIDs(after))
	}
}

// C061: an ephemeral collection is as correct under concurrent writes as any other: every read sees
// what was written before it, and nothing of another collection.
func TestEphemeralUnderWriters(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	v := must.Get(r.collections.Create(t.Context(), r.all, notes.CollectionInput{Name: "brief", Policy: memory.PolicyNone, Ephemeral: true}, memory.Request{}))(t)
	c, other := v.Collection, r.collection("other")
	r.add(other, "marker elsewhere")
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for i := range 15 {
				word := fmt.Sprintf("marker%dx%d", w, i)
				id := r.add(c, "written as "+word)
				out, err := r.recall.Search(t.Context(), r.all, r.view(c), recall.Query{Text: word, Mode: recall.Lexical})
				if err != nil || len(out.Hits) != 1 || out.Hits[0].ID != id {
					t.Errorf("own write not found: %v %+v", err, out)
				}
			}
		})
	}
	group.Wait()
	if out := r.search(c, recall.Query{Text: "written", Mode: recall.Lexical, K: 100}); len(out.Hits) != 60 {
		t.Errorf("%d of 60", len(out.Hits))
	}
	r.noError(r.clones.Expire(t.Context(), r.all, memory.Due{Tenant: r.tenant, Collection: c.ID}, r.Now()))
	_, err := r.recall.Open(t.Context(), r.all, "brief", nil, 0)
	r.wantFault(err, fault.NotFound)
	if out := r.search(other, recall.Query{Text: "marker elsewhere"}); len(out.Hits) != 1 {
		t.Error("another collection changed")
	}
}

// A fork that was made independent is read through its own rows, and a copy in progress never leaves
// a partial index behind.
func TestIndexFollowsLineage(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	for i := range 25 {
		r.add(c, fmt.Sprintf("inherited %d", i))
	}
	f := r.fork(c, nil)
	r.add(f, "own and inherited")
	q := recall.Query{Text: "inherited", Mode: recall.Lexical, K: 100}
	before := r.search(f, q)
	if len(before.Hits) != 26 {
		t.Fatalf("%d hits", len(before.Hits))
	}
	// Each step is searched before the next one.
	made := must.Get(r.clones.Clone(t.Context(), r.all, f.ID.String(), clone.Input{Mode: clone.Copy, BatchSize: 10}, memory.Request{}))(t)
	var seen []int
	r.noError(r.clones.RunCopy(t.Context(), r.all, *made.Job, func(context.Context, memory.Progress) error {
		seen = append(seen, len(r.search(made.Collection, q).Hits))
		return nil
	}))
	if !slices.Equal(seen, []int{10, 20, 26}) {
		t.Errorf("the copy showed %v", seen)
	}
	if after := r.search(made.Collection, q); !slices.Equal(hitIDs(after), hitIDs(before)) {
		t.Error("the copy ranks otherwise")
	}
	must.Get(r.collections.Delete(t.Context(), r.all, c.ID.String(), true))(t)
	job := memory.Job{Collection: c.ID}
	r.noError(r.clones.RunRemove(t.Context(), r.all, job, func(context.Context, memory.Progress) error { return nil }))
	if after := r.search(f, q); !slices.Equal(hitIDs(after), hitIDs(before)) {
		t.Errorf("the fork lost notes: %d", len(after.Hits))
	}
}

// Counts are flushed at intervals while the service runs, and when it stops.
func TestFlushing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &memoryStore{flushed: make(chan []memory.UsageDelta, 1)}
		r := must.Get(recall.New(recall.Deps{Store: s, Embedders: &embedder{}}, recall.Config{FlushEvery: time.Minute}))(t)
		r.Start()
		r.Start()
		// Nothing is counted, so nothing is written at any time.
		<-time.After(time.Hour)
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if len(s.flushed) != 0 {
			t.Error("something was written")
		}
	})
}

// memoryStore is a reader that only accepts counts.
type memoryStore struct {
	memory.Reader
	flushed chan []memory.UsageDelta
}

func (m *memoryStore) AddUsage(_ context.Context, _ tenant.Scope, _ memory.View, d []memory.UsageDelta) error {
	m.flushed <- d
	return nil
}

// The background flush writes to the store without a call.
func TestFlushReachesTheStore(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	id := r.add(c, "counted")
	s := &signalingStore{Reader: r.store, wrote: make(chan struct{}, 1)}
	r.recall = must.Get(recall.New(recall.Deps{Store: s, Embedders: r.embedder, Clock: r.Now}, recall.Config{FlushEvery: time.Millisecond}))(t)
	r.recall.Start()
	r.search(c, recall.Query{Text: "counted"})
	select {
	case <-s.wrote:
	case <-t.Context().Done():
		t.Fatal("never written")
	}
	u := must.Get(r.store.Usage(t.Context(), r.all, r.view(c), []uuid.UUID{id}))(t)
	if u[id].AccessCount != 1 {
		t.Errorf("usage is %+v", u[id])
	}
	r.noError(r.recall.Stop(t.Context()))
}

// signalingStore is a store that signals each write of usage.
type signalingStore struct {
	memory.Reader
	wrote chan struct{}
}

func (s *signalingStore) AddUsage(ctx context.Context, sc tenant.Scope, v memory.View, d []memory.UsageDelta) error {
	err := s.Reader.AddUsage(ctx, sc, v, d)
	s.wrote <- struct{}{}
	return err
}

// The counter keeps nothing of a collection that is only read, or whose counts were written.
func TestCounterForgets(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	id := r.add(c, "roses in the garden")
	must.Get(r.recall.Get(t.Context(), r.all, r.view(c), id, false))(t)
	r.search(c, recall.Query{Text: "roses"})
	if n := r.recall.Books(); n != 1 {
		t.Errorf("%d books are open", n)
	}
	r.noError(r.recall.Flush(t.Context()))
	r.noError(r.recall.Flush(t.Context()))
	if n := r.recall.Books(); n != 0 {
		t.Errorf("%d books are open", n)
	}
	r.search(c, recall.Query{Text: "roses"})
	n := must.Get(r.recall.Get(t.Context(), r.all, r.view(c), id, false))(t)
	if n.Usage.AccessCount != 2 {
		t.Errorf("%d accesses", n.Usage.AccessCount)
	}
}

// Many goroutines that count and flush concurrently lose no count.
func TestCounterUnderFlushes(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	id := r.add(c, "roses in the garden")
	v := r.view(c)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				if _, err := r.recall.Search(t.Context(), r.all, v, recall.Query{Text: "roses"}); err != nil {
					t.Error(err)
				}
				if err := r.recall.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	r.noError(r.recall.Flush(t.Context()))
	n := must.Get(r.recall.Get(t.Context(), r.all, r.view(c), id, false))(t)
	if n.Usage.AccessCount != 200 {
		t.Errorf("%d accesses", n.Usage.AccessCount)
	}
}

// Ended versions leave the index once they are most of it. Reads at any revision, and through forks,
// answer the same.
func TestCompaction(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{CompactFrom: 20})
	plain := must.Get(recall.New(recall.Deps{Store: r.store, Embedders: r.embedder, Clock: r.Now}, recall.Config{CompactFrom: 1 << 30}))(t)
	c := r.collection("things")
	var ids []uuid.UUID
	for i := range 10 {
		ids = append(ids, r.add(c, fmt.Sprintf("note %d says nothing", i)))
	}
	f := r.fork(c, nil)
	r.add(f, "note of the fork says nothing")
	var middle memory.Revision
	for round := range 40 {
		for i, id := range ids[:5] {
			w := must.Get(r.notes.Patch(t.Context(), r.all, c.ID.String(), id, notes.NotePatch{Content: new(fmt.Sprintf("note %d says round%d", i, round))}, memory.Request{}))(t)
			if round == 15 && i == 2 {
				middle = w.Revision
			}
		}
		r.search(c, recall.Query{Text: "note says"})
	}
	must.Get(r.notes.Delete(t.Context(), r.all, c.ID.String(), ids[9], memory.Request{}))(t)
	same := func(v memory.View, text string) int {
		t.Helper()
		got := must.Get(r.recall.Search(t.Context(), r.all, v, recall.Query{Text: text, K: 50}))(t)
		want := must.Get(plain.Search(t.Context(), r.all, v, recall.Query{Text: text, K: 50}))(t)
		if !slices.Equal(hitIDs(got), hitIDs(want)) {
			t.Errorf("at %d, %q: %v, want %v", v.At, text, hitIDs(got), hitIDs(want))
		}
		for i := range got.Hits {
			if got.Hits[i].Score != want.Hits[i].Score || got.Hits[i].Note.Content != want.Hits[i].Note.Content {
				t.Errorf("at %d, %q: hit %d differs", v.At, text, i)
			}
		}
		return len(got.Hits)
	}
	at := func(c memory.Collection, rev memory.Revision) memory.View {
		v := must.Get(r.recall.Open(t.Context(), r.all, c.ID.String(), &rev, 0))(t)
		return v
	}
	for range 2 {
		if n := same(r.view(c), "note says round39 nothing"); n != 9 {
			t.Errorf("%d at the head", n)
		}
		if n := same(at(c, middle), "note says round15 round14 nothing"); n != 10 {
			t.Errorf("%d in the middle", n)
		}
		if n := same(at(c, 5), "nothing"); n != 5 {
			t.Errorf("%d at the beginning", n)
		}
		if n := same(r.view(f), "note nothing fork round39"); n != 11 {
			t.Errorf("%d in the fork", n)
		}
	}
	if n, all := r.recall.Versions(c.ID), plain.Versions(c.ID); n*2 > all || n < 9 {
		t.Errorf("%d versions are held of %d", n, all)
	}
}

// Readers at every revision and writers run while the index is compacted.
func TestCompactionUnderReaders(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{CompactFrom: 8})
	c := r.collection("things")
	id := r.add(c, "note says round0")
	const rounds = 60
	var all sync.WaitGroup
	all.Go(func() {
		for i := 1; i <= rounds; i++ {
			_, err := r.notes.Patch(t.Context(), r.all, c.ID.String(), id, notes.NotePatch{Content: new(fmt.Sprintf("note says round%d", i))}, memory.Request{})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for g := range 3 {
		all.Go(func() {
			for i := range 2 * rounds {
				head, err := r.recall.Open(t.Context(), r.all, c.ID.String(), nil, 0)
				if err != nil {
					t.Error(err)
					return
				}
				rev := max(1, head.At-memory.Revision(i*(g+1)%20))
				v, err := r.recall.Open(t.Context(), r.all, c.ID.String(), &rev, 0)
				if err != nil {
					t.Error(err)
					return
				}
				out, err := r.recall.Search(t.Context(), r.all, v, recall.Query{Text: "note"})
				if err != nil || len(out.Hits) != 1 || out.Hits[0].Note.Content != fmt.Sprintf("note says round%d", rev-1) {
					t.Errorf("at %d: %+v, %v", rev, out.Hits, err)
					return
				}
			}
		})
	}
	all.Wait()
}
