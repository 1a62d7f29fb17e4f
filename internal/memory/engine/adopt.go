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
// messages. It skips notes that had no job when the fork was made (stored as given)
// and notes that have a job here.
//
// One job does so in rounds, until no note is left to wait for. Between them it awaits
// the last of the base's jobs, and holds no place. A round in which neither log has
// changed reads none. Repeating a round is a no-op.
func (e *Engine) RunAdopt(ctx context.Context, s tenant.Scope, job memory.Job) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	a := adoption{e: e, s: s, job: &job, view: v, covered: map[uuid.UUID]bool{}, known: map[uuid.UUID]bool{}}
	if len(job.Payload) > 0 {
		if err := json.Unmarshal(job.Payload, &a.payload); err != nil {
			return fault.Wrap(err, fault.Invalid, "the payload of the adopt job cannot be read; a newer version may have made it")
		}
		for _, id := range a.payload.Notes {
			a.known[id] = true
		}
	}
	if a.share, err = e.share(ctx, s, v, &job); err != nil {
		return err
	}
	if a.share.on && a.isStill() {
		return a.wait(ctx)
	}
	unfinished, err := e.unfinished(ctx, s, v)
	if err != nil {
		return err
	}
	if err := a.share.replay(ctx, unfinished); err != nil {
		return err
	}
	if err := a.share.adoptNotes(ctx); err != nil {
		return err
	}
	if err := a.adoptUnfinished(ctx, unfinished); err != nil {
		return err
	}
	if err := a.adoptByMessages(ctx); err != nil {
		return err
	}
	return a.end(ctx)
}

// isStill reports whether this round would find what the round before did: what is awaited has not ended, and
// neither log has grown.
func (a *adoption) isStill() bool {
	_, waits := a.share.working[a.payload.Awaits]
	return waits && a.payload.Base == a.share.base.At && a.payload.Fork == a.share.fork.At
}

// adoptUnfinished decides for each note whether the base settles it, or will, or the fork needs a job.
func (a *adoption) adoptUnfinished(ctx context.Context, unfinished []memory.Note) error {
	var rest []memory.Note
	for i := range unfinished {
		id := unfinished[i].ID
		if a.share.settles(id) {
			continue
		}
		if a.share.busy[id] && a.share.canWait(id) {
			a.waits = append(a.waits, id)
			continue
		}
		rest = append(rest, unfinished[i])
	}
	for page := range slices.Chunk(rest, upkeepPage) {
		origin, err := a.jobsOf(ctx, page)
		if err != nil {
			return err
		}
		for i := range page {
			jobs, err := a.inherited(ctx, origin[page[i].ID])
			if err != nil {
				return err
			}
			a.note(&page[i], jobs)
		}
	}
	return nil
}

// jobsOf reads the jobs that notes have in all collections, newest first. The job of an exchange names its last message.
func (a *adoption) jobsOf(ctx context.Context, list []memory.Note) (map[uuid.UUID][]memory.Job, error) {
	found, err := a.e.store.ListJobs(ctx, a.s, memory.JobQuery{Notes: memory.IDs(list)})
	out := map[uuid.UUID][]memory.Job{}
	for i := range found {
		out[found[i].Note] = append(out[found[i].Note], found[i])
	}
	return out, err
}

// inherited returns the jobs without those of changes that the fork does not show: a note that was stored as given stays so, when
// the base lets the policy take up a later version of it.
func (a *adoption) inherited(ctx context.Context, jobs []memory.Job) ([]memory.Job, error) {
	var out []memory.Job
	for i := range jobs {
		later, err := a.isLater(ctx, &jobs[i])
		if err != nil {
			return nil, err
		}
		if !later {
			out = append(out, jobs[i])
		}
	}
	return out, nil
}

// isLater reports whether a job was enqueued by a change of its note, in a layer below, that the fork does not show. Both were
// written in one transaction, and so have one time.
func (a *adoption) isLater(ctx context.Context, j *memory.Job) (bool, error) {
	below := slices.IndexFunc(a.view.Layers, func(l memory.Layer) bool { return l.Collection == j.Collection })
	if below < 1 {
		return false, nil
	}
	v, err := a.e.open(ctx, a.s, j.Collection)
	if fault.Is(err, fault.NotFound) {
		return false, nil // it is being removed
	}
	bound := a.view.Layers[below].Bound
	if err != nil || v.At <= bound {
		return false, err
	}
	past, err := a.e.store.History(ctx, a.s, v, j.Note, 0, 0)
	return slices.ContainsFunc(past, func(h memory.HistoryEntry) bool {
		return h.Note.From > bound && h.Changeset.At.Equal(j.CreatedAt)
	}), err
}

// adoptPayload is the payload of an adopt job that waits for its base.
type adoptPayload struct {
	// Notes had a job in the base. When the base is removed, so are its jobs.
	Notes []uuid.UUID `json:"notes"`
	// Awaits is the job of the base whose end makes the next round due.
	Awaits uuid.UUID `json:"awaits,omitzero"`
	// Base and Fork are where the logs ended when the round began.
	Base memory.Revision `json:"base,omitzero"`
	Fork memory.Revision `json:"fork,omitzero"`
}

// unfinished lists the notes of a view that are raw or pending.
func (e *Engine) unfinished(ctx context.Context, s tenant.Scope, v memory.View) (out []memory.Note, err error) {
	for n, err := range memory.EachNote(ctx, e.store, s, v, memory.NoteQuery{States: []memory.State{memory.StateRaw, memory.StatePending}}) {
		if err != nil {
			return nil, err
		}
		out = append(out, memory.Note{ID: n.ID, Kind: n.Kind})
	}
	return out, nil
}

// adoption collects the jobs of a fork.
type adoption struct {
	e          *Engine
	s          tenant.Scope
	job        *memory.Job
	view       memory.View // the fork
	share      *sharing
	payload    adoptPayload // of the round before
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
		next := adoptPayload{Notes: a.payload.Notes, Awaits: a.share.last(a.waits), Base: a.share.base.At, Fork: a.share.fork.At}
		if len(a.job.Payload) == 0 {
			next.Notes = a.waits
		}
		var err error
		if end, err = a.waiting(next); err != nil {
			return err
		}
	}
	return a.write(ctx, end)
}

// wait returns the job to the queue as the round before did.
func (a *adoption) wait(ctx context.Context) error {
	end, err := a.waiting(a.payload)
	if err != nil {
		return err
	}
	return a.write(ctx, end)
}

// waiting is the end of a round that waits for the base. Without a job to await, the next round is due after a pause.
func (a *adoption) waiting(next adoptPayload) (memory.JobEnd, error) {
	pause := adoptPause(a.e.now().Sub(a.job.CreatedAt))
	if next.Awaits != uuid.Nil {
		pause = max(pause, time.Minute)
	}
	payload, err := json.Marshal(next)
	return memory.JobEnd{
		State: memory.JobQueued, Stage: memory.StageTask, Payload: payload, Awaits: next.Awaits, NotBefore: a.e.now().Add(pause),
	}, fault.Wrap(err, fault.Internal, "encode the payload of the adopt job")
}

func (a *adoption) write(ctx context.Context, end memory.JobEnd) error {
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

// note decides about a note with its jobs in all collections, newest first.
func (a *adoption) note(n *memory.Note, origin []memory.Job) {
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
func (a *adoption) adoptByMessages(ctx context.Context) error {
	a.withoutJob = slices.DeleteFunc(a.withoutJob, func(id uuid.UUID) bool { return a.covered[id] })
	if len(a.withoutJob) == 0 {
		return nil
	}
	for _, l := range a.view.Layers {
		for _, state := range []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobDead, memory.JobFailed} {
			if err := a.adoptJobsOf(ctx, l.Collection, state); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *adoption) adoptJobsOf(ctx context.Context, collection uuid.UUID, state memory.JobState) error {
	for j, err := range memory.EachJob(ctx, a.e.store, a.s, memory.JobQuery{Collection: collection, State: state, Limit: upkeepPage}) {
		if err != nil {
			return err
		}
		if j.Kind != memory.JobExchange {
			continue
		}
		ids, err := notesOf(j)
		if err != nil || !slices.ContainsFunc(ids, func(id uuid.UUID) bool { return !a.covered[id] && slices.Contains(a.withoutJob, id) }) {
			continue
		}
		if later, err := a.isLater(ctx, j); err != nil {
			return err
		} else if later {
			continue
		}
		if collection != a.job.Collection {
			a.enqueueCopy(j)
		}
		for _, id := range ids {
			a.covered[id] = true
		}
	}
	return nil
}
