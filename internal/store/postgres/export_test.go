package postgres

import (
	"context"

	"github.com/google/uuid"
)

// What is set for the next statement, and for a transaction.
const (
	NoSort  = noSort
	ByPlace = byPlace

	SetTenant = setTenant
)

// Waiting returns the number of writes that wait to share the next transaction of a collection.
func (s *Store) Waiting(tenantID, collection uuid.UUID) int {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	return len(s.groups.waiting[groupKey{tenantID, collection}])
}

// Idle reports whether no write leads or waits.
func (s *Store) Idle() bool {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	return len(s.groups.waiting) == 0
}

// Translate is translate.
func (s *Store) Translate(err error) error { return s.translate(err) }

// Replanned returns how often the prepared statements of a connection were planned with their arguments.
func (s *Store) Replanned(ctx context.Context) (n int64, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		_, err := q.get(ctx, "SELECT COALESCE(SUM(custom_plans), 0)::bigint FROM pg_prepared_statements", nil, &n)
		return err
	})
	return n, err
}
