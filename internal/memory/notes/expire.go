package notes

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// expiredAtOnce is how many expired notes one changeset retires.
const expiredAtOnce = 200

// RetireExpired deletes the notes of a collection that have expired, and what was derived from nothing else, as every deletion
// does. What they were derived from stays as it is. The store must be one that does not call it.
func (n *Service) RetireExpired(ctx context.Context, s tenant.Scope, collection uuid.UUID) error {
	for try := 1; ; try++ {
		more, err := n.retireSome(ctx, s, collection, try >= moveTries)
		switch {
		case errors.Is(err, errHeadMoved):
		case err != nil || !more:
			return err
		default:
			try = 0
		}
	}
}

// retireSome writes one changeset, and reports whether there may be more to retire. With last it does so at any head.
func (n *Service) retireSome(ctx context.Context, s tenant.Scope, collection uuid.UUID, last bool) (more bool, err error) {
	v, err := n.store.OpenView(ctx, s, collection.String(), memory.At{})
	if err != nil {
		return false, err
	}
	c := &v.Collection
	due, err := n.store.ExpiredNotes(ctx, s, v, n.clock(), expiredAtOnce)
	if err != nil {
		return false, err
	}
	// What is a copy of an expired note goes in the same changeset, too.
	f := finder{n, s, v, c, append(slices.Clip(supportedKinds), memory.KindNote), nil}
	var x consequences
	if x.gone, err = f.supported(ctx, slices.Clone(due)); err != nil {
		return false, err
	}
	gone, err := n.store.Notes(ctx, s, v, x.gone, memory.ReadOptions{})
	if err != nil {
		return false, err
	}
	if x.edits, err = f.shownBy(ctx, gone, nil); err != nil {
		return false, err
	}
	d, err := n.derivationOf(ctx, s, c, last, x.changed()...)
	if err != nil {
		return false, err
	}
	o := memory.WriteOptions{Cause: memory.CauseForget, System: true}
	for _, id := range due {
		o.Audit = append(o.Audit, audit("note.expire", id, c))
	}
	_, err = n.store.Write(ctx, s, collection, o, func(ctx context.Context, tx memory.Tx) error {
		if now := tx.View(); now.At != v.At && !d.anyHead {
			return errHeadMoved
		}
		if err := checkDue(ctx, tx, due); err != nil {
			return err
		}
		if err := x.apply(ctx, s, tx, c, &d); err != nil {
			return err
		}
		return x.clear(ctx, tx, &d, gone...)
	})
	return len(due) == expiredAtOnce, err
}

// checkDue returns errHeadMoved when a caller has put off the end of one of the notes.
func checkDue(ctx context.Context, tx memory.Tx, due []uuid.UUID) error {
	found, err := tx.Notes(ctx, due, memory.ReadOptions{})
	if err == nil && slices.ContainsFunc(found, func(n memory.Note) bool { return n.ExpiresAt.IsZero() || n.ExpiresAt.After(tx.Now()) }) {
		err = errHeadMoved
	}
	return err
}

// keepLonger returns a note that is answered instead of a new one that says the same. It is kept as long as either would be.
func keepLonger(ctx context.Context, tx memory.Tx, found memory.Note, other time.Time) (memory.Note, error) {
	if found.ExpiresAt.IsZero() || !other.IsZero() && !other.After(found.ExpiresAt) {
		return found, nil
	}
	old, err := readVisible(ctx, tx, found.ID)
	if err != nil || old == nil {
		return found, err
	}
	old.ExpireAt(other)
	return tx.Put(ctx, *old)
}
