package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const upkeepPage = 200

// RunConsolidate runs a consolidate job: it embeds every visible note that has no
// vector (with a fast embedder, also those whose vector is outdated), then
// rebuilds the index. It is idempotent.
func (e *Engine) RunConsolidate(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	em, err := e.embedderOf(&v.Collection)
	if err != nil {
		return err
	}
	var after uuid.UUID
	var seen, embedded int64
	for {
		list, err := e.store.ListNotes(ctx, s, v, memory.NoteQuery{After: after, Limit: upkeepPage, ReadOptions: memory.ReadOptions{Vector: true}})
		if err != nil {
			return err
		}
		n, err := e.embedMissing(ctx, s, &job, memory.CauseConsolidate, em, list)
		if err != nil {
			return err
		}
		seen, embedded = seen+int64(len(list)), embedded+n
		if len(list) < upkeepPage {
			break
		}
		after = list[len(list)-1].ID
		if err := progress(ctx, memory.Progress{Done: seen, Total: seen}); err != nil {
			return err
		}
	}
	if e.index != nil {
		if v, err = e.open(ctx, s, job.Collection); err != nil {
			return err
		}
		if err := e.index.Rebuild(ctx, s, v); err != nil {
			return err
		}
	}
	return e.store.ReleaseJob(ctx, s, job.ID, job.Lease, memory.JobEnd{
		State: memory.JobDone, Stage: memory.StageTask, Attempts: job.Attempts,
		Result: json.RawMessage(fmt.Sprintf(`{"notes":%d,"embedded":%d}`, seen, embedded)),
	})
}

// embedMissing writes the missing vectors of a page of notes, in one changeset.
// Notes that changed meanwhile are skipped: their writer takes care of the vector.
func (e *Engine) embedMissing(ctx context.Context, s tenant.Scope, job *memory.Job, cause memory.Cause, em memory.Embedder, list []memory.Note) (int64, error) {
	var stale []*memory.Note
	for i := range list {
		if n := &list[i]; n.Vector == nil || n.Embedder != em.Name() || em.Fast() {
			stale = append(stale, n)
		}
	}
	if len(stale) == 0 {
		return 0, nil
	}
	made, _, err := memory.EmbedNotes(ctx, em, s, stale)
	if err != nil {
		return 0, err
	}
	fresh := map[uuid.UUID]memory.Note{}
	var ids []uuid.UUID
	for i, n := range stale {
		if n.Vector == nil || n.Embedder != em.Name() || differs(n.Vector, made[i].Vector) {
			n.Embed(made[i], em.Name())
			fresh[n.ID], ids = *n, append(ids, n.ID)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	var count int64
	o := memory.WriteOptions{Cause: cause, Job: job.ID, System: true}
	_, err = e.store.Write(ctx, s, job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		count = 0
		now, err := tx.Notes(ctx, ids, memory.ReadOptions{})
		if err != nil {
			return err
		}
		for i := range now {
			n := fresh[now[i].ID]
			if now[i].Version() != n.Version() {
				continue
			}
			if _, err := tx.Put(ctx, n); err != nil {
				return err
			}
			count++
		}
		return nil
	})
	return count, err
}

// differs reports whether two vectors belong to different texts.
func differs(a, b []float32) bool {
	c, ok := memory.Cosine(a, b)
	return !ok || c < 0.999
}
