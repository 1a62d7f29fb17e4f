package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Change is what a commit changed that others may wait for.
type Change struct {
	Tenant     uuid.UUID
	Collection uuid.UUID
	Revision   memory.Revision // the end of the collection's log; 0: nothing was logged
	Stages     []memory.Stage  // stages, as claims name them, that may have work now, each once
	Jobs       []JobChange     // jobs whose state or progress changed
	Usage      bool            // the use of notes was set or copied
	// Deleted is set when the collection was deleted, or when it is zero, the agent, or when that is zero,
	// the tenant.
	Deleted bool
	Agent   uuid.UUID // only with Deleted
	Erased  bool      // versions of the collection's log are gone without a trace
}

// JobChange is a job that a commit changed.
type JobChange struct {
	ID    uuid.UUID
	Ended bool
}

// NotifyOnCommit returns a store that calls notify for each change after it is committed, before
// the writing call returns. Changes are logged revisions, jobs that became due, jobs that were
// claimed, progressed, moved to another stage or ended, usage that was set or copied, and deletions. Jobs that are put off
// until later, leases that expire and the jobs of a deleted collection are not reported: workers and
// waiters also poll the store. A process that dies after a commit does not report it.
//
// notify must neither block nor fail. Optional roles of engines, such as Backuper, have to be asked
// of the engine below.
func NotifyOnCommit(s Store, notify func(Change)) Store { return &notifying{Store: s, notify: notify} }

type notifying struct {
	Store

	notify func(Change)
}

// Write implements memory.Writer.
func (t *notifying) Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(ctx context.Context, tx memory.Tx) error) (memory.Written, error) {
	var watched *notifyingTx // of the last run, which is the one that was committed
	w, err := t.Store.Write(ctx, s, collection, o, func(ctx context.Context, tx memory.Tx) error {
		watched = &notifyingTx{Tx: tx}
		return fn(ctx, watched)
	})
	if err == nil && w.Replay == nil && watched != nil {
		t.notifyWritten(s, collection, &w, watched)
	}
	return w, err
}

// notifyWritten reports what a write did.
func (t *notifying) notifyWritten(s tenant.Scope, collection uuid.UUID, w *memory.Written, watched *notifyingTx) {
	c := Change{Tenant: s.Tenant(), Collection: collection, Stages: watched.stages, Jobs: watched.jobs, Usage: watched.usage}
	if w.Logged {
		c.Revision = w.Revision
	}
	if w.Told && !slices.Contains(c.Stages, memory.StageSend) {
		c.Stages = append(c.Stages, memory.StageSend)
	}
	if w.Logged || c.Usage || len(c.Stages) > 0 || len(c.Jobs) > 0 {
		t.notify(c)
	}
}

// notifyingTx collects the stages for which a transaction makes work, and the jobs that it changes.
type notifyingTx struct {
	memory.Tx

	stages []memory.Stage
	jobs   []JobChange
	usage  bool
}

func (t *notifyingTx) addStage(s memory.Stage) {
	if !slices.Contains(t.stages, s) {
		t.stages = append(t.stages, s)
	}
}

// SetUsage implements memory.Tx.
func (t *notifyingTx) SetUsage(ctx context.Context, note uuid.UUID, u memory.Usage) error {
	err := t.Tx.SetUsage(ctx, note, u)
	t.usage = t.usage || err == nil
	return err
}

// Enqueue implements memory.Tx.
func (t *notifyingTx) Enqueue(ctx context.Context, j memory.Job) (memory.Job, error) {
	j, err := t.Tx.Enqueue(ctx, j)
	if err == nil && !j.NotBefore.After(t.Now()) {
		t.addStage(j.Lane())
	}
	return j, err
}

// EndJob implements memory.Tx.
func (t *notifyingTx) EndJob(ctx context.Context, job, lease uuid.UUID, end memory.JobEnd) error {
	err := t.Tx.EndJob(ctx, job, lease, end)
	if err == nil {
		t.jobs = append(t.jobs, changeOf(job, end))
		if s, ok := stageWithWork(end); ok {
			for _, lane := range s.Lanes() { // the kind of the job is not known here
				t.addStage(lane)
			}
		}
	}
	return err
}

// changeOf returns what an end changes of a job.
func changeOf(job uuid.UUID, end memory.JobEnd) JobChange {
	return JobChange{ID: job, Ended: end.State != memory.JobQueued}
}

// stageWithWork returns the stage that has work after a job has ended or was given back: the job's
// own next stage, or decide when decides waited behind the job's prepare.
func stageWithWork(end memory.JobEnd) (memory.Stage, bool) {
	switch {
	case end.State == memory.JobQueued:
		return end.Stage, end.NotBefore.IsZero()
	case end.Stage == memory.StagePrepare:
		return memory.StageDecide, true
	}
	return "", false
}

// CreateCollection implements memory.CollectionStore.
func (t *notifying) CreateCollection(ctx context.Context, s tenant.Scope, c memory.NewCollection) (memory.CollectionCreated, error) {
	var watched *notifyingTx // as in Write
	if first := c.First; first != nil {
		c.First = &memory.FirstWrite{Options: first.Options, Do: func(ctx context.Context, tx memory.Tx) error {
			watched = &notifyingTx{Tx: tx}
			return first.Do(ctx, watched)
		}}
	}
	made, err := t.Store.CreateCollection(ctx, s, c)
	if err == nil && made.Written.Replay == nil && watched != nil {
		if len(c.Seed) > 0 {
			watched.addStage(memory.StagePrepare)
		}
		t.notifyWritten(s, made.Collection.ID, &made.Written, watched)
		return made, nil
	}
	switch {
	case err != nil || made.Replay != nil || made.Written.Replay != nil:
	case c.CopyJob != nil:
		t.notify(Change{Tenant: s.Tenant(), Collection: made.Collection.ID, Stages: []memory.Stage{memory.StageTask}})
	case c.Parent != uuid.Nil: // a fork may have a job to adopt
		t.notify(Change{Tenant: s.Tenant(), Collection: made.Collection.ID, Stages: []memory.Stage{memory.StageUpkeep}})
	case len(c.Seed) > 0:
		t.notify(Change{Tenant: s.Tenant(), Collection: made.Collection.ID, Revision: made.Collection.Head, Stages: []memory.Stage{memory.StagePrepare}})
	}
	return made, err
}

// CopyRows implements memory.CollectionStore.
func (t *notifying) CopyRows(ctx context.Context, s tenant.Scope, v memory.View, target uuid.UUID, cursor string, limit int) (n int, next string, err error) {
	n, next, err = t.Store.CopyRows(ctx, s, v, target, cursor, limit)
	if err == nil && next == "" { // a copy may have a job to adopt
		t.notify(Change{Tenant: s.Tenant(), Collection: target, Revision: v.At, Stages: []memory.Stage{memory.StageUpkeep}, Usage: true})
	}
	return n, next, err
}

// UpdateCollection implements memory.CollectionStore.
func (t *notifying) UpdateCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*memory.Collection) error) (memory.Collection, error) {
	c, err := t.Store.UpdateCollection(ctx, s, id, audit, fn)
	if err == nil {
		t.notify(Change{Tenant: s.Tenant(), Collection: c.ID, Revision: c.Head})
	}
	return c, err
}

// DeleteCollection implements memory.CollectionStore.
func (t *notifying) DeleteCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, materialise bool, audit memory.AuditEntry) (memory.Job, error) {
	job, err := t.Store.DeleteCollection(ctx, s, id, materialise, audit)
	if err == nil {
		t.notify(Change{Tenant: s.Tenant(), Collection: id, Stages: []memory.Stage{memory.StageTask}, Deleted: true})
	}
	return job, err
}

// EraseNotes implements memory.Writer.
func (t *notifying) EraseNotes(ctx context.Context, s tenant.Scope, collection uuid.UUID, e memory.Erasing, audit memory.AuditEntry) (memory.Erased, error) {
	out, err := t.Store.EraseNotes(ctx, s, collection, e, audit)
	for _, layer := range out.Layers {
		t.notify(Change{Tenant: s.Tenant(), Collection: layer, Erased: true})
	}
	return out, err
}

// DeleteAgent implements tenant.AgentStore.
func (t *notifying) DeleteAgent(ctx context.Context, s tenant.Scope, id uuid.UUID) ([]uuid.UUID, error) {
	jobs, err := t.Store.DeleteAgent(ctx, s, id)
	if err == nil {
		t.notify(Change{Tenant: s.Tenant(), Agent: id, Deleted: true})
	}
	return jobs, err
}

// DeleteTenant implements tenant.AdminStore.
func (t *notifying) DeleteTenant(ctx context.Context, op tenant.Operator, id uuid.UUID) error {
	err := t.Store.DeleteTenant(ctx, op, id)
	if err == nil {
		t.notify(Change{Tenant: id, Deleted: true})
	}
	return err
}

// ClaimJobs implements memory.Queue.
func (t *notifying) ClaimJobs(ctx context.Context, s tenant.Scope, collection uuid.UUID, stage memory.Stage, lease uuid.UUID, until time.Time, limit int) ([]memory.Job, error) {
	claimed, err := t.Store.ClaimJobs(ctx, s, collection, stage, lease, until, limit)
	if err == nil && len(claimed) > 0 {
		c := Change{Tenant: s.Tenant(), Collection: collection, Jobs: make([]JobChange, len(claimed))}
		for i := range claimed {
			c.Jobs[i].ID = claimed[i].ID
		}
		t.notify(c)
	}
	return claimed, err
}

// SetProgress implements memory.Queue. The change does not name the collection.
func (t *notifying) SetProgress(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, p memory.Progress) error {
	err := t.Store.SetProgress(ctx, s, job, lease, p)
	if err == nil {
		t.notify(Change{Tenant: s.Tenant(), Jobs: []JobChange{{ID: job}}})
	}
	return err
}

// ReleaseJob implements memory.Queue. The change names the collection if a stage has work.
func (t *notifying) ReleaseJob(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, end memory.JobEnd) error {
	err := t.Store.ReleaseJob(ctx, s, job, lease, end)
	if err != nil {
		return err
	}
	c := Change{Tenant: s.Tenant(), Jobs: []JobChange{changeOf(job, end)}}
	if stage, ok := stageWithWork(end); ok {
		// The call does not name the collection of the job. When the job cannot be read, the next poll
		// of the outbox finds the work.
		if j, err := t.Job(ctx, s, job); err == nil {
			j.Stage = stage
			c.Collection, c.Stages = j.Collection, []memory.Stage{j.Lane()}
		}
	}
	t.notify(c)
	return nil
}

// RetryJob implements memory.Queue.
func (t *notifying) RetryJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error) {
	j, err := t.Store.RetryJob(ctx, s, id, audit)
	if err == nil {
		t.notify(Change{Tenant: j.Tenant, Collection: j.Collection, Stages: []memory.Stage{j.Lane()}, Jobs: []JobChange{{ID: j.ID}}})
	}
	return j, err
}

// CancelJob implements memory.Queue.
func (t *notifying) CancelJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error) {
	j, err := t.Store.CancelJob(ctx, s, id, audit)
	if err != nil {
		return j, err
	}
	c := Change{Tenant: j.Tenant, Collection: j.Collection, Jobs: []JobChange{{ID: j.ID, Ended: true}}}
	if j.Stage != memory.StageTask && j.Stage != memory.StageSend {
		c.Stages = []memory.Stage{memory.StageDecide} // those behind it
	}
	t.notify(c)
	return j, nil
}
