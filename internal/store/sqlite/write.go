package sqlite

import (
	"context"
	"errors"

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
	t := ofCaller(sc.Tenant())
	if o.Job != uuid.Nil || o.System {
		t = ofJob(sc.Tenant())
	}
	err = s.writingOr(ctx, t, frees(o.Cause), func(bare context.Context, q *session) error {
		now := s.now()
		r, err := store.Reach(bare, q, sc, collection)
		if err != nil {
			return err
		}
		replay, err := store.CheckWrite(bare, q, sc, &r, &o, now)
		if err != nil {
			return err
		}
		if replay != nil {
			w = memory.Written{Revision: r.Head, Replay: replay}
			return store.ErrRollback
		}
		layers, err := q.Layers(bare, r, r.Head)
		if err != nil {
			return err
		}
		h, err := q.Head(bare, sc.Tenant(), collection)
		if err != nil {
			return err
		}
		t := store.NewTx(bare, q, sc, r, h, layers, now)
		if err := fn(ctx, t); err != nil {
			return closureError{err}
		}
		if h, _, w.Logged, err = t.Finish(&o); err != nil {
			return err
		}
		w.Revision, w.Told = h.Revision, t.Told()
		if w.Logged {
			err = q.SaveHead(bare, sc.Tenant(), collection, h)
		}
		return err
	})
	if e, ok := errors.AsType[closureError](err); ok {
		err = s.translate(e.error)
	}
	if err != nil {
		return memory.Written{}, err
	}
	return w, nil
}

// frees reports whether a changeset takes something away, so that it succeeds on a full disk.
func frees(cause memory.Cause) bool {
	return cause == memory.CauseDelete || cause == memory.CauseForget || cause == memory.CauseUndo
}

// closureError is an error of the caller's closure, which is returned as it is.
type closureError struct{ error }

func (e closureError) Unwrap() error { return e.error }
