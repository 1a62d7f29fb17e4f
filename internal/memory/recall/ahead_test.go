package recall_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/snapshot"
	"github.com/slipboxhq/slipbox/test/must"
)

// until waits for an event in the background.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal(what, "never happened")
		}
	}
}

// almostEqual reports whether scores of the store and of the index agree.
func almostEqual(a, b float64) bool { return math.Abs(a-b) <= 1e-5 }

func coldAnswersLikeWarm(t *testing.T, r *fixture) {
	t.Helper()
	cold := &watchedStore{Reader: r.store, gate: make(chan struct{})} // never opened
	scanning := must.Get(recall.New(recall.Deps{Store: cold, Embedders: r.embedder, Clock: r.Now}, recall.Config{ColdScan: true}))(t)
	t.Cleanup(func() { r.noError(scanning.Stop(context.Background())) })
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		made := must.Get(r.collections.Create(context.Background(), r.all, notes.CollectionInput{Name: fmt.Sprintf("base-%d", round), Policy: memory.PolicyNone}, memory.Request{}))(t)
		base := made.Collection
		ids := make([]uuid.UUID, 12)
		for i := range ids {
			ids[i] = uuid.Must(uuid.NewV7())
		}
		r.applyChanges(t, base, r.drawChanges(t, ids, rapid.IntRange(1, 20).Draw(t, "n")))
		fork := r.fork(base, nil)
		r.applyChanges(t, fork, r.drawChanges(t, ids, rapid.IntRange(0, 8).Draw(t, "writes")))
		r.applyChanges(t, base, r.drawChanges(t, ids, rapid.IntRange(0, 4).Draw(t, "later")))
		q := recall.Query{Mode: recall.Vector, Text: drawSentence(t), K: rapid.IntRange(1, 9).Draw(t, "k"), Explain: true, Internal: true}
		if rapid.Bool().Draw(t, "filtered") {
			q.Filter = must.Get(filter.Parse([]byte(`{"field":"tags","op":"contains","value":"` + rapid.SampledFrom(words).Draw(t, "tag") + `"}`)))(t)
		}
		for _, c := range []memory.Collection{base, fork} {
			head := must.Get(r.recall.Open(context.Background(), r.all, c.ID.String(), nil, 0))(t)
			for _, at := range []memory.Revision{head.At, rapid.Custom(func(t *rapid.T) memory.Revision {
				return memory.Revision(rapid.Int64Range(0, int64(head.At)).Draw(t, "at"))
			}).Draw(t, "past")} {
				v := must.Get(r.recall.Open(context.Background(), r.all, c.ID.String(), &at, 0))(t)
				sameSearch(t, r, scanning, v, q)
			}
		}
	})
	if cold.scans.Load() == 0 {
		t.Error("the store was never asked")
	}
}

// sameSearch compares the answers of a warm and of a cold service. Only notes with scores that are
// equal within the precision of the engines may change places.
func sameSearch(t *rapid.T, r *fixture, cold *recall.Service, v memory.View, q recall.Query) {
	ctx := context.Background()
	want := must.Get(r.recall.Search(ctx, r.all, v, q))(t)
	everything := q
	everything.K = recall.MaxK
	all := must.Get(r.recall.Search(ctx, r.all, v, everything))(t)
	warm := map[uuid.UUID]recall.Hit{}
	for _, h := range all.Hits {
		warm[h.ID] = h
	}
	got := must.Get(cold.Search(ctx, r.all, v, q))(t)
	if len(got.Hits) != len(want.Hits) || got.Degraded != "" || got.Revision != want.Revision || got.Mode != want.Mode {
		t.Fatalf("at %d: cold %+v, warm %+v", v.At, got, want)
	}
	for i, h := range got.Hits {
		w, ok := warm[h.ID]
		if !ok || !almostEqual(h.Score, w.Score) || !almostEqual(h.Score, want.Hits[i].Score) {
			t.Fatalf("at %d, hit %d: cold %s %v, warm %s %v", v.At, i, h.ID, h.Score, want.Hits[i].ID, want.Hits[i].Score)
		}
		if !slices.Equal(h.Sources, w.Sources) || h.IsNeighbor || h.Note.Content != w.Note.Content || h.Note.From != w.Note.From ||
			h.Note.Layer != w.Note.Layer || h.Explain.Version != w.Explain.Version || len(h.Note.Links) != len(w.Note.Links) {
			t.Fatalf("at %d, hit %d: cold %+v, warm %+v", v.At, i, h, w)
		}
		for j, s := range h.Explain.Signals {
			e := w.Explain.Signals[j]
			// Scaling to the range of the candidates enlarges a difference of 1e-5.
			if s.Name != e.Name || s.Weight != e.Weight || !almostEqual(s.Raw, e.Raw) || math.Abs(s.Normalized-e.Normalized) > 1e-2 {
				t.Fatalf("at %d, hit %d: cold %+v, warm %+v", v.At, i, s, e)
			}
		}
	}
}

// A search by meaning does not wait for a cold layer. One load runs in the background, and then the
// index answers.
func TestColdLayerLoadsBehindSearches(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	for i := range 30 {
		r.add(c, fmt.Sprintf("note %d about tides", i/3)) // three of each: ties
	}
	f := r.fork(c, nil)
	r.add(f, "note of the fork about tides")
	q := recall.Query{Text: "note 7 about tides", Mode: recall.Vector, K: 20, Explain: true}
	want := hitIDs(r.search(f, q))
	w := r.watch(recall.Config{ColdScan: true})
	w.gate = make(chan struct{})
	for range 5 {
		if got := hitIDs(r.search(f, q)); !slices.Equal(got, want) {
			t.Errorf("cold %v, warm %v", got, want)
		}
	}
	if w.scans.Load() != 5 {
		t.Errorf("%d scans", w.scans.Load())
	}
	// A search that only the index can answer waits for it.
	done := make(chan []uuid.UUID)
	go func() { done <- hitIDs(r.search(f, recall.Query{Text: "note 7 about tides", Mode: recall.Lexical})) }()
	close(w.gate)
	if len(<-done) == 0 {
		t.Error("no words were found")
	}
	until(t, "the load", func() bool { return r.recall.IndexState(r.view(f)).State == recall.StateReady })
	if got := hitIDs(r.search(f, q)); !slices.Equal(got, want) {
		t.Errorf("loaded %v, before %v", got, want)
	}
	if scans, loads := w.scans.Load(), w.reads.Load(); scans != 5 || loads != 2 {
		t.Errorf("%d scans, %d loads", scans, loads)
	}
}

// A search of a large cold collection does not wait until its index is filled: meaning alone answers, and
// the answer says so. What the store cannot answer waits, and so do searches of small collections.
func TestLargeColdCollectionAnswers(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c, small := r.collection("things"), r.collection("few-things")
	for i := range 30 {
		r.add(c, fmt.Sprintf("note %d about tides", i))
	}
	r.add(small, "one note about tides")
	q := recall.Query{Text: "note 7 about tides", K: 5}
	byMeaning := q
	byMeaning.Mode = recall.Vector
	want, whole := hitIDs(r.search(c, byMeaning)), hitIDs(r.search(c, q))
	w := r.watch(recall.Config{ColdNotes: 30, ColdWait: time.Millisecond, LoadTimeout: time.Millisecond})
	w.gate = make(chan struct{})
	out := r.search(c, q)
	if !slices.Equal(hitIDs(out), want) || out.Degraded == "" || out.Mode != recall.Hybrid || out.Hits[0].Note.Content == "" {
		t.Errorf("cold %+v, want %v", out, want)
	}
	out = r.search(c, byMeaning)
	if !slices.Equal(hitIDs(out), want) || out.Degraded != "" {
		t.Errorf("cold by meaning %+v, want %v", out, want)
	}
	q.Mode = recall.Lexical
	_, err := r.recall.Search(t.Context(), r.all, r.view(c), q)
	r.wantFault(err, fault.Unavailable)
	q.Mode = recall.Hybrid
	_, err = r.recall.Search(t.Context(), r.all, r.view(small), q)
	r.wantFault(err, fault.Unavailable)
	if w.scans.Load() != 2 {
		t.Errorf("%d scans", w.scans.Load())
	}
	// Every search that gave up has left the load to the background.
	close(w.gate)
	for _, x := range []memory.Collection{c, small} {
		until(t, "the load", func() bool { return r.recall.IndexState(r.view(x)).State == recall.StateReady })
	}
	if out := r.search(c, q); !slices.Equal(hitIDs(out), whole) || out.Degraded != "" {
		t.Errorf("loaded %+v, want %v", out, whole)
	}
	// Without an embedder only words can answer, and they need the index.
	r.watch(recall.Config{ColdNotes: 30, ColdWait: time.Nanosecond})
	r.embedder.down.Store(true)
	if out := r.search(c, q); len(out.Hits) == 0 || !strings.Contains(out.Degraded, "words alone") {
		t.Errorf("without an embedder %+v", out)
	}
}

// A search of a large collection of which nothing has been read does not wait at all: its index is filled after the answer. If
// something of the index was read, or is in a file, it is waited for.
func TestUnreadCollectionIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c, _ := r.filled("things", 80)
	files, q := must.Get(snapshot.Open(t.TempDir()))(t), recall.Query{Text: "note 7 about tides", K: 5}
	cfg := recall.Config{ColdNotes: 30, ColdWait: time.Hour, LoadTimeout: time.Hour}
	search := func(service *recall.Service) recall.Result {
		v := must.Get(service.Open(t.Context(), r.all, c.ID.String(), nil, 0))(t)
		return must.Get(service.Search(t.Context(), r.all, v, q))(t)
	}
	first, w := r.over(files, cfg)
	w.gate = make(chan struct{}) // the log is not read
	if out := search(first); out.Degraded == "" || w.scans.Load() != 1 {
		t.Errorf("unread, %d scans: %+v", w.scans.Load(), out)
	}
	until(t, "the load", func() bool { return w.reads.Load() == 1 })
	answered := make(chan recall.Result, 1)
	go func() { answered <- search(first) }()
	close(w.gate)
	if out := <-answered; out.Degraded != "" || w.scans.Load() != 1 {
		t.Errorf("while it is read, %d scans: %+v", w.scans.Load(), out)
	}
	must.Do(t, first.Stop(t.Context()))
	second, w := r.over(files, cfg)
	if out := search(second); out.Degraded != "" || w.scans.Load() != 0 {
		t.Errorf("in a file, %d scans: %+v", w.scans.Load(), out)
	}
	must.Do(t, second.Stop(t.Context()))
}

// An index that is far behind, as after a bulk, is read as a cold one: what is missing is not waited for, if it is much.
func TestFarBehindAnswers(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	r.add(c, "the first note about tides")
	w := r.watch(recall.Config{ColdNotes: 30, ColdWait: time.Hour, LoadTimeout: time.Hour})
	q := recall.Query{Text: "note 7 about tides", K: 5}
	r.search(c, q)
	for i := range 110 {
		r.add(c, fmt.Sprintf("note %d about tides", i))
	}
	w.gate = make(chan struct{})
	if out := r.search(c, q); out.Degraded == "" || out.Hits[0].Note.Content != q.Text || w.scans.Load() != 1 {
		t.Errorf("far behind, %d scans: %+v", w.scans.Load(), out)
	}
	close(w.gate)
	until(t, "the load", func() bool { return r.recall.IndexState(r.view(c)).State == recall.StateReady })
	if out := r.search(c, q); out.Degraded != "" || out.Hits[0].Note.Content != q.Text || w.scans.Load() != 1 {
		t.Errorf("up to date, %d scans: %+v", w.scans.Load(), out)
	}
}

// A load that is given up after its last batch is complete for the next reader.
func TestLoadGivenUpAtItsEnd(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	id := r.add(c, "one note")
	w := r.watch(recall.Config{})
	v := r.view(c)
	ctx, giveUp := context.WithCancel(t.Context())
	w.read = giveUp
	if _, err := r.recall.Search(ctx, r.all, v, recall.Query{Text: "note"}); err == nil {
		t.Fatal("the search was not given up")
	}
	w.read = nil
	if got := hitIDs(r.search(c, recall.Query{Text: "note"})); !slices.Equal(got, []uuid.UUID{id}) {
		t.Errorf("found %v", got)
	}
	if s := r.recall.IndexState(v); s.State != recall.StateReady || w.reads.Load() != 1 {
		t.Errorf("state is %+v after %d reads", s, w.reads.Load())
	}
}

// Invalid queries get the same error, cold and warm. An embedder that is down is an error in both.
func TestColdRefuses(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	r.add(c, "one note")
	warm := r.recall
	must.Get(warm.Search(t.Context(), r.all, r.view(c), recall.Query{Text: "note"}))(t)
	w := r.watch(recall.Config{ColdScan: true})
	w.gate = make(chan struct{})
	nan := make([]float32, 384)
	nan[3] = float32(math.NaN())
	for name, vector := range map[string][]float32{"short": {1, 2}, "zeros": make([]float32, 384), "nan": nan} {
		_, want := warm.Search(t.Context(), r.all, r.view(c), recall.Query{Vector: vector})
		_, got := r.recall.Search(t.Context(), r.all, r.view(c), recall.Query{Vector: vector})
		var a, b *fault.Error
		if !errors.As(want, &a) || !errors.As(got, &b) || a.Code != b.Code || a.Fields[0].Field != b.Fields[0].Field {
			t.Errorf("%s: cold %v, warm %v", name, got, want)
		}
	}
	r.embedder.down.Store(true)
	_, err := r.recall.Search(t.Context(), r.all, r.view(c), recall.Query{Text: "note", Mode: recall.Vector})
	r.wantFault(err, fault.Unavailable)
}

// A transcript that a program sent is found neither by the scan nor by the index, unless it is asked for.
func TestTranscriptsAreHidden(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	at := r.Now()
	said := r.addTurn(c, at, "My sister works at the harbor", nil).ID
	own := r.addTurn(c, at, "My sister works at the harbor office", map[string]any{memory.AttrTranscript: true}).ID // a caller's attribute
	hidden := r.addTurn(c, at, "My sister works at the harbor: title this", map[string]any{memory.AttrRecall: true, memory.AttrTranscript: true}).ID
	warm := r.recall
	w := r.watch(recall.Config{ColdScan: true})
	w.gate = make(chan struct{})
	for name, service := range map[string]*recall.Service{"scan": r.recall, "index": warm} {
		for _, all := range []bool{false, true} {
			out := must.Get(service.Search(t.Context(), r.all, r.view(c), recall.Query{Text: "sister at the harbor", Mode: recall.Vector, Hidden: all}))(t)
			got := hitIDs(out)
			if !slices.Contains(got, said) || !slices.Contains(got, own) || slices.Contains(got, hidden) != all {
				t.Errorf("%s, all %v: found %v", name, all, got)
			}
		}
	}
	if w.scans.Load() != 2 {
		t.Errorf("%d scans", w.scans.Load())
	}
}

// Stop cancels a load that hangs; reads are still answered afterwards.
func TestStopEndsLoads(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	id := r.add(c, "one note")
	w := r.watch(recall.Config{ColdScan: true})
	w.gate = make(chan struct{})
	q := recall.Query{Text: "note", Mode: recall.Vector}
	r.search(c, q)
	until(t, "the load", func() bool { return w.reads.Load() == 1 })
	r.noError(r.recall.Stop(t.Context()))
	if got := hitIDs(r.search(c, q)); !slices.Equal(got, []uuid.UUID{id}) {
		t.Errorf("found %v", got)
	}
	if n := w.reads.Load(); n != 1 {
		t.Errorf("%d loads", n)
	}
}

// Hits are read by version; only with vectors are they read as notes.
func TestHitsAreReadByVersion(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	r.add(c, "one note")
	w := r.watch(recall.Config{})
	if out := r.search(c, recall.Query{Text: "note"}); len(out.Hits) != 1 || out.Hits[0].Note.Content != "one note" || w.notes.Load() != 0 {
		t.Errorf("%+v, read by id: %d", out.Hits, w.notes.Load())
	}
	if out := r.search(c, recall.Query{Text: "note", Embedding: true}); len(out.Hits[0].Note.Vector) != 384 {
		t.Errorf("%d dimensions", len(out.Hits[0].Note.Vector))
	}
}

// C240: once an index is loaded, a search reads nothing from the store but its hits, however many notes there are, and
// finds by meaning what the store's exact scan finds. Before, the store answers, with the same hits.
func TestC240SearchReadsOnlyItsHits(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		const size, k = 400, 5
		c := r.collection("things")
		rng := rand.New(rand.NewPCG(240, 1))
		must.Get(r.store.Write(t.Context(), r.all, c.ID, memory.WriteOptions{Cause: memory.CauseImport}, func(ctx context.Context, tx memory.Tx) error {
			for i := range size {
				n := memory.Note{ID: uuid.Must(uuid.NewV7()), Kind: memory.KindNote, Content: fmt.Sprintf("note %d about tides", i), Vector: randomVector(rng)}
				if _, err := tx.Put(ctx, n); err != nil {
					return err
				}
			}
			return nil
		}))(t)
		v := r.view(c)
		hits := func(o recall.Query) []uuid.UUID {
			t.Helper()
			out := must.Get(r.recall.Search(t.Context(), r.all, v, o))(t)
			if len(out.Hits) != k {
				t.Fatalf("%d hits", len(out.Hits))
			}
			return hitIDs(out)
		}
		q := recall.Query{Text: "note 7 about tides", Mode: recall.Vector, K: k, Bare: true, Internal: true}
		scanned := r.watch(recall.Config{ColdScan: true})
		scanned.gate = make(chan struct{}) // no index is ever loaded
		cold := hits(q)
		if scanned.scans.Load() != 1 {
			t.Errorf("%d scans", scanned.scans.Load())
		}
		warm := r.watch(recall.Config{})
		if got := hits(q); !slices.Equal(got, cold) {
			t.Errorf("by the index %v, by the exact scan %v", got, cold)
		}
		warm.warmed = make(chan []memory.Version, 2)
		for _, mode := range []recall.Mode{recall.Vector, recall.Hybrid} {
			q.Mode = mode
			rows := warm.rows.Load()
			hits(q)
			if read := len(<-warm.warmed); read != k || warm.rows.Load() != rows || warm.scans.Load()+warm.notes.Load() != 0 {
				t.Errorf("%s read %d notes, %d rows of the log, %d scans", mode, read, warm.rows.Load()-rows, warm.scans.Load())
			}
		}
	})
}

// After a load the hottest notes are read by version, so that a cache holds them.
func TestHotNotesAreWarmed(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	cold, hot, hottest := r.add(c, "never read"), r.add(c, "tram"), r.add(c, "ferry")
	for _, word := range []string{"tram", "ferry", "ferry"} {
		r.search(c, recall.Query{Text: word, Mode: recall.Lexical})
	}
	r.noError(r.recall.Flush(t.Context()))
	w := r.watch(recall.Config{WarmNotes: 2})
	w.warmed = make(chan []memory.Version, 3)
	r.search(c, recall.Query{Text: "read", Mode: recall.Lexical, IDsOnly: true})
	var got []uuid.UUID
	for _, key := range <-w.warmed {
		got = append(got, key.Note)
		if key.Layer != c.ID || key.From < 1 {
			t.Errorf("read %+v", key)
		}
	}
	if !slices.Equal(got, []uuid.UUID{hottest, hot}) {
		t.Errorf("warmed %v, want %v and %v and not %v", got, hottest, hot, cold)
	}
	r.search(c, recall.Query{Text: "read", Mode: recall.Lexical, IDsOnly: true})
	r.noError(r.recall.Stop(t.Context()))
	if len(w.warmed) != 0 {
		t.Error("warmed again without a load")
	}
}

// A notice of a write updates a loaded index and leaves a cold one cold.
func TestRefresh(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	r.add(c, "one note")
	w := r.watch(recall.Config{})
	r.recall.Refresh(t.Context(), r.all, c.ID)
	r.search(c, recall.Query{Text: "note"})
	if n := w.reads.Load(); n != 1 {
		t.Errorf("%d reads of the log", n)
	}
	r.add(c, "another note")
	w.gate = make(chan struct{})
	r.recall.Refresh(t.Context(), r.all, c.ID)
	until(t, "the refresh", func() bool { return w.reads.Load() == 2 })
	for range 100 { // while one runs, the others are merged
		r.recall.Refresh(t.Context(), r.all, c.ID)
	}
	r.add(c, "and a third note")
	r.recall.Refresh(t.Context(), r.all, c.ID)
	close(w.gate)
	v := r.view(c)
	until(t, "the refresh", func() bool { return r.recall.IndexState(v).Revision == v.At })
	r.search(c, recall.Query{Text: "note"})
	if n := w.reads.Load(); n > 3 {
		t.Errorf("%d reads of the log", n)
	}
	// The index of a deleted collection is dropped.
	must.Get(r.collections.Delete(t.Context(), r.all, c.ID.String(), false))(t)
	r.recall.Refresh(t.Context(), r.all, c.ID)
	until(t, "the eviction", func() bool { return r.recall.Versions(c.ID) == 0 })
}
