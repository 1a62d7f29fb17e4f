package when

import "time"

// unit is a length of the calendar.
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

// span is a stretch of whole days and the unit that it was said in.
type span struct {
	from, to time.Time
	unit     unit
	open     bool // its year was not said
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// midnight gives the day of t.
func midnight(t time.Time) time.Time { return date(t.Year(), t.Month(), t.Day()) }

func of(from, to time.Time, u unit) span { return span{from: from, to: to, unit: u} }

// exact gives a day; ok is false for one that no calendar has.
func exact(y int, m time.Month, d int) (span, bool) {
	t := date(y, m, d)
	return of(t, t.AddDate(0, 0, 1), day), y > 0 && t.Month() == m && t.Day() == d
}

// around gives the calendar unit that holds t.
func around(t time.Time, u unit) span {
	t = midnight(t)
	monday := t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
	switch u {
	case week:
		return of(monday, monday.AddDate(0, 0, 7), u)
	case weekend:
		return of(monday.AddDate(0, 0, 5), monday.AddDate(0, 0, 7), u)
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
	return of(t, t.AddDate(0, 0, 1), day)
}

func months(y int, m time.Month, n int, u unit) span {
	from := date(y, m, 1)
	return of(from, from.AddDate(0, n, 0), u)
}

// shift moves t by n units. A day that the month aimed at does not have becomes
// its last.
func shift(t time.Time, n int, u unit) time.Time {
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

// which says which of the recurring spans is meant.
type which int

const (
	latest which = iota // the latest that has begun
	last                // the latest that is over
	this                // that of the reference time's week or year
	next                // the first that has not begun
)

// pick chooses among spans that recur every period, of which one is given.
func pick(s span, period unit, w which, reference time.Time) span {
	today := midnight(reference)
	move := func(n int) span { return of(shift(s.from, n, period), shift(s.to, n, period), s.unit) }
	// Bring it to the latest that has begun; the others are steps from there.
	for !s.from.After(today) {
		s = move(1)
	}
	for s.from.After(today) {
		s = move(-1)
	}
	running := s.to.After(today)
	switch {
	case w == next, w == this && !running && move(1).from.Before(around(today, period).to):
		return move(1)
	case w == last && running:
		return move(-1)
	}
	return s
}

// calendarUnit gives the unit of the reference time, or the one before or
// after it.
func calendarUnit(u unit, w which, reference time.Time) span {
	now := around(reference, u)
	switch w {
	case last:
		return around(shift(now.from, -1, u), u)
	case next:
		return around(shift(now.from, 1, u), u)
	case this, latest:
	}
	return now
}

// seasonOf gives the season that begins in month m of year y.
func seasonOf(y int, m time.Month) span { return months(y, m, 3, season) }
