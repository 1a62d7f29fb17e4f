package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// logBatch is how many versions are read at a time: no connection is held
// while the caller works on them.
const logBatch = 1000

// Log implements memory.Reader. The layer's head is read first; what is
// written later is beyond it, so batches need no common transaction.
func (s *Store) Log(ctx context.Context, sc tenant.Scope, v memory.View, layer int, after memory.Revision, embedder string, fn func(memory.LogRow) error) (memory.Revision, error) {
	if err := v.Check(sc); err != nil {
		return 0, err
	}
	if layer < 0 || layer >= len(v.Layers) {
		return 0, fault.New(fault.Internal, "the view has no layer %d", layer)
	}
	id := v.Layers[layer].Collection
	var h head
	err := s.reading(ctx, func(ctx context.Context, q *session) (err error) {
		h, err = q.head(ctx, sc.Tenant(), id)
		return err
	})
	if err != nil {
		return 0, err
	}
	// Versions that only ended lie before those that began, in order of From.
	ended := "n.to_rev > ? AND n.to_rev <= ? AND n.from_rev <= ?"
	began := "n.from_rev > ? AND n.from_rev <= ?"
	if after > 0 {
		if err := s.logPart(ctx, sc, id, h.revision, embedder, ended, []any{rev(after), rev(h.revision), rev(after)}, fn); err != nil {
			return 0, err
		}
	}
	if err := s.logPart(ctx, sc, id, h.revision, embedder, began, []any{rev(after), rev(h.revision)}, fn); err != nil {
		return 0, err
	}
	return h.revision, nil
}

func (s *Store) logPart(ctx context.Context, sc tenant.Scope, layer uuid.UUID, to memory.Revision, embedder, where string, args []any, fn func(memory.LogRow) error) error {
	r := reader{collection: layer, embedder: embedder}
	join, joinArgs := r.join()
	from, last := memory.Revision(-1), uuid.Nil
	for {
		var batch []version
		err := s.reading(ctx, func(ctx context.Context, q *session) error {
			all := append(append(append([]any{}, joinArgs...), blob(sc.Tenant()), blob(layer)), args...)
			all = append(all, rev(from), blob(last), logBatch)
			return q.each(ctx, "SELECT "+r.columns()+" FROM notes n"+join+" WHERE n.tenant = ? AND n.layer = ? AND "+where+
				" AND (n.from_rev, n.id) > (?, ?) ORDER BY n.from_rev, n.id LIMIT ?", all, func(rows *sql.Rows) error {
				n, err := r.scan(rows)
				batch = append(batch, n)
				return err
			})
		})
		if err != nil {
			return err
		}
		for i := range batch {
			row := memory.LogRow{Note: batch[i].Note}
			if batch[i].to <= to {
				row.To = batch[i].to
			}
			if err := fn(row); err != nil {
				return err
			}
		}
		if len(batch) < logBatch {
			return nil
		}
		from, last = batch[len(batch)-1].From, batch[len(batch)-1].ID
	}
}

const changesetColumns = "collection, revision, at, actor, job, trigger, cause, undoes, merged_from"

func scanChangeset(c *memory.Changeset, scan func(...any) error) error {
	var at int64
	var merged string
	err := scan(&c.Collection, &c.Revision, &at, &c.Actor, &c.Job, &c.Trigger, &c.Cause, &c.Undoes, &merged)
	c.At, c.MergedFrom = timeOf(at), rawOf(merged)
	return err
}

func (q *session) changeset(ctx context.Context, tenantID, collection uuid.UUID, r memory.Revision) (c memory.Changeset, err error) {
	err = scanChangeset(&c, func(dest ...any) error {
		_, err := q.get(ctx, "SELECT "+changesetColumns+" FROM changesets WHERE tenant = ? AND collection = ? AND revision = ?",
			[]any{blob(tenantID), blob(collection), rev(r)}, dest...)
		return err
	})
	return c, err
}

// Changesets implements memory.Reader.
func (s *Store) Changesets(ctx context.Context, sc tenant.Scope, v memory.View, after memory.Revision, n int) (out []memory.Changeset, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		return q.each(ctx, "SELECT "+changesetColumns+" FROM changesets WHERE tenant = ? AND collection = ? AND revision > ? AND revision <= ? ORDER BY revision LIMIT ?",
			[]any{blob(sc.Tenant()), blob(v.Collection.ID), rev(after), rev(v.At), limit(n)}, func(rows *sql.Rows) error {
				var c memory.Changeset
				err := scanChangeset(&c, rows.Scan)
				out = append(out, c)
				return err
			})
	})
	return out, err
}

// CountChangesets implements memory.Reader.
func (s *Store) CountChangesets(ctx context.Context, sc tenant.Scope, v memory.View, cause memory.Cause, from, to time.Time) (n int64, err error) {
	if err := v.Check(sc); err != nil {
		return 0, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		_, err := q.get(ctx, "SELECT count(*) FROM changesets WHERE tenant = ? AND collection = ? AND revision <= ? AND cause = ? AND at >= ? AND at < ?",
			[]any{blob(sc.Tenant()), blob(v.Collection.ID), rev(v.At), string(cause), micros(from), micros(to)}, &n)
		return err
	})
	return n, err
}

// purgeBefore is the age at which idempotency keys go.
func purgeBefore(now time.Time) int64 { return micros(now.Add(-memory.IdempotencyTTL)) }
