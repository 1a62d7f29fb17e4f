package postgres

import "github.com/google/uuid"

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
