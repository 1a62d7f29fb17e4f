package recall

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
)

// Pack makes a context of hits that no search has to find.
func Pack(hits []Hit, q ContextQuery) (Context, error) {
	return PackWhile(context.Background(), hits, q)
}

// PackWhile is Pack for a caller who may leave.
func PackWhile(ctx context.Context, hits []Hit, q ContextQuery) (Context, error) {
	_, words, err := q.check(search.O200k, func(*Query) {})
	if err != nil {
		return Context{}, err
	}
	return newPacker(&q, words, &memory.Reading{}).pack(ctx, standing{}, hits)
}

// PackStanding is Pack with what stands in every context; recent has the newest first.
func PackStanding(pinned, recent []memory.Note, hits []Hit, q ContextQuery, rd memory.Reading) (Context, error) {
	_, words, err := q.check(search.O200k, func(*Query) {})
	if err != nil {
		return Context{}, err
	}
	return newPacker(&q, words, &rd).pack(context.Background(), standing{pinned: pinned, recent: recent}, hits)
}
