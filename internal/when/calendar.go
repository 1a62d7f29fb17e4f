package when

import "time"

// unit is a unit of the calendar.
type unit int

const (
	day unit = iota + 1
	week
	weekend
	month
	quarter
	season
	year
	decade
)

// span is a period of whole days and the unit it was expressed in.
type span struct {
	from, to time.Time
	unit     unit
	open     bool // the year was not given
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// midnight returns the beginning of the day of t.
func midnight(t time.Time) time.Time { return date(t.Year(), t.Month(), t.Day()) }

func newSpan(from, to time.Time, u unit) span { return span{from: from, to: to, unit: u} }

// dayOf returns a day; ok is false for a date that does not exist.
func dayOf(y int, m time.Month, d int) (span, bool) {
	t := date(y, m, d)
	return newSpan(t, t.AddDate(0, 0, 1), day), y > 0 && t.Month() == m && t.Day() == d
}

// unitContaining returns the calendar unit that contains t.
func unitContaining(t time.Time, u unit) span {
	t = midnight(t)
	monday := t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
	switch u {
	case week:
		return newSpan(monday, monday.AddDate(0, 0, 7), u)
	case weekend:
		return newSpan(monday.AddDate(0, 0, 5), monday.AddDate(0, 0, 7), u)
	case month:
		return months(t.Year(), t.Month(), 1, u)
	case quarter:
		return months(t.Year(), (t.Month()-1)/3*3+1, 3, u)
	case season:
		return months(t.Year(), t.Month()/3*3, 3, u) // month 0 is December of the year before
	case year:
		return months(t.Year(), 1, 12, u)
	case decade:
		return months(t.Year()/10*10, 1, 120, u)
	case day:
	}
	return newSpan(t, t.AddDate(0, 0, 1), day)
}

func months(y int, m time.Month, n int, u unit) span {
	from := date(y, m, 1)
	return newSpan(from, from.AddDate(0, n, 0), u)
}

// addUnits adds n units to t. A day that does not exist in the resulting month becomes its last
// day.
func addUnits(t time.Time, n int, u unit) time.Time {
	each := 0
	switch u {
	case day:
		return t.AddDate(0, 0, n)
	case week, weekend:
		return t.AddDate(0, 0, 7*n)
	case month:
		each = 1
	case quarter, season:
		each = 3
	case year:
		each = 12
	case decade:
		each = 120
	}
	first := date(t.Year(), t.Month()+time.Month(n*each), 1)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

// occurrence selects one of the recurrences of a period.
type occurrence int

const (
	latest occurrence = iota // the latest that has begun
	last                     // the latest that is over
	this                     // the one in the week or year of the reference time
	next                     // the first that has not begun
)

// pickOccurrence selects one of the spans that recur every period. s is any one of them.
func pickOccurrence(s span, period unit, w occurrence, reference time.Time) span {
	today := midnight(reference)
	move := func(n int) span { return newSpan(addUnits(s.from, n, period), addUnits(s.to, n, period), s.unit) }
	// Move to the latest that has begun; the others are relative to it.
	for !s.from.After(today) {
		s = move(1)
	}
	for s.from.After(today) {
		s = move(-1)
	}
	running := s.to.After(today)
	switch {
	case w == next, w == this && !running && move(1).from.Before(unitContaining(today, period).to):
		return move(1)
	case w == last && running:
		return move(-1)
	}
	return s
}

// calendarUnit returns the unit that contains the reference time, or the one before or after it.
func calendarUnit(u unit, w occurrence, reference time.Time) span {
	now := unitContaining(reference, u)
	switch w {
	case last:
		return unitContaining(addUnits(now.from, -1, u), u)
	case next:
		return unitContaining(addUnits(now.from, 1, u), u)
	case this, latest:
	}
	return now
}

// seasonOf returns the season that begins in month m of year y.
func seasonOf(y int, m time.Month) span { return months(y, m, 3, season) }
