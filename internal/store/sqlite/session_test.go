package sqlite

import (
	"context"
	"testing"

	"github.com/google/uuid"
)

// TestDiscard: the place of a discarded session is taken by a new connection, with the settings of the first.
func TestDiscard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(t, plain(1))
	q, err := b.write.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.conn.ExecContext(t.Context(), "PRAGMA synchronous=OFF"); err != nil {
		t.Fatal(err)
	}
	b.write.discard(q)
	b.add(t, plain(2))
	err = b.writing(t.Context(), ofCaller(uuid.Nil), func(ctx context.Context, now *session) error {
		var n int
		if _, err := now.get(ctx, "PRAGMA synchronous", nil, &n); err != nil || now == q || n != 1 {
			t.Errorf("the same session: %v, level %d, %v", now == q, n, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
