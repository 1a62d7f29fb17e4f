package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/jobs"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
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
	j := must.Get(u.Refresh(w.t.Context(), w.s, w.c.ID.String()))(w.t)
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

// The graph of a fact follows it: what the model words again has the relations that the model finds.
func TestRefreshOfAGraph(t *testing.T) {
	t.Parallel()
	const said, fact = "I live in Berlin with two cats.", "Ann lives in Berlin with two cats."
	here := new(atomic.Bool)
	w := newGraphWorld(t, options{model: func(m memory.Model) memory.Model { return lateModel{m, here} }},
		map[string][]string{fact: {"Ann|lives_in|Berlin"}}, nil)
	w.script(map[string][]string{said: {"“" + said + "”"}}, nil)
	w.sayAndDrain(said)
	quote := w.all(w.c.ID, memory.KindFact)[0]
	if got := w.factLines(w.view(w.c.ID), recall.FactsQuery{}); len(got) != 0 {
		t.Fatalf("relations %q before there is a model", got)
	}
	here.Store(true)
	w.script(map[string][]string{said: {fact}}, map[string]verdict{fact: {mem0.OpUpdate, quote.Content, fact}})
	w.takeUp()
	if got := w.texts(memory.KindFact); !slices.Equal(got, []string{fact}) || w.get(quote.ID).Analyst != memory.AnalystModel {
		t.Errorf("facts %q", got)
	}
	if got := w.factLines(w.view(w.c.ID), recall.FactsQuery{}); len(got) != 1 || !strings.Contains(got[0], "lives_in") {
		t.Errorf("relations %q", got)
	}
	if j := w.takeUp(); j.Progress.Total != 0 {
		t.Errorf("a second pass has %d jobs", j.Progress.Total)
	}
}

// A session is summed up again, with its pages.
func TestRefreshOfSessions(t *testing.T) {
	t.Parallel()
	here := new(atomic.Bool)
	w := newOSWorld(t, `{"short_capacity":1}`, options{model: func(m memory.Model) memory.Model { return lateModel{m, here} }})
	w.fake.Handle(memoryos.CallThemes, func(llmtest.Request) llmtest.Reply {
		theme := memoryos.Theme{Theme: "quoted", Keywords: []string{"bees"}, Content: "Quoted.", Pages: []int{0}}
		if here.Load() {
			theme.Theme, theme.Content = "bees", "Mia keeps bees in her garden."
		}
		return llmtest.JSON(memoryos.ThemesAnswer{Themes: []memoryos.Theme{theme}})
	})
	w.tell("I keep bees in my garden.", "How many hives?")
	w.tell("Three hives.", "That is a lot.")
	before := w.sessions()
	if len(before) != 1 || before[0].Note.Analyst != memory.AnalystHeuristic {
		t.Fatalf("%+v", before)
	}
	here.Store(true)
	w.takeUp()
	if after := w.sessions(); len(after) != 1 || after[0].Note.Analyst != memory.AnalystModel || after[0].Theme != "bees" || after[0].Pages != before[0].Pages {
		t.Errorf("%+v", after)
	}
}

// Of layers there is nothing to decide again: items are as they were said, and knowledge is what the published phrases state.
// The job ends.
func TestRefreshOfNothing(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"layered", "none"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w, here := newLateWorld(t, policy)
			w.sayAndDrain("My name is Ann, and I live in Berlin.")
			before := w.all(w.c.ID, memory.KindMessage)
			here.Store(true)
			if j := w.takeUp(); j.Progress.Total != 0 {
				t.Errorf("%d jobs", j.Progress.Total)
			}
			if after := w.all(w.c.ID, memory.KindMessage); len(after) != len(before) || after[0].Version() != before[0].Version() {
				t.Errorf("%+v", after)
			}
		})
	}
}

// fallibleStore dies like mortalStore, from when it is told to.
type fallibleStore struct {
	mortalStore
	on *atomic.Bool
}

func (f *fallibleStore) Write(ctx context.Context, s tenant.Scope, c uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (memory.Written, error) {
	if f.on.Load() {
		return f.mortalStore.Write(ctx, s, c, o, fn)
	}
	return f.Store.Write(ctx, s, c, o, fn)
}

// A process that dies in the middle of a refresh loses nothing of it: the next one continues, and each fact is taken up
// once.
func TestRefreshIsResumed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			here := new(atomic.Bool)
			w := newWorld(t, options{
				policy: "mem0", model: func(m memory.Model) memory.Model { return lateModel{m, here} },
				wrap: func(s engine.Store) engine.Store {
					return &fallibleStore{mortalStore{s, rand.New(rand.NewPCG(seed, 2))}, here}
				},
			})
			said, taken, verdicts := map[string][]string{}, map[string][]string{}, map[string]verdict{}
			for _, place := range []string{"Berlin", "Lyon", "Oslo", "Porto", "Turin"} {
				text, fact := "I once lived near "+place+".", "The user once lived near "+place+"."
				said[text], taken[text] = []string{"“" + text + "”"}, []string{fact}
				verdicts[fact] = verdict{mem0.OpUpdate, "“" + text + "”", fact}
			}
			w.script(said, nil)
			for text := range said {
				w.sayAndDrain(text)
			}
			w.script(taken, verdicts)
			here.Store(true)
			j := must.Get((&jobs.Upkeep{Store: w.store, Embedders: w.embedders, ModelFor: w.engine.ModelFor}).Refresh(t.Context(), w.s, w.c.ID.String()))(t)
			deaths := 0
			for rounds := 0; w.job(j.ID).State != memory.JobDone; rounds++ {
				if rounds > 500 {
					t.Fatalf("the job is %+v after %d deaths", w.job(j.ID), deaths)
				}
				for _, stage := range []memory.Stage{memory.StagePrepare, memory.StageDecide, memory.StageTask, memory.StageUpkeep} {
					for _, leased := range w.claim(w.c.ID, stage, 3) {
						err := w.try(leased)
						if errors.Is(err, errKilled) {
							deaths++ // its lease expires
						} else {
							w.end(leased, err)
						}
					}
				}
				w.advance(16 * time.Second)
			}
			facts := w.all(w.c.ID, memory.KindFact)
			if len(facts) != len(said) || deaths == 0 {
				t.Errorf("%d facts after %d deaths", len(facts), deaths)
			}
			for _, n := range facts {
				if h := w.history(n.ID); n.Analyst != memory.AnalystModel || len(h) != 2 {
					t.Errorf("%q is by %q, with %d versions", n.Content, n.Analyst, len(h))
				}
			}
		})
	}
}
