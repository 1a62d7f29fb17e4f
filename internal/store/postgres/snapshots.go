package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// ListSnapshots implements store.SnapshotRows.
func (q *session) ListSnapshots(ctx context.Context, tenantID, collection uuid.UUID) (out []memory.Snapshot, err error) {
	err = q.each(ctx, "SELECT name, revision, created_at FROM snapshots WHERE tenant = $1 AND collection = $2 ORDER BY name",
		[]any{tenantID, collection}, func(rows pgx.Rows) error {
			n := memory.Snapshot{Collection: collection}
			err := rows.Scan(&n.Name, &n.Revision, store.Time(&n.CreatedAt))
			out = append(out, n)
			return err
		})
	return out, err
}

// InsertSnapshot implements store.SnapshotRows.
func (q *session) InsertSnapshot(ctx context.Context, tenantID uuid.UUID, n memory.Snapshot) (bool, error) {
	rows, err := q.exec(ctx, "INSERT INTO snapshots (tenant, collection, name, revision, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
		tenantID, n.Collection, n.Name, rev(n.Revision), n.CreatedAt)
	return rows > 0, err
}

// DeleteSnapshotRow implements store.SnapshotRows.
func (q *session) DeleteSnapshotRow(ctx context.Context, tenantID, collection uuid.UUID, name string) (bool, error) {
	n, err := q.exec(ctx, "DELETE FROM snapshots WHERE tenant = $1 AND collection = $2 AND name = $3", tenantID, collection, name)
	return n > 0, err
}

// LastRevision implements store.SnapshotRows.
func (q *session) LastRevision(ctx context.Context, tenantID uuid.UUID, span memory.Span, at time.Time) (r memory.Revision, ok bool, err error) {
	ok, err = q.get(ctx, "SELECT revision FROM changesets WHERE tenant = $1 AND collection = $2 AND revision > $3 AND revision <= $4 AND at <= $5 ORDER BY revision DESC LIMIT 1",
		[]any{tenantID, span.Layer, rev(span.After), rev(span.To), at}, &r)
	return r, ok, err
}
