package storetest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func listCases() []testCase {
	return []testCase{
		{"Sources", listDerived},
		{"Pages", notePages},
		{"PagesOfVersions", pagesOfVersions},
		{"Filters", noteFilters},
		{"Collections", listCollections},
		{"ByTime", notesByTime},
		{"OfSession", notesOfSession},
		{"ByRevision", notesByRevision},
		{"OfOneKindInOrder", notesOfOneKindInOrder},
		{"CollectionOrders", collectionOrders},
		{"CollectionWords", collectionWords},
	}
}

// matching returns the contents of the notes that match a filter, in order.
func (w *world) matching(v memory.View, text string) string {
	w.t.Helper()
	e := must(filter.Parse([]byte(text)))(w.t)
	var out []string
	for _, n := range must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Filter: e, Limit: 100}))(w.t) {
		out = append(out, n.Content)
	}
	return strings.Join(out, " ")
}

func notePages(_ *testing.T, w *world) {
	c := w.collection("c")
	var all []uuid.UUID
	for i := range 25 {
		kind := memory.KindNote
		if i%5 == 0 {
			kind = memory.KindFact
		}
		key := ""
		if i%2 == 0 {
			key = fmt.Sprint("key", i)
		}
		all = append(all, w.put(c.ID, memory.Note{Content: fmt.Sprint(i), Key: key, Kind: kind, State: memory.StateEvolved}).ID)
	}
	w.assertf(slices.IsSortedFunc(all, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) }), "ids are allocated in increasing order")
	v := w.view(c.ID)
	walk := func(q memory.NoteQuery) (got []uuid.UUID) {
		for {
			page := must(w.ListNotes(w.ctx, w.all, v, q))(w.t)
			for _, n := range page {
				got = append(got, n.ID)
			}
			if len(page) < q.Limit {
				return got
			}
			q.After = page[len(page)-1].ID
			if len(got) > 2*len(all) {
				w.t.Fatalf("paging over %d notes does not end", len(all))
			}
			w.add(c.ID, "written meanwhile") // does not change the view
		}
	}
	w.assertf(slices.Equal(walk(memory.NoteQuery{Limit: 4}), all), "pages of 4")
	w.assertf(slices.Equal(walk(memory.NoteQuery{Limit: 5}), all), "pages of 5")
	back := slices.Clone(all)
	slices.Reverse(back)
	w.assertf(slices.Equal(walk(memory.NoteQuery{Limit: 7, Newest: true}), back), "newest first")
	w.assertf(len(walk(memory.NoteQuery{Limit: 2, Kinds: []memory.Kind{memory.KindFact, memory.KindBlock}})) == 5, "by kind")
	w.assertf(len(walk(memory.NoteQuery{Limit: 2, Keyed: true})) == 13, "with a key")
	facts := []memory.Kind{memory.KindFact}
	w.assertf(slices.Equal(walk(memory.NoteQuery{Limit: 2, Kinds: facts, Keyed: true}), []uuid.UUID{all[0], all[10], all[20]}), "facts with a key")
	w.assertf(slices.Equal(walk(memory.NoteQuery{Limit: 2, Kinds: facts, Keyed: true, Newest: true}), []uuid.UUID{all[20], all[10], all[0]}), "newest facts with a key")
	w.assertf(len(walk(memory.NoteQuery{Limit: 2, States: []memory.State{memory.StateRaw}})) == 0, "by state")
}

// pagesOfVersions: pages in the order of ids have each visible note once, in its newest version, however many versions there are of it and
// of those between: at the head, in the past, and in forks that have changed, deleted and added notes.
func pagesOfVersions(_ *testing.T, w *world) {
	base := w.collection("c")
	var notes []memory.Note
	change := func(c uuid.UUID, i, times int) {
		w.write(c, func(tx memory.Tx) error {
			for range times {
				notes[i].Content += "."
				if _, err := tx.Put(w.ctx, notes[i]); err != nil {
					return err
				}
				if err := tx.EndChangeset(w.ctx, memory.CausePatch, uuid.Nil, notes[i].ID); err != nil {
					return err
				}
			}
			return nil
		})
	}
	remove := func(c uuid.UUID, i int) {
		w.write(c, func(tx memory.Tx) error { return tx.Delete(w.ctx, notes[i].ID) })
	}
	add := func(c uuid.UUID, n int) {
		for range n {
			kind := []memory.Kind{memory.KindNote, memory.KindProfile}[len(notes)%2]
			notes = append(notes, w.put(c, memory.Note{Content: fmt.Sprint(len(notes)), Kind: kind, State: memory.StateEvolved}))
		}
	}
	add(base.ID, 30)
	for _, x := range [][2]int{{0, 40}, {1, 60}, {2, 3}, {7, 30}, {8, 1}, {9, 100}, {28, 40}, {29, 50}} {
		change(base.ID, x[0], x[1])
	}
	past := w.view(base.ID).At
	for _, i := range []int{1, 8, 29} {
		remove(base.ID, i)
	}
	change(base.ID, 29, 30) // it is there again
	change(base.ID, 4, 50)
	add(base.ID, 2)
	fork := w.mustFork(base.ID, -1, "f")
	change(base.ID, 3, 40) // after the fork
	change(fork.ID, 0, 40)
	change(fork.ID, 5, 2)
	remove(fork.ID, 7)
	add(fork.ID, 4)
	change(fork.ID, len(notes)-1, 30)
	deep := w.mustFork(fork.ID, -1, "d")
	change(deep.ID, 9, 30)
	remove(deep.ID, 6)
	ids := make([]uuid.UUID, len(notes))
	for i := range notes {
		ids[i] = notes[i].ID
	}
	views := []memory.View{w.view(base.ID), w.view(fork.ID), w.view(deep.ID), w.viewAt(base.ID, past), w.viewAt(base.ID, 20)}
	for i, v := range views {
		for _, kind := range [][]memory.Kind{nil, {memory.KindProfile}} {
			var want []string
			for _, n := range must(w.Notes(w.ctx, w.all, v, ids, memory.ReadOptions{}))(w.t) {
				if len(kind) == 0 || n.Kind == kind[0] {
					want = append(want, n.ID.String()+n.Content)
				}
			}
			slices.Sort(want)
			for _, newest := range []bool{false, true} {
				for _, limit := range []int{1, 2, 7, 100} {
					var got []string
					q := memory.NoteQuery{Kinds: kind, Newest: newest, Limit: limit, ReadOptions: memory.ReadOptions{Vector: limit == 7}}
					for range 2 * len(notes) {
						page := must(w.ListNotes(w.ctx, w.all, v, q))(w.t)
						for i := range page {
							got = append(got, page[i].ID.String()+page[i].Content)
							q.After = page[i].ID
						}
						if len(page) < limit {
							break
						}
					}
					if newest {
						slices.Reverse(got)
					}
					w.assertf(slices.Equal(got, want), "view %d, kind %v, newest %v, by %d: %v, want %v", i, kind, newest, limit, got, want)
				}
			}
		}
	}
}

// notesByTime: messages of all layers are paged in the order of their times, ties by id.
func notesByTime(_ *testing.T, w *world) {
	c := w.collection("c")
	day := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	say := func(collection uuid.UUID, minute int) memory.Note {
		return w.put(collection, memory.Note{Content: fmt.Sprint(minute), Kind: memory.KindMessage, State: memory.StateEvolved, OccurredAt: day.Add(time.Duration(minute) * time.Minute)})
	}
	for _, minute := range []int{5, 3, 3, 9, 1, 3, 7} {
		say(c.ID, minute)
	}
	w.put(c.ID, memory.Note{Content: "no message", State: memory.StateEvolved, OccurredAt: day})
	f := w.mustFork(c.ID, -1, "f")
	say(f.ID, 4)
	say(f.ID, 3)
	moved := say(f.ID, 8)
	moved.OccurredAt = day
	w.put(f.ID, moved)
	v := w.view(f.ID)
	walk := func(q memory.NoteQuery) (got []string) {
		var last memory.Note
		for range 20 {
			page := must(w.ListNotes(w.ctx, w.all, v, q))(w.t)
			for _, n := range page {
				got, last = append(got, n.Content), n
			}
			if len(page) < q.Limit {
				break
			}
			q.After, q.AfterTime = last.ID, last.OccurredAt
		}
		return got
	}
	want := []string{"8", "1", "3", "3", "3", "3", "4", "5", "7", "9"}
	messages := []memory.Kind{memory.KindMessage}
	w.assertf(slices.Equal(walk(memory.NoteQuery{ByTime: true, Limit: 3, Kinds: messages}), want), "by time: %v", walk(memory.NoteQuery{ByTime: true, Limit: 3, Kinds: messages}))
	slices.Reverse(want)
	w.assertf(slices.Equal(walk(memory.NoteQuery{ByTime: true, Newest: true, Limit: 1, Kinds: messages}), want), "newest first")
	w.assertf(len(walk(memory.NoteQuery{ByTime: true, Limit: 4})) == 11, "of all kinds")
	e, err := filter.Parse([]byte(`{"field":"occurred_at","op":"gte","value":"2025-01-01T00:05:00Z"}`))
	w.noError(err)
	w.assertf(slices.Equal(walk(memory.NoteQuery{ByTime: true, Limit: 2, Kinds: messages, Filter: e}), []string{"5", "7", "9"}), "of a time")
}

// notesOfSession: the messages of a session, or without one, are paged in the order of their times, in a fork with those of its base.
func notesOfSession(_ *testing.T, w *world) {
	c := w.collection("c")
	day := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	say := func(collection uuid.UUID, minute int, session any) memory.Note {
		n := memory.Note{Content: fmt.Sprint(minute), Kind: memory.KindMessage, State: memory.StateEvolved, OccurredAt: day.Add(time.Duration(minute) * time.Minute)}
		n.Attributes = map[string]any{memory.AttrRole: string(memory.RoleUser)}
		if session != "" {
			n.Attributes[memory.AttrSession] = session
		}
		return w.put(collection, n)
	}
	long := strings.Repeat("a long name of a session, ", 60)
	for minute, session := range []any{"a", "7", 7.0, "", "b", "a", long + "1", long + "2", "a", nil, -2.5, "7", "A"} {
		say(c.ID, minute, session)
	}
	for minute, sessions := range [][]any{{"x", "y"}, {"y"}, {}, {"y", 5.0}, {[]any{"y"}}} {
		say(c.ID, 20+minute, sessions)
	}
	say(c.ID, 25, "y")
	w.put(c.ID, memory.Note{Content: "no message", State: memory.StateEvolved, OccurredAt: day, Attributes: map[string]any{memory.AttrSession: "a"}})
	f := w.mustFork(c.ID, -1, "f")
	say(f.ID, 2, "a")
	say(f.ID, 19, []any{"y"})
	left := say(f.ID, 4, "a")
	left.Attributes = map[string]any{memory.AttrSession: "b"}
	w.put(f.ID, left)
	v := w.view(f.ID)
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, ByTime: true, Limit: 2}
	walk := func(q memory.NoteQuery) (got []string) {
		for {
			page := must(w.ListNotes(w.ctx, w.all, v, q))(w.t)
			for i := range page {
				got = append(got, page[i].Content)
				q.After, q.AfterTime = page[i].ID, page[i].OccurredAt
			}
			if len(page) < q.Limit {
				return got
			}
		}
	}
	number := func(n float64) filter.Value { return filter.Value{Type: filter.Number, Number: n} }
	is := func(values ...filter.Value) filter.Expr {
		return &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrSession}, Op: filter.In, Values: values}
	}
	of := func(texts ...string) filter.Expr { return filter.AttributeIs(memory.AttrSession, texts...) }
	for _, x := range []struct {
		filter filter.Expr
		want   []string
	}{
		{of("a"), []string{"0", "2", "5", "8"}},
		{of("b"), []string{"4", "4"}},
		{of("A"), []string{"12"}},
		{of("x"), []string{"20"}},
		{of("y"), []string{"19", "20", "21", "23", "25"}},
		{of("x", "a"), []string{"0", "2", "5", "8", "20"}},
		{is(number(5)), []string{"23"}},
		{of("none"), nil},
		{of("\x00"), nil},
		{of(long + "2"), []string{"7"}},
		{is(number(7)), []string{"2"}},
		{is(number(-2.5)), []string{"10"}},
		{filter.Or{of("7"), is(number(7))}, []string{"1", "2", "11"}},
		{filter.Or{of("7"), filter.AttributeIs(memory.AttrRole, "user")}, []string{"0", "1", "2", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "19", "20", "21", "22", "23", "24", "25"}},
		{of("a", "b"), []string{"0", "2", "4", "4", "5", "8"}},
		{filter.Or{of("a", "a"), is(number(5), number(5))}, []string{"0", "2", "5", "8", "23"}},
		{&filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrSession}, Op: filter.Exists}, []string{"3", "9"}},
		{filter.And{filter.AttributeIs(memory.AttrRole, "user"), of("b")}, []string{"4"}},
		{filter.Not{Term: filter.Or{of("a", "b", "A", "7"), is(number(7))}}, []string{"3", "6", "7", "9", "10", "19", "20", "21", "22", "23", "24", "25"}},
	} {
		q.Filter = x.filter
		got := walk(q)
		w.assertf(slices.Equal(got, x.want), "%v: %v, want %v", x.filter, got, x.want)
		q.Newest = true
		got = walk(q)
		slices.Reverse(got)
		w.assertf(slices.Equal(got, x.want), "%v, newest first: %v, want %v", x.filter, got, x.want)
		q.Newest = false
	}
}

// notesByRevision: notes of all layers are paged by their last change, however often they were changed.
func notesByRevision(_ *testing.T, w *world) {
	c := w.collection("c")
	var notes []memory.Note
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		notes = append(notes, w.put(c.ID, memory.Note{Content: name, State: memory.StateEvolved}))
	}
	change := func(id uuid.UUID, n memory.Note, content string) {
		n.Content = content
		w.put(id, n)
	}
	change(c.ID, notes[1], "b2")
	change(c.ID, notes[0], "a2")
	change(c.ID, notes[1], "b3")
	w.write(c.ID, func(tx memory.Tx) error { return tx.Delete(w.ctx, notes[3].ID) })
	f := w.mustFork(c.ID, -1, "f")
	change(f.ID, notes[2], "c2")
	w.add(f.ID, "f")
	change(c.ID, notes[4], "e2: after the fork")
	w.write(f.ID, func(tx memory.Tx) error { // one changeset, two notes: ties are by id
		for _, n := range []memory.Note{{Content: "x"}, {Content: "y"}} {
			if _, err := tx.Put(w.ctx, n); err != nil {
				return err
			}
		}
		return nil
	})
	for _, part := range []struct {
		of   uuid.UUID
		want []string
	}{
		{c.ID, []string{"c", "a2", "b3", "e2: after the fork"}},
		{f.ID, []string{"e", "a2", "b3", "c2", "f", "x", "y"}},
	} {
		for _, limit := range []int{1, 2, 3, 50} {
			for _, newest := range []bool{true, false} {
				var got []string
				q := memory.NoteQuery{ByRevision: true, Newest: newest, Limit: limit}
				v := w.view(part.of)
				for range 20 {
					page := must(w.ListNotes(w.ctx, w.all, v, q))(w.t)
					for _, n := range page {
						got = append(got, n.Content)
						q.After, q.AfterRevision = n.ID, n.From
					}
					if len(page) < limit {
						break
					}
				}
				want := slices.Clone(part.want)
				if newest {
					slices.Reverse(want)
				}
				w.assertf(slices.Equal(got, want), "by %d, newest %v: %v, want %v", limit, newest, got, want)
			}
		}
	}
	kinds := memory.NoteQuery{ByRevision: true, Newest: true, Limit: 9, Kinds: []memory.Kind{memory.KindFact}}
	w.assertf(len(must(w.ListNotes(w.ctx, w.all, w.view(c.ID), kinds))(w.t)) == 0, "of a kind")
}

// notesOfOneKindInOrder: the notes of a kind for which a condition holds are paged by their ids and by their last change, both ways.
func notesOfOneKindInOrder(_ *testing.T, w *world) {
	c := w.collection("c")
	var notes []memory.Note
	for i, of := range []string{"user", "assistant", "user", "user", "assistant", "user"} {
		notes = append(notes, w.put(c.ID, memory.Note{
			Content: fmt.Sprint(i), Kind: memory.KindKnowledge, State: memory.StateEvolved, Attributes: map[string]any{"of": of},
		}))
		w.add(c.ID, fmt.Sprint("a note of another kind ", i))
	}
	f := w.mustFork(c.ID, -1, "f")
	for _, i := range []int{1, 2} {
		notes[i].Importance = 0.9
		w.put(f.ID, notes[i])
	}
	of := memory.NoteQuery{Kinds: []memory.Kind{memory.KindKnowledge}, Filter: filter.AttributeIs("of", "user")}
	for _, part := range []struct {
		byRevision bool
		want       []string
	}{
		{false, []string{"0", "2", "3", "5"}},
		{true, []string{"0", "3", "5", "2"}},
	} {
		for _, newest := range []bool{false, true} {
			var got []string
			q := of
			q.ByRevision, q.Newest, q.Limit = part.byRevision, newest, 1
			for range 20 {
				page := must(w.ListNotes(w.ctx, w.all, w.view(f.ID), q))(w.t)
				for _, n := range page {
					got = append(got, n.Content)
					q.After, q.AfterRevision = n.ID, n.From
				}
				if len(page) < q.Limit {
					break
				}
			}
			want := slices.Clone(part.want)
			if newest {
				slices.Reverse(want)
			}
			w.assertf(slices.Equal(got, want), "by revision %v, newest %v: %v, want %v", part.byRevision, newest, got, want)
		}
	}
}

// collectionOrders: collections are paged in each order, each once.
func collectionOrders(_ *testing.T, w *world) {
	var all []memory.Collection
	for i, e := range []memory.External{{User: "zoë"}, {}, {User: "ada"}, {User: "ada", Run: "1"}, {}, {App: "shop"}} {
		w.clock.Advance(time.Hour)
		all = append(all, must(w.external(w.all, fmt.Sprint("c", 9-i), e))(w.t))
	}
	names := func(s tenant.Scope, q memory.CollectionQuery) (out []string) {
		for range 20 {
			page := must(w.ListCollections(w.ctx, s, q))(w.t)
			for i := range page {
				out = append(out, page[i].Name)
				q.After = q.Order.Place(&page[i])
			}
			if len(page) < q.Limit {
				break
			}
		}
		return out
	}
	w.clock.Advance(time.Hour)
	w.add(all[1].ID, "written last but one")
	w.clock.Advance(time.Hour)
	w.add(all[4].ID, "written last")
	w.clock.Advance(30 * time.Second)
	w.add(all[4].ID, "within a minute")
	for _, limit := range []int{1, 2, 4, 50} {
		for order, want := range map[memory.CollectionOrder]string{
			"":                        "c4 c5 c6 c7 c8 c9",
			memory.NewestCollections:  "c4 c5 c6 c7 c8 c9",
			memory.OldestCollections:  "c9 c8 c7 c6 c5 c4",
			memory.UpdatedCollections: "c5 c8 c4 c6 c7 c9",
			memory.CollectionsByUser:  "c4 c7 c6 c9",
		} {
			got := strings.Join(names(w.all, memory.CollectionQuery{Order: order, Limit: limit}), " ")
			w.assertf(got == want, "%q by %d: %s, want %s", order, limit, got, want)
		}
	}
	w.assertf(strings.Join(names(w.all, memory.CollectionQuery{Named: new(true), Order: memory.UpdatedCollections, Limit: 2}), " ") == "c4 c6 c7 c9", "with ids")
	w.assertf(strings.Join(names(w.all, memory.CollectionQuery{Named: new(false), Order: memory.UpdatedCollections, Limit: 1}), " ") == "c5 c8", "without ids")
	w.assertf(len(names(w.foreign, memory.CollectionQuery{Order: memory.UpdatedCollections, Limit: 2})) == 0, "another tenant sees none")
	list := must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{Order: memory.UpdatedCollections, Limit: 1}))(w.t)
	now := w.clock.Now()
	w.assertf(now.Sub(list[0].UpdatedAt).Round(time.Second) == 30*time.Second && list[0].Counts != nil && list[0].Counts.Notes == 2, "when it was written, to the minute, and what it has: %+v", list[0])
	w.clock.Advance(time.Minute)
	w.add(all[4].ID, "later")
	got := must(w.ResolveCollection(w.ctx, w.all, "c5"))(w.t)
	w.assertf(w.clock.Now().Sub(got.UpdatedAt).Round(time.Second) == 0, "a later write moves it: %v", got.UpdatedAt)
	for order, place := range map[memory.CollectionOrder]string{
		"": "c", memory.NewestCollections: "x", memory.UpdatedCollections: "x\x00" + all[0].ID.String(), memory.CollectionsByUser: "ada\x00" + all[0].ID.String(),
	} {
		w.wantInvalid(errOf(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{Order: order, After: place})), "cursor")
	}
	base := all[2].ID
	w.mustFork(w.mustFork(base, -1, "f1").ID, -1, "below f1")
	w.mustFork(base, -1, "f3")
	w.mustFork(base, -1, "f2")
	for _, limit := range []int{1, 2, 50} {
		got := strings.Join(names(w.all, memory.CollectionQuery{Parent: base, Limit: limit}), " ")
		w.assertf(got == "f1 f2 f3", "forks, by %d: %s", limit, got)
	}
	w.wantFault(errOf(w.ListCollections(w.ctx, w.foreign, memory.CollectionQuery{Parent: base})), fault.NotFound)
}

// collectionWords: collections are found by parts of their names, titles and ids, in any letter case, within the scope.
func collectionWords(_ *testing.T, w *world) {
	nora := must(w.external(w.aliceS, "mem0_7f12", memory.External{User: "Nora@Example.com"}))(w.t)
	must(w.external(w.aliceS, "b", memory.External{User: "ÄNNE", Run: "日本語のユーザー"}))(w.t)
	must(w.external(w.aliceS, "c", memory.External{Agent: "100%_sure", App: `back\slash`}))(w.t)
	plain := w.collection("plain")
	w.noError(errOf(w.UpdateCollection(w.ctx, w.all, plain.ID, memory.AuditEntry{}, func(c *memory.Collection) error {
		c.DisplayName = "Große ΟΔΥΣΣΕΥΣ"
		return nil
	})))
	find := func(s tenant.Scope, text string, limit int) string {
		var out []string
		q := memory.CollectionQuery{Text: text, Limit: limit}
		for range 20 {
			page := must(w.ListCollections(w.ctx, s, q))(w.t)
			for i := range page {
				out = append(out, page[i].Name)
				q.After = q.Order.Place(&page[i])
			}
			if len(page) < limit {
				break
			}
		}
		return strings.Join(out, " ")
	}
	for text, want := range map[string]string{
		"nora": "mem0_7f12", "EXAMPLE.c": "mem0_7f12", "mem0_7F": "mem0_7f12", "example nora": "mem0_7f12", "nora anne": "", "änne": "b", "本語": "b", "オーザー": "",
		"a\x00b": "", "\xff": "", "100%": "c", "%": "c", "_sure": "c", "1__%": "", `k\s`: "c", "groß": "plain", "οδυσσεύς": "", "οδυσσευς": "plain", "δυσσευσ": "plain", "": "b c mem0_7f12 plain", "  ": "b c mem0_7f12 plain",
	} {
		for _, limit := range []int{1, 3, 50} {
			got := find(w.all, text, limit)
			w.assertf(got == want, "%q by %d: %q, want %q", text, limit, got, want)
		}
	}
	w.assertf(find(w.bobS, "nora", 5)+find(w.foreign, "nora", 5) == "", "others find none")
	w.noError(errOf(w.UpdateCollection(w.ctx, w.all, nora.ID, memory.AuditEntry{}, func(c *memory.Collection) error { c.DisplayName = "Gärtnerin"; return nil })))
	w.assertf(find(w.all, "GÄRTNER", 5) == "mem0_7f12", "by its new title")
	w.write(nora.ID, func(tx memory.Tx) error { // leaves a row as an older build does
		own, ok := tx.(*store.Tx)
		w.assertf(ok, "a write has %T", tx)
		return own.Session().Later(w.ctx, "UPDATE collections SET words = '' WHERE tenant = $1 AND id = $2", w.all.Tenant(), nora.ID)
	})
	w.assertf(find(w.all, "GÄRTNER", 1) == "mem0_7f12" && find(w.all, "nora", 1) == "mem0_7f12" && find(w.all, "änne", 1) == "b", "whose words are not known")
}

// noteFilters: a filtered list has the notes that package filter matches.
func noteFilters(t *testing.T, w *world) {
	c := w.collection("c")
	day := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	by := func(agent string) memory.Provenance { return memory.Provenance{Agent: agent} }
	notes := []memory.Note{
		{Content: "empty"},
		{Content: "full", Kind: memory.KindFact, Tags: []string{"a", "B", "a b"}, Keywords: []string{"k"}, Category: "Trips", Importance: 0.5, OccurredAt: day, State: memory.StateEvolved,
			Attributes: map[string]any{"s": "x", "n": 0.1, "big": 9007199254740993.0, "t": true, "f": false, "l": []any{"x", 2.0, true, []any{"deep"}}, "o": map[string]any{"x": "x", "p": map[string]any{"q": "x"}}, "e": []any{}, "z": nil}},
		{Content: "odd", Tags: []string{"\x01", `"`, ""}, Category: "tri", Importance: 1, OccurredAt: day.Add(time.Microsecond), Provenance: by("ada"),
			Attributes: map[string]any{"s": "1", "n": "0.1", "t": "true", "l": "x", "a.b": "dot", "big": json.Number("9007199254740993"), "e": json.Number("9.007199254740993e15"), `b\`: "back", "ü": "u", "u\u0308": "nfd", "$.n": "path",
				"least": math.SmallestNonzeroFloat64, "most": json.Number("12345678901234567890123"), "zero": math.Copysign(0, -1), "o": []any{map[string]any{"x": "x"}}, `q"q`: "quote"}},
		{Content: "other", Tags: []string{"b"}, Keywords: []string{"K", "k2"}, Importance: 0.30000000000000004, Category: "日本", Provenance: by("Ada\"?"), Attributes: map[string]any{"s": "", "n": -1.0, "t": false}},
	}
	for i := range notes {
		notes[i] = w.put(c.ID, notes[i])
	}
	own, forked := w.view(c.ID), w.view(w.mustFork(c.ID, -1, "f").ID)
	var leaves []string
	values := map[string][]string{
		"id":   {`"` + notes[0].ID.String() + `"`, `"` + uuid.Nil.String() + `"`, `"x"`},
		"kind": {`"note"`, `"fact"`, `""`}, "category": {`"Trips"`, `"trips"`, `"ri"`, `"RI"`, `""`, `"日"`}, "state": {`"raw"`}, "agent": {`"ada"`, `"Ada\"?"`, `"d"`, `""`},
		"tags": {`"a"`, `"b"`, `"a b"`, `"\""`, `""`}, "keywords": {`"k"`, `"K"`},
		"importance": {`0.5`, `0`, `0.3`, `0.30000000000000004`}, "occurred_at": {`"2025-01-01T00:00:00Z"`, `"2025-01-01T01:00:00.000001+01:00"`}, "created_at": {`"2026-11-21T00:00:00Z"`},
		"attributes.s": {`"x"`, `"X"`, `"1"`, `1`, `""`}, "attributes.n": {`0.1`, `"0.1"`, `-1`}, "attributes.big": {`9007199254740993`, `9007199254740992`, `9007199254740994`}, "attributes.a": {`"dot"`}, "attributes.a.b": {`"dot"`},
		`attributes.a\\.b`: {`"dot"`}, `attributes.b\\\\`: {`"back"`}, "attributes.t": {`true`, `false`, `"true"`},
		"attributes.l": {`"x"`, `2`, `true`, `"deep"`}, "attributes.o": {`"x"`}, "attributes.o.x": {`"x"`}, "attributes.o.p.q": {`"x"`}, "attributes.e": {`"x"`, `9007199254740993`, `9007199254740992`}, "attributes.z": {`"x"`},
		"attributes.ü": {`"u"`, `"U"`}, "attributes.u\u0308": {`"nfd"`, `"u"`}, `attributes.$\\.n`: {`"path"`}, "attributes.$.n": {`"path"`},
		"attributes.least": {`5e-324`, `0`, `1e-400`}, "attributes.most": {`1.2345678901234567890123e22`, `1.2345678901234567890124e22`}, "attributes.zero": {`0`, `-0`}, `attributes.q\"q`: {`"quote"`}, "attributes.none": {`"x"`},
	}
	for field, list := range values {
		leaves = append(leaves, `{"field":"`+field+`","op":"exists"}`, `{"field":"`+field+`","op":"exists","value":false}`)
		for _, v := range list {
			for _, op := range []string{"eq", "ne", "gt", "gte", "lt", "lte", "contains", "icontains"} {
				leaves = append(leaves, `{"field":"`+field+`","op":"`+op+`","value":`+v+`}`)
			}
			leaves = append(leaves, `{"field":"`+field+`","op":"in","value":[`+list[0]+`,`+v+`]}`)
		}
	}
	slices.Sort(leaves)
	var tried []string
	for i, l := range leaves {
		other := leaves[(i*7+3)%len(leaves)]
		both := []string{`{"and":[` + l + `,` + other + `]}`, `{"or":[` + l + `,{"not":` + other + `}]}`, `{"not":{"or":[` + l + `,` + other + `]}}`}
		tried = append(tried, l, `{"not":`+l+`}`, both[i%len(both)])
	}
	checked := 0
	for _, text := range tried {
		e, err := filter.Parse([]byte(text))
		if err != nil {
			continue // the field does not have this operator
		}
		checked++
		var want strings.Builder
		for i := range notes {
			n := &notes[i]
			if filter.Match(e, &filter.Record{
				ID: n.ID, Kind: string(n.Kind), Tags: n.Tags, Keywords: n.Keywords, Category: n.Category, Importance: n.Importance, OccurredAt: n.OccurredAt,
				CreatedAt: n.CreatedAt, State: string(n.State), Agent: n.Provenance.Agent, Attributes: n.Attributes,
			}) {
				want.WriteString(n.Content + " ")
			}
		}
		v := own
		if checked%2 == 0 { // a lineage is read by other statements
			v = forked
		}
		if got := w.matching(v, text); got != strings.TrimSpace(want.String()) {
			t.Errorf("%s: got %q, want %q", text, got, want.String())
		}
	}
	w.assertf(checked > 500, "only %d filters were tried", checked)
	for text, want := range map[string]string{
		`{"attributes.big":9007199254740993}`: "odd", `{"attributes.big":9007199254740992}`: "full", `{"attributes.e":9007199254740993}`: "odd",
		`{"field":"attributes.big","op":"gt","value":9007199254740992}`: "odd", `{"attributes.a\\.b":"dot"}`: "odd", `{"attributes.a.b":"dot"}`: "",
	} {
		w.assertf(w.matching(own, text) == want && w.matching(forked, text) == want, "%s: %q and %q, want %q", text, w.matching(own, text), w.matching(forked, text), want)
	}
	e := must(filter.Parse([]byte(`{"field":"attributes.n","op":"exists"}`)))(t)
	page := must(w.ListNotes(w.ctx, w.all, own, memory.NoteQuery{Filter: e, Limit: 2}))(t)
	w.assertf(len(page) == 2, "a page has Limit matches when there are as many: %d", len(page))
}

func listCollections(_ *testing.T, w *world) {
	w.collection("m")
	w.collectionOf(w.alice.ID, "m")
	w.collectionOf(w.bob.ID, "b")
	last := w.collection("z")
	w.mustFork(last.ID, 0, "a")
	names := func(q memory.CollectionQuery) (out []string) {
		for {
			page := must(w.ListCollections(w.ctx, w.all, q))(w.t)
			for _, c := range page {
				out = append(out, c.AgentName+"/"+c.Name)
			}
			if q.Limit == 0 || len(page) < q.Limit {
				return out
			}
			q.After = page[len(page)-1].Name + "\x00" + page[len(page)-1].ID.String()
		}
	}
	w.assertf(slices.Equal(names(memory.CollectionQuery{}), []string{"/a", "bob/b", "/m", "alice/m", "/z"}), "all: %v", names(memory.CollectionQuery{}))
	w.assertf(slices.Equal(names(memory.CollectionQuery{Limit: 2}), names(memory.CollectionQuery{})), "pages: %v", names(memory.CollectionQuery{Limit: 2}))
	w.assertf(slices.Equal(names(memory.CollectionQuery{Agent: &w.alice.ID}), []string{"alice/m"}), "of an agent")
	w.assertf(slices.Equal(names(memory.CollectionQuery{Agent: new(uuid.UUID)}), []string{"/a", "/m", "/z"}), "shared bases")
	w.assertf(slices.Equal(names(memory.CollectionQuery{Parent: last.ID}), []string{"/a"}), "forks")
	before := memory.CollectionQuery{After: "m\x00" + uuid.Nil.String()}
	w.assertf(slices.Equal(names(before), []string{"/m", "alice/m", "/z"}), "a zero id is the place before the first of a name: %v", names(before))
	w.assertf(must(w.ResolveCollection(w.ctx, w.aliceS, "m"))(w.t).Agent == w.alice.ID, "an agent's own collection is found first")
	w.assertf(must(w.ResolveCollection(w.ctx, w.bobS, "m"))(w.t).Agent == uuid.Nil, "then the shared base is found")
	w.wantFault(errOf(w.ResolveCollection(w.ctx, w.all, "m")), fault.Ambiguous)
	w.assertf(len(must(w.ListCollections(w.ctx, w.aliceS, memory.CollectionQuery{}))(w.t)) == 4, "an agent sees its own and the shared collections")
	_, err := w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "z"}})
	w.wantFault(err, fault.Exists)
	for _, name := range []string{"", uuid.NewString(), strings.ToUpper(uuid.NewString()), "{" + uuid.NewString() + "}"} {
		_, err := w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: name}})
		w.wantInvalid(err, "name")
	}
	changed := must(w.UpdateCollection(w.ctx, w.all, last.ID, memory.AuditEntry{Action: "collection.patch"}, func(c *memory.Collection) error {
		c.DisplayName, c.Metadata, c.PolicyConfig, c.EvolvedAdds, c.Name, c.Head = "Z", map[string]any{"k": "v"}, []byte(`{"k":5}`), 7, "ignored", 99
		return nil
	}))(w.t)
	got := must(w.ResolveCollection(w.ctx, w.all, "z"))(w.t)
	w.assertf(got.DisplayName == "Z" && got.Metadata["k"] == "v" && string(got.PolicyConfig) == `{"k":5}` && got.EvolvedAdds == 7 && got.Head == 1 && changed.DisplayName == "Z", "updated: %+v", got)
	sets := must(w.Changesets(w.ctx, w.all, w.view(last.ID), 0, 10))(w.t)
	w.assertf(len(sets) == 1 && sets[0].Cause == memory.CauseConfig && sets[0].Revision == 1 && sets[0].Actor == w.all.Actor(), "a change of settings has a changeset: %+v", sets)
	w.noError(errOf(w.UpdateCollection(w.ctx, w.all, last.ID, memory.AuditEntry{}, func(c *memory.Collection) error { c.PolicyConfig = []byte(`{ "k": 5 }`); return nil })))
	w.assertf(w.add(last.ID, "later").From == 2, "setting the same settings is no change, so the next revision is 2")
}

// listDerived: notes are listed by what they were derived from, in forks too.
func listDerived(_ *testing.T, w *world) {
	c := w.collection("c")
	a, b := w.add(c.ID, "a"), w.add(c.ID, "b")
	from := func(content string, ids ...uuid.UUID) memory.Note {
		return memory.Note{Kind: memory.KindFact, Content: content, Provenance: memory.Provenance{Sources: ids}}
	}
	w.put(c.ID, from("of a", a.ID))
	both := w.put(c.ID, from("of both", b.ID, a.ID))
	w.put(c.ID, memory.Note{Kind: memory.KindFact, Content: "of b's job", Provenance: memory.Provenance{Job: &b.ID}})
	f := w.mustFork(c.ID, -1, "f")
	both.Provenance.Sources = []uuid.UUID{b.ID}
	w.put(f.ID, both)
	list := func(id uuid.UUID, q memory.NoteQuery) (out []string) {
		for _, n := range must(w.ListNotes(w.ctx, w.all, w.view(id), q))(w.t) {
			out = append(out, n.Content)
		}
		return out
	}
	for _, q := range []struct {
		of       uuid.UUID
		sources  []uuid.UUID
		contents []string
	}{
		{c.ID, []uuid.UUID{a.ID}, []string{"of a", "of both"}},
		{c.ID, []uuid.UUID{b.ID}, []string{"of both"}},
		{c.ID, []uuid.UUID{a.ID, b.ID}, []string{"of a", "of both"}},
		{c.ID, []uuid.UUID{}, nil},
		{f.ID, []uuid.UUID{a.ID}, []string{"of a"}},
	} {
		got := list(q.of, memory.NoteQuery{Sources: q.sources, Kinds: []memory.Kind{memory.KindFact}, Limit: 1000})
		w.assertf(slices.Equal(got, q.contents), "derived from %v: %v, want %v", q.sources, got, q.contents)
	}
	got := list(c.ID, memory.NoteQuery{Sources: []uuid.UUID{b.ID}, Limit: 1})
	w.assertf(slices.Equal(got, []string{"of both"}), "with a limit: %v", got)
}
