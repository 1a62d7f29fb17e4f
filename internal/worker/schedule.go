package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/outage"
)

// sweepLimit is how many collections, or tenants, one sweep handles.
const sweepLimit = 100

// outages logs what the store refuses to the sweeps.
type outages struct{ expired, expire, notes, parts *outage.Log }

func newOutages(log *slog.Logger, clock memory.Clock) *outages {
	return &outages{
		expired: outage.New(log, clock, "expired collections cannot be listed", "expired collections are listed again"),
		expire:  outage.New(log, clock, "expired collections cannot be deleted", "expired collections are deleted again"),
		notes:   outage.New(log, clock, "expired notes cannot be retired", "expired notes are retired again"),
		parts:   outage.New(log, clock, "stale parts of imports cannot be removed", "stale parts of imports are removed again"),
	}
}

// Sweep deletes expired collections and notes, and stale parts of imports until ctx ends. Several processes may
// sweep immediately.
func (w *Worker) Sweep(ctx context.Context) {
	every := time.NewTicker(w.cfg.SweepEvery)
	defer every.Stop()
	for {
		w.Expire(ctx)
		w.RetireNotes(ctx)
		w.SweepParts(ctx)
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// Expire deletes expired collections and returns their number. One that cannot be deleted now is
// tried again at the next sweep.
func (w *Worker) Expire(ctx context.Context) int {
	now := w.clock().UTC()
	due, err := w.store.ExpiredCollections(ctx, now, sweepLimit)
	w.outages.expired.Report(ctx, err)
	if err != nil {
		return 0
	}
	n := 0
	for _, d := range due {
		err := w.clone.Expire(ctx, jobScope(d.Tenant, uuid.Nil), d, now)
		w.outages.expire.Report(ctx, err, slog.Any("collection", d.Collection))
		if err == nil {
			n++
		}
	}
	return n
}

// RetireNotes retires the expired notes of collections that nobody has read since, and returns the number of the collections.
func (w *Worker) RetireNotes(ctx context.Context) int {
	if w.retire == nil {
		return 0
	}
	due, err := w.store.ExpiringCollections(ctx, w.clock().UTC(), sweepLimit)
	n := 0
	for _, d := range due {
		if e := w.retire(ctx, jobScope(d.Tenant, uuid.Nil), d.Collection); e != nil && !fault.Is(e, fault.NotFound) {
			err = errors.Join(err, e)
			continue
		}
		n++
	}
	w.outages.notes.Report(ctx, err)
	return n
}

// SweepParts removes parts of imports that are older than notes.ImportRetention, of every tenant, and
// returns the number of tenants that had any.
func (w *Worker) SweepParts(ctx context.Context) int {
	before := w.clock().UTC().Add(-notes.ImportRetention)
	tenants, err := w.store.StaleParts(ctx, before, sweepLimit)
	n := 0
	for _, id := range tenants {
		if e := w.store.SweepParts(ctx, jobScope(id, uuid.Nil), before); e != nil {
			err = errors.Join(err, e)
			continue
		}
		n++
	}
	w.outages.parts.Report(ctx, err)
	return n
}

// RemoveEphemeral deletes every ephemeral collection with all its rows. The only process of an
// embedded store calls it at start, before it serves, and at a stop, after Run has returned.
func (w *Worker) RemoveEphemeral(ctx context.Context) (removed int, err error) {
	last := uuid.Nil
	for {
		due, err := w.store.EphemeralCollections(ctx, sweepLimit)
		if err != nil || len(due) == 0 {
			return removed, err
		}
		if due[0].Collection == last {
			return removed, fault.New(fault.Internal, "the ephemeral collection %s remains although its rows were removed", last)
		}
		last = due[0].Collection
		for _, d := range due {
			if err := w.removeNow(ctx, d); err != nil {
				return removed, err
			}
			removed++
		}
	}
}

func (w *Worker) removeNow(ctx context.Context, d memory.Due) error {
	s := jobScope(d.Tenant, uuid.Nil)
	audit := memory.AuditEntry{Action: "collection.delete", Target: d.Collection.String(), Detail: map[string]any{"ephemeral": true}}
	_, err := w.store.DeleteCollection(ctx, s, d.Collection, true, audit)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	for {
		gone, err := w.store.RemoveRows(ctx, s, d.Collection, w.cfg.RemoveBatch)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil || gone {
			return err
		}
	}
}

// Recover frees the leases of an earlier process of an embedded store. Only the store's only process
// may call it, before Run.
func (w *Worker) Recover(ctx context.Context) (int, error) { return w.store.VoidLeases(ctx) }
