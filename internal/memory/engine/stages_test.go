package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// countingStore counts transactions.
type countingStore struct {
	engine.Store
	writes int
}

func (c *countingStore) Write(ctx context.Context, s tenant.Scope, id uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (memory.Written, error) {
	c.writes++
	return c.Store.Write(ctx, s, id, o, fn)
}

// TestOneWrite: a note that is next in its collection is described and decided in one transaction, which
// leaves the log as two would: one changeset for each stage.
func TestOneWrite(t *testing.T) {
	t.Parallel()
	var store *countingStore
	w := newWorld(t, options{together: true, wrap: func(s engine.Store) engine.Store {
		store = &countingStore{Store: s}
		return store
	}})
	w.learn("The lighthouse keeper logs a storm.")
	store.writes = 0
	w.fake.Script("evolve", evolve(func(e *amem.Evolution) { e.Actions, e.SuggestedConnections = []string{"strengthen"}, []int{0} }))
	n := w.learn("The keeper of the lighthouse repairs the lamp.")
	if store.writes != 1 || n.State != memory.StateEvolved || len(w.links(n.ID)) != 1 {
		t.Errorf("%d transactions, state %q, links %v", store.writes, n.State, w.links(n.ID))
	}
	var states []memory.State
	for _, h := range slices.Backward(w.history(n.ID)) {
		states = append(states, h.Note.State)
	}
	sets, err := w.store.Changesets(t.Context(), w.s, w.view(w.c.ID), 3, 10)
	var causes []memory.Cause
	for _, c := range sets {
		causes = append(causes, c.Cause)
	}
	if err != nil || !slices.Equal(causes, []memory.Cause{memory.CauseAdd, memory.CauseAnalyze, memory.CauseEvolve}) ||
		!slices.Equal(states, []memory.State{memory.StateRaw, memory.StateRaw, memory.StateEvolved}) {
		t.Errorf("changesets %v, states %v, %v", causes, states, err)
	}
	undone, err := w.engine.Undo(t.Context(), w.s, w.c.ID.String(), sets[2].Revision, "")
	if err != nil || len(undone.Unlinked) != 1 || len(w.get(n.ID).Keywords) != len(n.Keywords) {
		t.Errorf("undo takes the links back and leaves the description: %+v, %v", undone, err)
	}
}

// never is engine.Stages.Follow for a decision that may not follow.
func never(t *testing.T) func(context.Context) (context.Context, func(), bool) {
	t.Helper()
	return func(ctx context.Context) (context.Context, func(), bool) {
		t.Error("other jobs may be decided before this one")
		return ctx, nil, false
	}
}

// TestStagesApart: with no room for the decision, or behind another note, the stages are written apart.
func TestStagesApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{heuristic: true})
	w.add("The lighthouse keeper logs a storm.")
	w.add("The keeper of the lighthouse repairs the lamp.")
	jobs := w.claim(w.c.ID, memory.StagePrepare, 2)
	for i, follow := range []func(context.Context) (context.Context, func(), bool){
		func(ctx context.Context) (context.Context, func(), bool) { return ctx, nil, false },
		never(t),
	} {
		j := jobs[i]
		must.Do(t, w.engine.RunStages(t.Context(), w.s, j, engine.Stages{Follow: follow}))
		if got := w.jobs(j.Note)[0]; got.Stage != memory.StageDecide || got.State != memory.JobQueued || w.get(j.Note).State != memory.StateRaw {
			t.Errorf("job %+v, note %q", got, w.get(j.Note).State)
		}
	}
}

// TestStagesApartAfterTrouble: later jobs overtake one that failed or lost its lease, so its stages are written apart.
func TestStagesApartAfterTrouble(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(*memory.Job){
		"failed": func(j *memory.Job) { j.Attempts = 1 }, "lost": func(j *memory.Job) { j.Losses = 1 }, "lost now": func(j *memory.Job) { j.Claims = 2 },
	} {
		w := newWorld(t, options{heuristic: true})
		n := w.add("The lighthouse keeper logs a storm.")
		j := w.claim(w.c.ID, memory.StagePrepare, 1)[0]
		trouble(&j)
		if err := w.engine.RunStages(t.Context(), w.s, j, engine.Stages{Follow: never(t)}); err != nil {
			t.Fatal(name, err)
		}
		if got := w.jobs(n.ID)[0]; got.Stage != memory.StageDecide || got.State != memory.JobQueued {
			t.Errorf("%s: job %+v", name, got)
		}
	}
}

// TestDecisionFails: when the decision fails, the description is kept, and only the decision is tried again.
func TestDecisionFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{together: true})
	w.learn("The lighthouse keeper logs a storm.")
	described := 0
	w.fake.Handle("analyze", func(llmtest.Request) llmtest.Reply {
		described++
		return llmtest.JSON(amem.Analysis{Keywords: []string{"lamp", "keeper", "repair"}, Context: "A repair.", Tags: []string{"sea", "work", "fact"}})
	})
	w.fake.Script("evolve", llmtest.Status(500, 0))
	n := w.learn("The keeper of the lighthouse repairs the lamp.")
	j := w.jobs(n.ID)[0]
	if n.State != memory.StatePending || n.Context != "A repair." || n.Error == "" || j.Stage != memory.StageDecide || j.State != memory.JobQueued || j.Attempts != 1 ||
		!strings.Contains(string(j.Result), "analyze") {
		t.Errorf("note %+v, job %+v", n, j)
	}
	w.advance(j.NotBefore.Sub(w.now()))
	w.drain()
	if n = w.get(n.ID); n.State != memory.StateEvolved || described != 1 {
		t.Errorf("state %q, described %d times", n.State, described)
	}
}

// TestNoteChangesWhileDeciding: a caller's change during the decision wins, and the note is described again.
func TestNoteChangesWhileDeciding(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{together: true})
	w.learn("The lighthouse keeper logs a storm.")
	n := w.add("The keeper of the lighthouse repairs the lamp.")
	changed := false
	w.fake.Handle("evolve", func(llmtest.Request) llmtest.Reply {
		if !changed {
			changed = true
			now := w.get(n.ID)
			now.Category = "mine"
			_, err := w.store.Write(t.Context(), w.s, w.c.ID, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
				_, err := tx.Put(ctx, now)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		return evolve(func(e *amem.Evolution) { e.ShouldEvolve = false })
	})
	w.drain()
	if n = w.get(n.ID); n.State != memory.StateEvolved || n.Category != "mine" || len(n.Keywords) == 0 {
		t.Errorf("got %+v", n)
	}
}
