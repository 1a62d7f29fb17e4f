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
	var p memory.ExchangeJob
	if err := json.Unmarshal(job.Payload, &p); err != nil || len(p.Messages) == 0 {
		return nil, fault.New(fault.Invalid, "the payload of the exchange job cannot be read; a newer version may have made it")
	}
	return p.Messages, nil
}

// RunPrepare runs the first stage of a leased note or exchange job: it describes
// and embeds the note (of an exchange, it embeds the messages), and moves the
// job to decide in the same transaction. It ends the job when only a vector was
// wanted, or when the notes are deleted. On an error nothing was written; the
// caller passes the error to Fail.
func (e *Engine) RunPrepare(ctx context.Context, s tenant.Scope, job memory.Job) error {
	for try := 1; ; try++ {
		prepare := e.prepare
		if job.Kind == memory.JobExchange {
			prepare = e.prepareExchange
		}
		err := prepare(ctx, s, &job, try >= e.cfg.Conflicts)
		if !errors.Is(err, memory.ErrMoved) {
			return err
		}
	}
}

func (e *Engine) prepare(ctx context.Context, s tenant.Scope, job *memory.Job, last bool) error {
	payload, err := payloadOf(job)
	if err != nil {
		return err
	}
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	was, ok, err := e.readNote(ctx, s, v, job.Note)
	if err != nil {
		return err
	}
	if !ok {
		return e.endWithoutNote(ctx, s, job)
	}
	em, err := e.embedderOf(&v.Collection)
	if err != nil {
		return err
	}
	n, spent := was, earlierCosts(job)
	if !payload.EmbedOnly {
		pol, err := e.policyOf(&v.Collection)
		if err != nil {
			return err
		}
		d := e.newDesk(s, v, job.ID)
		if n, err = pol.Prepare(ctx, d, was); err != nil {
			return err
		}
		spent.add(d.costs)
	}
	if n.State == memory.StatePending {
		n.State, n.Error = memory.StateRaw, ""
	}
	n.ID = was.ID
	if err := e.revector(ctx, s, em, []*memory.Note{&n}, []memory.Note{was}); err != nil {
		return err
	}
	end := memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide, Attempts: 0}
	if len(spent) > 0 {
		if end.Result, err = json.Marshal(map[string]costs{"calls": spent}); err != nil {
			return fault.Wrap(err, fault.Internal, "encode the cost of the analysis")
		}
	}
	if payload.EmbedOnly {
		end = memory.JobEnd{State: memory.JobDone, Stage: memory.StagePrepare, Result: json.RawMessage(`{"decision":"embedded"}`)}
	}
	o := memory.WriteOptions{Cause: memory.CauseAnalyze, Job: job.ID, Trigger: was.ID, System: true}
	_, err = e.store.Write(ctx, s, job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		now, err := tx.Notes(ctx, []uuid.UUID{was.ID}, memory.ReadOptions{})
		if err != nil {
			return err
		}
		moved := len(now) == 0 || now[0].Version() != was.Version()
		if moved && !last {
			return memory.ErrMoved
		}
		if !moved && !sameContent(&was, &n) {
			if _, err := tx.Put(ctx, n); err != nil {
				return err
			}
		}
		return tx.EndJob(ctx, job.ID, job.Lease, end)
	})
	return err
}

// prepareExchange embeds the messages of an exchange whose vector is missing or
// outdated, and sets pending ones back to raw.
func (e *Engine) prepareExchange(ctx context.Context, s tenant.Scope, job *memory.Job, last bool) error {
	ids, err := notesOf(job)
	if err != nil {
		return err
	}
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	was, err := e.store.Notes(ctx, s, v, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	if len(was) == 0 {
		return e.endWithoutNote(ctx, s, job)
	}
	em, err := e.embedderOf(&v.Collection)
	if err != nil {
		return err
	}
	ready := make([]memory.Note, len(was))
	targets := make([]*memory.Note, len(was))
	for i := range was {
		ready[i] = was[i]
		if ready[i].State == memory.StatePending {
			ready[i].State, ready[i].Error = memory.StateRaw, ""
		}
		targets[i] = &ready[i]
	}
	if err := e.revector(ctx, s, em, targets, was); err != nil {
		return err
	}
	end := memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide, Attempts: 0}
	o := memory.WriteOptions{Cause: memory.CauseAnalyze, Job: job.ID, Trigger: job.Note, System: true}
	_, err = e.store.Write(ctx, s, job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		now, err := tx.Notes(ctx, ids, memory.ReadOptions{})
		if err != nil {
			return err
		}
		here := make(map[uuid.UUID]memory.Version, len(now))
		for i := range now {
			here[now[i].ID] = now[i].Version()
		}
		for i := range ready {
			switch {
			case here[was[i].ID] != was[i].Version():
				if !last {
					return memory.ErrMoved
				}
			case !sameContent(&was[i], &ready[i]):
				if _, err := tx.Put(ctx, ready[i]); err != nil {
					return err
				}
			}
		}
		return tx.EndJob(ctx, job.ID, job.Lease, end)
	})
	return err
}

// endWithoutNote ends a job whose note is deleted.
func (e *Engine) endWithoutNote(ctx context.Context, s tenant.Scope, job *memory.Job) error {
	return e.store.ReleaseJob(ctx, s, job.ID, job.Lease, memory.JobEnd{
		State: memory.JobDone, Stage: job.Stage, Result: json.RawMessage(`{"decision":"gone"}`), Attempts: job.Attempts,
	})
}
