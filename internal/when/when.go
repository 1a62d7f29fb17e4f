package when

import (
	"cmp"
	"slices"
	"time"
)

// Range is what a time expression speaks of: the moments from From, inclusive,
// to To, exclusive, in UTC. A zero From or To is no bound on that side.
type Range struct {
	From, To   time.Time
	Start, End int // bytes of the query that say so
}

// Contains tells whether t is in the range.
func (r Range) Contains(t time.Time) bool {
	return (r.From.IsZero() || !t.Before(r.From)) && (r.To.IsZero() || t.Before(r.To))
}

// Words gives the date of t as it is indexed with a note: "8 May 2023". It is
// "" for the zero time.
func Words(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 January 2006")
}

// Parse finds the time expressions of a query, as seen from the reference
// time, in order and without overlaps. It is pure and total.
func Parse(query string, reference time.Time) []Range {
	reference = reference.UTC()
	found := append(english(query, reference), chinese(query, reference)...)
	slices.SortStableFunc(found, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	return found
}
