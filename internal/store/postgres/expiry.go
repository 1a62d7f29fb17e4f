package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// ExpiredNotes implements store.NoteRows.
func (q *session) ExpiredNotes(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, from, by time.Time, n int) (out []store.Expiry, err error) {
	for i, l := range layers {
		p := params{args: []any{tenantID, store.Micros(from), store.Micros(by), n}}
		err := q.each(ctx, "SELECT n.id, n.expires_at FROM notes n WHERE n.tenant = $1 AND "+p.live("n", l)+
			" AND n.expires_at >= $2 AND n.expires_at <= $3"+p.hiddenNotes(layers[:i])+" ORDER BY n.expires_at LIMIT $4", p.args, func(rows pgx.Rows) error {
			var e store.Expiry
			err := rows.Scan(&e.Note, store.Time(&e.At))
			out = append(out, e)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return store.EarliestExpiries(out, n), nil
}

// ExpiringCollections implements memory.Reader.
func (s *Store) ExpiringCollections(ctx context.Context, by time.Time, n int) ([]memory.Due, error) {
	return s.due(ctx, "SELECT tenant, collection FROM expiring_collections($1, $2)", store.Micros(by), functionLimit(n))
}
