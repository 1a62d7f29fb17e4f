package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// RunAdopt runs an adopt job: it finishes the inherited notes of a fork or a copy
// that are raw or pending. What the fork's base decides about them holds in the
// fork too, where nothing differs (see sharing); the job waits for it. For each
// other note it enqueues a note job, and an exchange job for each exchange of such
// messages. It skips notes that never had a job (stored as given) and notes that
// have a job here.
//
// One job does so in rounds, until no note is left to wait for. Each round looks at
// both logs, and repeating one is a no-op.
func (e *Engine) RunAdopt(ctx context.Context, s tenant.Scope, job memory.Job) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	a := adoption{e: e, s: s, job: &job, covered: map[uuid.UUID]bool{}, known: map[uuid.UUID]bool{}}
	if len(job.Payload) > 0 {
		var p adoptPayload
		if err := json.Unmarshal(job.Payload, &p); err != nil {
			return fault.Wrap(err, fault.Invalid, "the payload of the adopt job cannot be read; a newer version may have made it")
		}
		for _, id := range p.Notes {
			a.known[id] = true
		}
	}
	unfinished, err := e.unfinished(ctx, s, v)
	if err != nil {
		return err
	}
	if a.share, err = e.share(ctx, s, v, &job, unfinished); err != nil {
		return err
	}
	if err := a.share.adoptNotes(ctx); err != nil {
		return err
	}
	for i := range unfinished {
		id := unfinished[i].ID
		if a.share.settles(id) {
			continue
		}
		if a.share.working[id] && a.share.canWait(id) {
			a.waits = append(a.waits, id)
			continue
		}
		if err := a.note(ctx, &unfinished[i]); err != nil {
			return err
		}
	}
	if err := a.adoptByMessages(ctx, v); err != nil {
		return err
	}
	return a.end(ctx)
}

// adoptPayload is the payload of an adopt job that waits for its base.
type adoptPayload struct {
	// Notes had a job in the base. When the base is removed, so are its jobs.
	Notes []uuid.UUID `json:"notes"`
}

// unfinished lists the notes of a view that are raw or pending.
func (e *Engine) unfinished(ctx context.Context, s tenant.Scope, v memory.View) (out []memory.Note, err error) {
	var after uuid.UUID
	for {
		list, err := e.store.ListNotes(ctx, s, v, memory.NoteQuery{
			States: []memory.State{memory.StateRaw, memory.StatePending}, After: after, Limit: upkeepPage,
		})
		if err != nil {
			return nil, err
		}
		for i := range list {
			after = list[i].ID
			out = append(out, memory.Note{ID: after, Kind: list[i].Kind})
		}
		if len(list) < upkeepPage {
			return out, nil
		}
	}
}

// adoption collects the jobs of a fork.
type adoption struct {
	e          *Engine
	s          tenant.Scope
	job        *memory.Job
	share      *sharing
	jobs       []memory.Job
	known      map[uuid.UUID]bool // notes that had a job in the base when the fork was made
	waits      []uuid.UUID        // notes whose job in the base has not ended
	covered    map[uuid.UUID]bool // messages whose exchange has a job in the fork
	withoutJob []uuid.UUID        // messages without a job that names them
}

// end enqueues the jobs and ends the adopt job, or lets it wait for the base.
func (a *adoption) end(ctx context.Context) error {
	end := memory.JobEnd{
		State: memory.JobDone, Stage: memory.StageTask, Attempts: a.job.Attempts,
		Result: json.RawMessage(fmt.Sprintf(`{"adopted":%d,"shared":%d}`, len(a.jobs), len(a.share.valid))),
	}
	if len(a.waits) > 0 {
		end.State, end.Result, end.Attempts = memory.JobQueued, nil, 0
		end.NotBefore = a.e.now().Add(adoptPause(a.e.now().Sub(a.job.CreatedAt)))
		if len(a.job.Payload) == 0 {
			var err error
			if end.Payload, err = json.Marshal(adoptPayload{Notes: a.waits}); err != nil {
				return fault.Wrap(err, fault.Internal, "encode the payload of the adopt job")
			}
		}
	}
	o := memory.WriteOptions{Cause: memory.CauseAdopt, Job: a.job.ID, System: true}
	_, err := a.e.store.Write(ctx, a.s, a.job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		if err := a.share.link(ctx, tx); err != nil {
			return err
		}
		for _, j := range a.jobs {
			if _, err := tx.Enqueue(ctx, j); err != nil {
				return err
			}
		}
		return tx.EndJob(ctx, a.job.ID, a.job.Lease, end)
	})
	return err
}

// adoptPause returns the pause before the next look at the base: half the time that
// was waited, from one second to five minutes.
func adoptPause(waited time.Duration) time.Duration {
	return min(max(waited/2, time.Second), 5*time.Minute)
}

// note finds the jobs that a note had in other collections. The job of an exchange names its last message.
func (a *adoption) note(ctx context.Context, n *memory.Note) error {
	origin, err := a.e.store.ListJobs(ctx, a.s, memory.JobQuery{Note: n.ID, Limit: upkeepPage})
	if err != nil {
		return err
	}
	here := func(kind memory.JobKind) bool {
		return slices.ContainsFunc(origin, func(j memory.Job) bool { return j.Kind == kind && j.Collection == a.job.Collection })
	}
	newest := func(kind memory.JobKind) int {
		return slices.IndexFunc(origin, func(j memory.Job) bool { return j.Kind == kind })
	}
	i, x := newest(memory.JobNote), newest(memory.JobExchange)
	if i >= 0 && !here(memory.JobNote) {
		if a.share.waitsFor(n.ID, &origin[i]) {
			a.waits = append(a.waits, n.ID)
		} else {
			a.enqueueCopy(&origin[i])
		}
	}
	switch {
	case x >= 0 && !here(memory.JobExchange):
		a.exchange(&origin[x])
	case x < 0 && i < 0 && a.known[n.ID]:
		a.jobs = append(a.jobs, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Collection: a.job.Collection, Note: n.ID})
	case x < 0 && i < 0 && n.Kind == memory.KindMessage:
		a.withoutJob = append(a.withoutJob, n.ID)
	}
	return nil
}
func (a *adoption) enqueueCopy(origin *memory.Job) {
	a.jobs = append(a.jobs, memory.Job{
		Kind: origin.Kind, Stage: memory.StagePrepare, Collection: a.job.Collection, Note: origin.Note, Payload: origin.Payload,
	})
}

func (a *adoption) exchange(origin *memory.Job) {
	ids, err := notesOf(origin)
	if err != nil || a.covered[ids[len(ids)-1]] {
		return // its payload cannot be read, or the exchange is covered
	}
	for _, id := range ids {
		a.covered[id] = true
	}
	a.enqueueCopy(origin)
}

// adoptByMessages finds the exchanges whose last message is deleted or already
// evolved, among the unsuccessful jobs of the collections in the view's lineage.
func (a *adoption) adoptByMessages(ctx context.Context, v memory.View) error {
	a.withoutJob = slices.DeleteFunc(a.withoutJob, func(id uuid.UUID) bool { return a.covered[id] })
	if len(a.withoutJob) == 0 {
		return nil
	}
	for _, l := range v.Layers {
		for _, state := range []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobDead, memory.JobFailed} {
			if err := a.adoptJobsOf(ctx, l.Collection, state); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *adoption) adoptJobsOf(ctx context.Context, collection uuid.UUID, state memory.JobState) error {
	var before uuid.UUID
	for {
		list, err := a.e.store.ListJobs(ctx, a.s, memory.JobQuery{Collection: collection, State: state, Before: before, Limit: upkeepPage})
		if err != nil {
			return err
		}
		for i := range list {
			j := &list[i]
			before = j.ID
			if j.Kind != memory.JobExchange {
				continue
			}
			ids, err := notesOf(j)
			if err != nil || !slices.ContainsFunc(ids, func(id uuid.UUID) bool { return !a.covered[id] && slices.Contains(a.withoutJob, id) }) {
				continue
			}
			if collection != a.job.Collection {
				a.enqueueCopy(j)
			}
			for _, id := range ids {
				a.covered[id] = true
			}
		}
		if len(list) < upkeepPage {
			return nil
		}
	}
}
