package engine

import (
	"context"
	"hash/maphash"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

var saidSeed = maphash.MakeSeed()

// saidIn is a fingerprint of what a message says, within this process.
func saidIn(n *memory.Note) uint64 { return maphash.String(saidSeed, n.Content) }

// compareSaid finds listed messages that puts come from and that are gone or
// say something else: what was made of them must not outlast them.
func (w *writing) compareSaid(ctx context.Context) error {
	w.unsaid = map[uuid.UUID]bool{}
	for i := range w.dec.Puts {
		for _, id := range w.dec.Puts[i].Provenance.Sources {
			if _, ok := w.desk.said[id]; ok {
				w.unsaid[id] = true
			}
		}
	}
	for page := range slices.Chunk(sortedIDs(w.unsaid), upkeepPage) {
		now, err := w.tx.Notes(ctx, page, memory.ReadOptions{})
		if err != nil {
			return err
		}
		for i := range now {
			if saidIn(&now[i]) == w.desk.said[now[i].ID] {
				delete(w.unsaid, now[i].ID)
			}
		}
	}
	return nil
}

// rests tells whether a put comes from what is unsaid.
func (w *writing) rests(p *memory.Note) bool {
	return slices.ContainsFunc(p.Provenance.Sources, func(id uuid.UUID) bool { return w.unsaid[id] })
}
