package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// RetireExpired returns a store in which no note is read at the head after it has expired: before a collection is resolved or its
// head is viewed, retire is called if a note of it is due. Reads at a revision show what the log has. Retire writes through another
// store, and leaves no note that is due.
func RetireExpired(s Store, clock memory.Clock, retire func(ctx context.Context, s tenant.Scope, collection uuid.UUID) error) Store {
	return &retiring{Store: s, clock: clock, retire: retire}
}

type retiring struct {
	Store

	clock  memory.Clock
	retire func(ctx context.Context, s tenant.Scope, collection uuid.UUID) error
}

// due reports whether a collection must be read again, after its notes were retired.
func (t *retiring) due(ctx context.Context, s tenant.Scope, c *memory.Collection) (bool, error) {
	if c.NextExpiry.IsZero() || c.NextExpiry.After(t.clock()) || c.State == memory.CollectionCopying {
		return false, nil
	}
	return true, t.retire(ctx, s, c.ID)
}

// OpenView implements memory.Reader.
func (t *retiring) OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (memory.View, error) {
	v, err := t.Store.OpenView(ctx, s, ref, at)
	if err != nil || at.AsOf != nil {
		return v, err
	}
	due, err := t.due(ctx, s, &v.Collection)
	if err != nil || !due {
		return v, err
	}
	return t.Store.OpenView(ctx, s, ref, at)
}

// ResolveCollection implements memory.CollectionStore.
func (t *retiring) ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error) {
	c, err := t.Store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return c, err
	}
	due, err := t.due(ctx, s, &c)
	if err != nil || !due {
		return c, err
	}
	return t.Store.ResolveCollection(ctx, s, ref)
}

// Expiry is when a note expires.
type Expiry struct {
	Note uuid.UUID
	At   time.Time
}

// farFuture is after every time that a note may have.
var farFuture = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)

// firstExpiry returns when the first of the visible notes that expire at a time or later does; zero: none does.
func firstExpiry(ctx context.Context, q NoteRows, tenantID uuid.UUID, layers []memory.Layer, from time.Time) (time.Time, error) {
	found, err := q.ExpiredNotes(ctx, tenantID, layers, from, farFuture, 1)
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	return found[0].At, nil
}

// expireBy makes NextExpiry not later than a time; zero is none.
func (h *Head) expireBy(at time.Time) {
	if !at.IsZero() && (h.NextExpiry.IsZero() || at.Before(h.NextExpiry)) {
		h.NextExpiry = at
	}
}

// passExpiry moves NextExpiry on when its time has come. No visible note expires before it, so that what has expired long ago
// is not looked at again.
func (t *Tx) passExpiry() (err error) {
	if t.head.NextExpiry.IsZero() || t.head.NextExpiry.After(t.now) {
		return nil
	}
	t.head.NextExpiry, err = firstExpiry(t.ctx, t.q, t.scope.Tenant(), t.layers, t.head.NextExpiry)
	return err
}

// Rescheduled reports whether NextExpiry has changed, so that the head must be saved although nothing was logged.
func (t *Tx) Rescheduled() bool { return !t.head.NextExpiry.Equal(t.expiry) }

// ExpiredNotes implements memory.Reader.
func (b *Base) ExpiredNotes(ctx context.Context, s tenant.Scope, v memory.View, by time.Time, limit int) ([]uuid.UUID, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) ([]uuid.UUID, error) {
		found, err := q.ExpiredNotes(ctx, s.Tenant(), v.Layers, v.Collection.NextExpiry, Micros(by), limit)
		out := make([]uuid.UUID, len(found))
		for i := range found {
			out[i] = found[i].Note
		}
		return out, err
	})
}

// EarliestExpiries returns up to limit of the expiries of several layers, the earliest first.
func EarliestExpiries(all []Expiry, limit int) []Expiry {
	slices.SortFunc(all, func(a, b Expiry) int { return cmp.Or(a.At.Compare(b.At), memory.CompareIDs(a.Note, b.Note)) })
	return all[:min(limit, len(all))]
}
