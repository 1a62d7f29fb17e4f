package storetest

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func noteCases() []testCase {
	return []testCase{
		{"RoundTrip", roundTrip},
		{"Texts", noteTexts},
		{"Refused", refusedNotes},
		{"LetterCase", letterCase},
		{"Times", noteTimes},
		{"Vectors", noteVectors},
		{"Keys", naturalKeys},
		{"Duplicates", duplicateNotes},
		{"Foreseen", foreseenNotes},
		{"History", noteHistory},
		{"Restore", restoreVersion},
		{"AsOf", asOf},
		{"Counts", noteCounts},
		{"Log", logOfLayer},
		{"LongLog", longLog},
		{"Usage", noteUsage},
	}
}

// roundTrip: values are read with the type that was written (C060).
func roundTrip(t *testing.T, w *world) {
	c := w.collection("c")
	job := uuid.New()
	in := memory.Note{
		Kind: memory.KindFact, Key: "fact/1", Content: "12.50", Context: "About prices", Keywords: []string{"price", "001"}, Tags: []string{"A", "a"},
		Category: "Shop", Importance: 0.25, OccurredAt: time.Date(1969, 7, 20, 20, 17, 40, 1000, time.UTC), State: memory.StatePending, Error: "timeout",
		Analyst: memory.AnalystHeuristic, Supplied: []string{"tags"}, Vector: []float32{1, 0, -0.5, 0.25}, Tokens: tokens(2, 1),
		Attributes: map[string]any{"n": 1.5, "whole": 3.0, "s": "3", "b": true, "l": []any{"x", 1.0, nil}, "o": map[string]any{"p": "q"}, "html": "<a&b>"},
		Provenance: memory.Provenance{Sources: []uuid.UUID{uuid.New()}, Actor: "me", Agent: "ada", Job: &job, Stale: true},
	}
	stored := w.put(c.ID, in)
	read, ok := w.get(w.view(c.ID), stored.ID)
	w.assertf(ok, "the note is not visible")
	if !reflect.DeepEqual(stored, read) {
		t.Errorf("returned and read differ:\n%+v\n%+v", stored, read)
	}
	in.ID, in.Collection, in.Layer, in.From, in.CreatedAt, in.UpdatedAt, in.Embedder = read.ID, c.ID, c.ID, 1, read.CreatedAt, read.UpdatedAt, embedder
	if !reflect.DeepEqual(in, read) {
		t.Errorf("read differs from what was put:\n%+v\n%+v", in, read)
	}
	w.assertf(read.ID.Version() == 7 && !read.CreatedAt.IsZero() && read.CreatedAt.Equal(read.UpdatedAt), "id %s, created %s", read.ID, read.CreatedAt)
	plain := w.put(c.ID, memory.Note{Content: "x", Attributes: map[string]any{}, Tags: []string{}})
	read, _ = w.get(w.view(c.ID), plain.ID)
	w.assertf(reflect.DeepEqual(plain, read), "returned and read differ:\n%+v\n%+v", plain, read)
	w.assertf(plain.Kind == memory.KindNote && plain.State == memory.StateRaw && plain.OccurredAt.IsZero() && plain.Embedder == "", "defaults: %+v", plain)
}

func noteTexts(t *testing.T, w *world) {
	c := w.collection("c")
	for _, s := range []string{
		"", "naïve", "nai\u0308ve", "日本語 かな", "👩‍👩‍👧‍👦", "\u202Eevil", "'; DROP TABLE notes; --", "%_\\\"", "\ufeffbom", "\u2028\u0085",
		strings.Repeat("x", memory.MaxContentBytes), strings.Repeat("語", memory.MaxContentBytes/3),
	} {
		n := w.put(c.ID, memory.Note{Content: s, Context: s, Category: s, Tags: []string{s}, Keywords: []string{s, "k"}, Attributes: map[string]any{"v": s}})
		got, ok := w.get(w.view(c.ID), n.ID)
		if !ok || got.Content != s || got.Context != s || got.Category != s || got.Tags[0] != s || got.Keywords[0] != s || got.Attributes["v"] != s {
			t.Errorf("%.20q is not read as it was written: %.20q", s, got.Content)
		}
	}
}

func refusedNotes(_ *testing.T, w *world) {
	c := w.collection("c")
	for field, n := range map[string]memory.Note{
		"content":    {Content: "a\xff"},
		"tags":       {Tags: []string{"\xc3"}},
		"importance": {Importance: math.NaN()},
		"attributes": {Attributes: map[string]any{"x": math.Inf(1)}},
		"vector":     {Vector: []float32{1, 2}},
		"tokens":     {Vector: make([]float32, dim), Tokens: tokens(1, 1)[1:]},
	} {
		_, err := w.tryWrite(c.ID, func(tx memory.Tx) error { return errOf(tx.Put(w.ctx, n)) })
		w.wantInvalid(err, field)
	}
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(-1)), 1e6} {
		_, err := w.tryWrite(c.ID, func(tx memory.Tx) error { return errOf(tx.Put(w.ctx, memory.Note{Vector: []float32{0, x, 0, 0}})) })
		w.wantInvalid(err, "vector")
	}
	w.assertf(w.head(c.ID) == 0, "a refused note moved the head")
}

func letterCase(_ *testing.T, w *world) {
	a, b := w.collection("case"), w.collection("Case")
	w.assertf(must(w.ResolveCollection(w.ctx, w.all, "Case"))(w.t).ID == b.ID, "names differ by letter case")
	lower := w.put(a.ID, memory.Note{Content: "lower", Key: "key", Tags: []string{"tag"}})
	upper := w.put(a.ID, memory.Note{Content: "upper", Key: "KEY", Tags: []string{"Tag"}})
	v := w.view(a.ID)
	w.assertf(must(w.NoteByKey(w.ctx, w.all, v, memory.KindNote, "key"))(w.t).ID == lower.ID, "keys differ by letter case")
	w.assertf(must(w.NoteByKey(w.ctx, w.all, v, memory.KindNote, "KEY"))(w.t).ID == upper.ID, "keys differ by letter case")
	w.wantFault(errOf(w.NoteByKey(w.ctx, w.all, v, memory.KindNote, "Key")), fault.NotFound)
	w.assertf(w.matching(v, `{"field":"tags","op":"contains","value":"Tag"}`) == "upper", "tags differ by letter case")
	w.noError(errOf(w.EnsureAgent(w.ctx, w.all, "Alice")))
	w.assertf(must(w.AgentByRef(w.ctx, w.all, "Alice"))(w.t).ID != w.alice.ID, "agents differ by letter case")
	l := memory.LinkID{Source: lower.ID, Target: upper.ID}
	w.write(a.ID, func(tx memory.Tx) error {
		for _, r := range []string{"Knows", "knows"} {
			l.Relation = r
			if changed, err := tx.Link(w.ctx, memory.Link{LinkID: l}); err != nil || !changed {
				w.t.Errorf("relation %s: %v, %v", r, changed, err)
			}
		}
		return nil
	})
	w.assertf(len(w.links(w.view(a.ID), lower.ID)) == 2, "relations differ by letter case")
}

func noteTimes(_ *testing.T, w *world) {
	c := w.collection("c")
	zone := time.FixedZone("x", 5*3600+1800)
	at := time.Date(2024, 2, 29, 23, 59, 59, 999_999_999, zone)
	n := w.put(c.ID, memory.Note{OccurredAt: at, CreatedAt: at})
	want := at.UTC().Truncate(time.Microsecond)
	got, _ := w.get(w.view(c.ID), n.ID)
	for _, have := range []time.Time{n.OccurredAt, n.CreatedAt, got.OccurredAt, got.CreatedAt} {
		w.assertf(have.Equal(want), "got %s, want %s in UTC and microseconds", have, want)
	}
	w.assertf(got.UpdatedAt.Nanosecond()%1000 == 0 && got.UpdatedAt.Location() == time.UTC, "updated at %s", got.UpdatedAt)
	for _, read := range []memory.Note{n, got} {
		_, offset := read.OccurredAt.Zone()
		w.assertf(offset == 5*3600+1800 && memory.Day(read.OccurredAt) == "2024-02-29", "the offset of an event is kept: %s", read.OccurredAt)
		w.assertf(read.CreatedAt.Location() == time.UTC, "created at %s", read.CreatedAt)
	}
	history := must(w.History(w.ctx, w.all, w.view(c.ID), n.ID, 0, 1))(w.t)
	w.assertf(memory.Day(history[0].Note.OccurredAt) == "2024-02-29", "history: %s", history[0].Note.OccurredAt)
	epoch := w.put(c.ID, memory.Note{OccurredAt: time.Unix(0, 0)})
	got, _ = w.get(w.view(c.ID), epoch.ID)
	w.assertf(!got.OccurredAt.IsZero() && got.OccurredAt.Unix() == 0, "1970 is not the zero time: %s", got.OccurredAt)
	again := w.put(c.ID, memory.Note{ID: n.ID, Content: "again"})
	w.assertf(again.CreatedAt.Equal(want) && again.UpdatedAt.After(got.CreatedAt), "a new version keeps the creation time: %+v", again)
	var first, last time.Time
	w.write(c.ID, func(tx memory.Tx) error {
		first = tx.Now()
		w.clock.Advance(time.Second)
		last = tx.Now()
		return nil
	})
	w.assertf(first.Equal(last) && first.Nanosecond()%1000 == 0, "a transaction has one time: %s, %s", first, last)
}

func noteVectors(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.put(c.ID, memory.Note{Content: "x", Vector: []float32{0.1, 1.0 / 3, 1, 1e-8}, Tokens: tokens(256, 3)})
	w.assertf(slices.Equal(n.Vector, []float32{102. / 1024, 341. / 1024, 1, 0}), "rounded to 12 bits: %v", n.Vector)
	v := w.view(c.ID)
	got, _ := w.get(v, n.ID)
	w.assertf(slices.Equal(got.Vector, n.Vector) && bytes.Equal(got.Tokens, tokens(256, 3)) && got.Embedder == embedder, "read %v, stored %v", got.Vector, n.Vector)
	bare := must(w.Notes(w.ctx, w.all, v, []uuid.UUID{n.ID}, memory.ReadOptions{}))(w.t)[0]
	w.assertf(bare.Vector == nil && bare.Tokens == nil && bare.Embedder == embedder, "a vector that was not requested: %+v", bare)
	same := w.put(c.ID, got)
	w.assertf(slices.Equal(same.Vector, n.Vector) && bytes.Equal(same.Tokens, n.Tokens), "rounding again changes nothing")
	next := w.put(c.ID, memory.Note{ID: n.ID, Content: "y", Tokens: tokens(1, 1)}) // tokens without a vector are dropped
	got, _ = w.get(w.view(c.ID), next.ID)
	w.assertf(next.Tokens == nil && got.Vector == nil && got.Tokens == nil && got.Embedder == "", "a new version has the vector of the old one: %+v", got)
	got, _ = w.get(w.viewAt(c.ID, 1), n.ID)
	w.assertf(slices.Equal(got.Vector, n.Vector) && bytes.Equal(got.Tokens, n.Tokens), "the old version has its vector")
	_, err := w.tryWrite(c.ID, func(tx memory.Tx) error {
		return errOf(tx.Put(w.ctx, memory.Note{Vector: n.Vector, Tokens: tokens(257, 0)}))
	})
	w.wantInvalid(err, "tokens")
}

// tokens returns n token vectors.
func tokens(n, seed int) []byte {
	out := make([]byte, n*memory.TokenDim)
	for i := range out {
		out[i] = byte(i*7 + seed) //nolint:gosec // any byte
	}
	return out
}

func naturalKeys(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Key: "k", Content: "a"})
	w.put(c.ID, memory.Note{Key: "k", Kind: memory.KindFact, Content: "another kind"})
	second := func(id uuid.UUID) error {
		_, err := w.tryWrite(id, func(tx memory.Tx) error { _, err := tx.Put(w.ctx, memory.Note{Key: "k", Content: "b"}); return err })
		return err
	}
	w.wantFault(second(c.ID), fault.Exists)
	w.put(c.ID, memory.Note{ID: a.ID, Key: "k", Content: "a2"})
	w.write(c.ID, func(tx memory.Tx) error {
		_, err := tx.Put(w.ctx, memory.Note{Key: "k2", Content: "x"})
		w.noError(err)
		_, err = tx.Put(w.ctx, memory.Note{Key: "k2", Content: "y"})
		w.wantFault(err, fault.Exists) // keys are unique within a changeset
		_, err = tx.Put(w.ctx, memory.Note{ID: a.ID, Key: "k2", Content: "z"})
		w.wantFault(err, fault.Exists) // also when the key of a note is changed
		return nil
	})
	f := w.mustFork(c.ID, -1, "f")
	w.wantFault(second(f.ID), fault.Exists) // the fork inherits the key of the base
	w.delete(f.ID, a.ID)
	w.noError(second(f.ID))
	w.wantFault(second(c.ID), fault.Exists)
	w.assertf(must(w.NoteByKey(w.ctx, w.all, w.view(f.ID), memory.KindNote, "k"))(w.t).Content == "b", "the fork has its own note")
	w.assertf(must(w.NoteByKey(w.ctx, w.all, w.view(c.ID), memory.KindNote, "k"))(w.t).Content == "a2", "the base is unchanged")
	// A version without the key in a fork hides the base's version with the key.
	g := w.mustFork(c.ID, -1, "g")
	w.put(g.ID, memory.Note{ID: a.ID, Content: "no key"})
	w.wantFault(func() error { _, err := w.NoteByKey(w.ctx, w.all, w.view(g.ID), memory.KindNote, "k"); return err }(), fault.NotFound)
	w.noError(second(g.ID))
	w.assertf(must(w.NoteByKey(w.ctx, w.all, w.viewAt(c.ID, 1), memory.KindNote, "k"))(w.t).Content == "a", "a view of the past finds keys")
}

// duplicateNotes: a visible note with the same bytes, kind, speaker, session and day is found, the oldest of several.
func duplicateNotes(t *testing.T, w *world) {
	c := w.collection("c")
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	said := func(change ...func(*memory.Note)) memory.Note {
		n := memory.Note{
			Kind: memory.KindMessage, Content: "Yes, naïve", OccurredAt: at,
			Attributes: map[string]any{memory.AttrRole: "user", memory.AttrName: "Ann", memory.AttrSession: 7.0, "turn": "x"},
		}
		for _, f := range change {
			f(&n)
		}
		return n
	}
	with := func(key string, value any) func(*memory.Note) {
		return func(n *memory.Note) { n.Attributes[key] = value }
	}
	find := func(id uuid.UUID, asked ...memory.Note) (out []memory.Note) {
		w.write(id, func(tx memory.Tx) error {
			var err error
			out, err = tx.Duplicates(w.ctx, asked)
			w.noError(err)
			return nil
		})
		return out
	}
	a := w.put(c.ID, said())
	w.put(c.ID, said())
	later := said(with("turn", "y"), with(memory.AttrSession, 7), func(n *memory.Note) { n.OccurredAt = at.Add(14 * time.Hour) })
	asked := []memory.Note{
		later,
		said(with(memory.AttrName, "Bob")), said(with(memory.AttrRole, "assistant")), said(with(memory.AttrSession, "7")), said(with("speaker", "Ann")),
		said(func(n *memory.Note) { n.Kind = memory.KindNote }), said(func(n *memory.Note) { n.Content = "Yes, nai\u0308ve" }),
		said(func(n *memory.Note) { n.OccurredAt = at.Add(15 * time.Hour) }), said(func(n *memory.Note) { n.Attributes = nil }),
	}
	for i, got := range find(c.ID, asked...) {
		if want := i == 0; (got.ID == a.ID) != want || (got.ID == uuid.Nil) == want {
			t.Errorf("%d: found %v", i, got)
		}
	}
	w.assertf(len(find(c.ID)) == 0, "nothing was asked for")
	b := w.put(c.ID, later)
	list := func(v memory.View, asked ...memory.Note) (out []uuid.UUID) {
		q := memory.NoteQuery{Digests: []int64{}}
		for i := range asked {
			q.Digests = append(q.Digests, memory.DigestOf(&asked[i]))
		}
		for _, n := range must(w.ListNotes(w.ctx, w.all, v, q))(w.t) {
			out = append(out, n.ID)
		}
		return out
	}
	all := list(w.view(c.ID), asked...)
	w.assertf(len(all) == 3 && all[0] == a.ID && all[2] == b.ID, "all with the digest: %v", all)
	w.assertf(len(list(w.view(c.ID))) == 0, "none of the digests")
	w.delete(c.ID, b.ID)
	// C304: two images that are described alike are two notes, and one of them is found again.
	image := func(url string) memory.Note {
		return memory.Note{Kind: memory.KindNote, Content: "image", OccurredAt: at, Attributes: map[string]any{memory.AttrItem: map[string]any{"type": "image", "url": url}}}
	}
	first := w.put(c.ID, image("https://example.org/1.png"))
	same := find(c.ID, image("https://example.org/1.png"), image("https://example.org/2.png"))
	w.assertf(same[0].ID == first.ID && same[1].ID == uuid.Nil, "found %v and %v", same[0].ID, same[1].ID)
	w.write(c.ID, func(tx memory.Tx) error { // what the closure itself wrote is found, too
		n, err := tx.Put(w.ctx, memory.Note{Content: "new", OccurredAt: at})
		w.noError(err)
		got, err := tx.Duplicates(w.ctx, []memory.Note{{Kind: memory.KindNote, Content: "new", OccurredAt: at}})
		w.noError(err)
		w.assertf(got[0].ID == n.ID, "found %v", got)
		return nil
	})
	f := w.mustFork(c.ID, -1, "f")
	w.assertf(find(f.ID, said())[0].ID == a.ID, "a fork finds the base's")
	w.put(f.ID, memory.Note{ID: a.ID, Kind: memory.KindMessage, Content: "changed", OccurredAt: at})
	w.assertf(find(f.ID, said())[0].ID != a.ID && find(f.ID, said())[0].ID != uuid.Nil, "a version of the fork hides the base's")
	w.assertf(find(c.ID, said())[0].ID == a.ID, "the base is unchanged")
	w.assertf(len(list(w.view(f.ID), said())) == 1 && len(list(w.view(c.ID), said())) == 2, "the lists of a fork and its base")
	w.delete(c.ID, a.ID)
	w.assertf(find(c.ID, said())[0].ID != a.ID, "a deleted note is found")
	other := w.collection("other")
	w.assertf(find(other.ID, said())[0].ID == uuid.Nil, "another collection's note is found")
	cp := w.copyOf(w.view(f.ID), "cp", 10).ID
	w.assertf(find(cp, memory.Note{Kind: memory.KindMessage, Content: "changed", OccurredAt: at})[0].ID == a.ID, "a copy finds its notes")
}

// foreseenNotes: a put does the same whether its note was foreseen or not: a new one, one of a base, a second put in the same
// transaction, one after a deletion.
func foreseenNotes(_ *testing.T, w *world) {
	base := w.collection("c")
	kept, deleted := w.add(base.ID, "kept"), w.add(base.ID, "deleted")
	f := w.mustFork(base.ID, -1, "f")
	fresh, made := uuid.New(), uuid.New()
	w.write(f.ID, func(tx memory.Tx) error {
		tx.Fresh(made)
		w.noError(tx.Foresee(w.ctx, []uuid.UUID{kept.ID, deleted.ID, fresh}))
		for _, n := range []memory.Note{
			{ID: kept.ID, Content: "kept 2"}, {ID: fresh, Content: "fresh"}, {ID: fresh, Content: "fresh 2"}, {ID: made, Content: "made"}, {ID: made, Content: "made 2"},
		} {
			must(tx.Put(w.ctx, n))(w.t)
		}
		w.noError(tx.Delete(w.ctx, deleted.ID))
		w.wantFault(tx.Delete(w.ctx, deleted.ID), fault.NotFound)
		return nil
	})
	v := w.view(f.ID)
	for id, want := range map[uuid.UUID]string{kept.ID: "kept 2", fresh: "fresh 2", made: "made 2"} {
		n, ok := w.get(v, id)
		w.assertf(ok && n.Content == want && n.Layer == f.ID, "note %+v, want %s", n, want)
	}
	_, ok := w.get(v, deleted.ID)
	w.assertf(!ok, "a deleted note is visible")
	n, ok := w.get(w.view(base.ID), kept.ID)
	w.assertf(ok && n.Content == "kept" && n.CreatedAt.Equal(kept.CreatedAt), "the base has %+v", n)
}

func noteHistory(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "one")
	w.put(c.ID, memory.Note{ID: n.ID, Content: "two"})
	f := w.mustFork(c.ID, -1, "f")
	w.put(c.ID, memory.Note{ID: n.ID, Content: "base only"})
	trigger := uuid.New()
	_, err := w.Write(w.ctx, w.aliceS, f.ID, memory.WriteOptions{Cause: memory.CauseEvolve, Trigger: trigger, Undoes: 1}, func(_ context.Context, tx memory.Tx) error {
		_, err := tx.Put(w.ctx, memory.Note{ID: n.ID, Content: "three"})
		return err
	})
	w.noError(err)
	w.delete(f.ID, n.ID)
	h := must(w.History(w.ctx, w.all, w.view(f.ID), n.ID, 0, 0))(w.t)
	var got strings.Builder
	for _, e := range h {
		w.assertf(e.Changeset.Revision == e.Note.From && e.Changeset.Collection == e.Note.Layer && e.Changeset.At.Equal(e.Note.UpdatedAt), "entry %+v", e)
		if e.Note.Deleted {
			got.WriteString("deleted ")
		} else {
			got.WriteString(e.Note.Content + " ")
		}
	}
	w.assertf(got.String() == "deleted three two one ", "history: %s", got.String())
	w.assertf(h[1].Changeset.Cause == memory.CauseEvolve && h[1].Changeset.Trigger == trigger && h[1].Changeset.Undoes == 1 && h[1].Changeset.Actor == "alice's key", "changeset %+v", h[1].Changeset)
	page := must(w.History(w.ctx, w.all, w.view(f.ID), n.ID, h[0].Note.From, 2))(w.t)
	w.assertf(len(page) == 2 && page[0].Note.Content == "three" && page[1].Note.Content == "two", "second page: %+v", page)
	page = must(w.History(w.ctx, w.all, w.view(f.ID), n.ID, 1, 2))(w.t)
	w.assertf(len(page) == 0, "page beyond the end: %+v", page)
	w.assertf(len(must(w.History(w.ctx, w.all, w.viewAt(f.ID, 1), n.ID, 0, 0))(w.t)) == 1, "history as of 1")
	w.wantFault(func() error { _, err := w.History(w.ctx, w.all, w.view(f.ID), uuid.New(), 0, 0); return err }(), fault.NotFound)
	cs := must(w.Changesets(w.ctx, w.all, w.view(f.ID), 2, 1))(w.t)
	w.assertf(len(cs) == 1 && cs[0].Revision == 3 && cs[0].Collection == f.ID, "changesets of the fork's own log: %+v", cs)
	at := cs[0].At
	count := func(v memory.View, cause memory.Cause, from, to time.Time) int64 {
		days := must(w.CountChangesets(w.ctx, w.all, v, cause, from, to))(w.t)
		w.assertf(len(days) <= 1 && days[at.UTC().Format(time.DateOnly)] == int64(len(days)), "by day: %v", days)
		return days[at.UTC().Format(time.DateOnly)]
	}
	w.assertf(count(w.view(f.ID), memory.CauseEvolve, at, at.Add(time.Microsecond)) == 1 && count(w.view(f.ID), memory.CauseEvolve, time.Time{}, at) == 0, "the start of the interval is included, the end is not")
	w.assertf(count(w.viewAt(f.ID, 2), memory.CauseEvolve, time.Time{}, at.Add(time.Hour)) == 0, "a changeset after the view is counted")
	w.assertf(count(w.view(f.ID), memory.CauseRestore, time.Time{}, at.Add(time.Hour)) == 0, "a changeset with another cause is counted")
}

// restoreVersion: writing an old version again restores the note as a new version.
func restoreVersion(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.put(c.ID, memory.Note{Content: "old", Tags: []string{"t"}, Vector: []float32{1, 0, 0, 0}, Tokens: tokens(1, 2)})
	other := w.add(c.ID, "other")
	w.link(c.ID, n.ID, other.ID)
	w.delete(c.ID, n.ID)
	w.assertf(len(w.links(w.view(c.ID), other.ID)) == 0, "a link to a deleted note is visible")
	past, ok := w.get(w.viewAt(c.ID, n.From), n.ID)
	w.assertf(ok, "the past shows the note")
	back := w.put(c.ID, past)
	got, _ := w.get(w.view(c.ID), n.ID)
	w.assertf(got.Content == "old" && got.CreatedAt.Equal(n.CreatedAt) && slices.Equal(got.Vector, n.Vector) && bytes.Equal(got.Tokens, n.Tokens) && back.From == w.head(c.ID), "restored %+v", got)
	w.assertf(len(w.links(w.view(c.ID), other.ID)) == 1, "the link is visible again with its endpoints")
	w.assertf(got.Version() != n.Version(), "a restored note has a new version")
}

func asOf(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.add(c.ID, "a1")                            // 1
	b := w.add(c.ID, "b1")                            // 2
	w.link(c.ID, a.ID, b.ID)                          // 3
	w.put(c.ID, memory.Note{ID: a.ID, Content: "a2"}) // 4
	w.write(c.ID, func(tx memory.Tx) error {          // 5
		_, err := tx.Unlink(w.ctx, memory.LinkID{Source: a.ID, Target: b.ID, Relation: memory.RelatedTo})
		return err
	})
	w.delete(c.ID, b.ID) // 6
	for at, want := range map[memory.Revision][]string{0: {}, 1: {"a1"}, 2: {"a1", "b1"}, 3: {"a1", "b1"}, 4: {"a2", "b1"}, 5: {"a2", "b1"}, 6: {"a2"}} {
		v := w.viewAt(c.ID, at)
		w.assertf(slices.Equal(w.contents(v), want), "at %d: %v, want %v", at, w.contents(v), want)
		links := 0
		if at == 3 || at == 4 {
			links = 1
		}
		w.assertf(len(w.links(v, a.ID)) == links && len(w.links(v, b.ID)) == links, "links at %d", at)
		n := must(w.Counts(w.ctx, w.all, v))(w.t)
		w.assertf(n.Notes == int64(len(want)) && n.Links == int64(links), "counts at %d: %+v", at, n)
	}
	for _, at := range []memory.Revision{7, -1} {
		_, err := w.OpenView(w.ctx, w.all, "c", memory.At{AsOf: &at})
		w.wantInvalid(err, "as_of")
	}
	old := w.view(c.ID)
	w.add(c.ID, "later")
	w.assertf(slices.Equal(w.contents(old), []string{"a2"}), "a write does not change an open view")
}

func noteCounts(_ *testing.T, w *world) {
	c := w.collection("c")
	w.put(c.ID, memory.Note{Content: "12345", Vector: make([]float32, dim), Tokens: tokens(2, 1)})
	w.put(c.ID, memory.Note{Kind: memory.KindFact, State: memory.StatePending, Vector: make([]float32, dim)})
	w.put(c.ID, memory.Note{Kind: memory.KindFact, State: memory.StateInReview, Vector: make([]float32, dim)})
	noVector := w.put(c.ID, memory.Note{State: memory.StateEvolved})
	f := w.mustFork(c.ID, -1, "f")
	for _, id := range []uuid.UUID{c.ID, f.ID} {
		n := must(w.Counts(w.ctx, w.all, w.view(id)))(w.t)
		w.assertf(n.Notes == 4 && n.Pending == 2 && n.InReview == 1 && n.Kinds[memory.KindNote] == 2 && n.Kinds[memory.KindFact] == 2 && n.Bytes >= 5+3*2*dim+2*memory.TokenDim, "counts %+v", n)
	}
	w.put(f.ID, memory.Note{ID: noVector.ID, Vector: make([]float32, dim)})
	w.assertf(must(w.Counts(w.ctx, w.all, w.view(f.ID)))(w.t).Pending == 1, "a note with a vector is not pending")
	w.assertf(must(w.Counts(w.ctx, w.all, w.view(c.ID)))(w.t).Pending == 2, "the note is still pending in the base")
	past := w.mustFork(c.ID, 1, "past")
	w.assertf(must(w.Counts(w.ctx, w.all, w.view(past.ID)))(w.t).Notes == 1, "a fork of the past counts its visible notes")
	u := must(w.TenantUsage(w.ctx, w.all))(w.t)
	w.assertf(u.Notes == 5 && u.Collections == 3 && u.Forks == 2 && u.StoredBytes > 0, "usage %+v", u)
}

func logOfLayer(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "a", Vector: []float32{1, 0, 0, 0}, Tokens: tokens(3, 9)})
	w.add(c.ID, "b")
	f := w.mustFork(c.ID, -1, "f")
	w.put(c.ID, memory.Note{ID: a.ID, Content: "a2"})
	w.delete(c.ID, a.ID)
	read := func(v memory.View, layer int, after memory.Revision) (rows []memory.LogRow, to memory.Revision) {
		to, err := w.Log(w.ctx, w.all, v, layer, after, embedder, func(r memory.LogRow) error { rows = append(rows, r); return nil })
		w.noError(err)
		return rows, to
	}
	rows, to := read(w.view(f.ID), 1, 0)
	w.assertf(to == 4 && len(rows) == 4, "the base's layer is read up to its head: %d, %+v", to, rows)
	w.assertf(rows[0].Note.ID == a.ID && rows[0].To == 3 && len(rows[0].Note.Vector) == dim && bytes.Equal(rows[0].Note.Tokens, a.Tokens) && rows[1].Note.Tokens == nil && rows[1].To == 0 && rows[2].To == 4 && rows[3].Note.Deleted, "rows %+v", rows)
	rows, to = read(w.view(f.ID), 1, 2)
	w.assertf(to == 4 && len(rows) == 3 && rows[0].Note.From == 1 && rows[0].To == 3 && rows[1].Note.From == 3, "rows that began or ended after 2: %+v", rows)
	rows, to = read(w.view(f.ID), 0, 2)
	w.assertf(to == 2 && len(rows) == 0, "the fork's own layer is empty: %d, %+v", to, rows)
	rows, _ = read(w.view(c.ID), 0, 4)
	w.assertf(len(rows) == 0, "nothing after the head: %+v", rows)
	begun := func(v memory.View, after memory.Revision, kinds ...memory.Kind) (out []memory.Revision) {
		w.noError(w.LogBegun(w.ctx, w.all, v, after, kinds, embedder, func(r memory.LogRow) error {
			out = append(out, r.Note.From)
			w.assertf(len(r.Note.Vector) == dim || r.Note.From > 1, "the vector of %+v", r.Note)
			return nil
		}))
		return out
	}
	past := memory.Revision(3)
	early := must(w.OpenView(w.ctx, w.all, "c", memory.At{AsOf: &past}))(w.t)
	for _, c := range []struct{ got, want []memory.Revision }{
		{begun(w.view(c.ID), 0), []memory.Revision{1, 2, 3, 4}}, {begun(w.view(c.ID), 2), []memory.Revision{3, 4}}, {begun(w.view(c.ID), 4), nil},
		{begun(early, 1), []memory.Revision{2, 3}}, {begun(w.view(f.ID), 2), nil},
		{begun(w.view(c.ID), 2, memory.KindSession, a.Kind), []memory.Revision{3, 4}}, {begun(w.view(c.ID), 0, memory.KindSession), nil},
	} {
		w.assertf(slices.Equal(c.got, c.want), "what began is at %v, not at %v", c.got, c.want)
	}
	stop := fault.New(fault.Timeout, "enough")
	w.wantFault(w.LogBegun(w.ctx, w.all, w.view(c.ID), 0, nil, embedder, func(memory.LogRow) error { return stop }), fault.Timeout)
	_, err := w.Log(w.ctx, w.all, w.view(c.ID), 0, 0, embedder, func(memory.LogRow) error { return stop })
	w.wantFault(err, fault.Timeout)
}

// A log that is read in several parts has every version once, in order; a caller that fails in the midst of it is
// told its own error.
func longLog(_ *testing.T, w *world) {
	c := w.collection("c")
	const many, changed, single = 1200, 1100, 270
	ids := make([]uuid.UUID, many) // nil: new notes
	put := func(n int) {
		w.write(c.ID, func(tx memory.Tx) error {
			for i := range n {
				n, err := tx.Put(w.ctx, memory.Note{ID: ids[i], Content: "a"})
				if err != nil {
					return err
				}
				ids[i] = n.ID
			}
			return nil
		})
	}
	put(many)
	put(changed)
	for i := range single {
		w.put(c.ID, memory.Note{ID: ids[i], Content: "b"})
	}
	read := func(after memory.Revision) (ended, began int) {
		last := memory.LogRow{Note: memory.Note{From: -1}}
		seen := map[memory.Version]bool{}
		_, err := w.Log(w.ctx, w.all, w.view(c.ID), 0, after, "", func(r memory.LogRow) error {
			if n := &r.Note; n.From < last.Note.From || n.From == last.Note.From && bytes.Compare(n.ID[:], last.Note.ID[:]) <= 0 || seen[n.Version()] {
				w.t.Fatalf("version %d of %s follows %d of %s", n.From, n.ID, last.Note.From, last.Note.ID)
			}
			last, seen[r.Note.Version()] = r, true
			if r.Note.From <= after {
				ended++
			} else {
				began++
			}
			return nil
		})
		w.noError(err)
		return ended, began
	}
	for after, want := range map[memory.Revision][2]int{0: {0, many + changed + single}, 1: {changed, changed + single}, 2: {single, single}, 12: {single - 10, single - 10}} {
		ended, began := read(after)
		w.assertf([2]int{ended, began} == want, "after %d: %d versions ended and %d began, want %v", after, ended, began, want)
	}
	stop, n := fault.New(fault.Timeout, "enough"), 0
	_, err := w.Log(w.ctx, w.all, w.view(c.ID), 0, 0, "", func(memory.LogRow) error {
		if n++; n == 10 {
			return stop
		}
		return nil
	})
	w.assertf(n == 10, "%d rows after an error", n)
	w.wantFault(err, fault.Timeout)
	ctx, cancel := context.WithCancel(w.ctx)
	_, err = w.Log(ctx, w.all, w.view(c.ID), 0, 0, "", func(memory.LogRow) error { cancel(); return nil })
	w.assertf(err != nil, "a log that is given up in its first part has no error")
}

func noteUsage(_ *testing.T, w *world) {
	c := w.collection("c")
	a, b := w.add(c.ID, "a"), w.add(c.ID, "b")
	at := time.Date(2026, 11, 21, 13, 0, 0, 1500, time.UTC)
	use := func(id uuid.UUID, deltas ...memory.UsageDelta) {
		w.noError(w.AddUsage(w.ctx, w.all, w.view(id), deltas))
	}
	of := func(id uuid.UUID) map[uuid.UUID]memory.Usage {
		return must(w.Usage(w.ctx, w.all, w.view(id), []uuid.UUID{a.ID, b.ID}))(w.t)
	}
	use(c.ID, memory.UsageDelta{Note: a.ID, Accesses: 2, LastAccess: at}, memory.UsageDelta{Note: uuid.New(), Accesses: 1})
	u := of(c.ID)
	w.assertf(len(u) == 1 && u[a.ID] == memory.Usage{AccessCount: 2, LastAccess: at.Truncate(time.Microsecond), Strength: 1}, "usage %+v", u)
	f := w.mustFork(c.ID, -1, "f")
	use(c.ID, memory.UsageDelta{Note: a.ID, Accesses: 1, LastAccess: at.Add(-time.Hour)})
	w.assertf(of(f.ID)[a.ID].AccessCount == 3, "a note without usage in the fork has the parent's usage")
	use(f.ID, memory.UsageDelta{Note: a.ID, Accesses: 5, LastAccess: at.Add(time.Hour)}, memory.UsageDelta{Note: b.ID, Accesses: 1})
	w.assertf(of(f.ID)[a.ID].AccessCount == 8 && of(f.ID)[b.ID].AccessCount == 1, "copied up: %+v", of(f.ID))
	w.assertf(of(c.ID)[a.ID].AccessCount == 3 && of(c.ID)[a.ID].LastAccess.Equal(at.Truncate(time.Microsecond)) && len(of(c.ID)) == 1, "usage in a fork does not change the base: %+v", of(c.ID))
	head := w.head(f.ID)
	w.assertf(head == 2, "usage does not move the head")
	w.write(f.ID, func(tx memory.Tx) error {
		return tx.SetUsage(w.ctx, b.ID, memory.Usage{AccessCount: 9, Strength: 2, Heat: 0.5})
	})
	w.assertf(of(f.ID)[b.ID] == memory.Usage{AccessCount: 9, Strength: 2, Heat: 0.5}, "usage set: %+v", of(f.ID))
	w.delete(f.ID, a.ID)
	w.assertf(len(of(f.ID)) == 1, "a deleted note has no usage: %+v", of(f.ID))
}
