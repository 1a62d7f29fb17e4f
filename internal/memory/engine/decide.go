package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// RunDecide does the second stage of a leased note or exchange job: it lets the
// policy decide about what happened among other notes and applies the
// decision, ending the job in the same transaction. When something that was
// read moved meanwhile it decides again; the third time, what moved is left
// out, so that a caller's write beats an evolution. On an error nothing was
// written; the caller passes the error to Fail.
func (e *Engine) RunDecide(ctx context.Context, s tenant.Scope, job memory.Job) error {
	spent := earlierCosts(&job)
	return e.untilStill(ctx, job.ID, func(try int) error { return e.decide(ctx, s, &job, spent, try) })
}

// RunPolicy does a leased job of kind policy: a task of the collection's policy,
// beside decisions. It applies and ends as RunDecide does.
func (e *Engine) RunPolicy(ctx context.Context, s tenant.Scope, job memory.Job) error {
	return e.RunDecide(ctx, s, job)
}

// untilStill decides until nothing that was read has moved. The last try leaves
// out what moved, so it does not ask for another one.
func (e *Engine) untilStill(ctx context.Context, id uuid.UUID, decide func(try int) error) error {
	for try := 1; ; try++ {
		err := decide(try)
		if !errors.Is(err, memory.ErrMoved) || try >= e.cfg.Conflicts {
			return err
		}
		e.log.DebugContext(ctx, "something moved while it was read; deciding again", "job", id, "try", try)
	}
}

func (e *Engine) decide(ctx context.Context, s tenant.Scope, job *memory.Job, spent costs, try int) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	ev, about, err := e.eventOf(ctx, s, v, job)
	if err != nil {
		return err
	}
	if ev.Kind != memory.EventTask && len(about) == 0 {
		return e.gone(ctx, s, job)
	}
	a, err := e.propose(ctx, s, v, ev, about, job.ID, spent)
	if err != nil {
		return err
	}
	a.job, a.try, a.last = job, try, try >= e.cfg.Conflicts
	return a.apply(ctx, s)
}

// eventOf reads what a job is about. What was deleted meanwhile is left out.
func (e *Engine) eventOf(ctx context.Context, s tenant.Scope, v memory.View, job *memory.Job) (memory.Event, []memory.Note, error) {
	if job.Kind == memory.JobPolicy {
		var t memory.Task
		if err := json.Unmarshal(job.Payload, &t); err != nil || t.Name == "" {
			return memory.Event{}, nil, fault.New(fault.Invalid, "the payload of the policy job cannot be read; a newer version may have made it")
		}
		return memory.Event{Kind: memory.EventTask, Task: t}, nil, nil
	}
	ids, err := notesOf(job)
	if err != nil {
		return memory.Event{}, nil, err
	}
	about, err := e.store.Notes(ctx, s, v, ids, memory.ReadOptions{Vector: true})
	if err != nil || len(about) == 0 {
		return memory.Event{}, nil, err
	}
	if job.Kind == memory.JobExchange {
		return memory.Event{Kind: memory.EventExchange}, about, nil
	}
	return memory.Event{Kind: memory.EventNote}, about, nil
}

// propose lets the policy of a view's collection decide about an event, and
// makes what it decided ready for a transaction. about are the notes of the
// event as they were read; seed is the chance of the decision.
func (e *Engine) propose(
	ctx context.Context, s tenant.Scope, v memory.View, ev memory.Event, about []memory.Note, seed uuid.UUID, spent costs,
) (*application, error) {
	pol, err := e.policyOf(&v.Collection)
	if err != nil {
		return nil, err
	}
	em, err := e.embedderOf(&v.Collection)
	if err != nil {
		return nil, err
	}
	told := make([]memory.Note, len(about))
	targets := make([]*memory.Note, len(about))
	for i := range about {
		told[i] = about[i]
		targets[i] = &told[i]
	}
	if err := e.revector(ctx, s, em, targets, about); err != nil {
		return nil, err
	}
	switch ev.Kind {
	case memory.EventNote:
		ev.Note = told[0]
	case memory.EventExchange:
		ev.Messages = told
	case memory.EventTask:
	}
	d := e.newDesk(s, v, seed)
	dec, err := pol.Decide(ctx, d, ev)
	spent.add(d.costs)
	if err != nil {
		return nil, err
	}
	a := &application{e: e, event: ev.Kind, about: about, desk: d, dec: dec, spent: spent}
	if err := a.ready(ctx, s, em); err != nil {
		return nil, err
	}
	return a, nil
}

// readVersion is a version in a job's result: what the decision rested on.
type readVersion struct {
	Note  uuid.UUID       `json:"note"`
	Layer uuid.UUID       `json:"layer"`
	From  memory.Revision `json:"from"`
}

// jobResult is what the engine adds to a policy's outcome.
type jobResult struct {
	Evolved  bool            `json:"evolved"`
	Tries    int             `json:"tries"`
	Revision memory.Revision `json:"revision,omitempty"`
	Read     []readVersion   `json:"read,omitempty"`
	LeftOut  []uuid.UUID     `json:"left_out,omitempty"` // notes that kept moving
	Refused  []refused       `json:"refused,omitempty"`  // what could not be kept
	Review   *uuid.UUID      `json:"review,omitempty"`
	Calls    costs           `json:"calls,omitempty"` // of both stages and of earlier tries that were written down
}

// refused is a part of a decision that could not be kept. It names no content.
type refused struct {
	Part   string      `json:"part"` // "note" or "link"
	Kind   memory.Kind `json:"kind,omitempty"`
	Reason string      `json:"reason"`
}

// cost is what a call has used.
type cost struct {
	Calls            int   `json:"calls"`
	Requests         int   `json:"requests"` // that reached an endpoint, repairs included; 0: rules answered
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// costs are by the names of calls.
type costs map[string]cost

func (c costs) add(more costs) {
	for name, m := range more {
		x := c[name]
		x.Calls, x.Requests = x.Calls+m.Calls, x.Requests+m.Requests
		x.PromptTokens, x.CompletionTokens = x.PromptTokens+m.PromptTokens, x.CompletionTokens+m.CompletionTokens
		c[name] = x
	}
}

// earlierCosts gives what earlier stages and tries of a job have used.
func earlierCosts(job *memory.Job) costs {
	spent := costs{}
	var was struct {
		Calls costs `json:"calls"`
	}
	// A result that cannot be read says nothing of costs.
	if len(job.Result) > 0 && json.Unmarshal(job.Result, &was) == nil {
		spent.add(was.Calls)
	}
	return spent
}

// result joins the outcome and the engine's part into one object.
func result(outcome json.RawMessage, r jobResult) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if len(outcome) > 0 {
		if err := json.Unmarshal(outcome, &all); err != nil || all == nil {
			all = map[string]json.RawMessage{"outcome": outcome}
		}
	}
	own, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(own, &all); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}
