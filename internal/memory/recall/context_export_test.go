package recall

import (
	"context"

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
	p := packer{budget: q.TokenBudget, order: q.Order, encoding: q.Encoding, query: newQueryTerms(words)}
	return p.pack(ctx, hits)
}
