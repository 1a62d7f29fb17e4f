package when

import "time"

// nextTo gives the weekday nearest before or after an anchor, and not in it.
func nextTo(anchor span, d time.Weekday, side string) span {
	t, step := anchor.from.AddDate(0, 0, -1), -1
	if side == "after" {
		t, step = anchor.to, 1
	}
	for t.Weekday() != d {
		t = t.AddDate(0, 0, step)
	}
	return around(t, day)
}

// unitNextTo gives the unit before or after an anchor, or the one that holds
// its beginning. It touches the anchor, but for a weekend, which is the nearest.
func unitNextTo(anchor span, u unit, side string) span {
	switch side {
	case "before":
		if u != weekend {
			return of(shift(anchor.from, -1, u), anchor.from, u)
		}
		s := around(anchor.from, weekend)
		for s.to.After(anchor.from) {
			s = around(s.from.AddDate(0, 0, -7), weekend)
		}
		return s
	case "after":
		if u != weekend {
			return of(anchor.to, shift(anchor.to, 1, u), u)
		}
		s := around(anchor.to, weekend)
		if s.from.Before(anchor.to) {
			s = around(s.to, weekend)
		}
		return s
	}
	return around(anchor.from, u)
}

// sameYears settles the year that one of two bounds leaves open by the other:
// "from 11 August to 15 August 2023" is four days.
func sameYears(a, b span) (span, span) {
	move := func(s span, years int) span {
		return span{shift(s.from, years, year), shift(s.to, years, year), s.unit, s.open}
	}
	// What is centuries away is brought near at once, so that few steps are left.
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

// ordinal reads a counted part of a longer stretch: "the first week of October
// 2023", "the last two days of May", "the third quarter of 2022".
func (g *grammar) ordinal(i int) (span, int) {
	if g.is(i, "the") {
		i++
	}
	place, ok := ordinalNames[g.word(i)]
	if !ok {
		return span{}, 0
	}
	at, n := i+1, 1
	if c, end := g.count(at); end > 0 && place <= 0 && c > 0 {
		at, n = end, c
	}
	u, ok := unitNames[g.word(at)]
	if !ok || !g.is(at+1, "of") {
		return span{}, 0
	}
	anchor, end := g.trust(at + 2)
	if end == 0 || anchor.unit <= u {
		return span{}, 0
	}
	s := counted(anchor, u, place, n)
	if s.from.Before(anchor.from) || s.to.After(anchor.to) {
		return span{}, 0
	}
	return s, end
}

// counted gives n units of an anchor from the given place on, or its last n.
func counted(anchor span, u unit, place, n int) span {
	from, to := anchor.from, anchor.to
	if u == weekend {
		from = unitNextTo(of(from, from, day), weekend, "after").from
		to = unitNextTo(of(to, to, day), weekend, "before").to
	}
	if place < 0 {
		from = shift(to, -n, u)
		if u == weekend {
			from = from.AddDate(0, 0, 5)
		}
		return of(from, to, u)
	}
	from = shift(from, place, u)
	to = shift(from, n, u)
	if u == weekend {
		to = to.AddDate(0, 0, -5)
	}
	return of(from, to, u)
}
