package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

const (
	// writesEvery is the minimum time between two questions of CheckWrites.
	writesEvery = 5 * time.Second
	// fullFor is how long CheckWrites remembers that a write met a full disk.
	fullFor = time.Minute
)

// CheckWrites returns why writes cannot succeed now: StorageFull when a write met a full disk within the last
// minute, Unavailable when the server recovers, is read-only or gives out no transactions. It asks the server
// at most every five seconds.
func (s *Store) CheckWrites(ctx context.Context) error {
	now := time.Now()
	if at := s.fullAt.Load(); at != 0 && now.Sub(time.UnixMilli(at)) < fullFor {
		return fault.New(fault.StorageFull, "a write met a full disk of the database within the last minute")
	}
	s.writesMu.Lock()
	defer s.writesMu.Unlock()
	if now.Sub(s.writesAsked) >= writesEvery {
		s.writesAsked, s.writesAnswer = now, s.askWrites(ctx)
	}
	return s.writesAnswer
}

func (s *Store) askWrites(ctx context.Context) error {
	return s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		var recovers, readOnly bool
		_, err := q.get(ctx, "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')::boolean", nil, &recovers, &readOnly)
		switch {
		case err != nil:
			return err
		case recovers:
			return fault.New(fault.Unavailable, "the database recovers or is a standby: it takes no writes")
		case readOnly:
			return fault.New(fault.Unavailable, "the database is read-only (default_transaction_read_only)")
		}
		return nil
	})
}
