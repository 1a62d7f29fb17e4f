package recall

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// readingOf returns how a collection's policy wants it to be read. The zero Reading, which an
// unknown policy has too, selects the defaults.
func (r *Service) readingOf(c *memory.Collection) memory.Reading {
	p, ok := r.policies.ByName(c.Policy)
	if !ok {
		return memory.Reading{}
	}
	return memory.ReadingOf(p, c.PolicyConfig)
}

// applyReading sets what the caller of a query leaves to the collection's policy: how many hits, of
// which kinds, and that expired notes are not hits. A condition of the filter replaces the policy's:
// one on kind selects from all kinds, one on attributes.expires_at from expired notes, too.
//
// A reading of several parts is searched part by part; see searchParts.
//
// For a policy without a reading of its own, attributes belong to the callers, and nothing expires.
func (r *Service) applyReading(rd *memory.Reading, q *Query) {
	q.K = cmp.Or(q.K, rd.K)
	q.useGraph = rd.Graph
	namesKinds := hasLeaf(q.Filter, func(l *filter.Leaf) bool { return l.Field == filter.Kind })
	if !findsTranscripts(q.Hidden, q.Filter) {
		q.leftOut = append(q.leftOut, transcripts)
	}
	switch {
	case q.Hidden || namesKinds:
	case q.Internal: // of a context, which cites files by their passages
		q.leftOut = append(q.leftOut, files)
	default:
		q.leftOut = append(q.leftOut, failedFiles)
	}
	if hides(rd, q.Hidden, q.Filter) {
		q.Filter = and(filter.Not{Term: rd.Hidden}, q.Filter)
	}
	if len(rd.Kinds) == 0 {
		return
	}
	if !selectsBy(q.Filter, memory.AttrExpires) {
		q.expiredBy = cmp.Or(q.Reference, r.clock())
	}
	if !namesKinds {
		q.Filter, q.parts = and(and(memory.OfKinds(rd.Kinds...), rd.Filter), q.Filter), rd.Parts
		if q.Hidden && rd.Hidden != nil && len(rd.Parts) > 0 {
			q.parts = append(slices.Clone(rd.Parts), memory.Part{Name: "what is hidden", Filter: rd.Hidden})
		}
	}
}

var (
	transcripts   = memory.Transcripts()
	noTranscripts = filter.Not{Term: transcripts}
	files         = memory.OfKinds(memory.KindFile)
	failedFiles   = filter.And{files, filter.AttributeIs(memory.AttrFileState, memory.FileFailed)}
)

// findsTranscripts reports whether the transcripts of programs may be found: all that is hidden is wanted, or the caller's filter
// selects by being one.
func findsTranscripts(hidden bool, asked filter.Expr) bool {
	return hidden || selectsBy(asked, memory.AttrTranscript)
}

// hides reports whether what the policy hides is left out: not where it is asked for, nor where a filter selects by the role that
// it has.
func hides(rd *memory.Reading, asked bool, f filter.Expr) bool {
	return rd.Hidden != nil && !asked && (!selectsBy(rd.Hidden, memory.AttrRole) || !selectsBy(f, memory.AttrRole))
}

// countShown counts that versions of notes were shown, and the notes that the policy counts with them, each in its
// collection.
func (r *Service) countShown(ctx context.Context, s tenant.Scope, v *memory.View, rd *memory.Reading, shown []memory.Version) {
	for _, g := range byCollection(v, shown) {
		r.countIn(ctx, s, g.view, rd, g.notes)
	}
}

// countIn is countShown for notes of one collection.
func (r *Service) countIn(ctx context.Context, s tenant.Scope, v *memory.View, rd *memory.Reading, shown []uuid.UUID) {
	at := memory.Instant(r.clock())
	r.counter.add(s, v.Collection.ID, shown, at)
	if rd.CountLinked == "" {
		return
	}
	// Hidden: what is not visible is left out when the counts are written.
	links, err := r.store.Links(ctx, s, *v, memory.LinkQuery{Notes: shown, Direction: memory.Incoming, Limit: math.MaxInt32, Hidden: true})
	if err != nil {
		r.outages.usage.Report(ctx, err, slog.Any("collection", v.Collection.ID))
		return
	}
	var with []uuid.UUID
	for i := range links {
		if l := &links[i]; l.Relation == rd.CountLinked && !slices.Contains(with, l.Source) {
			with = append(with, l.Source)
		}
	}
	r.counter.add(s, v.Collection.ID, with, at)
}

// selectsBy reports whether a filter has a condition on an attribute.
func selectsBy(e filter.Expr, attribute string) bool {
	return hasLeaf(e, func(l *filter.Leaf) bool {
		return l.Field == filter.Attributes && len(l.Path) == 1 && l.Path[0] == attribute
	})
}

// hasLeaf reports whether a filter has a leaf that matches.
func hasLeaf(e filter.Expr, match func(*filter.Leaf) bool) bool {
	has := func(term filter.Expr) bool { return hasLeaf(term, match) }
	switch e := e.(type) {
	case filter.And:
		return slices.ContainsFunc(e, has)
	case filter.Or:
		return slices.ContainsFunc(e, has)
	case filter.Not:
		return has(e.Term)
	case *filter.Leaf:
		return match(e)
	}
	return false
}

// and combines two filters; b may be nil.
func and(a, b filter.Expr) filter.Expr {
	if b == nil {
		return a
	}
	return filter.And{a, b}
}

// isExpired reports whether attributes name an end, and it is not after now.
func isExpired(attributes map[string]any, now time.Time) bool {
	end, ok := memory.ExpiryOf(attributes)
	return ok && !end.After(now)
}

// matches reports whether a note may be a hit.
func (q *Query) matches(r *filter.Record) bool {
	return filter.Match(q.Filter, r) && !filter.Match(q.leftOut, r) &&
		(q.expiredBy.IsZero() || !isExpired(r.Attributes, q.expiredBy))
}
