package sqlite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// An erasure looks at the results of jobs that ended since the note began: the pages that it reads do not grow with those before.
func TestErasuresReadWhatEndedSince(t *testing.T) {
	t.Parallel()
	read := func(jobs int) int64 {
		b := newBench(t)
		before := time.Now().Add(-24 * time.Hour)
		must.Do(t, b.writing(t.Context(), ofJob(b.scope.Tenant()), func(ctx context.Context, q *session) error {
			for i := range jobs {
				j := memory.Job{
					Tenant: b.scope.Tenant(), ID: uuid.New(), Collection: b.collection, Note: uuid.New(), Kind: memory.JobNote, Stage: memory.StageDecide, State: memory.JobDone,
					Result: fmt.Appendf(nil, `{"says":"job %d"}`, i), CreatedAt: before, FinishedAt: before,
				}
				if err := q.InsertJob(ctx, j); err != nil {
					return err
				}
			}
			return nil
		}))
		note := b.add(t, plain(1))[0]
		pages := b.pages.Load()
		must.Get(b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{Cause: memory.CauseDelete}, func(ctx context.Context, tx memory.Tx) error {
			if err := tx.ClearJobs(ctx, []string{note.Content}, memory.Begun(note)); err != nil {
				return err
			}
			return tx.Delete(ctx, note.ID)
		}))(t)
		must.Get(b.EraseNotes(t.Context(), b.scope, b.collection, memory.Erasing{Notes: []uuid.UUID{note.ID}}, memory.AuditEntry{Action: "note.erase"}))(t)
		return b.pages.Load() - pages
	}
	if few, many := read(10), read(2000); many > few+40 {
		t.Errorf("%d pages beside 10 jobs that had ended, %d beside 2,000", few, many)
	}
}
