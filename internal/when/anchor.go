package when

import "time"

// weekdayNextTo returns the nearest such weekday before or after an anchor, outside the anchor.
func weekdayNextTo(anchor span, d time.Weekday, side string) span {
	t, step := anchor.from.AddDate(0, 0, -1), -1
	if side == "after" {
		t, step = anchor.to, 1
	}
	for t.Weekday() != d {
		t = t.AddDate(0, 0, step)
	}
	return unitContaining(t, day)
}

// unitNextTo returns the unit before or after an anchor; for another side, the unit that contains
// the anchor's beginning. The unit is adjacent to the anchor. A weekend is the nearest one instead.
func unitNextTo(anchor span, u unit, side string) span {
	switch side {
	case "before":
		if u != weekend {
			return newSpan(addUnits(anchor.from, -1, u), anchor.from, u)
		}
		s := unitContaining(anchor.from, weekend)
		for s.to.After(anchor.from) {
			s = unitContaining(s.from.AddDate(0, 0, -7), weekend)
		}
		return s
	case "after":
		if u != weekend {
			return newSpan(anchor.to, addUnits(anchor.to, 1, u), u)
		}
		s := unitContaining(anchor.to, weekend)
		if s.from.Before(anchor.to) {
			s = unitContaining(s.to, weekend)
		}
		return s
	}
	return unitContaining(anchor.from, u)
}

// alignYears determines the year that one of two bounds leaves open from the other bound: "from 11
// August to 15 August 2023" is four days.
func alignYears(a, b span) (span, span) {
	move := func(s span, years int) span {
		return span{addUnits(s.from, years, year), addUnits(s.to, years, year), s.unit, s.open}
	}
	// A bound that is centuries away is moved near in one step, so few steps are left.
	near := func(s, to span) span {
		if n := to.from.Year() - s.from.Year(); n < -2 || n > 2 {
			return move(s, n-2*n/max(n, -n))
		}
		return s
	}
	switch {
	case a.open && !b.open:
		a = near(a, b)
	case b.open && !a.open:
		b = near(b, a)
	}
	for a.open && !b.open && move(a, 1).from.Before(b.to) {
		a = move(a, 1)
	}
	for a.open && !b.from.After(a.from) && a.from.After(b.from) {
		a = move(a, -1)
	}
	for b.open && !a.open && move(b, -1).to.After(a.from) {
		b = move(b, -1)
	}
	for b.open && !b.to.After(a.from) {
		b = move(b, 1)
	}
	return a, b
}

// parseOrdinal parses a counted part of a longer period: "the first week of October 2023", "the
// last two days of May", "the third quarter of 2022".
func (g *grammar) parseOrdinal(i int) (span, int) {
	if g.is(i, "the") {
		i++
	}
	place, ok := ordinalNames[g.word(i)]
	if !ok {
		return span{}, 0
	}
	at, n := i+1, 1
	if c, end := g.parseCount(at); end > 0 && place <= 0 && c > 0 {
		at, n = end, c
	}
	u, ok := unitNames[g.word(at)]
	if !ok || !g.is(at+1, "of") {
		return span{}, 0
	}
	anchor, end := g.parseExpectedPeriod(at + 2)
	if end == 0 || anchor.unit <= u {
		return span{}, 0
	}
	s := unitsIn(anchor, u, place, n)
	if s.from.Before(anchor.from) || s.to.After(anchor.to) {
		return span{}, 0
	}
	return s, end
}

// unitsIn returns n units of an anchor from the given index on, or its last n.
func unitsIn(anchor span, u unit, place, n int) span {
	from, to := anchor.from, anchor.to
	if u == weekend {
		from = unitNextTo(newSpan(from, from, day), weekend, "after").from
		to = unitNextTo(newSpan(to, to, day), weekend, "before").to
	}
	if place < 0 {
		from = addUnits(to, -n, u)
		if u == weekend {
			from = from.AddDate(0, 0, 5)
		}
		return newSpan(from, to, u)
	}
	from = addUnits(from, place, u)
	to = addUnits(from, n, u)
	if u == weekend {
		to = to.AddDate(0, 0, -5)
	}
	return newSpan(from, to, u)
}
