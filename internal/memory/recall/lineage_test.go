package recall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// Eight layers, each with changes of its own, answer the same at every revision while the
// collections below are deleted one after the other and the others are made independent.
func TestEightLayersMadeIndependent(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	chain := []memory.Collection{r.collection("base")}
	var ids []uuid.UUID
	for i := range 12 {
		ids = append(ids, r.add(chain[0], fmt.Sprintf("inherited word%d", i)))
	}
	r.link(chain[0], ids[0], ids[1], ids[2], ids[11])
	r.search(chain[0], recall.Query{Text: "word3"})
	r.noError(r.recall.Flush(t.Context()))
	for depth := 1; depth < memory.MaxLineage; depth++ {
		c := r.fork(chain[depth-1], nil)
		chain = append(chain, c)
		_, err := r.notes.Patch(t.Context(), r.all, c.ID.String(), ids[depth], notes.NotePatch{Content: new(fmt.Sprintf("inherited and changed in layer%d", depth))}, memory.Request{})
		r.noError(err)
		_, err = r.notes.Delete(t.Context(), r.all, c.ID.String(), ids[11-depth%4], memory.Request{})
		if depth <= 4 {
			r.noError(err)
		} else if !fault.Is(err, fault.NotFound) {
			t.Fatal(err)
		}
		r.link(c, r.add(c, fmt.Sprintf("own of layer%d", depth)), ids[0])
		r.search(c, recall.Query{Text: "word4"})
		r.noError(r.recall.Flush(t.Context()))
	}
	last := chain[len(chain)-1]
	if n := len(r.view(last).Layers); n != memory.MaxLineage {
		t.Fatalf("%d layers", n)
	}
	picture := func() (out []string) {
		head := r.view(last).At
		for rev := memory.Revision(1); rev <= head; rev++ {
			v, err := r.recall.Open(t.Context(), r.all, last.ID.String(), &rev, 0)
			r.noError(err)
			for _, q := range []string{"inherited", "own layer3", "word3 changed"} {
				got, err := r.recall.Search(t.Context(), r.all, v, recall.Query{Text: q, K: 50, ExpandLinks: 1, Internal: true})
				r.noError(err)
				line := []string{fmt.Sprint(rev, q)}
				for _, h := range got.Hits {
					line = append(line, fmt.Sprintf("[%s %d %.9f %v %q %d %v]", h.ID, h.Note.From, h.Score, h.Sources, h.Note.Content, h.Note.Usage.AccessCount, len(h.Note.Links)))
				}
				out = append(out, strings.Join(line, " "))
			}
		}
		for _, id := range ids {
			past, err := r.store.History(t.Context(), r.all, r.view(last), id, 0, 100)
			r.noError(err)
			for _, h := range past {
				out = append(out, fmt.Sprint(id, h.Note.From, h.Note.Deleted, h.Note.Content, h.Changeset.Revision, h.Changeset.Cause, h.Changeset.At))
			}
		}
		return out
	}
	before := picture()
	for _, c := range chain[:len(chain)-1] {
		r.noError(r.collections.Delete(t.Context(), r.all, c.ID.String(), true))
		job := memory.Job{Collection: c.ID}
		r.noError(r.clones.RunRemove(t.Context(), r.all, job, func(context.Context, memory.Progress) error { return nil }))
		if after := picture(); !slices.Equal(after, before) {
			for i := range before {
				if i < len(after) && after[i] != before[i] {
					t.Fatalf("without %s:\n%s\nbefore:\n%s", c.Name, after[i], before[i])
				}
			}
			t.Fatalf("%d lines, before %d", len(after), len(before))
		}
	}
	if n := len(r.view(last).Layers); n != 1 {
		t.Errorf("%d layers are left", n)
	}
}

// The store and the index compare numbers of any size in the same way.
func TestBigNumbersInFilters_C060(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	for _, n := range []string{"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "-9007199254740993", "1e400"} {
		in := notes.NewNote{Content: "a number", Attributes: map[string]any{"n": json.Number(n)}}
		_, err := r.notes.Add(t.Context(), r.all, c.ID.String(), in, memory.Request{})
		if err != nil {
			t.Logf("%s: %v", n, err)
		}
	}
	for _, op := range []string{"eq", "ne", "gt", "gte", "lt", "lte"} {
		for _, n := range []string{"9007199254740992", "9007199254740993", "-9007199254740993"} {
			e, err := filter.Parse([]byte(`{"field":"attributes.n","op":"` + op + `","value":` + n + `}`))
			r.noError(err)
			listed, err := r.store.ListNotes(t.Context(), r.all, r.view(c), memory.NoteQuery{Filter: e, Limit: 100})
			r.noError(err)
			hits := r.search(c, recall.Query{Text: "number", K: 50, Filter: e}).Hits
			if len(listed) != len(hits) {
				t.Errorf("%s %s: %d listed, %d found", op, n, len(listed), len(hits))
			}
		}
	}
}

// A deep fork is searched while it is flattened: views that were opened before and after find each note once, and what is written next.
func TestSearchBesideFlattening(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.collection("base")
		want := []string{r.add(c, "kiln of the base").String()}
		for i := range memory.MaxLineage {
			c = r.fork(c, nil)
			want = append(want, r.add(c, fmt.Sprint("kiln of layer ", i)).String())
		}
		old := r.view(c)
		check := func(what string, v memory.View, want []string) {
			t.Helper()
			out, err := r.recall.Search(t.Context(), r.all, v, recall.Query{Text: "kiln", K: 50, Mode: recall.Lexical})
			r.noError(err)
			got := hitsInOrder(out)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d hits of %d notes: %v", what, len(got), len(want), got)
			}
		}
		check("before", old, want)
		r.noError(r.store.FlattenLineage(t.Context(), r.all, c.ID))
		check("an earlier view", old, want)
		check("afterwards", r.view(c), want)
		check("the earlier view again", old, want)
		more := append(slices.Clone(want), r.add(c, "kiln of the flat fork").String())
		check("and written since", r.view(c), more)
		check("the earlier view still", old, want)
	})
}
