package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// DeletePartsFrom implements store.SpoolRows.
func (q *session) DeletePartsFrom(ctx context.Context, tenantID, job uuid.UUID, spool memory.SpoolName, n, limit int) (int, error) {
	left, err := q.deleteSome(ctx, "spool", " AND job = $3 AND name = $4 AND part >= $5 ORDER BY part DESC", tenantID, int64(limit), job, string(spool), n)
	return limit - int(left), err
}

// DeletePartsBefore implements store.SpoolRows.
func (q *session) DeletePartsBefore(ctx context.Context, tenantID uuid.UUID, before time.Time, limit int) (int, error) {
	left, err := q.deleteSome(ctx, "spool", ` AND at < $3 AND (name <> $4 OR (SELECT true FROM jobs j WHERE j.tenant = $1 AND j.id = spool.job
 AND j.state || '' IN ('queued', 'running') LIMIT 1) IS NULL) ORDER BY at`, tenantID, int64(limit), store.Micros(before), string(memory.SpoolBody))
	return limit - int(left), err
}

// TenantsWithPartsBefore implements store.SpoolRows.
func (q *session) TenantsWithPartsBefore(ctx context.Context, before time.Time, n int) ([]uuid.UUID, error) {
	return collect(ctx, q, "SELECT stale_parts($1, $2)", []any{store.Micros(before), functionLimit(n)}, store.ScanOne[uuid.UUID])
}
