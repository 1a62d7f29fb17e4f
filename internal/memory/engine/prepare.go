package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func payloadOf(job *memory.Job) (memory.NoteJob, error) {
	var p memory.NoteJob
	if len(job.Payload) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return p, fault.Wrap(err, fault.Invalid, "the payload of the job cannot be read; a newer version may have made it")
	}
	return p, nil
}

// notesOf returns the ids of a job's notes, in order.
func notesOf(job *memory.Job) ([]uuid.UUID, error) {
	if job.Kind != memory.JobExchange {
		return []uuid.UUID{job.Note}, nil
	}
	p, err := exchangeOf(job)
	return p.Messages, err
}

// exchangeOf returns the payload of an exchange job.
func exchangeOf(job *memory.Job) (p memory.ExchangeJob, err error) {
	if err := json.Unmarshal(job.Payload, &p); err != nil || len(p.Messages) == 0 {
		return p, fault.New(fault.Invalid, "the payload of the exchange job cannot be read; a newer version may have made it")
	}
	return p, nil
}

// preparation is what the first stage of a job made of its notes, before it is written.
type preparation struct {
	was   []memory.Note // as read
	ready []memory.Note // described and embedded, in the same order
	spent costs
	end   memory.JobEnd
}

// RunPrepare runs the first stage of a leased note or exchange job: it describes
// and embeds the note (of an exchange, it embeds the messages), and moves the
// job to decide in the same transaction. It ends the job when only a vector was
// wanted, or when the notes are deleted. On an error nothing was written; the
// caller passes the error to Fail.
func (e *Engine) RunPrepare(ctx context.Context, s tenant.Scope, job memory.Job) error {
	for try := 1; ; try++ {
		p, err := e.prepare(ctx, s, &job)
		if err != nil || p == nil {
			return err
		}
		err = e.writePrepared(ctx, s, &job, p, try >= e.cfg.Conflicts)
		if !errors.Is(err, memory.ErrMoved) {
			return err
		}
	}
}

// prepare runs the first stage without writing. It returns nil when it has ended the job, since its
// notes are deleted.
func (e *Engine) prepare(ctx context.Context, s tenant.Scope, job *memory.Job) (*preparation, error) {
	ids, err := notesOf(job)
	if err != nil {
		return nil, err
	}
	payload, err := payloadOf(job)
	if err != nil && job.Kind == memory.JobNote {
		return nil, err
	}
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return nil, err
	}
	was, err := e.store.Notes(ctx, s, v, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return nil, err
	}
	if len(was) == 0 {
		return nil, e.endWithoutNote(ctx, s, job)
	}
	em, err := e.embedderOf(&v.Collection)
	if err != nil {
		return nil, err
	}
	p := &preparation{was: was, ready: slices.Clone(was), end: memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}}
	if job.Kind == memory.JobNote {
		if err := e.describe(ctx, s, v, job, payload, p); err != nil {
			return nil, err
		}
	}
	targets := make([]*memory.Note, len(p.ready))
	for i := range p.ready {
		n := &p.ready[i]
		if n.State == memory.StatePending {
			n.State, n.Error = memory.StateRaw, ""
			if payload.EmbedOnly {
				if n.State, err = e.stateBefore(ctx, s, v, was[i].ID); err != nil {
					return nil, err
				}
			}
		}
		n.ID, targets[i] = was[i].ID, n
	}
	refused, err := e.revector(ctx, s, em, targets, was)
	if err == nil && refused > 0 {
		p.end.Result, err = result(p.end.Result, jobNotes{ImagesRefused: refused})
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// stateBefore returns the state that a note had before it was marked pending: no policy looks again at one that a job only embeds.
func (e *Engine) stateBefore(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID) (memory.State, error) {
	const enough = 20 // a note is marked once, and then changed by callers at most
	past, err := e.store.History(ctx, s, v, id, 0, enough)
	for i := range past {
		if state := past[i].Note.State; state != memory.StatePending {
			return state, err
		}
	}
	return memory.StateRaw, err
}

// describe asks the policy to describe the note of a note job, unless the job only embeds it.
func (e *Engine) describe(ctx context.Context, s tenant.Scope, v memory.View, job *memory.Job, payload memory.NoteJob, p *preparation) error {
	if payload.EmbedOnly {
		p.end = memory.JobEnd{State: memory.JobDone, Stage: memory.StagePrepare, Result: json.RawMessage(`{"decision":"embedded"}`)}
		return nil
	}
	pol, err := e.policyOf(&v.Collection)
	if err != nil {
		return err
	}
	d := e.newDesk(s, v, job.ID)
	if p.ready[0], err = pol.Prepare(ctx, d, p.was[0]); err != nil {
		return err
	}
	p.spent = earlierCosts(job)
	p.spent.add(d.costs)
	if len(p.spent) == 0 {
		return nil
	}
	if p.end.Result, err = json.Marshal(map[string]costs{"calls": p.spent}); err != nil {
		return fault.Wrap(err, fault.Internal, "encode the cost of the analysis")
	}
	return nil
}

// writePrepared writes what the first stage made and ends the stage, in one transaction. Of notes that have
// changed meanwhile it returns ErrMoved, or leaves them as they are the last time.
func (e *Engine) writePrepared(ctx context.Context, s tenant.Scope, job *memory.Job, p *preparation, last bool) error {
	o := memory.WriteOptions{Cause: memory.CauseAnalyze, Job: job.ID, Trigger: job.Note, System: true}
	_, err := e.store.Write(ctx, s, job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		if _, err := p.put(ctx, tx, last); err != nil {
			return err
		}
		return tx.EndJob(ctx, job.ID, job.Lease, p.end)
	})
	return err
}

// put writes the notes that have changed in the first stage, and returns all as they are then. Of notes that
// have changed meanwhile it returns ErrMoved, or leaves them as they are the last time.
func (p *preparation) put(ctx context.Context, tx memory.Tx, last bool) ([]memory.Note, error) {
	now, err := tx.Notes(ctx, memory.IDs(p.was), memory.ReadOptions{})
	if err != nil {
		return nil, err
	}
	here := make(map[uuid.UUID]memory.Version, len(now))
	for i := range now {
		here[now[i].ID] = now[i].Version()
	}
	moved := func(n memory.Note) bool { return here[n.ID] != n.Version() }
	if !last && slices.ContainsFunc(p.was, moved) {
		return nil, memory.ErrMoved
	}
	out := slices.Clone(p.ready)
	for i := range out {
		if moved(p.was[i]) || sameContent(&p.was[i], &p.ready[i]) {
			continue
		}
		stored, err := tx.Put(ctx, p.ready[i])
		if err != nil {
			return nil, err
		}
		out[i].Layer, out[i].From = stored.Layer, stored.From
	}
	return out, nil
}

// endWithoutNote ends a job whose note is deleted.
func (e *Engine) endWithoutNote(ctx context.Context, s tenant.Scope, job *memory.Job) error {
	return e.store.ReleaseJob(ctx, s, job.ID, job.Lease, memory.JobEnd{
		State: memory.JobDone, Stage: job.Stage, Result: json.RawMessage(`{"decision":"gone"}`), Attempts: job.Attempts,
	})
}
