package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// meddler runs something between the reads and the writes of the engine.
type meddler struct {
	engine.Store
	mu   sync.Mutex
	next func()
}

func (m *meddler) before(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = f
}

func (m *meddler) Write(ctx context.Context, s tenant.Scope, c uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (memory.Written, error) {
	m.mu.Lock()
	f := m.next
	m.next = nil
	m.mu.Unlock()
	if f != nil {
		f()
	}
	return m.Store.Write(ctx, s, c, o, fn)
}

// newUnsureWorld returns a world with one open proposal of a link only: when it is approved, nothing
// that it depends on has changed, except the state of the new note.
func newUnsureWorld(t *testing.T) (w *world, m *meddler, old, fresh memory.Note, r memory.Review) {
	t.Helper()
	m = &meddler{}
	w = newWorld(t, options{wrap: func(s engine.Store) engine.Store { m.Store = s; return m }})
	old = w.learn("Bread needs flour, water and salt.")
	gate := 0.5
	w.fake.Script("evolve", evolve(func(e *amem.Evolution) {
		e.Actions, e.SuggestedConnections, e.Confidence = []string{"strengthen"}, []int{0}, &gate
	}))
	fresh = w.learn("Sourdough bread needs a starter.")
	list := w.reviews(memory.ReviewOpen)
	if len(list) != 1 {
		t.Fatalf("%d open reviews", len(list))
	}
	return w, m, old, fresh, list[0]
}

// C079: of two callers who close a review at the same time, one succeeds.
func TestReviewIsClosedOnce_C079(t *testing.T) {
	t.Parallel()
	count := func(w *world) int64 {
		c := must.Get(w.store.ResolveCollection(t.Context(), w.s, w.c.ID.String()))(t)
		return c.EvolvedAdds
	}
	approve := func(w *world, id uuid.UUID) error {
		_, err := w.engine.Approve(t.Context(), w.s, id, "")
		return err
	}
	reject := func(w *world, id uuid.UUID) error {
		_, err := w.engine.Reject(t.Context(), w.s, id, "")
		return err
	}
	for name, c := range map[string]struct {
		first, second func(*world, uuid.UUID) error
		state         memory.ReviewState
		links, adds   int
	}{
		"approved twice":         {approve, approve, memory.ReviewApproved, 1, 1},
		"approved, then refused": {approve, reject, memory.ReviewApproved, 1, 1},
		"refused, then approved": {reject, approve, memory.ReviewRejected, 0, 0},
		"refused twice":          {reject, reject, memory.ReviewRejected, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, m, _, fresh, r := newUnsureWorld(t)
			m.before(func() {
				if err := c.first(w, r.ID); err != nil {
					t.Error(err)
				}
			})
			if err := c.second(w, r.ID); !fault.Is(err, fault.Conflict) {
				t.Errorf("the second got %v", err)
			}
			if now := mustReview(t, w, r.ID); now.State != c.state {
				t.Errorf("the review is %q", now.State)
			}
			if len(w.links(fresh.ID)) != c.links || count(w) != int64(c.adds) {
				t.Errorf("%d links, %d evolving adds", len(w.links(fresh.ID)), count(w))
			}
		})
	}
}

func mustReview(t *testing.T, w *world, id uuid.UUID) memory.Review {
	t.Helper()
	r := must.Get(w.engine.Review(t.Context(), w.s, id))(t)
	return r
}

// Of many concurrent undos of an evolution, one succeeds.
func TestUndoneOnce(t *testing.T) {
	t.Parallel()
	w, m, old, fresh, r := newUnsureWorld(t)
	done := must.Get(w.engine.Approve(t.Context(), w.s, r.ID, ""))(t)
	undo := func() error {
		_, err := w.engine.Undo(t.Context(), w.s, w.c.ID.String(), done.Revision, "")
		return err
	}
	m.before(func() {
		if err := undo(); err != nil {
			t.Error(err)
		}
		// A caller links them.
		_, err := w.notes.PutLinks(t.Context(), w.s, w.c.ID.String(), fresh.ID, []notes.LinkInput{{Target: old.ID}}, memory.Request{})
		if err != nil {
			t.Error(err)
		}
	})
	if err := undo(); !fault.Is(err, fault.Conflict) {
		t.Errorf("the second got %v", err)
	}
	if !has(w.links(fresh.ID), old.ID) {
		t.Error("a link made by hand was taken back")
	}
}

// A proposal in a fork can still be approved after its base was deleted.
func TestApproveAfterTheBaseIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.learn("Bread needs flour, water and salt.")
	f := w.fork("own")
	gate := 0.9
	w.fake.Script("evolve", evolve(func(e *amem.Evolution) {
		e.Actions, e.Confidence, e.NewContextNeighborhood = []string{"update_neighbor"}, &gate, []string{"Baking."}
	}))
	must.Get(w.notes.Add(t.Context(), w.s, f.String(), notes.NewNote{Content: "Sourdough bread needs a starter."}, memory.Request{}))(t)
	w.drain()
	list, err := w.engine.Reviews(t.Context(), w.s, memory.ReviewQuery{Collection: f, State: memory.ReviewOpen, Limit: 10})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d reviews, %v", len(list), err)
	}
	must.Get(w.collections.Delete(t.Context(), w.s, w.c.ID.String(), true))(t)
	w.drain()
	must.Get(w.engine.Approve(t.Context(), w.s, list[0].ID, ""))(t)
	if n := w.getIn(f, list[0].Changes[0].Note); n.Context != "Baking." {
		t.Errorf("context %q", n.Context)
	}
}

// A note whose content changes during a decision waits for the analysis of its new content, and is
// not called evolved before.
func TestPatchedInFlightStaysRaw(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.learn("Bread needs flour, water and salt.")
	n := w.add("Sourdough bread needs a starter.")
	w.run(w.claim(w.c.ID, memory.StagePrepare, 1)[0])
	calls := 0
	w.fake.Handle("evolve", func(llmtest.Request) llmtest.Reply {
		calls++
		content := []string{"", "Rye bread is dense.", "Rye bread is very dense.", "Rye bread is sour."}[calls]
		if _, err := w.notes.Patch(t.Context(), w.s, w.c.ID.String(), n.ID, notes.NotePatch{Content: new(content)}, memory.Request{}); err != nil {
			t.Error(err)
		}
		return keep()
	})
	w.run(w.claim(w.c.ID, memory.StageDecide, 1)[0])
	if now := w.get(n.ID); calls != 3 || now.State != memory.StateRaw || len(now.Keywords) != 0 {
		t.Errorf("%d calls, state %q, keywords %v", calls, now.State, now.Keywords)
	}
	w.fake.Handle("evolve", func(llmtest.Request) llmtest.Reply { return keep() })
	w.drain()
	if now := w.get(n.ID); now.State != memory.StateEvolved || len(now.Keywords) == 0 {
		t.Errorf("state %q, keywords %v", now.State, now.Keywords)
	}
}

// New tags of the note itself are an evolution, too: counted, and marked when what they depend on is
// undone.
func TestTagsAloneAreAnEvolution_C021(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.learn("Bread needs flour, water and salt.")
	w.fake.Script("evolve", evolve(func(e *amem.Evolution) {
		e.Actions, e.TagsToUpdate = []string{"strengthen"}, []string{"fermentation"}
	}))
	n := w.learn("Sourdough bread needs a starter.")
	c := must.Get(w.store.ResolveCollection(t.Context(), w.s, w.c.ID.String()))(t)
	var r struct {
		Evolved bool `json:"evolved"`
	}
	must.Do(t, json.Unmarshal(w.jobs(n.ID)[0].Result, &r))
	if !slices.Contains(n.Tags, "fermentation") || c.EvolvedAdds != 1 || !r.Evolved {
		t.Errorf("tags %v, %d evolving adds, evolved %v", n.Tags, c.EvolvedAdds, r.Evolved)
	}
}

// Notes that wait for a model are processed in a copy as in a fork.
func TestCopyContinuesWaitingWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{heuristic: true})
	n := w.add("Bread needs flour, water and salt.")
	no := false
	given := w.add("Stored as given.", func(in *notes.NewNote) { in.Infer = &no })
	r := must.Get(w.clone.Clone(t.Context(), w.s, w.c.ID.String(), clone.Input{Mode: clone.Copy, Name: "copied"}, memory.Request{}))(t)
	j := w.claim(r.Collection.ID, memory.StageTask, 1)[0]
	must.Do(t, w.clone.RunCopy(t.Context(), grant.Job(j.Tenant, j.ID), j, func(context.Context, memory.Progress) error { return nil }))
	must.Do(t, w.store.ReleaseJob(t.Context(), w.s, j.ID, j.Lease, memory.JobEnd{State: memory.JobDone}))
	w.drain()
	for _, c := range []uuid.UUID{w.c.ID, r.Collection.ID} {
		if now := w.getIn(c, n.ID); now.State != memory.StateEvolved || len(now.Keywords) == 0 {
			t.Errorf("state %q, keywords %v", now.State, now.Keywords)
		}
		if now := w.getIn(c, given.ID); now.State != memory.StateRaw {
			t.Errorf("state %q", now.State)
		}
	}
}

// A removal is retried until it succeeds. Its collection belongs to nobody any more, so nobody could
// retry it.
func TestRemovalNeverDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{heuristic: true})
	w.learn("Bread needs flour, water and salt.")
	must.Get(w.collections.Delete(t.Context(), w.s, w.c.ID.String(), false))(t)
	for range 5 {
		j := w.claim(w.c.ID, memory.StageTask, 1)[0]
		must.Do(t, w.engine.Fail(t.Context(), grant.Job(j.Tenant, j.ID), j, fault.New(fault.Unavailable, "the disk is full")))
		w.advance(time.Hour) // the longest pause
	}
	w.drain()
	if _, err := w.store.RemoveRows(t.Context(), w.s, w.c.ID, 10); !fault.Is(err, fault.NotFound) {
		t.Errorf("rows are left: %v", err)
	}
}

// C060: a number keeps its digits through evolution and review.
func TestBigNumbersSurvive_C060(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	const big = json.Number("9007199254740993")
	old := w.learn("Bread needs flour, water and salt.", func(n *notes.NewNote) { n.Attributes = map[string]any{"big": big} })
	gate := 0.9
	w.fake.Script("evolve", evolve(func(e *amem.Evolution) {
		e.Actions, e.Confidence, e.NewContextNeighborhood = []string{"update_neighbor"}, &gate, []string{"Baking."}
	}))
	w.learn("Sourdough bread needs a starter.")
	r := w.reviews(memory.ReviewOpen)[0]
	if r.Changes[0].Before.Attributes["big"] != big {
		t.Errorf("the review shows %v", r.Changes[0].Before.Attributes)
	}
	must.Get(w.engine.Approve(t.Context(), w.s, r.ID, ""))(t)
	if n := w.get(old.ID); n.Context != "Baking." || n.Attributes["big"] != big {
		t.Errorf("context %q, attributes %v", n.Context, n.Attributes)
	}
}

// A collection that sets temperature 0 gets it, not the default.
func TestTemperatureZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: `{"temperature":0}`})
	w.learn("Bread needs flour, water and salt.")
	for _, r := range w.fake.Requests() {
		if r.Temperature == nil || *r.Temperature > 1e-6 {
			t.Errorf("temperature %v", r.Temperature)
		}
	}
	if len(w.fake.Requests()) == 0 {
		t.Error("nothing was asked")
	}
}

// C327: a note that keeps changing while it is divided is not divided. Otherwise its second part
// would exist twice.
func TestChangedNoteIsNotDivided_C327(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: `{"split":true}`})
	const parts = "The cat sleeps on the warm roof. The stock exchange fell sharply."
	n := w.add(parts)
	w.run(w.claim(w.c.ID, memory.StagePrepare, 1)[0])
	calls := 0
	w.fake.Handle("split", func(llmtest.Request) llmtest.Reply {
		calls++
		p := notes.NotePatch{Category: nullable.NewNullableWithValue([]string{"a", "b", "c", "d"}[calls%4])}
		if _, err := w.notes.Patch(t.Context(), w.s, w.c.ID.String(), n.ID, p, memory.Request{}); err != nil {
			t.Error(err)
		}
		return llmtest.JSON(map[string]any{"parts": []string{"The cat sleeps on the warm roof.", "The stock exchange fell sharply."}})
	})
	w.run(w.claim(w.c.ID, memory.StageDecide, 1)[0])
	list, err := w.store.ListNotes(t.Context(), w.s, w.view(w.c.ID), memory.NoteQuery{Limit: 10})
	if err != nil || len(list) != 1 || list[0].Content != parts || list[0].State != memory.StateEvolved {
		t.Errorf("%d calls, %d notes, %v: %+v", calls, len(list), err, list)
	}
}
