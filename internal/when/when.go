package when

import (
	"cmp"
	"slices"
	"time"
)

// Range is the period of a time expression: from From, inclusive, to To, exclusive, in UTC. A zero
// From or To means no bound on that side.
type Range struct {
	From, To   time.Time
	Start, End int // the bytes of the query that express it
}

// Contains reports whether t is in the range.
func (r Range) Contains(t time.Time) bool {
	return (r.From.IsZero() || !t.Before(r.From)) && (r.To.IsZero() || t.Before(r.To))
}

// Words returns the date of t as it is indexed with a note: "8 May 2023". It is "" for the zero
// time.
func Words(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 January 2006")
}

// Parse returns the time expressions of a query, relative to the reference time, in order and
// without overlaps. It is pure and accepts any string.
func Parse(query string, reference time.Time) []Range {
	reference = reference.UTC()
	found := append(english(query, reference), chinese(query, reference)...)
	slices.SortStableFunc(found, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	return found
}
