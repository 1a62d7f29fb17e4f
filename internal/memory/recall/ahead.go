package recall

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// loadAtMost bounds a load that nobody waits for; what was taken in by then stays.
const loadAtMost = time.Hour

// opened gives the index of a view. Where a layer had to be filled for it, the
// collection's hottest notes are read ahead.
func (r *Service) opened(ctx context.Context, s tenant.Scope, v memory.View) (*index.View, error) {
	return r.openedWithin(ctx, s, v, r.cfg.LoadTimeout)
}

func (r *Service) openedWithin(ctx context.Context, s tenant.Scope, v memory.View, patience time.Duration) (*index.View, error) {
	cold := r.indexes.cold(&v)
	ix, err := r.indexes.view(ctx, s, v, patience)
	if err == nil && cold && r.cfg.WarmNotes > 0 {
		r.warming.add(v.Collection.ID, func(ctx context.Context) {
			r.report(ctx, "hot notes", v.Collection.ID, r.warm(ctx, s, v, ix))
		})
	}
	return ix, err
}

// warm reads the hottest notes by version, as searches do, so that a cache of
// versions has them before they are found.
func (r *Service) warm(ctx context.Context, s tenant.Scope, v memory.View, ix *index.View) error {
	hot, err := r.store.Hot(ctx, s, v, r.cfg.WarmNotes)
	if err != nil || len(hot) == 0 {
		return err
	}
	keys := make([]memory.Version, 0, len(hot))
	for _, h := range hot {
		if key, ok := versionIn(ix, &v, h.Note); ok {
			keys = append(keys, key)
		}
	}
	_, err = r.store.Versions(ctx, s, v, keys)
	return err
}

// versionIn gives the version of a note that is visible in an index.
func versionIn(ix *index.View, v *memory.View, note uuid.UUID) (memory.Version, bool) {
	hit, _, ok := ix.Record(note)
	if !ok {
		return memory.Version{}, false
	}
	return memory.Version{Layer: v.Layers[hit.Layer].Collection, Note: note, From: memory.Revision(hit.From)}, true
}

// loadAhead fills the layers of a view while nobody waits.
func (r *Service) loadAhead(s tenant.Scope, v memory.View) {
	r.loading.add(v.Collection.ID, func(ctx context.Context) {
		if !r.indexes.cold(&v) {
			return
		}
		_, err := r.openedWithin(ctx, s, v, loadAtMost)
		r.report(ctx, "load", v.Collection.ID, err)
	})
}

// Refresh reads what other processes wrote into a collection's own log, when
// its index is loaded in this one, so that the next reader need not; a cold one
// stays cold. It returns at once, and calls for a collection that come while
// one waits are one. The scope must reach the collection; no permission is asked.
func (r *Service) Refresh(ctx context.Context, s tenant.Scope, collection uuid.UUID) {
	if ctx.Err() != nil || !r.indexes.holds(collection) {
		return
	}
	r.refreshing.add(collection, func(ctx context.Context) {
		v, err := r.store.OpenView(ctx, s, collection.String(), memory.At{})
		if fault.Is(err, fault.NotFound) {
			r.indexes.evict(collection) // nobody reads it any more
			return
		}
		if err == nil {
			err = r.indexes.refresh(ctx, s, v)
		}
		r.report(ctx, "refresh", collection, err)
	})
}

// report logs what went wrong where nobody waits for an answer.
func (r *Service) report(ctx context.Context, what string, collection uuid.UUID, err error) {
	if err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
		r.log.Warn("work ahead of readers failed; they do it themselves", slog.String("what", what), slog.String("collection", collection.String()), slog.Any("error", err))
	}
}

// stopAhead ends all background reading.
func (r *Service) stopAhead(ctx context.Context) error {
	return errors.Join(r.loading.stop(ctx), r.refreshing.stop(ctx), r.warming.stop(ctx))
}
