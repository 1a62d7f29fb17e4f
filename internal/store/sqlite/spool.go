package sqlite

import (
	"context"
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
	if err := check(sc); err != nil {
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
	if err := check(sc); err != nil {
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
	_, err := s.removeParts(ctx, sc, `at < ? AND NOT (name = ? AND EXISTS (SELECT 1 FROM jobs j WHERE j.tenant = spool.tenant AND j.id = spool.job
 AND j.state IN ('queued', 'running')))`, before.UnixMicro(), string(memory.SpoolBody))
	return err
}

// removeParts removes parts of the tenant in batches.
func (s *Store) removeParts(ctx context.Context, sc tenant.Scope, where string, args ...any) (total int, err error) {
	if err := check(sc); err != nil {
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
