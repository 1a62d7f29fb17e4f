package engine

import (
	"context"
	"hash/maphash"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

var contentSeed = maphash.MakeSeed()

// contentHash returns a hash of a message's content, valid in this process only.
func contentHash(n *memory.Note) uint64 { return maphash.String(contentSeed, n.Content) }

// checkSources finds listed messages that are sources of puts and were deleted or
// changed: notes derived from them become stale.
func (w *applyTx) checkSources(ctx context.Context) error {
	w.changedSources = map[uuid.UUID]bool{}
	for i := range w.decision.Puts {
		for _, id := range w.decision.Puts[i].Provenance.Sources {
			if _, ok := w.desk.listedContent[id]; ok {
				w.changedSources[id] = true
			}
		}
	}
	for page := range slices.Chunk(sortedIDs(w.changedSources), upkeepPage) {
		now, err := w.tx.Notes(ctx, page, memory.ReadOptions{})
		if err != nil {
			return err
		}
		for i := range now {
			if contentHash(&now[i]) == w.desk.listedContent[now[i].ID] {
				delete(w.changedSources, now[i].ID)
			}
		}
	}
	return nil
}

// isStale reports whether a put has a changed source.
func (w *applyTx) isStale(p *memory.Note) bool {
	return slices.ContainsFunc(p.Provenance.Sources, func(id uuid.UUID) bool { return w.changedSources[id] })
}
