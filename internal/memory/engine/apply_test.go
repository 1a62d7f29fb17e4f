package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/test/must"
)

// knows is the relation that policies use in tests.
const knows = "knows"

// newMeddledWorld returns a world with a stub policy, and a meddler that can change something before
// its writes.
func newMeddledWorld(t *testing.T) (*world, *stub, *meddler) {
	t.Helper()
	m := &meddler{}
	w, p := newStubWorld(t, options{wrap: func(s engine.Store) engine.Store { m.Store = s; return m }})
	return w, p, m
}

// entities adds two entities and, if asked, a link between them.
func (w *world) entities(linked bool) (a, b uuid.UUID) {
	w.t.Helper()
	w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
		for i, at := range []*uuid.UUID{&a, &b} {
			n, err := tx.Put(ctx, memory.Note{Kind: memory.KindEntity, Content: fmt.Sprintf("entity %d", i), State: memory.StateEvolved})
			if err != nil {
				return err
			}
			*at = n.ID
		}
		if !linked {
			return nil
		}
		_, err := tx.Link(ctx, edge(a, b, 0.5))
		return err
	})
	return a, b
}

func edge(a, b uuid.UUID, confidence float64) memory.Link {
	return memory.Link{LinkID: memory.LinkID{Source: a, Target: b, Relation: knows}, Confidence: confidence}
}

// edges returns the confidences of a note's links.
func (w *world) edges(id uuid.UUID) []float64 {
	w.t.Helper()
	list := must.Get(w.store.Links(w.t.Context(), w.s, w.view(w.c.ID), memory.LinkQuery{Notes: []uuid.UUID{id}, Direction: memory.Outgoing}))(w.t)
	var out []float64
	for _, l := range list {
		out = append(out, l.Confidence)
	}
	return out
}

// newestJob returns the newest job of a kind.
func (w *world) newestJob(kind memory.JobKind) memory.Job {
	w.t.Helper()
	list := w.jobsOf(w.c.ID, kind)
	if len(list) == 0 {
		w.t.Fatalf("no %s job", kind)
	}
	return list[len(list)-1]
}

// Links that the policy read are replaced by those of the decision. A link that it did not read
// stays when it decides about a note, because a caller may have added it.
func TestLinksArePutAsDecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  memory.EventKind
		looks bool
		want  float64
	}{
		"a note's, unseen":      {memory.EventNote, false, 0.5},
		"a note's, looked at":   {memory.EventNote, true, 0.9},
		"an exchange's, unseen": {memory.EventExchange, false, 0.9},
		"an exchange's":         {memory.EventExchange, true, 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p, _ := newMeddledWorld(t)
			a, b := w.entities(true)
			p.decide = func(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
				if _, err := d.Notes(ctx, []uuid.UUID{a, b}); err != nil {
					return memory.Decision{}, err
				}
				if c.looks {
					if _, err := d.Links(ctx, []uuid.UUID{b}, memory.Incoming); err != nil {
						return memory.Decision{}, err
					}
				}
				return memory.Decision{Note: e.Note, Links: []memory.Link{edge(a, b, 0.9)}}, nil
			}
			if c.kind == memory.EventNote {
				w.learn("A note.")
			} else {
				w.say("A message.")
				w.drain()
			}
			if got := w.edges(a); len(got) != 1 || got[0] != c.want {
				t.Errorf("confidences %v, want %v", got, c.want)
			}
		})
	}
}

// A link that was read and then changed, deleted or added is a conflict: the policy decides again.
func TestLinksAreReadUnderTheConflictRule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before bool // the link exists when the policy reads
		meddle func(w *world, a, b uuid.UUID)
		tries  int
		seen   []int
	}{
		"nothing": {true, func(*world, uuid.UUID, uuid.UUID) {}, 1, []int{1}},
		"changed": {true, func(w *world, a, b uuid.UUID) {
			w.changeByHand(func(ctx context.Context, tx memory.Tx) error { _, err := tx.Link(ctx, edge(a, b, 0.7)); return err })
		}, 2, []int{1, 1}},
		"ended": {true, func(w *world, a, b uuid.UUID) {
			w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
				_, err := tx.Unlink(ctx, edge(a, b, 0).LinkID)
				return err
			})
		}, 2, []int{1, 0}},
		"made": {false, func(w *world, a, b uuid.UUID) {
			w.changeByHand(func(ctx context.Context, tx memory.Tx) error { _, err := tx.Link(ctx, edge(a, b, 0.7)); return err })
		}, 2, []int{0, 1}},
		"made elsewhere": {true, func(w *world, a, b uuid.UUID) {
			w.changeByHand(func(ctx context.Context, tx memory.Tx) error { _, err := tx.Link(ctx, edge(b, a, 0.7)); return err })
		}, 1, []int{1}},
		"its end deleted": {true, func(w *world, _, b uuid.UUID) { w.remove(b) }, 2, []int{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p, m := newMeddledWorld(t)
			a, b := w.entities(c.before)
			var seen []int
			p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
				links, err := d.Links(ctx, []uuid.UUID{a}, memory.Outgoing)
				seen = append(seen, len(links))
				if len(seen) == 1 {
					m.before(func() { c.meddle(w, a, b) })
				}
				return memory.Decision{}, err
			}
			w.task(memory.Task{Name: "look"})
			w.drain()
			j := w.newestJob(memory.JobPolicy)
			if r := resultOf[engineResult](t, &j); j.State != memory.JobDone || r.Tries != c.tries || !slices.Equal(seen, c.seen) {
				t.Errorf("job %q after %d tries, links seen %v", j.State, r.Tries, seen)
			}
		})
	}
}

// At the third try, links and notes that keep changing are left out, and the rest is applied.
func TestChangingNotesAreLeftOut(t *testing.T) {
	t.Parallel()
	w, p, m := newMeddledWorld(t)
	a, b := w.entities(true)
	x, _ := w.entities(false)
	tries := 0
	p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
		if _, err := d.Links(ctx, []uuid.UUID{a}, memory.Both); err != nil {
			return memory.Decision{}, err
		}
		notes, err := d.Notes(ctx, []uuid.UUID{a, b, x})
		if err != nil {
			return memory.Decision{}, err
		}
		tries++
		n := tries
		m.before(func() {
			w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
				if _, err := tx.Link(ctx, edge(a, b, float64(n)/10)); err != nil {
					return err
				}
				now, err := tx.Notes(ctx, []uuid.UUID{x}, memory.ReadOptions{Vector: true})
				if err != nil {
					return err
				}
				now[0].Tags = []string{fmt.Sprint(n)}
				_, err = tx.Put(ctx, now[0])
				return err
			})
		})
		notes[0].Category, notes[2].Category = "decided", "decided"
		return memory.Decision{
			Puts:  []memory.Note{notes[0], notes[2], fact(uuid.Nil, "A new fact.")},
			Links: []memory.Link{edge(a, b, 0.9), edge(b, a, 0.9), edge(a, x, 0.9)}, Deletes: []uuid.UUID{x},
		}, nil
	}
	w.task(memory.Task{Name: "move"})
	w.drain()
	if tries != 3 {
		t.Fatalf("%d tries", tries)
	}
	if got := w.edges(a); len(got) != 1 || got[0] != 0.3 {
		t.Errorf("links of the first: %v", got)
	}
	if got := w.edges(b); len(got) != 1 || got[0] != 0.9 {
		t.Errorf("links of the second: %v", got)
	}
	if n := w.get(x); n.Category == "decided" || !slices.Equal(n.Tags, []string{"3"}) {
		t.Errorf("the caller's note is %+v", n)
	}
	if w.get(a).Category != "decided" || len(w.all(w.c.ID, memory.KindFact)) != 1 {
		t.Error("what stood still was not changed")
	}
	j := w.newestJob(memory.JobPolicy)
	if r := resultOf[engineResult](t, &j); j.State != memory.JobDone || !slices.Equal(r.LeftOut, []uuid.UUID{x}) {
		t.Errorf("job %q, left out %v", j.State, r.LeftOut)
	}
}

// listEntities lists entities by pages, or as all of a kind.
func listEntities(ctx context.Context, d memory.Desk, whole bool) (out []memory.Note, err error) {
	if !whole {
		return d.List(ctx, memory.NoteQuery{Kinds: []memory.Kind{memory.KindEntity}, Limit: 10})
	}
	all, err := d.All(ctx, memory.KindEntity, memory.ReadOptions{})
	for _, n := range all {
		out = append(out, n.Copy())
	}
	return out, err
}

// Notes that were only listed may change, unless the decision changes or deletes them.
func TestListedNotes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		uses  bool
		all   bool // not by pages
		tries int
	}{"changed": {true, false, 2}, "only looked at": {false, false, 1}, "one of all changed": {true, true, 2}, "all only looked at": {false, true, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p, m := newMeddledWorld(t)
			a, b := w.entities(false)
			tries := 0
			p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
				list, err := listEntities(ctx, d, c.all)
				if err != nil {
					return memory.Decision{}, err
				}
				if tries++; tries == 1 {
					m.before(func() {
						w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
							n, err := tx.Notes(ctx, []uuid.UUID{a}, memory.ReadOptions{Vector: true})
							if err == nil {
								n[0].Tags = []string{"by hand"}
								_, err = tx.Put(ctx, n[0])
							}
							return err
						})
					})
				}
				list[0].Category = "decided"
				dec := memory.Decision{Deletes: []uuid.UUID{b, uuid.New()}, Cause: memory.CauseForget}
				if c.uses {
					dec.Puts = []memory.Note{list[0]}
				}
				return dec, nil
			}
			w.task(memory.Task{Name: "tidy"})
			w.drain()
			if tries != c.tries {
				t.Errorf("%d tries", tries)
			}
			n := w.get(a)
			if (n.Category == "decided") != c.uses || !slices.Equal(n.Tags, []string{"by hand"}) {
				t.Errorf("the listed note is %+v", n)
			}
			if left := w.all(w.c.ID, memory.KindEntity); len(left) != 1 {
				t.Errorf("%d entities", len(left))
			}
			if set := w.history(b)[0]; !set.Note.Deleted || set.Changeset.Cause != memory.CauseForget {
				t.Errorf("the deletion is %+v", set.Changeset)
			}
		})
	}
}

// Notes that a decision reads again are those that it read before, in the order that it asks for; what the policy did to its copies
// does not show.
func TestNotesAreReadAgain(t *testing.T) {
	t.Parallel()
	w, p, _ := newMeddledWorld(t)
	a, b := w.entities(false)
	want := map[uuid.UUID]string{a: w.get(a).Content, b: w.get(b).Content}
	p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
		for _, ids := range [][]uuid.UUID{{a}, {b, uuid.New(), a, b}, {a, b}} {
			read, err := d.Notes(ctx, ids)
			if err != nil {
				return memory.Decision{}, err
			}
			known := slices.DeleteFunc(ids, func(id uuid.UUID) bool { return want[id] == "" })
			for i := range read {
				if len(read) != len(known) || read[i].ID != known[i] || read[i].Content != want[known[i]] {
					t.Errorf("%v: note %d of %d is %+v", ids, i, len(read), read[i])
				}
				read[i].Content = "Changed by the policy."
			}
		}
		return memory.Decision{}, nil
	}
	w.task(memory.Task{Name: "tidy"})
	w.drain()
	if got := w.get(a).Content; got != want[a] {
		t.Errorf("it is %q now", got)
	}
}

// A task is not enqueued again while one of its name and key waits; one that runs does not count.
func TestFollow(t *testing.T) {
	t.Parallel()
	w, p, _ := newMeddledWorld(t)
	later := w.now().Add(time.Hour)
	p.decide = func(_ context.Context, _ memory.Desk, e memory.Event) (memory.Decision, error) {
		if e.Kind == memory.EventTask && e.Task.Key != "again" {
			return memory.Decision{}, nil
		}
		return memory.Decision{Follow: []memory.Follow{
			{Task: memory.Task{Name: "sum", Key: "one", Args: json.RawMessage(`{"n":1}`)}, After: later},
			{Task: memory.Task{Name: "sum", Key: "two"}, After: later},
			{Task: memory.Task{Name: "sum", Key: "one"}},
		}}, nil
	}
	names := func(state memory.JobState) (out []string) {
		for _, j := range w.jobsOf(w.c.ID, memory.JobPolicy) {
			if j.State == state {
				out = append(out, string(j.Payload))
			}
		}
		return out
	}
	w.say("One.")
	w.drain()
	w.say("Two.")
	w.drain()
	want := []string{`{"name":"sum","key":"one","args":{"n":1}}`, `{"name":"sum","key":"two"}`}
	if got := names(memory.JobQueued); !slices.Equal(got, want) {
		t.Errorf("waiting: %v", got)
	}
	// The leased one runs already: later changes need another.
	w.advance(2 * time.Hour)
	running := w.claim(w.c.ID, memory.StageUpkeep, 1)
	w.task(memory.Task{Name: "more", Key: "again"})
	for _, j := range w.claim(w.c.ID, memory.StageUpkeep, 5) {
		w.run(j)
	}
	if got := names(memory.JobQueued); !slices.Equal(got, want) {
		t.Errorf("waiting: %v", got)
	}
	w.run(running[0])
	w.drain()
	if got := names(memory.JobDone); len(got) != 5 || len(names(memory.JobQueued)) != 0 {
		t.Errorf("done: %v", got)
	}
}

// A key that another note has taken is a conflict; at the last try the put is left out and counted.
// A key that the decision itself frees can be taken.
func TestNaturalKeys(t *testing.T) {
	t.Parallel()
	keyed := func(id uuid.UUID, key, content string) memory.Note {
		n := fact(id, content)
		n.Key = key
		return n
	}
	t.Run("got meanwhile", func(t *testing.T) {
		t.Parallel()
		w, p, m := newMeddledWorld(t)
		tries := 0
		p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
			_, ok, err := d.ByKey(ctx, memory.KindFact, "k")
			if tries++; tries == 1 {
				m.before(func() {
					w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
						_, err := tx.Put(ctx, keyed(uuid.Nil, "k", "By hand."))
						return err
					})
				})
			}
			if ok || err != nil {
				return memory.Decision{}, err
			}
			return memory.Decision{Puts: []memory.Note{keyed(d.NewID(), "k", "Decided.")}}, nil
		}
		w.task(memory.Task{Name: "put"})
		w.drain()
		if facts := w.all(w.c.ID, memory.KindFact); tries != 2 || len(facts) != 1 || facts[0].Content != "By hand." {
			t.Errorf("%d tries, facts %+v", tries, facts)
		}
	})
	t.Run("not looked at", func(t *testing.T) {
		t.Parallel()
		w, p, _ := newMeddledWorld(t)
		w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Put(ctx, keyed(uuid.Nil, "k", "By hand."))
			return err
		})
		p.decide = func(_ context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
			bad, good := d.NewID(), d.NewID()
			return memory.Decision{
				Puts:  []memory.Note{keyed(bad, "k", "Decided."), keyed(good, "l", "Beside it."), keyed(uuid.Nil, "l", "Twice.")},
				Links: []memory.Link{edge(bad, good, 1), edge(good, bad, 1)},
			}, nil
		}
		w.task(memory.Task{Name: "put"})
		w.drain()
		j := w.newestJob(memory.JobPolicy)
		r := resultOf[engineResult](t, &j)
		if len(w.all(w.c.ID, memory.KindFact)) != 2 || r.Tries != 3 || len(r.Refused) != 2 || r.Refused[1].Reason != "another note has its key" {
			t.Errorf("job %q: %s", j.State, j.Result)
		}
	})
	t.Run("set free", func(t *testing.T) {
		t.Parallel()
		w, p, _ := newMeddledWorld(t)
		var ids [2]uuid.UUID
		w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
			for i, k := range []string{"a", "b"} {
				n, err := tx.Put(ctx, keyed(uuid.Nil, k, "Of "+k+"."))
				if err != nil {
					return err
				}
				ids[i] = n.ID
			}
			return nil
		})
		p.decide = func(ctx context.Context, d memory.Desk, _ memory.Event) (memory.Decision, error) {
			n, err := d.Notes(ctx, ids[:])
			if err != nil {
				return memory.Decision{}, err
			}
			n[0].Key = "c"
			return memory.Decision{
				Puts:    []memory.Note{keyed(uuid.Nil, "a", "New of a."), keyed(uuid.Nil, "b", "New of b."), n[0]},
				Deletes: []uuid.UUID{ids[1]},
			}, nil
		}
		w.task(memory.Task{Name: "put"})
		w.drain()
		var got []string
		for _, n := range w.all(w.c.ID, memory.KindFact) {
			got = append(got, n.Key+": "+n.Content)
		}
		slices.Sort(got)
		if want := []string{"a: New of a.", "b: New of b.", "c: Of a."}; !slices.Equal(got, want) {
			t.Errorf("facts %v", got)
		}
	})
}

// Parts that exceed the limits are left out and reported; the rest of the decision is applied.
func TestOversizedPartsAreLeftOut(t *testing.T) {
	t.Parallel()
	w, p, _ := newMeddledWorld(t)
	a, b := w.entities(false)
	p.decide = func(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
		old, err := d.Notes(ctx, []uuid.UUID{a, b})
		if err != nil {
			return memory.Decision{}, err
		}
		old[0].Context = strings.Repeat("x", memory.MaxContextBytes+1)
		long, many, blank, odd := fact(d.NewID(), strings.Repeat("x", memory.MaxContentBytes+1)), fact(uuid.Nil, "Many."), fact(uuid.Nil, " \n"), fact(uuid.Nil, "Broken \xff.")
		many.Attributes = map[string]any{"list": strings.Repeat("x", memory.MaxAttributesBytes)}
		good := fact(d.NewID(), "Short.")
		relation := edge(a, b, 0.5)
		relation.Relation = strings.Repeat("r", memory.MaxRelationBytes+1)
		return memory.Decision{
			Puts: []memory.Note{old[0], long, many, blank, odd, good},
			Links: []memory.Link{
				edge(long.ID, good.ID, 0.5), edge(a, b, 1.5), relation, edge(good.ID, a, 0.5), edge(a, a, 0.5),
			},
		}, nil
	}
	w.say("Something.")
	w.drain()
	j := w.newestJob(memory.JobExchange)
	r := resultOf[engineResult](t, &j)
	if j.State != memory.JobDone || len(r.Refused) != 7 {
		t.Errorf("job %q: %s", j.State, j.Result)
	}
	facts := w.all(w.c.ID, memory.KindFact)
	if len(facts) != 1 || facts[0].Content != "Short." {
		t.Errorf("facts %+v", facts)
	}
	if w.get(a).Context != "" || len(w.edges(a)) != 0 || len(w.edges(facts[0].ID)) != 1 {
		t.Error("a refused part was applied, or a good one was not")
	}
}

// A fact whose source message has changed is not written; facts of unchanged messages are.
func TestFactsOfChangedMessages(t *testing.T) {
	t.Parallel()
	w, p, m := newMeddledWorld(t)
	tries := 0
	var first uuid.UUID
	p.decide = func(_ context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
		if e.Kind != memory.EventExchange {
			return memory.Decision{Note: e.Note}, nil
		}
		tries++
		n := tries
		m.before(func() {
			w.changeByHand(func(ctx context.Context, tx memory.Tx) error {
				now, err := tx.Notes(ctx, []uuid.UUID{first}, memory.ReadOptions{})
				if err == nil {
					now[0].Content = fmt.Sprintf("Reworded %d.", n)
					_, err = tx.Put(ctx, now[0])
				}
				return err
			})
		})
		return memory.Decision{Puts: []memory.Note{
			fact(d.NewID(), "Of the first.", e.Messages[0].ID), fact(d.NewID(), "Of the second.", e.Messages[1].ID),
		}}, nil
	}
	said := w.say("One.", "Two.")
	first = said.Messages[0].ID
	w.step(w.c.ID) // prepare, then decide
	if facts := w.all(w.c.ID, memory.KindFact); tries != 3 || len(facts) != 1 || facts[0].Content != "Of the second." {
		t.Errorf("%d tries, facts %+v", tries, facts)
	}
	if n := w.get(first); n.State != memory.StateRaw || n.Content != "Reworded 3." {
		t.Errorf("the changed message is %q: %q", n.State, n.Content)
	}
	if n := w.get(said.Messages[1].ID); n.State != memory.StateEvolved {
		t.Errorf("the other one is %q", n.State)
	}
}
