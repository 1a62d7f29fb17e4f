package filter

import (
	"time"

	"github.com/slipboxhq/slipbox/internal/when"
)

// InZone returns an expression in which the dates that stand for a time are whole days of a zone: "lte" includes the
// day, "gt" begins behind it, and "eq" is any time of it. Expressions without dates stay as they are.
func InZone(e Expr, zone *time.Location) Expr {
	switch e := e.(type) {
	case And:
		return And(termsInZone(e, zone))
	case Or:
		return Or(termsInZone(e, zone))
	case Not:
		return Not{Term: InZone(e.Term, zone)}
	case *Leaf:
		return e.inZone(zone)
	}
	return e
}

func termsInZone(terms []Expr, zone *time.Location) []Expr {
	out := make([]Expr, len(terms))
	for i, e := range terms {
		out[i] = InZone(e, zone)
	}
	return out
}

func (l *Leaf) inZone(zone *time.Location) Expr {
	whole := false
	for _, v := range l.Values {
		whole = whole || v.Day
	}
	if !whole {
		return l
	}
	var days Or
	for _, v := range l.Values {
		days = append(days, l.ofDay(v, zone))
	}
	switch {
	case len(days) == 1:
		return days[0]
	case l.Op == Ne:
		return And(days)
	}
	return days
}

// ofDay returns the condition of one value.
func (l *Leaf) ofDay(v Value, zone *time.Location) Expr {
	if !v.Day {
		op := l.Op
		if op == In {
			op = Eq
		}
		return &Leaf{Field: l.Field, Op: op, Values: []Value{v}}
	}
	y, m, d := v.Time.Date()
	bound := func(op Op, day int) Expr {
		return &Leaf{Field: l.Field, Op: op, Values: []Value{{Type: Time, Time: when.DayStart(y, m, day, zone).UTC()}}}
	}
	switch l.Op { //nolint:exhaustive // the others do not compare times
	case Gte:
		return bound(Gte, d)
	case Gt:
		return bound(Gte, d+1)
	case Lt:
		return bound(Lt, d)
	case Lte:
		return bound(Lt, d+1)
	case Ne:
		return Not{Term: And{bound(Gte, d), bound(Lt, d+1)}}
	}
	return And{bound(Gte, d), bound(Lt, d+1)}
}
