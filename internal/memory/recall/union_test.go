package recall_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// spoken is a note of the space that the tests of unions divide.
type spoken struct {
	content, topic, session, speaker string
	at                               time.Time
}

// spokenSpace returns what two persons said to each other on twenty days about six topics, with words that are
// frequent in one topic and rare in the others.
func spokenSpace() (out []spoken) {
	topics := map[int][]string{
		0: {"bicycle", "chain", "tandem", "repair", "saddle"}, 1: {"bees", "hive", "honey", "frost", "straw"}, 2: {"pottery", "kiln", "glaze", "clay", "bowl"},
		3: {"ferry", "harbor", "island", "ticket", "storm"}, 4: {"violin", "lesson", "concert", "string", "tune"}, 5: {"garden", "tomato", "compost", "seed", "frost"},
	}
	forms := []string{"The %[1]s and the %[2]s need work again", "I bought a %[1]s for the %[2]s in Porto", "Do you remember the %[2]s near the %[1]s?", "Nora says the %[1]s is better than any %[2]s"}
	for day := range 20 {
		for turn := range 6 {
			topic := (day*5 + turn*turn) % 6
			words := topics[topic]
			s := spoken{
				content: fmt.Sprintf(forms[(day+turn)%len(forms)], words[day%5], words[(day+turn+1)%5]) + strings.Repeat(" "+words[turn%5], turn%3) + ".",
				topic:   words[0], session: fmt.Sprint("day-", day), speaker: []string{"Nora", "Tomas"}[turn%2],
				at: time.Date(2026, 3, 1+day, 9, turn, 0, 0, time.UTC),
			}
			out = append(out, s)
		}
	}
	return out
}

// divide adds notes to collections by the name that part returns, in their order.
func (r *fixture) divide(space []spoken, part func(int, *spoken) string) []string {
	r.t.Helper()
	var names []string
	known := map[string]uuid.UUID{}
	for i := range space {
		s := &space[i]
		name := part(i, s)
		if _, ok := known[name]; !ok {
			known[name] = r.collection(name).ID
			names = append(names, name)
		}
		must.Get(r.notes.Add(r.t.Context(), r.all, known[name].String(), notes.NewNote{
			Content: s.content, OccurredAt: &s.at, OnDuplicate: memory.DuplicateKeep, Attributes: map[string]any{"speaker": s.speaker, "session": s.session},
		}, memory.Request{}))(r.t)
	}
	return names
}

// TestUnionOfThePast: several collections are read as they were, each at a revision of its own: the hits are those of then.
func TestUnionOfThePast(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		parts := r.divide(spokenSpace()[:60], func(i int, _ *spoken) string { return fmt.Sprint("part-", i/25) })
		first := must.Get(r.collections.Get(t.Context(), r.all, parts[0]))(t)
		all := append(slices.Clone(parts[1:]), r.fork(first.Collection, nil).ID.String())
		before := r.openAll(all...)
		heads := map[string]memory.Revision{}
		for i, name := range all {
			heads[name] = before.Of[i].At
		}
		q := recall.Query{Text: "Where did Nora leave the tandem?", K: 50}
		want := contentsOf(r.hitsOf(before, q))
		for _, name := range all {
			must.Get(r.notes.Add(r.t.Context(), r.all, name, notes.NewNote{Content: "Nora sold the tandem.", OnDuplicate: memory.DuplicateKeep}, memory.Request{}))(t)
		}
		list := must.Get(r.store.ListNotes(t.Context(), r.all, before.Of[0], memory.NoteQuery{Limit: 5}))(t)
		for i := range list {
			must.Get(r.notes.Delete(t.Context(), r.all, all[0], list[i].ID, memory.Request{}))(t)
		}
		if now := contentsOf(r.hitsOf(r.openAll(all...), q)); slices.Equal(now, want) {
			t.Fatal("nothing was written since")
		}
		past := must.Get(r.recall.OpenAll(t.Context(), r.all, all, func(ref string) (*memory.Revision, error) { return new(heads[ref]), nil }))(t)
		if got := contentsOf(r.hitsOf(past, q)); !slices.Equal(got, want) {
			t.Errorf("of the past: %q, want %q", got, want)
		}
		failed := errors.New("failed")
		if _, err := r.recall.OpenAll(t.Context(), r.all, all, func(string) (*memory.Revision, error) { return nil, failed }); !errors.Is(err, failed) {
			t.Errorf("a revision that is not known: %v", err)
		}
	})
}

func contentsOf(r recall.Result) (out []string) {
	for i := range r.Hits {
		out = append(out, r.Hits[i].Note.Content)
	}
	slices.Sort(out)
	return out
}

func (r *fixture) openAll(refs ...string) memory.View {
	r.t.Helper()
	v := must.Get(r.recall.OpenAll(r.t.Context(), r.all, refs, nil))(r.t)
	return v
}

func (r *fixture) hitsOf(v memory.View, q recall.Query) recall.Result {
	r.t.Helper()
	found := must.Get(r.recall.Search(r.t.Context(), r.all, v, q))(r.t)
	return found
}

// TestUnionOfLineages: forks and copies of one base are searched together, each note once, as the first has it; what
// is written later is found.
func TestUnionOfLineages(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		base := r.collection("base")
		r.add(base, "The ferry leaves at nine.")
		stays := r.add(base, "The harbor is closed in a storm.")
		other := r.collection("other")
		r.add(other, "The island has no ferry in winter.")
		fork := r.fork(base, nil)
		must.Get(r.notes.Patch(t.Context(), r.all, fork.Name, stays, notes.NotePatch{Content: new("The harbor is open in a storm.")}, memory.Request{}))(t)
		r.add(base, "The ferry is blue.")
		for _, c := range []struct {
			refs []string
			want string
		}{
			{[]string{fork.Name, "base", "other"}, "open"}, {[]string{"base", fork.Name, "other"}, "closed"}, {[]string{"base", fork.Name, "base", "other"}, "closed"},
		} {
			found := r.hitsOf(r.openAll(c.refs...), recall.Query{Text: "ferry harbor storm island", K: 20, ExpandLinks: 1})
			var texts []string
			for i := range found.Hits {
				texts = append(texts, found.Hits[i].Note.Content)
			}
			if all := strings.Join(texts, "\n"); len(texts) != 4 || !strings.Contains(all, c.want) || !strings.Contains(all, "winter") || !strings.Contains(all, "blue") {
				t.Errorf("%v: %q", c.refs, texts)
			}
		}
		r.add(other, "A storm broke the ferry's mast.")
		if found := r.hitsOf(r.openAll("base", "other"), recall.Query{Text: "mast"}); found.Hits[0].Collection != other.ID {
			t.Errorf("a new note: %+v", found.Hits)
		}
		r.noError(r.recall.Flush(t.Context()))
		if found := r.hitsOf(r.openAll("other"), recall.Query{Text: "mast", K: 1}); found.Hits[0].Note.Usage.AccessCount != 1 {
			t.Errorf("its use: %+v", found.Hits[0].Note.Usage)
		}
	})
}

// TestUnionRefused: collections without a common ranking are refused, and so are too many.
func TestUnionRefused(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	r.collection("a")
	must.Get(r.collections.Create(t.Context(), r.all, notes.CollectionInput{Name: "b", Policy: "bookish"}, memory.Request{}))(t)
	for want, refs := range map[fault.Code][]string{
		fault.Conflict: {"a", "b"}, fault.NotFound: {"a", "none"}, fault.Invalid: make([]string, memory.MaxUnion+1),
	} {
		_, err := r.recall.OpenAll(t.Context(), r.all, refs, nil)
		r.wantFault(err, want)
	}
	_, err := r.recall.OpenAll(t.Context(), r.all, nil, nil)
	r.wantFault(err, fault.Invalid)
}
