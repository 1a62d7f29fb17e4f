package engine

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Acted is the result of a task, or of its dry run.
type Acted struct {
	Outcome  json.RawMessage // the policy's
	Revision memory.Revision // of the changeset; the head when nothing was changed
	Changed  bool
	Replay   *memory.Idempotency // the key was used before with the same body, and nothing was done; nil: it was not
}

// Act runs a task of the collection's policy now, without a job. Without apply
// it is a dry run: its outcome is what applying would do, as long as nothing
// changes. An unknown task is Invalid. It needs notes:write, and base:write on a
// shared base.
func (e *Engine) Act(ctx context.Context, s tenant.Scope, ref string, t memory.Task, apply bool) (Acted, error) {
	return e.actRepeatedly(ctx, s, ref, t, acting{apply: apply})
}

// ActOnce is [Engine.Act] with apply, for a request that may be repeated under an idempotency key. The notes that
// the decision names are kept under the key. It applies the whole decision or nothing: when what the policy reads
// changes at each try, it is a Conflict.
func (e *Engine) ActOnce(ctx context.Context, s tenant.Scope, ref string, t memory.Task, r memory.Request) (Acted, error) {
	return e.actRepeatedly(ctx, s, ref, t, acting{apply: true, whole: true, request: r})
}

// acting is how a task is run.
type acting struct {
	apply   bool // false: a dry run
	whole   bool // the last try does not leave out what has changed
	request memory.Request
}

func (e *Engine) actRepeatedly(ctx context.Context, s tenant.Scope, ref string, t memory.Task, how acting) (Acted, error) {
	var out Acted
	all := newTries(costs{})
	err := e.retryOnConflict(ctx, uuid.Nil, all, func(try int) error {
		var err error
		out, err = e.act(ctx, s, ref, t, how, all, try)
		return err
	})
	return out, err
}

func (e *Engine) act(ctx context.Context, s tenant.Scope, ref string, t memory.Task, how acting, all *tries, try int) (Acted, error) {
	v, err := e.openForWriting(ctx, s, ref)
	if err != nil {
		return Acted{}, err
	}
	seed, err := taskSeed(&v, t)
	if err != nil {
		return Acted{}, err
	}
	a, err := e.propose(ctx, s, v, memory.Event{Kind: memory.EventTask, Task: t}, nil, nil, seed, all)
	if err != nil {
		return Acted{}, err
	}
	if a.decision.Pending != "" {
		return Acted{}, fault.New(fault.ModelFailed, "%s", a.decision.Pending)
	}
	out := Acted{Outcome: a.decision.Outcome, Revision: v.At}
	if !how.apply {
		return out, nil
	}
	a.try, a.last = try, try >= e.cfg.Conflicts && !how.whole
	o := memory.WriteOptions{Cause: a.cause(), Idempotency: how.request.Idempotency, Audit: []memory.AuditEntry{{
		Action: "policy." + t.Name, Target: v.Collection.ID.String(), Detail: map[string]any{"policy": v.Collection.Policy, "key": t.Key},
	}}}
	w, err := e.store.Write(ctx, s, v.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		w := applyTx{proposal: a, tx: tx}
		if err := w.run(ctx); err != nil {
			return err
		}
		tx.Answer(memory.AnswerIDs{Collection: v.Collection.ID, Notes: a.decision.Named, Revision: tx.Revision()}.Raw())
		return nil
	})
	if err != nil {
		return Acted{}, err
	}
	out.Revision, out.Changed, out.Replay = w.Revision, w.Logged, w.Replay
	return out, nil
}

// taskSeed derives the random seed of a task from the view and the task, so that
// a dry run draws the same numbers as the real one.
func taskSeed(v *memory.View, t memory.Task) (uuid.UUID, error) {
	raw, err := json.Marshal(struct {
		At   memory.Revision `json:"at"`
		Task memory.Task     `json:"task"`
	}{v.At, t})
	if err != nil {
		return uuid.Nil, fault.New(fault.Invalid, "the arguments of the task %q are not JSON", t.Name)
	}
	return uuid.NewSHA1(v.Collection.ID, raw), nil
}
