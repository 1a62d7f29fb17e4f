package engine

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// maxRetryAfter is the longest wait that an endpoint can ask for.
const maxRetryAfter = 30 * time.Second

// Fail records a failed try of a leased job. The job is queued again with a
// growing delay; it is dead after the last try, which comes late when a service
// failed, and never for a removal, which no caller could retry. It is failed when a retry cannot help, and canceled when its collection is
// gone. An open breaker does not count as a try. In the same transaction the
// note of a note job and the messages of an exchange become pending with the
// reason, and get a vector if they have none and the embedder answers. Notes
// that are pending already are not written again.
//
// It works after the deadline of ctx has passed. A lost lease is not an error: the
// job has another holder.
func (e *Engine) Fail(ctx context.Context, s tenant.Scope, job memory.Job, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failTimeout)
	defer cancel()
	stage := job.Stage
	var prepared *preparation // of a job whose second stage failed before the first was written
	if d, ok := errors.AsType[*decideError](cause); ok {
		job.Stage, prepared = memory.StageDecide, d.prepared
	}
	end := e.jobEnd(&job, cause)
	level := slog.LevelWarn
	if end.State == memory.JobCanceled || errors.Is(cause, memory.ErrPaused) {
		// Its collection or note is gone, or it waits for an endpoint, with all others.
		level = slog.LevelDebug
	}
	e.log.Log(ctx, level, "a job's try failed", "job", job.ID, "kind", job.Kind, "stage", job.Stage,
		"collection", job.Collection, "attempts", end.Attempts, "next", end.State, "error", cause)
	if (job.Kind == memory.JobNote || job.Kind == memory.JobExchange) && end.State != memory.JobCanceled {
		err := e.markPending(ctx, s, &job, end, prepared)
		if err == nil || fault.Is(err, fault.Conflict) {
			return nil
		}
		e.log.WarnContext(ctx, "notes could not be marked pending", "job", job.ID, "note", job.Note, "error", err)
	}
	end.Stage = stage
	err := e.store.ReleaseJob(ctx, s, job.ID, job.Lease, end)
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// jobEnd returns the next state of a job after a failed try.
func (e *Engine) jobEnd(job *memory.Job, cause error) memory.JobEnd {
	end := memory.JobEnd{State: memory.JobQueued, Stage: job.Stage, Error: reason(cause), Attempts: job.Attempts + 1}
	switch {
	case errors.Is(cause, memory.ErrPaused):
		end.Attempts = job.Attempts
		end.NotBefore = e.now().Add(min(e.cfg.Pause, positiveOr(retryAfter(cause), e.cfg.Pause)))
	case errors.Is(cause, memory.ErrLost):
		end.State = memory.JobDead
	case fault.Is(cause, fault.NotFound):
		end.State, end.Attempts = memory.JobCanceled, job.Attempts
	case fault.Is(cause, fault.Invalid):
		end.State = memory.JobFailed
	case end.Attempts >= e.triesFor(job, cause):
		end.State = memory.JobDead
	default:
		end.NotBefore = e.now().Add(max(memory.Backoff(job.ID, end.Attempts), min(maxRetryAfter, retryAfter(cause))))
	}
	return end
}

// triesFor returns how many tries a job has that failed for a cause. What failed in a
// service, such as a model or an embedder, heals with it, without anyone's help: such
// a job is tried for about a week. Everything else has to be looked at.
func (e *Engine) triesFor(job *memory.Job, cause error) int {
	codes := []fault.Code{fault.ModelFailed, fault.Unavailable, fault.Misconfigured, fault.Timeout, fault.RateLimited, fault.QuotaExceeded, fault.StorageFull}
	switch {
	case job.Kind == memory.JobRemove:
		return math.MaxInt
	case errors.Is(cause, memory.ErrBudget), errors.Is(cause, memory.ErrNoRoom): // each try would use it up again
		return e.cfg.MaxTries
	case errors.Is(cause, memory.ErrBadAnswer) || slices.Contains(codes, fault.CodeOf(cause)):
		return e.cfg.ServiceTries
	default:
		return e.cfg.MaxTries
	}
}

func positiveOr(d, other time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return other
}

func retryAfter(err error) time.Duration {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.RetryAfter
	}
	return 0
}

// reason returns the part of an error that callers may see.
func reason(err error) string {
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Message != "":
		return f.Message
	case errors.Is(err, memory.ErrBadAnswer):
		return memory.ErrBadAnswer.Error()
	case errors.Is(err, memory.ErrLost):
		return memory.ErrLost.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the job's deadline passed"
	default:
		return "internal error"
	}
}

// markPending marks the job's notes pending and ends the try, in one transaction. What the first stage
// prepared, if it is not written, is written before; notes that have changed since are prepared again.
func (e *Engine) markPending(ctx context.Context, s tenant.Scope, job *memory.Job, end memory.JobEnd, prepared *preparation) error {
	ids, err := notesOf(job)
	if err != nil {
		ids = []uuid.UUID{job.Note}
	}
	made, embedder := e.missingVectors(ctx, s, job, ids)
	analyzed := isAnalysis(job)
	o := memory.WriteOptions{Cause: memory.CauseMark, Job: job.ID, Trigger: job.Note, System: true}
	_, err = e.store.Write(ctx, s, job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		end, err := putPrepared(ctx, tx, job, prepared, end)
		if err != nil {
			return err
		}
		now, err := tx.Notes(ctx, ids, memory.ReadOptions{Vector: true})
		if err != nil {
			return err
		}

		if job.Kind == memory.JobExchange { // else a job of its own has processed it
			now = slices.DeleteFunc(now, func(n memory.Note) bool { return n.State != memory.StateRaw && n.State != memory.StatePending })
		}
		for _, n := range now {
			marked := n.State == memory.StatePending
			if vec, ok := made[n.ID]; ok && n.Vector == nil && memory.SameToEmbed(&n, vec.of) {
				n.Embed(vec.made, embedder)
				marked = false
			}
			if marked {
				continue
			}
			if analyzed && n.Context == "" && !slices.Contains(n.Supplied, "context") {
				n.Context = memory.DefaultContext // the default when the analysis fails
			}
			n.State, n.Error = memory.StatePending, end.Error
			if _, err := tx.Put(ctx, n); err != nil {
				return err
			}
		}
		return tx.EndJob(ctx, job.ID, job.Lease, end)
	})
	return err
}

// isAnalysis reports whether a job describes its note, and not only embeds it.
func isAnalysis(job *memory.Job) bool {
	if job.Kind != memory.JobNote || job.Stage != memory.StagePrepare {
		return false
	}
	payload, err := payloadOf(job)
	return err == nil && !payload.EmbedOnly
}

// putPrepared writes what the first stage prepared, if anything, and returns the end of the try: in the first stage again when the
// notes have changed since.
func putPrepared(ctx context.Context, tx memory.Tx, job *memory.Job, prepared *preparation, end memory.JobEnd) (memory.JobEnd, error) {
	if prepared == nil {
		return end, nil
	}
	_, err := prepared.put(ctx, tx, false)
	if errors.Is(err, memory.ErrMoved) {
		end.Stage = memory.StagePrepare
		return end, nil
	}
	if err != nil {
		return end, err
	}
	end.Result = prepared.end.Result
	return end, tx.EndChangeset(ctx, memory.CauseAnalyze, job.ID, job.Note)
}

type noteEmbedding struct {
	of   *memory.Note
	made memory.Embedding
}

// missingVectors embeds notes that have no vector, so that they are found by
// meaning although their analysis failed. It returns nil when there is nothing
// to embed, or when the embedder fails too.
func (e *Engine) missingVectors(ctx context.Context, s tenant.Scope, job *memory.Job, ids []uuid.UUID) (map[uuid.UUID]noteEmbedding, string) {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return nil, ""
	}
	notes, err := e.store.Notes(ctx, s, v, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return nil, ""
	}
	notes = slices.DeleteFunc(notes, func(n memory.Note) bool { return n.Vector != nil })
	if len(notes) == 0 {
		return nil, ""
	}
	em, err := e.embedderOf(&v.Collection)
	if err != nil {
		return nil, ""
	}
	ctx, cancel := context.WithTimeout(ctx, failTimeout/2)
	defer cancel()
	of := make([]*memory.Note, len(notes))
	for i := range notes {
		of[i] = &notes[i]
	}
	made, _, err := memory.EmbedNotes(ctx, em, s, of)
	if err != nil {
		return nil, ""
	}
	out := make(map[uuid.UUID]noteEmbedding, len(notes))
	for i, n := range of {
		out[n.ID] = noteEmbedding{n, made[i]}
	}
	return out, em.Name()
}
