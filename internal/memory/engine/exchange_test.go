package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/test/must"
)

// fact returns a new note as policies derive it.
func fact(id uuid.UUID, content string, sources ...uuid.UUID) memory.Note {
	return memory.Note{
		ID: id, Kind: memory.KindFact, Content: content, Importance: 0.5, State: memory.StateEvolved,
		Provenance: memory.Provenance{Sources: sources},
	}
}

// An exchange is embedded and decided about as a whole, and its facts and their links are written as
// decided.
func TestExchange(t *testing.T) {
	t.Parallel()
	w, p := newStubWorld(t, options{remote: true})
	var got memory.Event
	var ids []uuid.UUID
	p.decide = func(_ context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
		got = e
		ids = []uuid.UUID{d.NewID(), d.NewID()}
		return memory.Decision{
			Puts: []memory.Note{fact(ids[0], "The user likes tea.", e.Messages[0].ID), fact(ids[1], "Tea is served at five.")},
			Links: []memory.Link{
				{LinkID: memory.LinkID{Source: ids[0], Target: ids[1], Relation: "served"}, Confidence: 0.8},
				{LinkID: memory.LinkID{Source: ids[1], Target: d.NewID(), Relation: "to nothing"}, Confidence: 0.8},
			},
			Cause: memory.CauseExtract, Evolved: true, Outcome: json.RawMessage(`{"policy":"stub"}`),
		}, nil
	}
	said := w.say("I like tea.", "Tea is served at five.")
	if w.get(said.Messages[0].ID).Vector != nil {
		t.Fatal("embedded before prepare")
	}
	w.drain()
	if got.Kind != memory.EventExchange || len(got.Messages) != 2 || got.Messages[0].Content != "I like tea." || got.Messages[1].Vector == nil {
		t.Errorf("the event is %+v", got)
	}
	for _, m := range said.Messages {
		if n := w.get(m.ID); n.State != memory.StateEvolved || n.Vector == nil || n.Content != m.Content {
			t.Errorf("message is %+v", n)
		}
	}
	facts := w.all(w.c.ID, memory.KindFact)
	if len(facts) != 2 || facts[0].ID != ids[0] || facts[0].State != memory.StateEvolved {
		t.Fatalf("facts %+v", facts)
	}
	job := w.jobsOf(w.c.ID, memory.JobExchange)[0]
	if job.State != memory.JobDone || !resultOf[engineResult](t, &job).Evolved || !strings.Contains(string(job.Result), `"policy":"stub"`) {
		t.Errorf("job %q, result %s", job.State, job.Result)
	}
	both := []uuid.UUID{said.Messages[0].ID, said.Messages[1].ID}
	if src := facts[1].Provenance.Sources; !slices.Equal(src, both) || facts[1].Provenance.Job == nil || *facts[1].Provenance.Job != job.ID {
		t.Errorf("provenance %+v", facts[1].Provenance)
	}
	if l := w.links(ids[0]); len(l) != 1 || l[0] != ids[1] || len(w.links(ids[1])) != 0 {
		t.Errorf("links %v, %v", l, w.links(ids[1]))
	}
	set := w.history(ids[0])[0].Changeset
	if set.Cause != memory.CauseExtract || set.Trigger != said.Messages[1].ID || set.Job != job.ID {
		t.Errorf("changeset %+v", set)
	}
}

// What the caller of an add wants to be learned is with its job alone, also at a second try, and has no secrets.
func TestExchangeHasItsGuidance(t *testing.T) {
	t.Parallel()
	w, p := newStubWorld(t, options{})
	var got []*memory.Guidance
	p.decide = func(_ context.Context, _ memory.Desk, e memory.Event) (memory.Decision, error) {
		if got = append(got, e.Guidance); len(got) == 1 {
			return memory.Decision{}, fault.New(fault.Unavailable, "the model is away")
		}
		return memory.Decision{}, nil
	}
	in := notes.NewMessages{
		Messages: []notes.NewMessage{{Content: "I like tea."}},
		Guidance: &memory.Guidance{Instructions: "My password is hunter2x9. Be brief.", Categories: []memory.Category{{Name: "drinks"}}},
	}
	must.Get(w.notes.AddMessages(t.Context(), w.s, w.c.ID.String(), in, memory.Request{}))(t)
	w.settle()
	w.say("I like coffee.")
	w.settle()
	if len(got) != 3 || got[2] != nil {
		t.Fatalf("the events have %+v", got)
	}
	for _, g := range got[:2] {
		if g == nil || strings.Contains(g.Instructions, "hunter2x9") || !strings.Contains(g.Instructions, "Be brief.") || len(g.Categories) != 1 {
			t.Errorf("an event has %+v", g)
		}
	}
}

// Messages that were deleted before the decision are left out; when none is left, the job ends.
func TestExchangeOfDeletedMessages(t *testing.T) {
	t.Parallel()
	w, p := newStubWorld(t, options{})
	var seen []string
	p.decide = func(_ context.Context, _ memory.Desk, e memory.Event) (memory.Decision, error) {
		for i := range e.Messages {
			seen = append(seen, e.Messages[i].Content)
		}
		return memory.Decision{}, nil
	}
	one, two := w.say("First.", "Second."), w.say("Third.", "Fourth.")
	w.remove(one.Messages[1].ID)
	for _, m := range two.Messages {
		w.remove(m.ID)
	}
	w.drain()
	if !slices.Equal(seen, []string{"First."}) {
		t.Errorf("decided about %v", seen)
	}
	jobs := w.jobsOf(w.c.ID, memory.JobExchange)
	if jobs[0].State != memory.JobDone || jobs[1].State != memory.JobDone || string(jobs[1].Result) != `{"decision":"gone"}` {
		t.Errorf("jobs %q, %q %s", jobs[0].State, jobs[1].State, jobs[1].Result)
	}
}

// remove deletes a note as a caller.
func (w *world) remove(id uuid.UUID) {
	w.t.Helper()
	w.changeByHand(func(ctx context.Context, tx memory.Tx) error { return tx.Delete(ctx, id) })
}

// changeByHand writes as a caller.
func (w *world) changeByHand(fn func(ctx context.Context, tx memory.Tx) error) {
	w.t.Helper()
	if _, err := w.store.Write(w.t.Context(), w.s, w.c.ID, memory.WriteOptions{Cause: memory.CausePatch}, fn); err != nil {
		w.t.Error(err)
	}
}

// A call that fell back to the rules, and a try that failed, leave the messages pending until a
// later try succeeds.
func TestExchangePends(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func() (memory.Decision, error){
		"fell back": func() (memory.Decision, error) { return memory.Decision{Pending: "the answer was unusable"}, nil },
		"failed": func() (memory.Decision, error) {
			return memory.Decision{}, fault.New(fault.ModelFailed, "the endpoint said no")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := newStubWorld(t, options{})
			tries := 0
			p.decide = func(_ context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
				if tries++; tries < 3 {
					return first()
				}
				return memory.Decision{Puts: []memory.Note{fact(d.NewID(), "Learned at last.", e.Messages[0].ID)}}, nil
			}
			said := w.say("One.", "Two.")
			w.drain()
			for _, m := range said.Messages {
				if n := w.get(m.ID); n.State != memory.StatePending || n.Error == "" || n.Vector == nil || n.Content != m.Content {
					t.Errorf("message is %q: %q", n.State, n.Error)
				}
			}
			versions := len(w.history(said.Messages[0].ID))
			w.advance(2 * time.Second)
			w.drain()
			if now := len(w.history(said.Messages[0].ID)); now != versions {
				t.Errorf("%d versions after the second failure, %d before", now, versions)
			}
			if j := w.jobsOf(w.c.ID, memory.JobExchange)[0]; j.State != memory.JobQueued || j.Attempts != 2 || j.Stage != memory.StageDecide {
				t.Errorf("job %+v", j)
			}
			w.advance(10 * time.Second)
			w.drain()
			if n := w.get(said.Messages[1].ID); n.State != memory.StateEvolved || n.Error != "" {
				t.Errorf("message is %q: %q", n.State, n.Error)
			}
			if len(w.all(w.c.ID, memory.KindFact)) != 1 {
				t.Error("the fact is missing")
			}
		})
	}
}

// A retried exchange is prepared and decided about again.
func TestExchangeIsRetried(t *testing.T) {
	t.Parallel()
	w, p := newStubWorld(t, options{engine: engine.Config{ServiceTries: 3}})
	down := true
	p.decide = func(context.Context, memory.Desk, memory.Event) (memory.Decision, error) {
		if down {
			return memory.Decision{}, fault.New(fault.ModelFailed, "no")
		}
		return memory.Decision{}, nil
	}
	said := w.say("One.", "Two.")
	for range 3 {
		w.drain()
		w.advance(time.Minute)
	}
	j := w.jobsOf(w.c.ID, memory.JobExchange)[0]
	if j.State != memory.JobDead {
		t.Fatalf("job is %q", j.State)
	}
	down = false
	must.Get(w.store.RetryJob(t.Context(), w.s, j.ID, memory.AuditEntry{Action: "job.retry"}))(t)
	w.drain()
	if n := w.get(said.Messages[0].ID); n.State != memory.StateEvolved {
		t.Errorf("message is %q", n.State)
	}
}

// A payload that cannot be decoded ends its job as failed, and its note shows the reason.
func TestBadPayload(t *testing.T) {
	t.Parallel()
	w, _ := newStubWorld(t, options{})
	said := w.say("One.")
	w.drain()
	w.enqueueIn(w.c.ID, memory.Job{Kind: memory.JobExchange, Stage: memory.StagePrepare, Note: said.Messages[0].ID, Payload: json.RawMessage(`{"messages":"all"}`)})
	w.enqueueIn(w.c.ID, memory.Job{Kind: memory.JobPolicy, Stage: memory.StageTask, Payload: json.RawMessage(`{}`)})
	w.drain()
	for _, kind := range []memory.JobKind{memory.JobExchange, memory.JobPolicy} {
		list := w.jobsOf(w.c.ID, kind)
		if j := list[len(list)-1]; j.State != memory.JobFailed || !strings.Contains(j.Error, "cannot be read") {
			t.Errorf("%s job is %q: %q", kind, j.State, j.Error)
		}
	}
}

// A fork that is created while exchanges wait processes them itself.
func TestForkAdoptsExchanges(t *testing.T) {
	t.Parallel()
	w, p := newStubWorld(t, options{})
	decided := map[uuid.UUID]int{}
	p.decide = func(_ context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
		decided[e.Messages[0].Collection] += len(e.Messages)
		return memory.Decision{Puts: []memory.Note{fact(d.NewID(), "Learned: "+e.Messages[0].Content, e.Messages[0].ID)}}, nil
	}
	w.say("First.", "Answer.")
	second := w.say("Second.", "Answer.")
	w.remove(second.Messages[1].ID) // the one in the payload of the job
	f := w.fork("side")
	w.drain()
	for _, c := range []uuid.UUID{w.c.ID, f} {
		if decided[c] != 3 || len(w.all(c, memory.KindFact)) != 2 {
			t.Errorf("collection %s: decided about %d messages, %d facts", c, decided[c], len(w.all(c, memory.KindFact)))
		}
		for _, m := range w.all(c, memory.KindMessage) {
			if m.State != memory.StateEvolved {
				t.Errorf("message %q is %q", m.Content, m.State)
			}
		}
	}
	if n := len(w.jobsOf(f, memory.JobExchange)); n != 2 {
		t.Errorf("%d exchange jobs in the fork", n)
	}
	// Adopting again finds nothing more.
	w.enqueueIn(f, memory.Job{Kind: memory.JobAdopt, Stage: memory.StageTask})
	w.drain()
	if n := len(w.jobsOf(f, memory.JobExchange)); n != 2 {
		t.Errorf("%d exchange jobs after adopting twice", n)
	}
}

// The cost of calls is reported by name, over both stages and every try.
func TestCallsOfAJob_C159(t *testing.T) {
	t.Parallel()
	w, p := newStubWorld(t, options{})
	tries := 0
	ask := func(ctx context.Context, d memory.Desk, name string) error {
		_, err := d.Ask(ctx, memory.Call{Name: name, System: "Say something as JSON.", Prompt: "Now.", Schema: json.RawMessage(`{"type":"object"}`)})
		return err
	}
	p.decide = func(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
		err := errors.Join(ask(ctx, d, "extract"), ask(ctx, d, "decide"), ask(ctx, d, "decide"))
		if tries++; tries == 1 {
			return memory.Decision{Note: e.Note, Pending: "once more"}, err
		}
		return memory.Decision{Note: e.Note}, err
	}
	p.prepare = func(ctx context.Context, d memory.Desk, n memory.Note) (memory.Note, error) {
		return n, ask(ctx, d, "look")
	}
	w.say("Hello.", "Hi.")
	w.add("A note.")
	w.drain()
	w.advance(2 * time.Second)
	w.drain()
	for _, c := range []struct {
		kind memory.JobKind
		want map[string]int
	}{
		{memory.JobExchange, map[string]int{"extract": 2, "decide": 4}},
		{memory.JobNote, map[string]int{"look": 1, "extract": 1, "decide": 2}},
	} {
		j := w.jobsOf(w.c.ID, c.kind)[0]
		r := resultOf[engineResult](t, &j)
		if j.State != memory.JobDone || len(r.Calls) != len(c.want) {
			t.Errorf("%s job %q: %s", c.kind, j.State, j.Result)
		}
		for name, n := range c.want {
			if got := r.Calls[name]; got.Calls != n || got.Requests != n || got.PromptTokens == 0 || got.CompletionTokens == 0 {
				t.Errorf("%s job: %s cost %+v, want %d calls", c.kind, name, got, n)
			}
		}
	}
}
