package store

import (
	"context"
	"fmt"
	"maps"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// MaxProblems bounds what one rule reports: a damaged table would fill pages.
const MaxProblems = 100

// VerifyCollection checks what only a whole lineage shows: that its parents exist, that the head
// counts right, and that links have ends.
func VerifyCollection(ctx context.Context, q Session, r CollectionRow) (out []Problem, err error) {
	report := func(kind ProblemKind, format string, args ...any) {
		out = append(out, Problem{Kind: kind, Tenant: r.Tenant, Collection: r.ID, Detail: fmt.Sprintf(format, args...)})
	}
	broken, err := brokenLineage(ctx, q, r)
	if err != nil {
		return nil, err
	}
	if broken != uuid.Nil {
		if r.ExpiresAt.IsZero() { // an expired fork may outlive its parent until it is swept
			report(ProblemOrphan, "the lineage is broken at collection %s", broken)
		}
		return out, nil
	}
	layers, err := q.Layers(ctx, r, r.Head)
	if err != nil {
		return nil, err
	}
	h, err := q.Head(ctx, r.Tenant, r.ID)
	if err != nil {
		return nil, err
	}
	if h.Counted {
		c, err := q.CountVisible(ctx, r.Tenant, layers)
		if err != nil {
			return nil, err
		}
		k := h.Counts
		if c.Notes != k.Notes || c.Links != k.Links || c.Pending != k.Pending || c.InReview != k.InReview || c.Bytes != k.Bytes || !maps.Equal(c.Kinds, k.Kinds) {
			report(ProblemCount, "the head counts %+v, visible are %+v", k, c)
		}
	}
	stored, err := q.CountStored(ctx, r.Tenant, r.ID)
	if err != nil {
		return nil, err
	}
	if stored != h.Stored {
		report(ProblemCount, "the head counts %+v stored, there are %+v", h.Stored, stored)
	}
	links, err := q.LinksWithoutEnds(ctx, r.Tenant, layers, MaxProblems)
	for _, l := range links {
		report(ProblemLink, "the link from %s to %s has an endpoint that never was", l.Source, l.Target)
	}
	return out, err
}

// brokenLineage returns the collection at which a lineage breaks or passes its depth; zero: it is
// whole.
func brokenLineage(ctx context.Context, q CollectionRows, r CollectionRow) (uuid.UUID, error) {
	next := r.Reads.Collection
	for depth := 0; next != uuid.Nil; depth++ {
		p, ok, err := q.Collection(ctx, r.Tenant, next)
		if err != nil {
			return uuid.Nil, err
		}
		if !ok || depth > memory.DeepestLineage {
			return next, nil
		}
		next = p.Reads.Collection
	}
	return uuid.Nil, nil
}
