package recall

import (
	"cmp"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// reading says how a collection's policy wants it read. The zero Reading, also
// of a policy that is not known here, is reading as usual.
func (r *Service) reading(c *memory.Collection) memory.Reading {
	p, ok := r.policies.ByName(c.Policy)
	if !ok {
		return memory.Reading{}
	}
	return p.Reading(c.PolicyConfig)
}

// read fills in what the caller of a query leaves to the collection's policy:
// how many hits, of which kinds, and that what has expired is no hit. A filter
// that names a field speaks for it: with a condition on kind all kinds are
// looked at, with one on attributes.expires_at also what has expired.
//
// Where a policy wants nothing in particular, attributes are the callers' own
// and expire nothing.
func (r *Service) read(rd *memory.Reading, q *Query) {
	q.K = cmp.Or(q.K, rd.K)
	q.graph = rd.Graph && !q.NoGraph
	if len(rd.Kinds) == 0 {
		return
	}
	if !names(q.Filter, func(l *filter.Leaf) bool {
		return l.Field == filter.Attributes && len(l.Path) == 1 && l.Path[0] == memory.AttrExpires
	}) {
		q.now = cmp.Or(q.Reference, r.clock())
	}
	if !names(q.Filter, func(l *filter.Leaf) bool { return l.Field == filter.Kind }) {
		q.Filter = both(both(memory.OfKinds(rd.Kinds...), rd.Filter), q.Filter)
	}
}

// names tells whether a filter has a leaf that is.
func names(e filter.Expr, is func(*filter.Leaf) bool) bool {
	has := func(term filter.Expr) bool { return names(term, is) }
	switch e := e.(type) {
	case filter.And:
		return slices.ContainsFunc(e, has)
	case filter.Or:
		return slices.ContainsFunc(e, has)
	case filter.Not:
		return has(e.Term)
	case *filter.Leaf:
		return is(e)
	}
	return false
}

// both is the filter that lets pass what a lets pass and b, which may be nil.
func both(a, b filter.Expr) filter.Expr {
	if b == nil {
		return a
	}
	return filter.And{a, b}
}

// expired tells whether the time that attributes name as the end has come. A
// value that is no time of RFC 3339 ends nothing.
func expired(attributes map[string]any, now time.Time) bool {
	end, ok := expiry(attributes)
	return ok && !end.After(now)
}

// expiry is the end that attributes name.
func expiry(attributes map[string]any) (time.Time, bool) {
	s, ok := attributes[memory.AttrExpires].(string)
	if !ok {
		return time.Time{}, false
	}
	end, err := time.Parse(time.RFC3339, s)
	return end, err == nil
}

// lets tells whether a note may be a hit.
func (q *Query) lets(r *filter.Record) bool {
	return filter.Match(q.Filter, r) && (q.now.IsZero() || !expired(r.Attributes, q.now))
}

// recordOf gives what a filter sees of a note.
func recordOf(n *memory.Note) *filter.Record {
	return &filter.Record{
		Kind: string(n.Kind), Tags: n.Tags, Keywords: n.Keywords, Category: n.Category, Importance: n.Importance,
		OccurredAt: n.OccurredAt, CreatedAt: n.CreatedAt, State: string(n.State), Attributes: n.Attributes,
	}
}
