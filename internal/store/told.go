package store

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Change is what a commit changed that others may wait for.
type Change struct {
	Tenant     uuid.UUID
	Collection uuid.UUID
	Revision   memory.Revision // up to which its log now reaches; 0: nothing was logged
	Stages     []memory.Stage  // that may have work now, each once
}

// Told gives a store that tells of each change once it is committed, before
// the writing call returns. It is told of logged revisions and of jobs that
// became due; a job that is put off until later is not news, and neither is
// what expires by itself: whoever runs jobs also looks at the outbox from time
// to time. A process that dies after a commit never tells of it.
//
// tell must neither block nor fail. Roles that not every engine has, such as
// Backuper, are those of the engine below.
func Told(s Store, tell func(Change)) Store { return &told{Store: s, tell: tell} }

type told struct {
	Store

	tell func(Change)
}

// Write implements memory.Writer.
func (t *told) Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(ctx context.Context, tx memory.Tx) error) (memory.Written, error) {
	var stages []memory.Stage
	w, err := t.Store.Write(ctx, s, collection, o, func(ctx context.Context, tx memory.Tx) error {
		seen := &toldTx{Tx: tx}
		err := fn(ctx, seen)
		stages = seen.stages // of the last run, which is the one that was committed
		return err
	})
	if err != nil || w.Replay != nil {
		return w, err
	}
	c := Change{Tenant: s.Tenant(), Collection: collection, Stages: stages}
	if w.Logged {
		c.Revision = w.Revision
	}
	if w.Logged || len(stages) > 0 {
		t.tell(c)
	}
	return w, nil
}

// toldTx remembers which stages a transaction gave work.
type toldTx struct {
	memory.Tx

	stages []memory.Stage
}

func (t *toldTx) work(s memory.Stage) {
	if !slices.Contains(t.stages, s) {
		t.stages = append(t.stages, s)
	}
}

// Enqueue implements memory.Tx.
func (t *toldTx) Enqueue(ctx context.Context, j memory.Job) (memory.Job, error) {
	j, err := t.Tx.Enqueue(ctx, j)
	if err == nil && j.NotBefore.IsZero() {
		t.work(j.Stage)
	}
	return j, err
}

// EndJob implements memory.Tx.
func (t *toldTx) EndJob(ctx context.Context, job, lease uuid.UUID, end memory.JobEnd) error {
	err := t.Tx.EndJob(ctx, job, lease, end)
	if err == nil {
		if s, ok := freed(end); ok {
			t.work(s)
		}
	}
	return err
}

// freed tells which stage has work when a job was left like that: its own
// next one, or the decides that were behind a prepare.
func freed(end memory.JobEnd) (memory.Stage, bool) {
	switch {
	case end.State == memory.JobQueued:
		return end.Stage, end.NotBefore.IsZero()
	case end.Stage == memory.StagePrepare:
		return memory.StageDecide, true
	}
	return "", false
}

// CreateCollection implements memory.CollectionStore.
func (t *told) CreateCollection(ctx context.Context, s tenant.Scope, c memory.NewCollection) (memory.CollectionCreated, error) {
	made, err := t.Store.CreateCollection(ctx, s, c)
	if err == nil && made.Replay == nil && (c.CopyJob != nil || c.Parent != uuid.Nil) { // a fork may have a job to adopt
		t.task(s, made.Collection.ID)
	}
	return made, err
}

func (t *told) task(s tenant.Scope, collection uuid.UUID) {
	t.tell(Change{Tenant: s.Tenant(), Collection: collection, Stages: []memory.Stage{memory.StageTask}})
}

// CopyRows implements memory.CollectionStore.
func (t *told) CopyRows(ctx context.Context, s tenant.Scope, v memory.View, target uuid.UUID, cursor string, limit int) (n int, next string, err error) {
	n, next, err = t.Store.CopyRows(ctx, s, v, target, cursor, limit)
	if err == nil && next == "" {
		t.tell(Change{Tenant: s.Tenant(), Collection: target, Revision: v.At, Stages: []memory.Stage{memory.StageTask}})
	}
	return n, next, err
}

// UpdateCollection implements memory.CollectionStore.
func (t *told) UpdateCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*memory.Collection) error) (memory.Collection, error) {
	c, err := t.Store.UpdateCollection(ctx, s, id, audit, fn)
	if err == nil {
		t.tell(Change{Tenant: s.Tenant(), Collection: c.ID, Revision: c.Head})
	}
	return c, err
}

// DeleteCollection implements memory.CollectionStore.
func (t *told) DeleteCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, materialise bool, audit memory.AuditEntry) error {
	err := t.Store.DeleteCollection(ctx, s, id, materialise, audit)
	if err == nil {
		t.task(s, id)
	}
	return err
}

// ReleaseJob implements memory.Queue.
func (t *told) ReleaseJob(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, end memory.JobEnd) error {
	err := t.Store.ReleaseJob(ctx, s, job, lease, end)
	if err != nil {
		return err
	}
	if stage, ok := freed(end); ok {
		// The call does not say of which collection the job is. Without an answer
		// the next look at the outbox finds it.
		if j, err := t.Job(ctx, s, job); err == nil {
			t.tell(Change{Tenant: j.Tenant, Collection: j.Collection, Stages: []memory.Stage{stage}})
		}
	}
	return nil
}

// RetryJob implements memory.Queue.
func (t *told) RetryJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error) {
	j, err := t.Store.RetryJob(ctx, s, id, audit)
	if err == nil {
		t.tell(Change{Tenant: j.Tenant, Collection: j.Collection, Stages: []memory.Stage{j.Stage}})
	}
	return j, err
}

// CancelJob implements memory.Queue.
func (t *told) CancelJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error) {
	j, err := t.Store.CancelJob(ctx, s, id, audit)
	if err == nil && j.Stage != memory.StageTask {
		t.tell(Change{Tenant: j.Tenant, Collection: j.Collection, Stages: []memory.Stage{memory.StageDecide}}) // those behind it
	}
	return j, err
}
