package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// spoolBatch is how many parts are removed at a time.
const spoolBatch = 16

// PutPart implements memory.Spool.
func (s *Store) PutPart(ctx context.Context, sc tenant.Scope, job uuid.UUID, spool memory.SpoolName, n int, data []byte) error {
	if err := sc.Check(); err != nil {
		return err
	}
	if err := store.CheckPart(n, data); err != nil {
		return err
	}
	if data == nil {
		data = []byte{}
	}
	return s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		q.holdTenant(sc.Tenant())
		if err := q.checkTenant(ctx, sc.Tenant()); err != nil {
			return err
		}
		q.later(`INSERT INTO spool (tenant, job, name, part, at, data) VALUES ($1, $2, $3, $4, $5, $6)
 ON CONFLICT (tenant, job, name, part) DO UPDATE SET at = excluded.at, data = excluded.data`, sc.Tenant(), job, string(spool), n, s.now(), data)
		return nil
	})
}

// Parts implements memory.Spool.
func (s *Store) Parts(ctx context.Context, sc tenant.Scope, job uuid.UUID, spool memory.SpoolName, fn func(data []byte) error) error {
	if err := sc.Check(); err != nil {
		return err
	}
	for last := -1; ; {
		var data []byte
		var ok bool
		err := s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) (err error) {
			ok, err = q.get(ctx, "SELECT part, data FROM spool WHERE tenant = $1 AND job = $2 AND name = $3 AND part > $4 ORDER BY part LIMIT 1",
				[]any{sc.Tenant(), job, string(spool), last}, &last, &data)
			return err
		})
		if err != nil || !ok {
			return err
		}
		if err := fn(data); err != nil {
			return err
		}
	}
}

// DropParts implements memory.Spool. The last parts go first, so that what
// is left after an interruption is a beginning.
func (s *Store) DropParts(ctx context.Context, sc tenant.Scope, job uuid.UUID, spool memory.SpoolName, n int) (int, error) {
	return s.removeParts(ctx, sc, " AND job = $3 AND name = $4 AND part >= $5 ORDER BY part DESC", job, string(spool), n)
}

// SweepParts implements memory.Spool.
func (s *Store) SweepParts(ctx context.Context, sc tenant.Scope, before time.Time) error {
	_, err := s.removeParts(ctx, sc, ` AND at < $3 AND NOT (name = $4 AND EXISTS (SELECT 1 FROM jobs j WHERE j.tenant = $1 AND j.id = spool.job
 AND j.state IN ('queued', 'running')))`, trunc(before), string(memory.SpoolBody))
	return err
}

// StaleParts implements memory.Spool.
func (s *Store) StaleParts(ctx context.Context, before time.Time, n int) (out []uuid.UUID, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		out = nil
		return q.each(ctx, "SELECT stale_parts($1, $2)", []any{trunc(before), most(n)}, func(rows pgx.Rows) error {
			var id uuid.UUID
			err := rows.Scan(&id)
			out = append(out, id)
			return err
		})
	})
	return out, err
}

// removeParts removes parts of the tenant in batches.
func (s *Store) removeParts(ctx context.Context, sc tenant.Scope, where string, args ...any) (total int, err error) {
	if err := sc.Check(); err != nil {
		return 0, err
	}
	for left := int64(0); left == 0; {
		err := s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) (err error) {
			left, err = q.removeSome(ctx, "spool", where, sc.Tenant(), spoolBatch, args...)
			return err
		})
		if err != nil {
			return total, err
		}
		total += spoolBatch - int(left)
	}
	return total, nil
}
