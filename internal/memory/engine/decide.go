package engine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// RunDecide runs the second stage of a leased note or exchange job: the policy
// decides about the event, and the decision is applied in the transaction that
// ends the job. When something in the read set has changed, it decides again;
// the last time it leaves the changed notes out, so that a caller's write wins
// over an evolution. On an error nothing was written; the caller passes the
// error to Fail.
func (e *Engine) RunDecide(ctx context.Context, s tenant.Scope, job memory.Job) error {
	all := newTries(earlierCosts(&job))
	return e.retryOnConflict(ctx, job.ID, all, func(try int) error { return e.decide(ctx, s, &job, all, try) })
}

// RunPolicy runs a leased job of kind policy: a task of the collection's policy.
// It is applied and ended like a decision.
func (e *Engine) RunPolicy(ctx context.Context, s tenant.Scope, job memory.Job) error {
	return e.RunDecide(ctx, s, job)
}

// retryOnConflict calls decide until it returns no conflict, at most
// Config.Conflicts times. The last try leaves out what has changed, so it has no conflict.
func (e *Engine) retryOnConflict(ctx context.Context, id uuid.UUID, all *tries, decide func(try int) error) error {
	for try := 1; ; try++ {
		err := decide(try)
		if !errors.Is(err, memory.ErrMoved) || try >= e.cfg.Conflicts {
			return err
		}
		if !errors.Is(err, errNewer) {
			clear(all.said) // what the model was told about has changed
		}
		e.log.DebugContext(ctx, "the read set has changed; deciding again", "job", id, "try", try)
	}
}

func (e *Engine) decide(ctx context.Context, s tenant.Scope, job *memory.Job, all *tries, try int) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	ev, about, err := e.eventOf(ctx, s, v, job)
	if err != nil {
		return err
	}
	if ev.Kind != memory.EventTask && len(about) == 0 {
		return e.endWithoutNote(ctx, s, job)
	}
	ev.Earlier = job.Result
	a, err := e.propose(ctx, s, v, ev, about, about, job.ID, all)
	if err != nil {
		return err
	}
	a.job, a.try, a.last = job, try, try >= e.cfg.Conflicts
	return a.apply(ctx, s)
}

// eventOf returns the event of a job and its notes as read. Deleted notes are left out.
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
	ev, err := notesEvent(job)
	return ev, about, err
}

// notesEvent returns the event of a note or exchange job, without its notes.
func notesEvent(job *memory.Job) (memory.Event, error) {
	if job.Kind != memory.JobExchange {
		return memory.Event{Kind: memory.EventNote}, nil
	}
	p, err := exchangeOf(job)
	return memory.Event{Kind: memory.EventExchange, Guidance: p.Guidance}, err
}

// propose asks the collection's policy to decide about an event, and prepares
// the decision for its transaction. was holds the notes of the event as read, ready
// the same notes as the first stage left them; seed is the random seed of the decision.
func (e *Engine) propose(
	ctx context.Context, s tenant.Scope, v memory.View, ev memory.Event, was, ready []memory.Note, seed uuid.UUID, all *tries,
) (*proposal, error) {
	pol, err := e.policyOf(&v.Collection)
	if err != nil {
		return nil, err
	}
	em, err := e.embedderOf(&v.Collection)
	if err != nil {
		return nil, err
	}
	told := slices.Clone(ready)
	targets := make([]*memory.Note, len(told))
	for i := range told {
		targets[i] = &told[i]
	}
	if _, err := e.revector(ctx, s, em, targets, ready); err != nil {
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
	d.said = all.said
	dec, err := pol.Decide(ctx, d, ev)
	all.spent.add(d.costs)
	maps.Copy(all.said, d.heard)
	if err != nil {
		return nil, err
	}
	a := &proposal{e: e, event: ev.Kind, eventNotes: was, told: told, desk: d, decision: dec, spent: all.spent}
	if err := a.prepare(ctx, s, em); err != nil {
		return nil, err
	}
	return a, nil
}

// readVersion is an entry of the read set in a job's result.
type readVersion struct {
	Note  uuid.UUID       `json:"note"`
	Layer uuid.UUID       `json:"layer"`
	From  memory.Revision `json:"from"`
}

// jobResult is what the engine adds to a policy's outcome.
type jobResult struct {
	Evolved  bool             `json:"evolved"`
	Tries    int              `json:"tries"`
	Revision memory.Revision  `json:"revision,omitempty"`
	Read     []readVersion    `json:"read,omitempty"`
	LeftOut  []uuid.UUID      `json:"left_out,omitempty"` // notes that changed at every try
	Refused  []refused        `json:"refused,omitempty"`  // what could not be stored
	Review   *uuid.UUID       `json:"review,omitempty"`
	Learned  []memory.Learned `json:"learned,omitempty"`
	Calls    costs            `json:"calls,omitempty"` // of both stages and of recorded earlier tries

	jobNotes
}

// jobNotes is what the first stage says in a job's result, beside the costs.
type jobNotes struct {
	ImagesRefused int `json:"images_refused,omitempty"` // images that the embedder refused; their texts are embedded
}

// earlierNotes returns what an earlier stage has said.
func earlierNotes(job *memory.Job) (was jobNotes) {
	if len(job.Result) == 0 || json.Unmarshal(job.Result, &was) != nil {
		return jobNotes{}
	}
	return was
}

// refused is a part of a decision that could not be stored. It holds no content.
type refused struct {
	Part   string      `json:"part"` // "note" or "link"
	Kind   memory.Kind `json:"kind,omitempty"`
	Reason string      `json:"reason"`
}

// cost is the model use of one call name.
type cost struct {
	Calls            int   `json:"calls"`
	Requests         int   `json:"requests"` // requests that reached an endpoint, repairs included; 0: answered by rules
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// costs maps call names to their use.
type costs map[string]cost

func (c costs) add(more costs) {
	for name, m := range more {
		x := c[name]
		x.Calls, x.Requests = x.Calls+m.Calls, x.Requests+m.Requests
		x.PromptTokens, x.CompletionTokens = x.PromptTokens+m.PromptTokens, x.CompletionTokens+m.CompletionTokens
		c[name] = x
	}
}

// earlierCosts returns the model use of earlier stages and tries of a job.
func earlierCosts(job *memory.Job) costs {
	spent := costs{}
	var was struct {
		Calls costs `json:"calls"`
	}
	// A result that cannot be decoded has no costs.
	if len(job.Result) > 0 && json.Unmarshal(job.Result, &was) == nil {
		spent.add(was.Calls)
	}
	return spent
}

// result merges the policy's outcome and the engine's part into one object.
func result(outcome json.RawMessage, r any) (json.RawMessage, error) {
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
