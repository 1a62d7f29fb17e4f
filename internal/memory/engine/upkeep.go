package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const upkeepPage = 200

// lastAdds is the payload of a consolidation that follows from adds: it looks at what changed since the one before.
var lastAdds = json.RawMessage(`{"since":"last"}`)

// consolidation is how far a collection is consolidated.
type consolidation struct {
	at       memory.Revision
	embedder string
	job      uuid.UUID // that recomputed the vectors, as Collection.Reembedded
}

// consolidated holds, by collection, the last consolidation in this process.
type consolidated struct {
	mu   sync.Mutex
	last map[uuid.UUID]consolidation
}

// maxConsolidated bounds how many collections are remembered. One that is not is consolidated as a whole.
const maxConsolidated = 10_000

func (c *consolidated) get(collection uuid.UUID) consolidation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[collection]
}

func (c *consolidated) set(collection uuid.UUID, done consolidation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || len(c.last) >= maxConsolidated {
		c.last = map[uuid.UUID]consolidation{}
	}
	c.last[collection] = done
}

// RunConsolidate runs a consolidate job: it embeds every visible note that has no
// vector (with a fast embedder, also those whose vector is outdated), then
// rebuilds the index. It is idempotent. One that follows from adds costs what the adds changed: it embeds those of
// them that have no vector, where this process has consolidated the collection before.
func (e *Engine) RunConsolidate(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	em, err := e.embedderOf(&v.Collection)
	if err != nil {
		return err
	}
	now := consolidation{at: v.At, embedder: v.Collection.Embedder, job: v.Collection.Reembedded}
	last := e.consolidated.get(v.Collection.ID)
	run := e.consolidateAll
	if len(job.Payload) > 0 && last.at > 0 && last.embedder == now.embedder && last.job == now.job {
		run = e.consolidateSince(last.at)
	}
	seen, embedded, err := run(ctx, s, &job, v, em, progress)
	if err != nil {
		return err
	}
	e.consolidated.set(v.Collection.ID, now)
	return e.store.ReleaseJob(ctx, s, job.ID, job.Lease, memory.JobEnd{
		State: memory.JobDone, Stage: memory.StageTask, Attempts: job.Attempts,
		Result: json.RawMessage(fmt.Sprintf(`{"notes":%d,"embedded":%d}`, seen, embedded)),
	})
}

// consolidateAll embeds what needs it of all notes, and rebuilds the index.
func (e *Engine) consolidateAll(
	ctx context.Context, s tenant.Scope, job *memory.Job, v memory.View, em memory.Embedder, progress memory.ReportProgress,
) (seen, embedded int64, err error) {
	q := memory.NoteQuery{Limit: upkeepPage, ReadOptions: memory.ReadOptions{Vector: true}}
	for list, err := range memory.NotePagesOf(ctx, e.store, s, v, q) {
		if err != nil {
			return 0, 0, err
		}
		n, err := e.embedMissing(ctx, s, job, memory.CauseConsolidate, em, list)
		if err != nil {
			return 0, 0, err
		}
		seen, embedded = seen+int64(len(list)), embedded+n
		if len(list) < q.Limit {
			break
		}
		if err := progress(ctx, memory.Progress{Done: seen, Total: seen}); err != nil {
			return 0, 0, err
		}
	}
	if e.index == nil {
		return seen, embedded, nil
	}
	if v, err = e.open(ctx, s, job.Collection); err != nil {
		return 0, 0, err
	}
	return seen, embedded, e.index.Rebuild(ctx, s, v)
}

// consolidateSince returns a function that embeds what has no vector of the notes that changed after a revision. Vectors
// that were made since are not compared with new ones, and the index has read the same part of the log.
func (e *Engine) consolidateSince(at memory.Revision) func(context.Context, tenant.Scope, *memory.Job, memory.View, memory.Embedder, memory.ReportProgress) (seen, embedded int64, err error) {
	return func(ctx context.Context, s tenant.Scope, job *memory.Job, v memory.View, em memory.Embedder, _ memory.ReportProgress) (seen, embedded int64, err error) {
		var missing []memory.Note
		_, err = e.store.Log(ctx, s, v, 0, at, v.Collection.Embedder, func(r memory.LogRow) error {
			if r.To > 0 || r.Note.Deleted || r.Note.From <= at {
				return nil
			}
			if seen++; r.Note.Vector == nil {
				missing = append(missing, r.Note)
			}
			return nil
		})
		if err != nil {
			return 0, 0, err
		}
		for page := range slices.Chunk(missing, upkeepPage) {
			n, err := e.embedMissing(ctx, s, job, memory.CauseConsolidate, em, page)
			if err != nil {
				return 0, 0, err
			}
			embedded += n
		}
		return seen, embedded, nil
	}
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
