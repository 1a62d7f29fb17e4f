package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// DeletePartsFrom implements store.SpoolRows.
func (q *session) DeletePartsFrom(ctx context.Context, tenantID, job uuid.UUID, spool memory.SpoolName, n, limit int) (int, error) {
	return q.deleteParts(ctx, tenantID, limit, "job = ? AND name = ? AND part >= ? ORDER BY part DESC", job, spool, n)
}

// staleParts is the condition for parts that are no longer needed; its parameters are a time and
// SpoolBody.
const staleParts = `at < ? AND NOT (name = ? AND EXISTS (SELECT 1 FROM jobs j WHERE j.tenant = spool.tenant AND j.id = spool.job
 AND j.state IN ('queued', 'running')))`

// DeletePartsBefore implements store.SpoolRows.
func (q *session) DeletePartsBefore(ctx context.Context, tenantID uuid.UUID, before time.Time, limit int) (int, error) {
	return q.deleteParts(ctx, tenantID, limit, staleParts, before.UnixMicro(), memory.SpoolBody)
}

func (q *session) deleteParts(ctx context.Context, tenantID uuid.UUID, limit int, where string, args ...any) (int, error) {
	args = append(append([]any{tenantID}, args...), limit)
	n, err := q.exec(ctx, "DELETE FROM spool WHERE rowid IN (SELECT rowid FROM spool WHERE tenant = ? AND "+where+" LIMIT +?)", args...)
	return int(n), err
}

// TenantsWithPartsBefore implements store.SpoolRows. It steps from tenant to tenant.
func (q *session) TenantsWithPartsBefore(ctx context.Context, before time.Time, n int) ([]uuid.UUID, error) {
	return collect(ctx, q, `WITH RECURSIVE w (tenant) AS (
 SELECT MIN(tenant) FROM spool UNION ALL SELECT (SELECT MIN(s.tenant) FROM spool s WHERE s.tenant > w.tenant) FROM w WHERE w.tenant IS NOT NULL)
 SELECT w.tenant FROM w WHERE EXISTS (SELECT 1 FROM spool WHERE spool.tenant = w.tenant AND `+staleParts+`) LIMIT +?`,
		[]any{before.UnixMicro(), memory.SpoolBody, limit(n)}, store.ScanOne[uuid.UUID])
}
