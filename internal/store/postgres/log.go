package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

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
	err := s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) (err error) {
		h, err = q.head(ctx, sc.Tenant(), id)
		return err
	})
	if err != nil || after >= h.revision {
		return h.revision, err
	}
	// Versions that only ended lie before those that began, in order of From.
	if after > 0 {
		if err := s.logPart(ctx, sc, id, after, h.revision, embedder, "n.to_rev > $3 AND n.to_rev <= $4 AND n.from_rev <= $3", fn); err != nil {
			return 0, err
		}
	}
	if err := s.logPart(ctx, sc, id, after, h.revision, embedder, "n.from_rev > $3 AND n.from_rev <= $4", fn); err != nil {
		return 0, err
	}
	return h.revision, nil
}

// logPart streams the versions of a layer that meet a condition over the
// revisions after ($3) and to ($4).
func (s *Store) logPart(ctx context.Context, sc tenant.Scope, layer uuid.UUID, after, to memory.Revision, embedder, where string, fn func(memory.LogRow) error) error {
	r := reader{collection: layer, embedder: embedder}
	from, last := memory.Revision(-1), uuid.Nil
	for {
		p := params{args: []any{sc.Tenant(), layer, rev(after), rev(to), rev(from), last, int64(logBatch)}}
		text := "SELECT " + r.columns() + r.from(&p) + " WHERE n.tenant = $1 AND n.layer = $2 AND " + where +
			" AND (n.from_rev, n.id) > ($5, $6) ORDER BY n.from_rev, n.id LIMIT $7"
		var batch []version
		err := s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
			batch = nil
			return q.each(ctx, text, p.args, func(rows pgx.Rows) error {
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

// Changesets implements memory.Reader.
func (s *Store) Changesets(ctx context.Context, sc tenant.Scope, v memory.View, after memory.Revision, n int) (out []memory.Changeset, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out = nil
		return q.each(ctx, `SELECT collection, revision, at, actor, job, trigger, cause, undoes, merged_from FROM changesets
 WHERE tenant = $1 AND collection = $2 AND revision > $3 AND revision <= $4 ORDER BY revision LIMIT $5`,
			[]any{sc.Tenant(), v.Collection.ID, rev(after), rev(v.At), limit(n)}, func(rows pgx.Rows) error {
				var c memory.Changeset
				var merged *string
				err := rows.Scan(&c.Collection, &c.Revision, &c.At, &c.Actor, &c.Job, &c.Trigger, &c.Cause, &c.Undoes, &merged)
				c.At, c.MergedFrom = c.At.UTC(), rawOf(merged)
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
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		_, err := q.get(ctx, `SELECT count(*) FROM changesets
 WHERE tenant = $1 AND collection = $2 AND revision <= $3 AND cause = $4 AND at >= $5 AND at < $6`,
			[]any{sc.Tenant(), v.Collection.ID, rev(v.At), string(cause), from, to}, &n)
		return err
	})
	return n, err
}
