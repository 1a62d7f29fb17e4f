package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// RunDecide does the second stage of a leased note job: it lets the policy
// decide about the note among its neighbours and applies the decision, ending
// the job in the same transaction. When a note that was read moved meanwhile it
// decides again; the third time, notes that moved are left out, so that a
// caller's write beats an evolution. On an error nothing was written; the
// caller passes the error to Fail.
func (e *Engine) RunDecide(ctx context.Context, s tenant.Scope, job memory.Job) error {
	for try := 1; ; try++ {
		err := e.decide(ctx, s, &job, try, try >= e.cfg.Conflicts)
		if !errors.Is(err, memory.ErrMoved) {
			return err
		}
		e.log.DebugContext(ctx, "a note moved while it was read; deciding again", "job", job.ID, "try", try)
	}
}

func (e *Engine) decide(ctx context.Context, s tenant.Scope, job *memory.Job, try int, last bool) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	n, ok, err := e.one(ctx, s, v, job.Note)
	if err != nil {
		return err
	}
	if !ok {
		return e.gone(ctx, s, job)
	}
	pol, err := e.policyOf(&v.Collection)
	if err != nil {
		return err
	}
	em, err := e.embedderOf(&v.Collection)
	if err != nil {
		return err
	}
	ready := n
	if err := e.revector(ctx, s, em, []*memory.Note{&ready}, []memory.Note{n}); err != nil {
		return err
	}
	d := e.newDesk(s, v, job.ID)
	dec, err := pol.Decide(ctx, d, memory.Event{Kind: memory.EventNote, Note: ready})
	if err != nil {
		return err
	}
	a := application{e: e, job: job, base: n, desk: d, dec: dec, last: last, try: try}
	if err := a.ready(ctx, s, em); err != nil {
		return err
	}
	return a.apply(ctx, s)
}

// application is one decision on its way into the log.
type application struct {
	e    *Engine
	job  *memory.Job
	base memory.Note // the note as it was read
	desk *desk
	dec  memory.Decision
	last bool
	try  int
}

// ready completes a decision before its transaction: what it may touch, states, vectors.
func (a *application) ready(ctx context.Context, s tenant.Scope, em memory.Embedder) error {
	dec := &a.dec
	a.confine()
	dec.Note.ID = a.base.ID
	switch {
	case dec.Pending != "":
		dec.Note.State, dec.Note.Error = memory.StatePending, dec.Pending
	case dec.Review != nil:
		dec.Note.State, dec.Note.Error = memory.StateInReview, ""
	case dec.Note.State == memory.StateRaw && dec.Note.Content != a.base.Content:
		// Divided: what is left of it goes through the policy anew.
		dec.Note.State, dec.Note.Error = memory.StateRaw, ""
	default:
		dec.Note.State, dec.Note.Error = memory.StateEvolved, ""
	}
	notes, was := []*memory.Note{&dec.Note}, []memory.Note{a.base}
	for i := range dec.Puts {
		p := &dec.Puts[i]
		p.Vector, p.Tokens = nil, nil
		notes = append(notes, p)
		was = append(was, a.desk.read[p.ID]) // the zero note for a new one
	}
	dec.Note.Vector, dec.Note.Tokens = nil, nil
	return a.e.revector(ctx, s, em, notes, was)
}

// confine drops what a policy may not ask for: links that start elsewhere than
// at the note or end at notes it has not seen, changes of unseen notes, links
// of a note to itself.
func (a *application) confine() {
	seen := func(id uuid.UUID) bool {
		_, ok := a.desk.read[id]
		return ok || id == a.base.ID
	}
	a.dec.Links = slices.DeleteFunc(slices.Clone(a.dec.Links), func(l memory.Link) bool {
		return l.Source == l.Target || !seen(l.Source) || !seen(l.Target)
	})
	a.dec.Puts = slices.DeleteFunc(slices.Clone(a.dec.Puts), func(n memory.Note) bool {
		return n.ID == a.base.ID || n.ID != uuid.Nil && !seen(n.ID)
	})
	a.dec.Deletes = slices.DeleteFunc(slices.Clone(a.dec.Deletes), func(id uuid.UUID) bool { return !seen(id) })
}

func (a *application) apply(ctx context.Context, s tenant.Scope) error {
	o := memory.WriteOptions{Cause: memory.CauseEvolve, Job: a.job.ID, Trigger: a.base.ID, System: true}
	if a.dec.Pending != "" {
		o.Cause = memory.CauseMark
	}
	_, err := a.e.store.Write(ctx, s, a.job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		w := writing{application: a, tx: tx}
		return w.run(ctx)
	})
	return err
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
	Review   *uuid.UUID      `json:"review,omitempty"`
}

// result joins the outcome and the engine's part into one object.
func result(outcome json.RawMessage, r jobResult) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if len(outcome) > 0 {
		if err := json.Unmarshal(outcome, &all); err != nil {
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
