package engine_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/jobs"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// lateModel answers as a gateway without a model until one is configured.
type lateModel struct {
	memory.Model
	here *atomic.Bool
}

func (m lateModel) Analyst() memory.Analyst {
	if m.here.Load() {
		return m.Model.Analyst()
	}
	return memory.AnalystHeuristic
}

func (m lateModel) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (memory.Answer, error) {
	a, err := m.Model.Ask(ctx, s, c)
	a.Analyst = m.Analyst()
	return a, err
}

// newLateWorld returns a world whose model is there once the flag is set.
func newLateWorld(t *testing.T, policy string) (*world, *atomic.Bool) {
	t.Helper()
	here := new(atomic.Bool)
	return newWorld(t, options{policy: policy, model: func(m memory.Model) memory.Model { return lateModel{m, here} }}), here
}

// takeUp asks for a refresh and runs it to its end.
func (w *world) takeUp() memory.Job {
	w.t.Helper()
	u := jobs.Upkeep{Store: w.store, Embedders: w.embedders, ModelFor: w.engine.ModelFor}
	j, err := u.Refresh(w.t.Context(), w.s, w.c.ID.String())
	if err != nil {
		w.t.Fatal(err)
	}
	if again, err := u.Refresh(w.t.Context(), w.s, w.c.ID.String()); err != nil || again.ID != j.ID {
		w.t.Errorf("a second request while it waits made the job %s: %v", again.ID, err)
	}
	for range 5 {
		w.drain()
		w.advance(10 * time.Minute)
	}
	if j = w.job(j.ID); j.State != memory.JobDone || j.Progress == nil || j.Progress.Done != j.Progress.Total {
		w.t.Errorf("the job is %s, its progress %+v, its error %q", j.State, j.Progress, j.Error)
	}
	return j
}

// Without a model there is nothing to take up, and the refusal names the setting.
func TestRefreshNeedsAModel(t *testing.T) {
	t.Parallel()
	w, _ := newLateWorld(t, "amem")
	u := jobs.Upkeep{Store: w.store, Embedders: w.embedders, ModelFor: w.engine.ModelFor}
	_, err := u.Refresh(t.Context(), w.s, w.c.ID.String())
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("the refusal is %v", err)
	}
}

// Notes are described again, except for what their writer supplied, and only once.
func TestRefreshOfNotes(t *testing.T) {
	t.Parallel()
	w, here := newLateWorld(t, "amem")
	note := w.learn("The ferry leaves at seven.", func(n *notes.NewNote) { n.Tags = []string{"mine"} })
	if note = w.get(note.ID); note.Analyst != memory.AnalystHeuristic {
		t.Fatalf("the note is by %q", note.Analyst)
	}
	here.Store(true)
	if j := w.takeUp(); j.Progress.Total != 1 {
		t.Errorf("%d jobs for one note", j.Progress.Total)
	}
	if note = w.get(note.ID); note.Analyst != memory.AnalystModel || !slices.Equal(note.Tags, []string{"mine"}) || note.State != memory.StateEvolved {
		t.Errorf("the note is by %q, has the tags %q, and is %s", note.Analyst, note.Tags, note.State)
	}
	if j := w.takeUp(); j.Progress.Total != 0 {
		t.Errorf("a second pass has %d jobs", j.Progress.Total)
	}
}

// An exchange is extracted from again. The model's decision changes the quotation that it names, whose text stays in
// the history, and leaves the others.
func TestRefreshOfFacts(t *testing.T) {
	t.Parallel()
	w, here := newLateWorld(t, "mem0")
	const said, also = "I live in Berlin with two cats.", "My bicycle is red and very old."
	w.script(map[string][]string{said: {"“" + said + "”"}, also: {"“" + also + "”"}}, nil)
	w.sayAndDrain(said)
	w.sayAndDrain(also)
	quotes := w.all(w.c.ID, memory.KindFact)
	if len(quotes) != 2 || quotes[0].Analyst != memory.AnalystHeuristic {
		t.Fatalf("%+v", quotes)
	}
	here.Store(true)
	const fact = "The user lives in Berlin with two cats."
	w.script(map[string][]string{said: {fact}}, map[string]verdict{fact: {mem0.OpUpdate, quotes[0].Content, fact}})
	w.takeUp()
	if got := w.texts(memory.KindFact); !slices.Equal(got, []string{fact, "“" + also + "”"}) {
		t.Errorf("live are %q", got)
	}
	if h := w.history(quotes[0].ID); len(h) < 2 || h[len(h)-1].Note.Content != quotes[0].Content {
		t.Errorf("the quotation is not in the history: %+v", h)
	}
	if j := w.takeUp(); j.Progress.Total != 0 {
		t.Errorf("a second pass has %d jobs", j.Progress.Total)
	}
}

// The summary of a day is written again.
func TestRefreshOfDays(t *testing.T) {
	t.Parallel()
	w, here := newLateWorld(t, "memorybank")
	w.fake.Handle("daily_summary", func(llmtest.Request) llmtest.Reply {
		text := "Quoted."
		if here.Load() {
			text = "Told by the model."
		}
		return llmtest.JSON(memorybank.DaySummary{Summary: text, Events: []string{}})
	})
	w.sayAndDrain("I moved to Berlin.", func(m *notes.NewMessage) { m.OccurredAt = new(w.now().AddDate(0, 0, -3)) })
	w.advance(24 * time.Hour)
	w.drain()
	if before := w.all(w.c.ID, memory.KindSummary); len(before) == 0 || before[0].Analyst != memory.AnalystHeuristic {
		t.Fatalf("%+v", before)
	}
	here.Store(true)
	w.takeUp()
	for _, n := range w.all(w.c.ID, memory.KindSummary) {
		if n.Analyst != memory.AnalystModel {
			t.Errorf("the summary %q, %q is by %q, stale %v", n.Key, n.Content, n.Analyst, n.Provenance.Stale)
		}
	}
}
