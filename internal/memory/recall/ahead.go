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

// backgroundLoadTimeout bounds a load in the background. The batches read by then are kept.
const backgroundLoadTimeout = time.Hour

// openIndex returns the index of a view. If a layer had to be filled for it, the collection's
// hottest notes are then read in the background.
func (r *Service) openIndex(ctx context.Context, s tenant.Scope, v memory.View) (*index.View, error) {
	return r.openIndexWithin(ctx, s, v, r.cfg.LoadTimeout)
}

func (r *Service) openIndexWithin(ctx context.Context, s tenant.Scope, v memory.View, timeout time.Duration) (*index.View, error) {
	cold := r.indexes.isCold(&v)
	ix, err := r.indexes.openView(ctx, s, v, timeout)
	if err == nil && cold && r.cfg.WarmNotes > 0 && v.Of == nil {
		r.warming.add(v.Collection.ID, func(ctx context.Context) {
			r.logFailure(ctx, "hot notes", v.Collection.ID, r.warmVersions(ctx, s, v, ix))
		})
	}
	return ix, err
}

// warmVersions reads the hottest notes by version, as searches do, so that a cache of versions holds
// them before they are found.
func (r *Service) warmVersions(ctx context.Context, s tenant.Scope, v memory.View, ix *index.View) error {
	hot, err := r.store.Hot(ctx, s, v, r.cfg.WarmNotes)
	if err != nil || len(hot) == 0 {
		return err
	}
	keys := make([]memory.Version, 0, len(hot))
	for _, h := range hot {
		if key, ok := visibleVersion(ix, &v, h.Note); ok {
			keys = append(keys, key)
		}
	}
	_, err = r.store.Versions(ctx, s, v, keys)
	return err
}

// visibleVersion returns the version of a note that an index shows.
func visibleVersion(ix *index.View, v *memory.View, note uuid.UUID) (memory.Version, bool) {
	hit, _, ok := ix.Record(note)
	if !ok {
		return memory.Version{}, false
	}
	return memory.Version{Layer: v.Layers[hit.Layer].Collection, Note: note, From: memory.Revision(hit.From)}, true
}

// loadAhead fills the layers of a view in the background.
func (r *Service) loadAhead(s tenant.Scope, all memory.View) {
	for _, v := range all.Each() {
		r.loading.add(v.Collection.ID, func(ctx context.Context) {
			if !r.indexes.isBehind(&v, 0) {
				return
			}
			_, err := r.openIndexWithin(ctx, s, v, backgroundLoadTimeout)
			r.logFailure(ctx, "load", v.Collection.ID, err)
		})
	}
}

// Refresh reads what other processes wrote into a collection's own log, if its index is loaded in
// this process, so that the next reader does not have to. A cold index stays cold. It returns at
// once; calls for a collection that wait for the same work are merged. The scope must reach the
// collection; no permission is required.
func (r *Service) Refresh(ctx context.Context, s tenant.Scope, collection uuid.UUID) {
	if ctx.Err() != nil || !r.indexes.isLoaded(collection) {
		return
	}
	r.refreshing.add(collection, func(ctx context.Context) {
		v, err := r.store.OpenView(ctx, s, collection.String(), memory.At{})
		if fault.Is(err, fault.NotFound) {
			r.indexes.evict(s.Tenant(), collection) // it is deleted
			return
		}
		if err == nil {
			err = r.indexes.refresh(ctx, s, v)
		}
		r.logFailure(ctx, "refresh", collection, err)
	})
}

// logFailure logs an error of background work.
func (r *Service) logFailure(ctx context.Context, what string, collection uuid.UUID, err error) {
	if !fault.Is(err, fault.NotFound) {
		r.outages.background.Report(ctx, err, slog.String("what", what), slog.Any("collection", collection))
	}
}

// stopBackground ends all background work.
func (r *Service) stopBackground(ctx context.Context) error {
	return errors.Join(r.loading.stop(ctx), r.refreshing.stop(ctx), r.warming.stop(ctx), r.saving.stop(ctx))
}
