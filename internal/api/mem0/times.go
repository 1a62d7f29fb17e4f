package mem0

import (
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// createdAt returns when a memory was created as mem0's clients mean it: the time of what it tells, which a "timestamp" sets.
func createdAt(n *memory.Note) time.Time {
	if !n.OccurredAt.IsZero() && n.OccurredAt.Before(n.CreatedAt) {
		return n.OccurredAt
	}
	return n.CreatedAt
}

// updatedAt returns when a memory was changed last. What was written or learned by a job changed when it was said, and
// what a caller changed, when they did.
func updatedAt(n *memory.Note) time.Time {
	if n.OccurredAt.Before(n.UpdatedAt) && !n.OccurredAt.IsZero() && (n.Provenance.Job != nil || n.UpdatedAt.Equal(n.CreatedAt)) {
		return n.OccurredAt
	}
	return n.UpdatedAt
}

// testCreated compares [createdAt], the earlier of two times.
func testCreated(op filter.Op, values []any, path string) (condition, error) {
	occurred, err := testTime(filter.OccurredAt, op, values, path)
	if err != nil {
		return nil, err
	}
	created, err := testTime(filter.CreatedAt, op, values, path)
	switch op {
	case filter.Gt, filter.Gte, filter.Ne, filter.Exists:
		return allOf{occurred, created}, err
	default:
		return anyOf{occurred, created}, err
	}
}

// testTime compares a time. A date without a time of the day is all of that day, in UTC.
func testTime(field filter.Field, op filter.Op, values []any, path string) (condition, error) {
	var terms anyOf
	for _, v := range values {
		c, err := testOneTime(field, op, v, path)
		if err != nil {
			return nil, err
		}
		terms = append(terms, c)
	}
	if len(terms) == 1 {
		return terms[0], nil
	}
	if len(terms) == 0 {
		return testField(&filter.Leaf{Field: field, Op: op}, values, path)
	}
	if op == filter.Ne {
		return allOf(terms), nil
	}
	return terms, nil
}

func testOneTime(field filter.Field, op filter.Op, v any, path string) (condition, error) {
	if op == filter.In {
		op = filter.Eq
	}
	compare := func(op filter.Op, v any) (condition, error) {
		return testField(&filter.Leaf{Field: field, Op: op}, []any{v}, path)
	}
	s, _ := v.(string)
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return compare(op, v)
	}
	next := day.AddDate(0, 0, 1).Format(time.RFC3339)
	switch op {
	case filter.Gt:
		return compare(filter.Gte, next)
	case filter.Lte:
		return compare(filter.Lt, next)
	case filter.Eq, filter.Ne:
		from, err := compare(filter.Gte, s)
		if err != nil {
			return nil, err
		}
		until, err := compare(filter.Lt, next)
		if op == filter.Ne {
			return noneOf{allOf{from, until}}, err
		}
		return allOf{from, until}, err
	default:
		return compare(op, s)
	}
}
