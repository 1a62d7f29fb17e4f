package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// ExpiredNotes implements store.NoteRows.
func (q *session) ExpiredNotes(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, from, by time.Time, n int) (out []store.Expiry, err error) {
	for i, l := range layers {
		hidden, args := hiddenNotes(tenantID, layers[:i])
		args = append(append([]any{tenantID, l.Collection, from, by, l.Bound, l.Bound}, args...), n)
		err := q.each(ctx, `SELECT n.id, n.expires_at FROM notes n INDEXED BY notes_expiry WHERE n.tenant = ? AND n.layer = ? AND n.expires_at > 0
 AND n.expires_at >= ? AND n.expires_at <= ? AND n.from_rev <= ? AND n.to_rev > ?`+hidden+" ORDER BY n.expires_at LIMIT +?", args, func(rows *sql.Rows) error {
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
	return s.due(ctx, `SELECT h.tenant, h.collection FROM collection_heads h JOIN collections c ON c.tenant = h.tenant AND c.id = h.collection
 WHERE h.next_expiry > 0 AND h.next_expiry <= ? AND c.state = 'active' ORDER BY h.next_expiry LIMIT +?`, by, limit(n))
}
