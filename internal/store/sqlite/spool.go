package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// spoolBatch is how many parts are removed at a time, so that writers are not
// kept waiting while the pages of a large spool are wiped.
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
	return s.writing(ctx, func(ctx context.Context, q *session) error {
		if err := q.checkTenant(ctx, sc.Tenant()); err != nil {
			return err
		}
		_, err := q.exec(ctx, `INSERT INTO spool (tenant, job, name, part, at, data) VALUES (?, ?, ?, ?, ?, ?)
 ON CONFLICT DO UPDATE SET at = excluded.at, data = excluded.data`, blob(sc.Tenant()), blob(job), string(spool), n, micros(s.now()), data)
		return err
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
		err := s.reading(ctx, func(ctx context.Context, q *session) (err error) {
			ok, err = q.get(ctx, "SELECT part, data FROM spool WHERE tenant = ? AND job = ? AND name = ? AND part > ? ORDER BY part LIMIT 1",
				[]any{blob(sc.Tenant()), blob(job), string(spool), last}, &last, &data)
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
	return s.removeParts(ctx, sc, "job = ? AND name = ? AND part >= ? ORDER BY part DESC", blob(job), string(spool), n)
}

// SweepParts implements memory.Spool.
func (s *Store) SweepParts(ctx context.Context, sc tenant.Scope, before time.Time) error {
	_, err := s.removeParts(ctx, sc, stale, before.UnixMicro(), string(memory.SpoolBody))
	return err
}

// stale is the condition that nobody needs a part of the spool any more.
const stale = `at < ? AND NOT (name = ? AND EXISTS (SELECT 1 FROM jobs j WHERE j.tenant = spool.tenant AND j.id = spool.job
 AND j.state IN ('queued', 'running')))`

// StaleParts implements memory.Spool. It steps from tenant to tenant.
func (s *Store) StaleParts(ctx context.Context, before time.Time, n int) (out []uuid.UUID, err error) {
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		out = nil
		return q.each(ctx, `WITH RECURSIVE w (tenant) AS (
 SELECT MIN(tenant) FROM spool UNION ALL SELECT (SELECT MIN(s.tenant) FROM spool s WHERE s.tenant > w.tenant) FROM w WHERE w.tenant IS NOT NULL)
 SELECT w.tenant FROM w WHERE EXISTS (SELECT 1 FROM spool WHERE spool.tenant = w.tenant AND `+stale+`) LIMIT ?`,
			[]any{before.UnixMicro(), string(memory.SpoolBody), limit(n)}, func(rows *sql.Rows) error {
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
	args = append(append([]any{blob(sc.Tenant())}, args...), spoolBatch)
	for n := int64(spoolBatch); n == spoolBatch; total += int(n) {
		err := s.writing(ctx, func(ctx context.Context, q *session) (err error) {
			n, err = q.exec(ctx, "DELETE FROM spool WHERE rowid IN (SELECT rowid FROM spool WHERE tenant = ? AND "+where+" LIMIT ?)", args...)
			return err
		})
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
