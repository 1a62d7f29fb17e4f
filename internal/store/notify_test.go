package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// notifiedStore is a store with the changes that it has reported.
type notifiedStore struct {
	store.Store
	t   *testing.T
	s   tenant.Scope
	got []store.Change
}

func openNotified(t *testing.T) *notifiedStore {
	t.Helper()
	db := must.Get(sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "slipbox.db")}, sqlite.Deps{}))(t)
	l := &notifiedStore{t: t}
	l.Store = store.NotifyOnCommit(db, func(c store.Change) { l.got = append(l.got, c) })
	t.Cleanup(func() { l.must(l.Close()) })
	acme := must.Get(l.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "acme"}))(t)
	l.s = grant.Scope(acme.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	return l
}

func (l *notifiedStore) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// wants fails unless exactly these changes were reported since the last call.
func (l *notifiedStore) wants(after string, want ...store.Change) {
	l.t.Helper()
	for i := range want {
		want[i].Tenant = l.s.Tenant()
	}
	if len(l.got) != len(want) || len(want) > 0 && !reflect.DeepEqual(l.got, want) {
		l.t.Errorf("after %s got %+v, want %+v", after, l.got, want)
	}
	l.got = nil
}

func (l *notifiedStore) collection(c memory.NewCollection) memory.CollectionCreated {
	l.t.Helper()
	c.Policy, c.Embedder, c.Dim = memory.PolicyAMEM, "hash", 384
	made := must.Get(l.CreateCollection(l.t.Context(), l.s, c))(l.t)
	return made
}

func (l *notifiedStore) write(c uuid.UUID, fn func(ctx context.Context, tx memory.Tx) error) memory.Written {
	l.t.Helper()
	w := must.Get(l.Write(l.t.Context(), l.s, c, memory.WriteOptions{Cause: memory.CauseAdd}, fn))(l.t)
	return w
}

func (l *notifiedStore) claim(c uuid.UUID, stage memory.Stage) memory.Job {
	l.t.Helper()
	jobs := must.Get(l.ClaimJobs(l.t.Context(), l.s, c, stage, uuid.New(), time.Now().Add(time.Minute), 1))(l.t)
	if len(jobs) != 1 {
		l.t.Fatalf("claimed %d %s jobs, want 1", len(jobs), stage)
	}
	return jobs[0]
}

func (l *notifiedStore) end(j memory.Job, end memory.JobEnd) {
	l.t.Helper()
	l.write(j.Collection, func(ctx context.Context, tx memory.Tx) error { return tx.EndJob(ctx, j.ID, j.Lease, end) })
}

// A change is reported once, after its commit, with the stages that have work. A write that is
// rolled back, or that changes nothing, is not reported.
func TestNotifyOnWrites(t *testing.T) {
	t.Parallel()
	l := openNotified(t)
	c := l.collection(memory.NewCollection{Collection: memory.Collection{Name: "c"}}).Collection.ID
	l.wants("a collection without jobs")
	add := func(enqueue bool) func(ctx context.Context, tx memory.Tx) error {
		return func(ctx context.Context, tx memory.Tx) error {
			for range 2 {
				n, err := tx.Put(ctx, memory.Note{Kind: memory.KindNote, Content: "tea", State: memory.StateRaw})
				if err != nil {
					return err
				}
				if !enqueue {
					continue
				}
				if _, err := tx.Enqueue(ctx, memory.Job{Collection: c, Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	w := l.write(c, add(true))
	l.wants("two notes", store.Change{Collection: c, Revision: w.Revision, Stages: []memory.Stage{memory.StagePrepare}})
	w = l.write(c, add(false))
	l.wants("notes without jobs", store.Change{Collection: c, Revision: w.Revision})
	l.write(c, func(context.Context, memory.Tx) error { return nil })
	l.wants("nothing")
	l.write(c, func(ctx context.Context, tx memory.Tx) error {
		n, err := tx.Put(ctx, memory.Note{Kind: memory.KindNote, Content: "used", State: memory.StateRaw})
		if err != nil {
			return err
		}
		return tx.SetUsage(ctx, n.ID, memory.Usage{AccessCount: 1, Strength: 2})
	})
	if len(l.got) != 1 || !l.got[0].Usage || l.got[0].Collection != c {
		t.Errorf("usage was set, got %+v", l.got)
	}
	l.got = nil
	enough := errors.New("enough")
	if _, err := l.Write(t.Context(), l.s, c, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		return errors.Join(add(true)(ctx, tx), enough)
	}); !errors.Is(err, enough) {
		t.Fatalf("got %v", err)
	}
	l.wants("a write that was rolled back")
	l.write(c, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Enqueue(ctx, memory.Job{Collection: c, Kind: memory.JobConsolidate, Stage: memory.StageTask, NotBefore: tx.Now().Add(time.Hour)})
		return err
	})
	l.wants("a job for later")
	l.write(c, func(ctx context.Context, tx memory.Tx) error { // a policy whose delay is 0 says when that is
		_, err := tx.Enqueue(ctx, memory.Job{Collection: c, Kind: memory.JobConsolidate, Stage: memory.StageTask, NotBefore: tx.Now()})
		return err
	})
	l.wants("a job that is due now", store.Change{Collection: c, Stages: []memory.Stage{memory.StageUpkeep}})
}

// Each change of a job is reported. One that moves to its next stage, is given back, is retried, or ends
// in front of others is reported with the stage that has work.
func TestNotifyOnJobs(t *testing.T) {
	t.Parallel()
	l := openNotified(t)
	c := l.collection(memory.NewCollection{Collection: memory.Collection{Name: "c"}}).Collection.ID
	prepare, decide := []memory.Stage{memory.StagePrepare}, []memory.Stage{memory.StageDecide}
	l.write(c, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Enqueue(ctx, memory.Job{Collection: c, Kind: memory.JobNote, Stage: memory.StagePrepare})
		return err
	})
	l.wants("a job", store.Change{Collection: c, Stages: prepare})
	j := l.claim(c, memory.StagePrepare)
	changed, ended := []store.JobChange{{ID: j.ID}}, []store.JobChange{{ID: j.ID, Ended: true}}
	l.wants("a claim", store.Change{Collection: c, Jobs: changed})
	l.must(l.SetProgress(t.Context(), l.s, j.ID, j.Lease, memory.Progress{Done: 1, Total: 2}))
	l.wants("progress", store.Change{Jobs: changed})
	l.must(l.ReleaseJob(t.Context(), l.s, j.ID, j.Lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StagePrepare}))
	l.wants("a job given back", store.Change{Collection: c, Stages: prepare, Jobs: changed})
	// claim claims the job again.
	claim := func(stage memory.Stage) memory.Job {
		t.Helper()
		j := l.claim(c, stage)
		l.wants("another claim", store.Change{Collection: c, Jobs: changed})
		return j
	}
	l.end(claim(memory.StagePrepare), memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide})
	l.wants("its next stage", store.Change{Collection: c, Stages: decide, Jobs: changed})
	j = claim(memory.StageDecide)
	l.must(l.ReleaseJob(t.Context(), l.s, j.ID, j.Lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide, Attempts: 1, NotBefore: time.Now().Add(-time.Second)}))
	l.wants("a failed try, which waits", store.Change{Jobs: changed})
	l.end(claim(memory.StageDecide), memory.JobEnd{State: memory.JobDead, Stage: memory.StageDecide, Attempts: 3})
	l.wants("the end of a decide: its worker looks for the next", store.Change{Collection: c, Jobs: ended})
	must.Get(l.RetryJob(t.Context(), l.s, j.ID, memory.AuditEntry{Action: "job.retry"}))(t)
	l.wants("a retry", store.Change{Collection: c, Stages: decide, Jobs: changed})
	must.Get(l.CancelJob(t.Context(), l.s, j.ID, memory.AuditEntry{Action: "job.cancel"}))(t)
	l.wants("a canceled job, which others may have waited behind", store.Change{Collection: c, Stages: decide, Jobs: ended})
	l.write(c, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Enqueue(ctx, memory.Job{Collection: c, Kind: memory.JobNote, Stage: memory.StagePrepare})
		return err
	})
	j = l.claim(c, memory.StagePrepare)
	l.got = nil
	l.end(j, memory.JobEnd{State: memory.JobFailed, Stage: memory.StagePrepare})
	l.wants("a prepare that failed in front of decides", store.Change{Collection: c, Stages: decide, Jobs: []store.JobChange{{ID: j.ID, Ended: true}}})
}

// Forks, copies and removals have jobs that no write of a note enqueues.
func TestNotifyOnCollections(t *testing.T) {
	t.Parallel()
	l := openNotified(t)
	task, upkeep := []memory.Stage{memory.StageTask}, []memory.Stage{memory.StageUpkeep}
	base := l.collection(memory.NewCollection{Collection: memory.Collection{Name: "base"}}).Collection
	l.write(base.ID, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Put(ctx, memory.Note{Kind: memory.KindNote, Content: "tea", State: memory.StateRaw})
		return err
	})
	l.got = nil
	v, err := l.OpenView(t.Context(), l.s, base.ID.String(), memory.At{})
	l.must(err)
	fork := l.collection(memory.NewCollection{Collection: memory.Collection{Name: "fork", Parent: base.ID, ParentRevision: v.At}}).Collection
	l.wants("a fork", store.Change{Collection: fork.ID, Stages: upkeep})
	target := l.collection(memory.NewCollection{
		Collection: memory.Collection{Name: "copy"}, CopyJob: &memory.Job{Kind: memory.JobCopy, Stage: memory.StageTask, State: memory.JobQueued},
	}).Collection
	l.wants("a copy", store.Change{Collection: target.ID, Stages: task})
	for cursor, next := "", "first"; next != ""; cursor = next {
		l.wants("a step of a copy")
		_, next, err = l.CopyRows(t.Context(), l.s, v, target.ID, cursor, 1)
		l.must(err)
	}
	l.wants("the last step", store.Change{Collection: target.ID, Revision: v.At, Stages: upkeep, Usage: true})
	must.Get(l.DeleteCollection(t.Context(), l.s, target.ID, false, memory.AuditEntry{Action: "collection.delete"}))(t)
	l.wants("a removal", store.Change{Collection: target.ID, Stages: task, Deleted: true})
	ada := must.Get(l.EnsureAgent(t.Context(), l.s, "ada"))(t)
	must.Get(l.DeleteAgent(t.Context(), l.s, ada.ID))(t)
	l.wants("the removal of an agent", store.Change{Agent: ada.ID, Deleted: true})
	l.must(l.DeleteTenant(t.Context(), grant.Operator("test"), l.s.Tenant()))
	l.wants("the removal of the tenant", store.Change{Deleted: true})
}
