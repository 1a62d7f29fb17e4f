package sqlite

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Write implements memory.Writer.
func (s *Store) Write(ctx context.Context, sc tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (w memory.Written, err error) {
	if err := sc.Check(); err != nil {
		return w, err
	}
	r := &request{ctx: ctx, scope: sc, collection: collection, options: &o, fn: fn}
	job := o.Job != uuid.Nil || o.System
	if !job && !o.Long && !frees(o.Cause) {
		if w, err = s.grouped(r); err != nil {
			return memory.Written{}, err
		}
		return w, nil
	}
	t := ofCaller(sc.Tenant())
	if job {
		t = ofJob(sc.Tenant())
	}
	err = s.writingOr(ctx, t, frees(o.Cause), func(_ context.Context, q *session) error {
		w, err = s.writeIn(ctx, q, r)
		return err
	})
	if err := s.unwrapped(err); err != nil {
		return memory.Written{}, err
	}
	return w, nil
}

// writeIn runs a write in the transaction of a session. ErrRollback, with the result, when there is nothing to commit.
func (s *Store) writeIn(ctx context.Context, q *session, r *request) (w memory.Written, err error) {
	return store.WriteIn(context.WithoutCancel(ctx), q, r.scope, r.collection, r.options, func(_ context.Context, t memory.Tx) error {
		if err := r.fn(ctx, t); err != nil {
			return closureError{err}
		}
		return nil
	}, s.now())
}

// frees reports whether a changeset takes something away, so that it succeeds on a full disk.
func frees(cause memory.Cause) bool {
	return cause == memory.CauseDelete || cause == memory.CauseForget || cause == memory.CauseUndo
}

// closureError is an error of the caller's closure, which is returned as it is.
type closureError struct{ error }

func (e closureError) Unwrap() error { return e.error }
