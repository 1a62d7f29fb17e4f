package recall_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/snapshot"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/clock"
	"github.com/slipboxhq/slipbox/test/must"
)

// process starts a service that keeps its indexes in a directory, as a new process does. The store counts
// what it reads.
func (r *fixture) process(dir string, cfg recall.Config) (*recall.Service, *watchedStore) {
	r.t.Helper()
	files := must.Get(snapshot.Open(dir))(r.t)
	return r.over(files, cfg)
}

// over starts a service that keeps its indexes in a directory.
func (r *fixture) over(files *snapshot.Dir, cfg recall.Config) (*recall.Service, *watchedStore) {
	r.t.Helper()
	w := &watchedStore{Reader: r.store}
	service := must.Get(recall.New(recall.Deps{
		Store: w, Embedders: r.embedder, Clock: r.Now, Snapshots: files,
		Reach: func(id uuid.UUID) tenant.Scope { return grant.Scope(id, uuid.Nil, "test", tenant.AllPermissions()...) },
	}, cfg))(r.t)
	return service, w
}

// ask returns all that a search by a service shows.
func (r *fixture) ask(service *recall.Service, c memory.Collection, at *memory.Revision) (out []string) {
	r.t.Helper()
	v := must.Get(service.Open(r.t.Context(), r.all, c.ID.String(), at, 0))(r.t)
	for _, text := range []string{"note 7 about tides", "rivers in winter", "what is new?"} {
		found := must.Get(service.Search(r.t.Context(), r.all, v, recall.Query{Text: text, K: 30, Explain: true, Internal: true}))(r.t)
		for _, h := range found.Hits {
			out = append(out, fmt.Sprintf("%s %d %v %v %q %+v", h.ID, h.Note.From, h.Score, h.Sources, h.Note.Content, *h.Explain))
		}
	}
	return out
}

func (r *fixture) same(what string, got, want []string) {
	r.t.Helper()
	if len(want) == 0 || !reflect.DeepEqual(got, want) {
		r.t.Errorf("%s: got %v\nwant %v", what, got, want)
	}
}

// filesBelow returns the files below a directory.
func filesBelow(t *testing.T, dir string) (out []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, path)
		}
		return err
	}))
	return out
}

// filled creates a collection with notes that are changed and deleted, too.
func (r *fixture) filled(name string, n int) (memory.Collection, []uuid.UUID) {
	r.t.Helper()
	c := r.collection(name)
	var ids []uuid.UUID
	for i := range n {
		ids = append(ids, r.add(c, fmt.Sprintf("note %d about tides and rivers", i), "tag"))
	}
	r.change(c, ids[3], "note 3 is about winter now")
	r.noError(r.remove(c, ids[4]))
	return c, ids
}

func (r *fixture) change(c memory.Collection, id uuid.UUID, content string) {
	r.t.Helper()
	must.Get(r.notes.Patch(r.t.Context(), r.all, c.ID.String(), id, notes.NotePatch{Content: &content}, memory.Request{}))(r.t)
}

func (r *fixture) remove(c memory.Collection, id uuid.UUID) error {
	_, err := r.notes.Delete(r.t.Context(), r.all, c.ID.String(), id, memory.Request{})
	return err
}

// A process continues with the indexes that another one has left, and with the log after them. It
// answers the same, at any revision and through forks.
func TestIndexesOutliveTheProcess(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	dir := t.TempDir()
	c, ids := r.filled("things", 80)
	past := r.view(c).At - 20
	first, _ := r.process(dir, recall.Config{})
	r.ask(first, c, nil)
	r.noError(first.Stop(context.Background()))

	second, w := r.process(dir, recall.Config{})
	r.same("after a start", r.ask(second, c, nil), r.ask(r.recall, c, nil))
	r.same("in the past", r.ask(second, c, &past), r.ask(r.recall, c, &past))
	if n := w.rows.Load(); n != 0 {
		t.Errorf("%d rows of the log were read again", n)
	}
	r.noError(second.Stop(context.Background()))

	r.add(c, "a note that is new")
	r.change(c, ids[7], "note 7 has changed")
	r.noError(r.remove(c, ids[8]))
	f := r.fork(c, &past)
	r.add(f, "rivers of the fork")
	third, w := r.process(dir, recall.Config{})
	r.same("in a fork", r.ask(third, f, nil), r.ask(r.recall, f, nil))
	r.same("after more writes", r.ask(third, c, nil), r.ask(r.recall, c, nil))
	if n := w.rows.Load(); n < 3 || n > 10 {
		t.Errorf("%d rows of the log were read", n)
	}
	r.noError(third.Stop(context.Background()))
}

// A file that is damaged, cut off, or of another build or log is not used: the index is filled from the
// log, and the file is written again.
func TestUnusableSnapshots(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	dir := t.TempDir()
	c, _ := r.filled("things", 80)
	other, _ := r.filled("other-things", 80)
	service, _ := r.process(dir, recall.Config{})
	r.ask(service, c, nil)
	r.noError(service.Stop(context.Background()))
	path := filesBelow(t, dir)[0]
	good := must.Get(os.ReadFile(path))(t)
	service, _ = r.process(dir, recall.Config{})
	r.ask(service, other, nil)
	r.noError(service.Stop(context.Background()))
	foreign := good
	for _, p := range filesBelow(t, dir) {
		if p != path {
			foreign = must.Get(os.ReadFile(p))(t)
		}
	}
	damaged := append([]byte{}, good...)
	damaged[len(good)/2] ^= 4
	want := r.ask(r.recall, c, nil)
	for what, data := range map[string][]byte{
		"damaged": damaged, "cut off": good[:len(good)*2/3], "empty": {}, "of another collection": foreign, "no snapshot": []byte("some text that is not a snapshot"),
	} {
		r.noError(os.WriteFile(path, data, 0o600))
		service, w := r.process(dir, recall.Config{})
		r.same(what, r.ask(service, c, nil), want)
		if w.rows.Load() < 80 {
			t.Errorf("%s: %d rows of the log were read", what, w.rows.Load())
		}
		r.noError(service.Stop(context.Background()))
		if again, err := os.ReadFile(path); err != nil || len(again) < len(good)/2 {
			t.Errorf("%s: the file has %d bytes, %v", what, len(again), err)
		}
		service, w = r.process(dir, recall.Config{})
		r.same(what+", written again", r.ask(service, c, nil), want)
		if w.rows.Load() != 0 {
			t.Errorf("%s: %d rows of the log were read again", what, w.rows.Load())
		}
		r.noError(service.Stop(context.Background()))
	}
}

// After a backup was restored and other notes were written, the file belongs to another history of the
// same collection, at a revision that exists again. It is not used.
func TestSnapshotOfAnotherHistory(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	dir, backup := t.TempDir(), filepath.Join(t.TempDir(), "backup.db")
	c, ids := r.filled("things", 80)
	engine, ok := r.store.(store.Backuper)
	if !ok {
		t.Fatal("the store makes no backups")
	}
	r.noError(engine.Backup(t.Context(), backup))
	r.noError(r.remove(c, ids[9]))
	service, _ := r.process(dir, recall.Config{})
	r.ask(service, c, nil)
	r.noError(service.Stop(context.Background()))

	restored := &fixture{t: t, tenant: r.tenant, all: r.all, embedder: r.embedder, model: r.model, Clock: clock.New(r.Now().Add(time.Minute))}
	restored.reopen = func() (store.Store, error) {
		return sqlite.Open(t.Context(), sqlite.Config{Path: backup}, sqlite.Deps{Clock: restored.Now})
	}
	restored.openStore()
	t.Cleanup(func() { r.noError(restored.store.Close()) })
	restored.start(recall.Config{})
	restored.noError(restored.remove(c, ids[10]))
	if a, b := restored.view(c).At, r.view(c).At; a != b {
		t.Fatalf("the histories are at %d and %d", a, b)
	}
	service, w := restored.process(dir, recall.Config{})
	restored.same("restored", restored.ask(service, c, nil), restored.ask(restored.recall, c, nil))
	if w.rows.Load() < 80 {
		t.Errorf("%d rows of the log were read", w.rows.Load())
	}
	restored.noError(service.Stop(context.Background()))
}

// A deleted collection leaves no file, any process may delete it, while it is being written, too.
func TestDeletedCollectionsLeaveNoFile(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	dir := t.TempDir()
	c, _ := r.filled("things", 80)
	kept, _ := r.filled("other-things", 80)
	service, _ := r.process(dir, recall.Config{})
	r.ask(service, c, nil)
	r.ask(service, kept, nil)
	r.noError(service.Stop(context.Background()))
	if n := len(filesBelow(t, dir)); n != 2 {
		t.Fatalf("there are %d files", n)
	}
	// By this process: it is told.
	service, _ = r.process(dir, recall.Config{})
	v := r.view(c)
	r.ask(service, c, nil)
	r.add(c, "a note that the file does not have")
	r.ask(service, c, nil)
	must.Get(r.collections.Delete(t.Context(), r.all, c.ID.String(), false))(t)
	service.Evict(r.tenant, c.ID)
	if n := len(filesBelow(t, dir)); n != 1 {
		t.Errorf("there are %d files", n)
	}
	// A reader that opened its view before may fill an index again, but writes no file.
	if _, err := service.Search(t.Context(), r.all, v, recall.Query{Text: "tides", Internal: true}); err != nil {
		t.Logf("the old view: %v", err)
	}
	r.noError(service.Stop(context.Background()))
	if n := len(filesBelow(t, dir)); n != 1 {
		t.Errorf("there are %d files", n)
	}
	// By another process.
	must.Get(r.collections.Delete(t.Context(), r.all, kept.ID.String(), false))(t)
	service, _ = r.process(dir, recall.Config{})
	r.noError(service.Sweep(t.Context(), memory.Due{}))
	if n := filesBelow(t, dir); len(n) != 0 {
		t.Errorf("there are %v", n)
	}
	// With its tenant.
	last, _ := r.filled("last-things", 80)
	r.ask(service, last, nil)
	r.noError(service.Stop(context.Background()))
	if n := filesBelow(t, dir); len(n) != 1 {
		t.Errorf("there are %v", n)
	}
	service.EvictTenant(r.tenant)
	if n := filesBelow(t, dir); len(n) != 0 {
		t.Errorf("there are %v", n)
	}
}

// A sweep drops loaded indexes too, of a collection that another process has deleted, and from before an erasure.
func TestSweepDropsIndexes(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c, _ := r.filled("things", 10)
	kept, _ := r.filled("other-things", 10)
	service, w := r.over(nil, recall.Config{})
	views := map[string]memory.View{"deleted": r.view(c), "kept": r.view(kept)}
	states := func(when string, want map[string]string) {
		t.Helper()
		for what, v := range views {
			if got := service.IndexState(v).State; got != want[what] {
				t.Errorf("%s: the index of the collection %s is %s, want %s", when, what, got, want[what])
			}
		}
	}
	r.ask(service, c, nil)
	r.ask(service, kept, nil)
	r.noError(service.Sweep(t.Context(), memory.Due{}))
	states("nothing is gone", map[string]string{"deleted": recall.StateReady, "kept": recall.StateReady})
	must.Get(r.collections.Delete(t.Context(), r.all, c.ID.String(), false))(t)
	r.noError(service.Sweep(t.Context(), memory.Due{Tenant: r.tenant, Collection: kept.ID}))
	states("another one was asked for", map[string]string{"deleted": recall.StateReady, "kept": recall.StateReady})
	r.noError(service.Sweep(t.Context(), memory.Due{Tenant: r.tenant}))
	states("one is deleted", map[string]string{"deleted": recall.StateCold, "kept": recall.StateReady})
	w.erased.Add(1)
	r.noError(service.Sweep(t.Context(), memory.Due{}))
	states("notes are erased", map[string]string{"deleted": recall.StateCold, "kept": recall.StateCold})
}

// What was erased does not stay in a file: an older one is not read, is removed, and no index from before
// the erasure is written.
func TestErasedNotesLeaveFiles(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	dir := t.TempDir()
	c, _ := r.filled("things", 80)
	service, _ := r.process(dir, recall.Config{})
	r.ask(service, c, nil)
	r.noError(service.Stop(context.Background()))
	if n := filesBelow(t, dir); len(n) != 1 {
		t.Fatalf("there are %v", n)
	}
	service, w := r.process(dir, recall.Config{})
	r.ask(service, c, nil)
	r.add(c, "a note that the file does not have")
	want := r.ask(service, c, nil)
	r.noError(os.Remove(filesBelow(t, dir)[0]))
	w.erased.Add(1)
	r.noError(service.Stop(context.Background()))
	if n := filesBelow(t, dir); len(n) != 0 {
		t.Errorf("an index from before the erasure was written: %v", n)
	}
	service, _ = r.process(dir, recall.Config{})
	r.ask(service, c, nil)
	r.noError(service.Stop(context.Background()))
	if n := filesBelow(t, dir); len(n) != 1 {
		t.Fatalf("there are %v", n)
	}
	service, w = r.process(dir, recall.Config{})
	r.noError(service.Sweep(t.Context(), memory.Due{}))
	if n := filesBelow(t, dir); len(n) != 1 {
		t.Errorf("a file without a fault was removed, there are %v", n)
	}
	w.erased.Add(1)
	r.same("after the erasure", r.ask(service, c, nil), want)
	if w.rows.Load() < 80 {
		t.Errorf("%d rows of the log were read", w.rows.Load())
	}
	r.noError(service.Stop(context.Background()))
	service, w = r.process(dir, recall.Config{})
	w.erased.Add(2)
	r.noError(service.Sweep(t.Context(), memory.Due{}))
	if n := filesBelow(t, dir); len(n) != 0 {
		t.Errorf("there are %v", n)
	}
	r.noError(service.Stop(context.Background()))
}

// A rebuild reads the log, not the file. A fork uses the file of a base that its reader does not reach.
func TestWhoUsesASnapshot(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	dir := t.TempDir()
	agents := map[string]tenant.Agent{}
	for _, name := range []string{"ada", "bob"} {
		a := must.Get(r.store.EnsureAgent(t.Context(), r.all, name))(t)
		agents[name] = a
	}
	made := must.Get(r.collections.Create(t.Context(), r.all, notes.CollectionInput{Name: "private", Policy: memory.PolicyNone, Agent: "ada"}, memory.Request{}))(t)
	base := made.Collection
	for i := range 80 {
		r.add(base, fmt.Sprintf("note %d about tides and rivers", i))
	}
	cloned := must.Get(r.clones.Clone(t.Context(), r.all, base.ID.String(), clone.Input{Agent: "bob"}, memory.Request{}))(t)
	first, _ := r.process(dir, recall.Config{})
	r.ask(first, base, nil)
	r.noError(first.Stop(context.Background()))

	second, w := r.process(dir, recall.Config{})
	bob := grant.Scope(r.tenant, agents["bob"].ID, "bob", tenant.AllPermissions()...)
	v := must.Get(second.Open(t.Context(), bob, cloned.Collection.ID.String(), nil, 0))(t)
	if _, err := second.Open(t.Context(), bob, base.ID.String(), nil, 0); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob reaches the base: %v", err)
	}
	found := must.Get(second.Search(t.Context(), bob, v, recall.Query{Text: "note 7 about tides", Internal: true}))(t)
	if len(found.Hits) == 0 || w.rows.Load() != 0 {
		t.Errorf("%d hits, %d rows of the log were read", len(found.Hits), w.rows.Load())
	}
	baseView := must.Get(second.Open(t.Context(), r.all, base.ID.String(), nil, 0))(t)
	r.noError(second.Rebuild(t.Context(), r.all, baseView))
	if w.rows.Load() < 80 {
		t.Errorf("the rebuild read %d rows of the log", w.rows.Load())
	}
	r.noError(second.Stop(context.Background()))
}

// Two processes may share a directory: each answers right, after writes of the other one, too.
func TestProcessesShareSnapshots(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	dir := t.TempDir()
	c, _ := r.filled("things", 70)
	one, _ := r.process(dir, recall.Config{})
	two, _ := r.process(dir, recall.Config{})
	var all sync.WaitGroup
	for _, service := range []*recall.Service{one, two} {
		all.Go(func() {
			v, err := service.Open(t.Context(), r.all, c.ID.String(), nil, 0)
			if err == nil {
				_, err = service.Search(t.Context(), r.all, v, recall.Query{Text: "tides", Internal: true})
			}
			if err != nil {
				t.Error(err)
			}
			service.Evict(r.tenant, uuid.New())
		})
	}
	all.Wait()
	r.add(c, "one more about tides")
	want := r.ask(r.recall, c, nil)
	r.same("one", r.ask(one, c, nil), want)
	r.noError(one.Stop(context.Background()))
	r.same("two", r.ask(two, c, nil), want)
	r.noError(two.Stop(context.Background()))
	three, _ := r.process(dir, recall.Config{})
	r.same("three", r.ask(three, c, nil), want)
	r.noError(three.Stop(context.Background()))
}

// What compaction has dropped from an index is missing from its file, too: reads of the past know it.
func TestSnapshotOfCompactedIndex(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	dir := t.TempDir()
	c, ids := r.filled("things", 70)
	past := r.view(c).At - 2
	cfg := recall.Config{CompactFrom: 1}
	service, _ := r.process(dir, cfg)
	for i := range 2 {
		for _, id := range ids[10:] {
			r.change(c, id, fmt.Sprintf("changed %d times, about winter", i+1))
		}
		r.ask(service, c, nil)
	}
	r.noError(service.Stop(context.Background()))
	again, w := r.process(dir, cfg)
	r.same("now", r.ask(again, c, nil), r.ask(r.recall, c, nil))
	if n := w.rows.Load(); n != 0 {
		t.Errorf("%d rows of the log were read", n)
	}
	r.same("in the past", r.ask(again, c, &past), r.ask(r.recall, c, &past))
	if n := w.rows.Load(); n == 0 {
		t.Error("the past was read from an index that has dropped it")
	}
	r.noError(again.Stop(context.Background()))
}

// flushInterval is the default of Config.FlushEvery.
const flushInterval = time.Second

// usageStore counts the reads of usage.
type usageStore struct {
	memory.Reader
	reads int
	asked []uuid.UUID
}

func (u *usageStore) Usage(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	u.reads++
	u.asked = append(u.asked, ids...)
	return u.Reader.Usage(ctx, s, v, ids)
}

// A job asks for the use of thousands of notes over and over: of a list like the one before, only what is new is read. What was used
// meanwhile shows, and what was counted elsewhere after a while.
func TestUsageOfAList(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	var ids []uuid.UUID
	for i := range 300 {
		ids = append(ids, r.add(c, fmt.Sprint("thing word", i)))
	}
	counted := &usageStore{Reader: r.store}
	r.recall = must.Get(recall.New(recall.Deps{Store: counted, Embedders: r.embedder, Clock: r.Now}, recall.Config{KeepUsage: time.Minute}))(t)
	t.Cleanup(func() { r.noError(r.recall.Stop(context.Background())) })
	r.noError(r.store.AddUsage(t.Context(), r.all, r.view(c), []memory.UsageDelta{{Note: ids[7], Accesses: 2, LastAccess: r.Now()}}))
	want := func(what string, of []uuid.UUID, asked int, accesses map[int]int64) {
		t.Helper()
		counted.asked = nil
		used := must.Get(r.recall.Used(t.Context(), r.all, r.view(c), of))(t)
		maps.DeleteFunc(used, func(_ uuid.UUID, u memory.Usage) bool { return u.AccessCount == 0 })
		if len(counted.asked) != asked || len(used) != len(accesses) {
			t.Errorf("%s: the use of %d notes was read, want %d; used were %v", what, len(counted.asked), asked, used)
		}
		for i, n := range accesses {
			if used[ids[i]].AccessCount != n {
				t.Errorf("%s: note %d was used %d times, want %d", what, i, used[ids[i]].AccessCount, n)
			}
		}
	}
	want("first", ids[:280], 280, map[int]int64{7: 2})
	want("again", ids[:280], 0, map[int]int64{7: 2})
	if hits := r.search(c, recall.Query{Text: "word8", K: 1}).Hits; len(hits) != 1 || hits[0].ID != ids[8] {
		t.Fatalf("the hits are %+v", hits)
	}
	want("used", ids[:280], 0, map[int]int64{7: 2, 8: 1})
	r.noError(r.recall.Flush(t.Context()))
	want("flushed", ids[:280], 0, map[int]int64{7: 2, 8: 1})
	want("others", slices.Concat(ids[1:7], ids[8:282]), 2, map[int]int64{8: 1})
	want("in another order", slices.Concat(ids[100:282], ids[1:100]), 0, map[int]int64{7: 2, 8: 1})
	r.noError(r.store.AddUsage(t.Context(), r.all, r.view(c), []memory.UsageDelta{{Note: ids[9], Accesses: 3, LastAccess: r.Now()}}))
	want("counted elsewhere", ids[1:282], 0, map[int]int64{7: 2, 8: 1})
	r.Pass(2 * time.Minute)
	want("later", ids[1:282], 281, map[int]int64{7: 2, 8: 1, 9: 3})
}

// Counts of the store are kept for a while: searches that follow each other do not read them again.
// Writes of this process show immediately, those of others after the interval of flushes.
func TestUsageIsKept(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	id := r.add(c, "roses in the garden")
	counted := &usageStore{Reader: r.store}
	r.recall = must.Get(recall.New(recall.Deps{Store: counted, Embedders: r.embedder, Clock: r.Now}, recall.Config{}))(t)
	t.Cleanup(func() { r.noError(r.recall.Stop(context.Background())) })
	want := func(what string, accesses int64, strength float64, reads int) {
		t.Helper()
		n := must.Get(r.recall.Get(t.Context(), r.all, r.view(c), id, false))(t)
		if n.Usage.AccessCount != accesses || n.Usage.Strength != strength || counted.reads != reads {
			t.Errorf("%s: %+v after %d reads, want %d, %v after %d", what, n.Usage, counted.reads, accesses, strength, reads)
		}
	}
	for range 5 {
		r.search(c, recall.Query{Text: "roses"})
	}
	want("searched", 5, 1, 2) // the first search began without counts to keep
	r.noError(r.recall.Flush(t.Context()))
	want("flushed", 5, 1, 2)
	r.search(c, recall.Query{Text: "roses"})
	want("searched again", 6, 1, 2) // one is not written yet
	// By another process.
	must.Get(r.store.Write(t.Context(), r.all, c.ID, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		return tx.SetUsage(ctx, id, memory.Usage{AccessCount: 7, Strength: 3})
	}))(t)
	want("set by another process", 6, 1, 2)
	r.Pass(flushInterval)
	want("an interval later", 8, 3, 3)
	// By this one.
	must.Get(r.store.Write(t.Context(), r.all, c.ID, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		return tx.SetUsage(ctx, id, memory.Usage{AccessCount: 9, Strength: 4})
	}))(t)
	r.recall.ForgetUsage(c.ID)
	want("set by this process", 10, 4, 4)

	// A fork has the counts of its base, which is in use, too.
	kept := must.Get(recall.New(recall.Deps{Store: counted, Embedders: r.embedder, Clock: r.Now}, recall.Config{KeepUsage: time.Hour}))(t)
	t.Cleanup(func() { r.noError(kept.Stop(context.Background())) })
	r.recall = kept
	fork := r.fork(c, nil)
	for _, c := range []memory.Collection{c, fork} {
		r.search(c, recall.Query{Text: "roses"}) // the book of the collection begins
		must.Get(kept.Get(t.Context(), r.all, r.view(c), id, false))(t)
	}
	must.Get(r.store.Write(t.Context(), r.all, c.ID, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		return tx.SetUsage(ctx, id, memory.Usage{AccessCount: 20, Strength: 8})
	}))(t)
	r.Pass(flushInterval)
	for c, strength := range map[*memory.Collection]float64{&c: 4, &fork: 8} {
		n := must.Get(kept.Get(t.Context(), r.all, r.view(*c), id, false))(t)
		if n.Usage.Strength != strength {
			t.Errorf("%s: strength %v, want %v", c.Name, n.Usage.Strength, strength)
		}
	}
}
