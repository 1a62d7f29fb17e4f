package when

import (
	"strconv"
	"strings"
	"time"
)

// The years that a date may have; the limits for a number alone are narrower.
const (
	firstYear, lastYear   = 1000, 2999
	firstAlone, lastAlone = 1900, 2099
)

// parseFixed parses a date of the calendar: "8 May 2023", "May 8th", "March 2023", "2023-05-08",
// "summer of 2022", "Q2 2023", "the 1990s", "2022", "Monday".
func (g *grammar) parseFixed(i int) (span, int) {
	from := i
	if g.is(i, "the") {
		i++
	}
	if d, ok := g.dayOfMonth(i); ok { // 8 May, 8th of May
		at := i + 1
		if g.is(at, "of") {
			at++
		}
		if m, ok := monthNames[g.word(at)]; ok && (g.tokens[i].ordinal || g.isMonthName(at, i)) {
			return g.parseYearOfDay(m, d, g.afterMonthName(at))
		}
	}
	if m, ok := monthNames[g.word(i)]; ok {
		return g.parseMonth(m, i)
	}
	if m, ok := seasonNames[g.word(i)]; ok {
		at := i + 1
		if g.is(at, "of") {
			at++
		}
		if y, ok := g.number(at, 4, 4); ok && y >= firstAlone && y <= lastAlone {
			return seasonOf(y, m), at + 1
		}
		if i > from && g.is(i-2, "in", "during", "over", "for") && !g.is(i, "fall") {
			return pickOccurrence(seasonOf(g.reference.Year(), m), year, latest, g.reference), i + 1
		}
		return span{}, 0
	}
	if d, ok := weekdayNames[g.word(i)]; ok {
		if otherWeekdays[g.word(i)] && (!g.tokens[i].capital || !clearBefore[g.word(i-1)]) {
			return span{}, 0
		}
		return g.weekday(d, latest), i + 1
	}
	if s, end := g.parseNumeric(i); end > 0 {
		return s, end
	}
	return g.parseYear(i)
}

// dayOfMonth returns the number at i if it may be the day of a month.
func (g *grammar) dayOfMonth(i int) (int, bool) {
	if i < 0 || i >= len(g.tokens) {
		return 0, false
	}
	t := g.tokens[i]
	return t.number, t.digits <= 2 && t.number >= 1 && t.number <= 31
}

// afterMonthName returns the index after a month name. It skips the full stop of a short name
// ("Sept.") when a number follows.
func (g *grammar) afterMonthName(month int) int {
	if _, ok := g.number(month+2, 1, 4); ok && g.is(month+1, ".") && len(g.word(month)) <= 4 {
		return month + 2
	}
	return month + 1
}

// isMonthName reports whether the month name at i is one. A name with another meaning needs a
// capital letter, or a preposition before the whole date, which begins at start.
func (g *grammar) isMonthName(i, start int) bool {
	w := g.word(start - 1)
	if w == "the" {
		w = g.word(start - 2)
	}
	return !otherMonths[g.word(i)] || g.tokens[i].capital || clearBefore[w] || g.expected == start
}

// parseYearOfDay parses a year, possibly after a comma, that follows a day and a month. Without a
// year it returns the latest such day that has begun.
func (g *grammar) parseYearOfDay(m time.Month, d, at int) (span, int) {
	if s, end := g.yearAfter(at); end > 0 {
		if one, ok := dayOf(s, m, d); ok {
			return one, end
		}
		return span{}, 0
	}
	for y := g.reference.Year(); y > g.reference.Year()-8; y-- {
		if one, ok := dayOf(y, m, d); ok && !one.from.After(g.reference) {
			one.open = true
			return one, at
		}
	}
	return span{}, 0
}

func (g *grammar) yearAfter(at int) (y, end int) {
	if g.is(at, ",", "of") {
		at++
	}
	if y, ok := g.number(at, 4, 4); ok && y >= firstYear && y <= lastYear {
		return y, at + 1
	}
	return 0, 0
}

// parseMonth parses a date that begins with a month name, or the month alone.
func (g *grammar) parseMonth(m time.Month, i int) (span, int) {
	at := g.afterMonthName(i)
	if d, ok := g.dayOfMonth(at); ok && g.isMonthName(i, i) {
		return g.parseYearOfDay(m, d, at+1)
	}
	if y, end := g.yearAfter(at); end > 0 {
		return months(y, m, 1, month), end
	}
	name, before := g.word(i), g.word(i-1)
	wanted := clearBefore[before] || g.expected == i || before == "-" && g.is(i-2, "mid")
	if !wanted && (otherMonths[name] || len(name) <= 4 && !monthBefore[before]) {
		return span{}, 0
	}
	s := pickOccurrence(months(g.reference.Year(), m, 1, month), year, latest, g.reference)
	s.open = true
	return s, i + 1
}

// parseYear parses a year, a decade or a quarter of a year.
func (g *grammar) parseYear(i int) (span, int) {
	w := g.word(i)
	if len(w) == 2 && w[0] == 'q' && w[1] >= '1' && w[1] <= '4' {
		if y, end := g.yearAfter(i + 1); end > 0 {
			return months(y, time.Month(3*int(w[1]-'1')+1), 3, quarter), end
		}
		return span{}, 0
	}
	if len(w) == 5 && strings.HasSuffix(w, "0s") {
		if y, err := strconv.Atoi(w[:4]); err == nil && y >= firstYear {
			return months(y, 1, 120, decade), i + 1
		}
	}
	y, ok := g.number(i, 4, 4)
	if !ok || y < firstAlone || y > lastAlone {
		return span{}, 0
	}
	before, after := g.word(i-1), g.word(i+1)
	if countedAfter[after] || namedBefore[before] {
		return span{}, 0
	}
	if !yearBefore[before] && before != "-" && strings.HasSuffix(after, "s") && len(after) > 1 {
		return span{}, 0 // a count of something
	}
	return months(y, 1, 12, year), i + 1
}

// parseNumeric parses "2023-05-08", "2023/05", "8.5.2023", "5/28/2023" and "2019-2021". When day
// and month could be exchanged it parses nothing, except with dots, where the day is first.
func (g *grammar) parseNumeric(i int) (span, int) {
	w, _, _ := strings.Cut(g.word(i), "t")
	sign := strings.IndexAny(w, "-/.")
	touched := i > 0 && i < len(g.tokens) && g.tokens[i-1].end == g.tokens[i].start && !g.is(i-1, `"`, "'", "(", "[")
	if sign < 1 || touched {
		return span{}, 0
	}
	var n []int
	for part := range strings.SplitSeq(w, w[sign:sign+1]) {
		v, err := strconv.Atoi(part)
		if err != nil || len(part) > 4 || len(n) == 3 {
			return span{}, 0
		}
		n = append(n, v)
	}
	lengths := strings.Split(w, w[sign:sign+1])
	if s, ok := numericDate(n, len(lengths[0]) == 4, len(lengths[len(lengths)-1]) == 4, w[sign]); ok {
		return s, i + 1
	}
	return span{}, 0
}

// numericDate returns the date of two or three numbers. first and last report whether the first and
// the last number have four digits.
func numericDate(n []int, first, last bool, sign byte) (span, bool) {
	switch {
	case len(n) == 2 && first && last && sign == '-':
		ok := n[0] >= firstAlone && n[0] < n[1] && n[1] <= lastAlone
		return span{from: date(n[0], 1, 1), to: date(n[1]+1, 1, 1), unit: year}, ok
	case len(n) == 2 && first && !last && sign != '.':
		ok := n[0] >= firstAlone && n[0] <= lastAlone && n[1] >= 1 && n[1] <= 12
		return months(n[0], time.Month(n[1]), 1, month), ok
	case len(n) == 3 && first:
		return checkedDay(n[0], n[1], n[2])
	case len(n) == 3 && last && (sign == '.' || n[0] > 12 || n[0] == n[1]):
		return checkedDay(n[2], n[1], n[0])
	case len(n) == 3 && last && n[1] > 12:
		return checkedDay(n[2], n[0], n[1])
	}
	return span{}, false
}

func checkedDay(y, m, d int) (span, bool) {
	if y < firstYear || y > lastYear || m < 1 || m > 12 || d < 1 || d > 31 {
		return span{}, false
	}
	return dayOf(y, time.Month(m), d)
}
