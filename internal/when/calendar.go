package when

import "time"

// unit is a unit of the calendar.
type unit int

const (
	day unit = iota
	week
	weekend
	month
	year
)

// Years outside these are numbers of something else.
const (
	firstYear = 1900
	lastYear  = 2100
)

// DayStart returns when a day begins in a zone. Where the clock is put forward at midnight, it begins later.
func DayStart(y int, m time.Month, d int, zone *time.Location) time.Time {
	noon := time.Date(y, m, d, 12, 0, 0, 0, zone)
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	if t.Day() == noon.Day() {
		return t
	}
	_, before := t.Zone()
	_, after := noon.Zone()
	return t.Add(time.Duration(after-before) * time.Second)
}

// unitAt returns the unit of the calendar that contains t, in its zone.
func unitAt(t time.Time, u unit) Range {
	y, m, d := t.Date()
	at := func(y int, m time.Month, d int) time.Time { return DayStart(y, m, d, t.Location()) }
	monday := d - (int(t.Weekday())+6)%7
	switch u {
	case week:
		return Range{at(y, m, monday), at(y, m, monday+7)}
	case weekend:
		return Range{at(y, m, monday+5), at(y, m, monday+7)}
	case month:
		return Range{at(y, m, 1), at(y, m+1, 1)}
	case year:
		return Range{at(y, 1, 1), at(y+1, 1, 1)}
	case day:
	}
	return Range{at(y, m, d), at(y, m, d+1)}
}

// unitsAway returns the unit that lies n units from t.
func unitsAway(t time.Time, n int, u unit) Range {
	start := unitAt(t, u).From
	switch u {
	case month:
		start = start.AddDate(0, n, 0)
	case year:
		start = start.AddDate(n, 0, 0)
	case week, weekend:
		start = start.AddDate(0, 0, 7*n)
	case day:
		start = start.AddDate(0, 0, n)
	}
	return unitAt(start, u)
}

// lastUnits returns the time of n units that ends today.
func lastUnits(now time.Time, n int, u unit) Range {
	today := unitAt(now, day)
	switch u {
	case month:
		return Range{today.From.AddDate(0, -n, 0), today.To}
	case year:
		return Range{today.From.AddDate(-n, 0, 0), today.To}
	case week, weekend:
		n *= 7
	case day:
	}
	return Range{today.From.AddDate(0, 0, -n), today.To}
}

// dateOf returns a year, a month of it if m is not 0, or a day of that if d is not 0. ok is false for a date that does
// not exist.
func dateOf(y, m, d int, zone *time.Location) (r Range, ok bool) {
	u, month1, day1 := day, m, d
	switch {
	case m == 0:
		u, month1, day1 = year, 1, 1
	case d == 0:
		u, day1 = month, 1
	}
	t := time.Date(y, time.Month(month1), day1, 0, 0, 0, 0, zone)
	return unitAt(t, u), y >= firstYear && y <= lastYear && int(t.Month()) == month1 && t.Day() == day1
}

// latestDate returns the latest month, or day of a month, that has begun.
func latestDate(now time.Time, m, d int) (Range, bool) {
	// The 29th of February comes every fourth year, and once in a while every eighth.
	for y := now.Year(); y >= now.Year()-8; y-- {
		if r, ok := dateOf(y, m, d, now.Location()); ok && !r.From.After(now) {
			return r, true
		}
	}
	return Range{}, false
}

// The words that select one of the recurrences of a weekday or a month.
const (
	latest = ""     // the latest that has begun
	last   = "last" // the latest that is over
	this   = "this" // that of the week or year of the reference time
	coming = "next" // the first that has not begun
)

// recurrence selects one of the days or months that recur; at returns the one that lies n weeks or years away.
func recurrence(which string, now time.Time, at func(n int) Range) Range {
	r := at(0)
	begun, over := !r.From.After(now), !r.To.After(now)
	switch {
	case which == latest && !begun, which == last && !over:
		return at(-1)
	case which == coming && begun:
		return at(1)
	}
	return r
}

// weekday returns one of the days of that name; d counts from Monday, which is 0.
func weekday(which string, now time.Time, d int) Range {
	return recurrence(which, now, func(n int) Range {
		return unitAt(unitsAway(now, n, week).From.AddDate(0, 0, d), day)
	})
}

// monthNamed returns one of the months of that name.
func monthNamed(which string, now time.Time, m int) Range {
	return recurrence(which, now, func(n int) Range {
		return unitAt(unitsAway(now, n, year).From.AddDate(0, m-1, 0), month)
	})
}
