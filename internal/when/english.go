package when

import (
	"slices"
	"strings"
	"time"
)

var monthNames = nameTable(map[time.Month]string{
	time.January: "january jan", time.February: "february feb", time.March: "march mar", time.April: "april apr", time.May: "may",
	time.June: "june jun", time.July: "july jul", time.August: "august aug", time.September: "september sept sep",
	time.October: "october oct", time.November: "november nov", time.December: "december dec",
})

var weekdayNames = nameTable(map[time.Weekday]string{
	time.Monday: "monday mon", time.Tuesday: "tuesday tue tues", time.Wednesday: "wednesday wed", time.Thursday: "thursday thu thurs",
	time.Friday: "friday fri", time.Saturday: "saturday sat", time.Sunday: "sunday sun",
})

var unitNames = nameTable(map[unit]string{
	day: "day days", week: "week weeks", weekend: "weekend weekends", month: "month months", quarter: "quarter quarters",
	year: "year years", decade: "decade decades",
})

// seasonNames maps a season to its first month.
var seasonNames = nameTable(map[time.Month]string{
	time.March: "spring", time.June: "summer", time.September: "autumn fall", time.December: "winter",
})

var occurrenceNames = nameTable(map[occurrence]string{last: "last previous past", this: "this", next: "next coming"})

// ordinalNames are indexes from 0; the last is -1.
var ordinalNames = nameTable(map[int]string{-1: "last final", 0: "first", 1: "second", 2: "third", 3: "fourth"})

var numberNames = nameTable(map[int]string{
	1: "a an one", 2: "two couple", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten",
	11: "eleven", 12: "twelve",
})

// Words that also have another meaning name a date only when the words around them indicate that.
var (
	otherMonths   = wordSet("march april may june august mar jan jun sep sept dec")
	otherWeekdays = wordSet("mon tue tues wed thu thurs fri sat sun")
	// clearBefore are words before a name that make it a date even if it has another meaning.
	clearBefore  = wordSet("in on last next this during since until till early mid late")
	monthBefore  = wordSet("in last next this during since until till early mid late before after from of between")
	yearBefore   = wordSet("in of since until till before after during from between year and to through early mid late")
	countedAfter = wordSet("people dollars euros pounds steps km miles kg words times calories points tokens percent meters metres")
	namedBefore  = wordSet("room number no version model route highway page chapter code id flight bus line step")
)

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// nameTable returns a look-up table from each name to what it names.
func nameTable[K comparable](lists map[K]string) map[string]K {
	m := map[string]K{}
	for k, list := range lists {
		for w := range strings.FieldsSeq(list) {
			m[w] = k
		}
	}
	return m
}

// maxDepth bounds the number of nested dates in one phrase ("two weeks before the end of May" has
// three), and with it the cost of a query.
const maxDepth = 4

// grammar parses an English query. Every parse method takes the index of a token and returns the
// index after what it parsed, or 0 when it parsed nothing.
type grammar struct {
	tokens    []token
	reference time.Time
	depth     int // of nested dates
	expected  int // a name at this index is a date, because the preposition before it requires one
}

func english(query string, reference time.Time) []Range {
	g := grammar{tokens: tokens(query), reference: reference, expected: -1}
	var out []Range
	for i := 0; i < len(g.tokens); {
		s, end := g.parseBounded(i)
		if end == 0 {
			if s, end = g.parsePeriod(i); end == 0 {
				i++
				continue
			}
		}
		out = append(out, Range{s.from, s.to, g.tokens[i].start, g.tokens[end-1].end})
		i = end
	}
	return out
}

// word returns the word at i, "" for a number or outside the query.
func (g *grammar) word(i int) string {
	if i < 0 || i >= len(g.tokens) {
		return ""
	}
	return g.tokens[i].word
}

func (g *grammar) is(i int, options ...string) bool {
	w := g.word(i)
	return w != "" && slices.Contains(options, w)
}

// number returns the plain number at i if the count of its digits is between from and to.
func (g *grammar) number(i, from, to int) (int, bool) {
	if i < 0 || i >= len(g.tokens) {
		return 0, false
	}
	t := g.tokens[i]
	return t.number, t.number >= 0 && !t.ordinal && t.digits >= from && t.digits <= to
}

// parseBounded parses a period with two bounds or one: "between May and July", "before 2022",
// "since Monday".
func (g *grammar) parseBounded(i int) (span, int) {
	switch {
	case g.is(i, "between", "from"):
		if a, end := g.parseExpectedPeriod(i + 1); end > 0 && g.is(end, "and", "to", "until", "till", "through") {
			if b, stop := g.parseExpectedPeriod(end + 1); stop > 0 {
				if a, b = alignYears(a, b); a.from.Before(b.to) {
					return span{from: a.from, to: b.to}, stop
				}
			}
		}
	case g.is(i, "before", "until", "till"):
		if s, end := g.parsePeriod(i + 1); end > 0 {
			if g.is(i, "before") {
				return span{to: s.from}, end
			}
			return span{to: s.to}, end
		}
	case g.is(i, "since"):
		if s, end := g.parsePeriod(i + 1); end > 0 {
			return span{from: s.from, to: later(midnight(g.reference).AddDate(0, 0, 1), s.to)}, end
		}
	case g.is(i, "after"):
		if s, end := g.parsePeriod(i + 1); end > 0 {
			return span{from: s.to}, end
		}
	}
	return span{}, 0
}

// parseExpectedPeriod is parsePeriod at an index where only a date makes sense.
func (g *grammar) parseExpectedPeriod(i int) (span, int) {
	defer func(was int) { g.expected = was }(g.expected)
	g.expected = i
	return g.parsePeriod(i)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// parsePeriod parses one period, the longest that begins at i.
func (g *grammar) parsePeriod(i int) (span, int) {
	if g.depth == maxDepth {
		return span{}, 0
	}
	g.depth++
	defer func() { g.depth-- }()
	var best span
	end := 0
	for _, read := range []func(int) (span, int){g.parseNextToDate, g.parseOrdinal, g.parseAmount, g.parseDayWord, g.parsePart, g.parseRelative, g.parseFixed} {
		if s, e := read(i); e > end {
			best, end = s, e
		}
	}
	return best, end
}

// parseDayWord parses the words for days near the reference time.
func (g *grammar) parseDayWord(i int) (span, int) {
	days := func(n, end int) (span, int) {
		s := unitContaining(midnight(g.reference).AddDate(0, 0, n), day)
		if g.is(end, "morning", "afternoon", "evening", "night") {
			end++
		}
		return s, end
	}
	switch {
	case g.is(i, "today", "tonight"):
		return days(0, i+1)
	case g.is(i, "yesterday"):
		return days(-1, i+1)
	case g.is(i, "tomorrow"):
		return days(1, i+1)
	case g.is(i, "last") && g.is(i+1, "night", "evening"):
		return days(-1, i+2)
	case g.is(i, "this") && g.is(i+1, "morning", "afternoon", "evening"):
		return days(0, i+2)
	}
	return span{}, 0
}

// parseRelative parses "last week", "the past 3 days", "next May", "this Friday".
func (g *grammar) parseRelative(i int) (span, int) {
	if g.is(i, "the") {
		i++
	}
	w, ok := occurrenceNames[g.word(i)]
	if !ok {
		return span{}, 0
	}
	at := i + 1
	if n, end := g.parseCount(at); end > 0 && w != this {
		if u, ok := unitNames[g.word(end)]; ok && n > 0 && !g.is(end+1, "of") {
			return g.rollingSpan(n, u, w), end + 1
		}
	}
	name := g.word(at)
	if u, ok := unitNames[name]; ok && u != day && !strings.HasSuffix(name, "s") {
		if g.is(at+1, "of") {
			return span{}, 0 // "the last week of May" is parsed by parseOrdinal
		}
		if g.is(i, "past") {
			return g.rollingSpan(1, u, last), at + 1
		}
		return calendarUnit(u, w, g.reference), at + 1
	}
	if m, ok := monthNames[name]; ok {
		return g.parseMonthAndDay(m, w, at)
	}
	if d, ok := weekdayNames[name]; ok {
		return g.weekday(d, w), at + 1
	}
	if m, ok := seasonNames[name]; ok {
		return pickOccurrence(seasonOf(g.reference.Year(), m), year, w, g.reference), at + 1
	}
	return span{}, 0
}

// parseMonthAndDay parses a month after "last", "this" or "next", and a day of it.
func (g *grammar) parseMonthAndDay(m time.Month, w occurrence, at int) (span, int) {
	s := pickOccurrence(months(g.reference.Year(), m, 1, month), year, w, g.reference)
	if d, ok := g.dayOfMonth(at + 1); ok {
		if one, ok := dayOf(s.from.Year(), m, d); ok {
			return one, at + 2
		}
	}
	return s, at + 1
}

// rollingSpan returns the last or next n units, including today.
func (g *grammar) rollingSpan(n int, u unit, w occurrence) span {
	today := midnight(g.reference)
	if w == next {
		return newSpan(today, addUnits(today, n, u).AddDate(0, 0, 1), u)
	}
	return newSpan(addUnits(today, -n, u), today.AddDate(0, 0, 1), u)
}

func (g *grammar) weekday(d time.Weekday, w occurrence) span {
	monday := unitContaining(g.reference, week).from
	return pickOccurrence(unitContaining(monday.AddDate(0, 0, (int(d)+6)%7), day), week, w, g.reference)
}

// parseCount parses a number of units: "3", "two", "a", "a couple of".
func (g *grammar) parseCount(i int) (int, int) {
	if n, ok := g.number(i, 1, 3); ok {
		return n, i + 1
	}
	if g.is(i, "a") && g.is(i+1, "couple") {
		i++
	}
	n, ok := numberNames[g.word(i)]
	if !ok {
		return 0, 0
	}
	if g.is(i, "couple") && g.is(i+1, "of") {
		i++
	}
	return n, i + 1
}

// parseAmount parses "two weeks ago", "3 days from now" and "two weeks before 3 June 2023".
func (g *grammar) parseAmount(i int) (span, int) {
	n, end := g.parseCount(i)
	u, ok := unitNames[g.word(end)]
	if end == 0 || !ok || n == 0 || g.is(i-1, "half", "and") {
		return span{}, 0
	}
	end++
	switch {
	case g.is(end, "ago"):
		return unitContaining(addUnits(midnight(g.reference), -n, u), u), end + 1
	case g.is(end, "from") && g.is(end+1, "now", "today"):
		return unitContaining(addUnits(midnight(g.reference), n, u), u), end + 2
	case g.is(end, "before", "after"):
		anchor, stop := g.parsePeriod(end + 1)
		if stop == 0 {
			return span{}, 0
		}
		if g.is(end, "before") {
			return unitContaining(addUnits(anchor.from, -n, u), u), stop
		}
		return unitContaining(addUnits(anchor.to.AddDate(0, 0, -1), n, u), u), stop
	}
	return span{}, 0
}

// parseNextToDate parses a period adjacent to a date: "the week before 3 June", "the day after
// tomorrow", "the Friday before last Christmas", "the week of 8 May", "the week before last".
func (g *grammar) parseNextToDate(i int) (span, int) {
	if g.is(i, "the") {
		i++
	}
	name := g.word(i)
	u, isUnit := unitNames[name]
	d, isWeekday := weekdayNames[name]
	if !isUnit && !isWeekday || isUnit && strings.HasSuffix(name, "s") || !g.is(i+1, "before", "after", "of") {
		return span{}, 0
	}
	side := g.word(i + 1)
	if isUnit && side == "before" && g.is(i+2, "last") && u != day {
		if _, end := g.parseRelative(i + 2); end == 0 {
			return unitContaining(addUnits(calendarUnit(u, last, g.reference).from, -1, u), u), i + 3
		}
	}
	anchor, end := g.parsePeriod(i + 2)
	if end == 0 {
		return span{}, 0
	}
	if side == "of" && (isWeekday || anchor.unit > u || u > weekend && anchor.unit != u) {
		return span{}, 0 // it is not clear which of several is meant
	}
	if isWeekday {
		return weekdayNextTo(anchor, d, side), end
	}
	return unitNextTo(anchor, u, side), end
}

// parsePart parses a third of a longer period: "early May 2023", "the end of 2022", "mid-March".
func (g *grammar) parsePart(i int) (span, int) {
	if g.is(i, "the") {
		i++
	}
	third := -1
	switch {
	case g.is(i, "early", "beginning", "start"):
		third = 0
	case g.is(i, "mid", "middle"):
		third = 1
	case g.is(i, "late", "end"):
		third = 2
	}
	if third < 0 {
		return span{}, 0
	}
	at := i + 1
	switch {
	case g.is(i, "beginning", "start", "middle", "end"):
		if !g.is(at, "of") {
			return span{}, 0
		}
		at++
	case g.is(at, "-", "in"):
		at++
	}
	s, end := g.parseExpectedPeriod(at)
	if end == 0 || s.unit < week {
		return span{}, 0
	}
	days := int(s.to.Sub(s.from).Hours()) / 24
	return newSpan(s.from.AddDate(0, 0, days*third/3), s.from.AddDate(0, 0, (days*(third+1)+2)/3), s.unit), end
}
