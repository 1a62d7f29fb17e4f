package transfer

import (
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// dates decides how the dates of a chat are written. Messages are in the order in which they were sent: an order of day, month and
// year is right when all dates exist, none is ahead, and time does not run backwards.
type dates struct {
	file    string // whose dates they are
	order   string
	days    [][3]int       // each change of the date
	first   string         // the first date as it is written
	halves  map[string]int // hours that a mark of the clock adds, which then has twelve
	shift   int            // of the year: 543 in the calendar of Thailand
	max     int            // hour
	padded  bool           // an hour is written with a zero before it
	marks   map[string]int
	before  map[[2]string]int // how often one mark follows another on one day
	last    chatHead
	started bool
}

// maxDays bounds the changes of the date that are compared.
const maxDays = 100_000

// firstChat is the earliest date of a chat: WhatsApp began in 2009.
var firstChat = time.Date(2009, 1, 1, 0, 0, 0, 0, time.UTC)

func (d *dates) add(h chatHead) {
	if d.marks == nil {
		d.marks, d.before = map[string]int{}, map[[2]string]int{}
	}
	d.max, d.padded = max(d.max, h.clock[0]), d.padded || h.padded
	if len(d.marks) < 16 {
		d.marks[h.mark]++
	}
	if !d.started {
		d.first = h.day
	}
	if !d.started || d.last.date != h.date {
		if len(d.days) < maxDays {
			d.days = append(d.days, h.date)
		}
	} else if d.last.mark != h.mark && len(d.before) < 64 {
		d.before[[2]string{d.last.mark, h.mark}]++
	}
	d.last, d.started = h, true
}

// candidate is a possible order, with what speaks against it.
type candidate struct {
	order string
	back  int           // how often time runs backwards
	span  time.Duration // from the first to the last day
	first time.Time
	shift int
}

// decide chooses the order, or fails and says what to add.
func (d *dates) decide(now time.Time) error {
	orders := []string{"DMY", "MDY", "YMD"}
	if strings.Contains(d.first, ".") {
		orders = []string{"DMY", "YMD"} // CLDR has no language that writes the month first, with dots
	}
	if d.order != "" {
		if !slices.Contains([]string{"DMY", "MDY", "YMD"}, d.order) {
			return fault.InvalidField("dates", "must be DMY, MDY or YMD: the order of day, month and year in the file")
		}
		orders = []string{d.order}
	}
	var list []candidate
	for _, order := range orders {
		if c, ok := d.try(order, now); ok {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.back, b.back), cmp.Compare(a.span, b.span)) })
	if len(list) == 0 {
		return fault.New(fault.Invalid, "the dates of %s cannot be read in any order of day, month and year", d.file)
	}
	best := list[0]
	for _, other := range list[1:] {
		// A chat is dense: an order in which it takes several times as long is wrong. A two-digit year in front is rare.
		sparse := other.span > 3*best.span+7*24*time.Hour
		if other.back > best.back || sparse || other.first.Equal(best.first) && other.span == best.span || other.order == "YMD" {
			continue
		}
		return fault.InvalidField("dates", "is needed: whether %s is %s or %s cannot be told from %s. Say %s or %s",
			d.first, best.first.Format("2 January 2006"), other.first.Format("2 January 2006"), d.file, best.order, other.order)
	}
	d.order, d.shift = best.order, best.shift
	return nil
}

// try reads all dates in an order.
func (d *dates) try(order string, now time.Time) (c candidate, ok bool) {
	was := d.order
	defer func() { d.order = was }()
	d.order, c.order = order, order
	d.shift = 0
	if year, _, _ := d.split(d.days[0]); year > now.Year()+400 {
		d.shift, c.shift = 543, 543
	}
	var last, end time.Time
	for _, day := range d.days {
		year, month, of := d.split(day)
		at := time.Date(year, time.Month(month), of, 0, 0, 0, 0, time.UTC)
		if at.Month() != time.Month(month) || at.Day() != of || at.Before(firstChat) || at.After(now.AddDate(0, 0, 2)) {
			return c, false
		}
		if at.Before(last) {
			c.back++
		}
		if c.first.IsZero() || at.Before(c.first) {
			c.first = at
		}
		if at.After(end) {
			end = at
		}
		last = at
	}
	c.span = end.Sub(c.first)
	return c, true
}

func (d *dates) split(day [3]int) (year, month, of int) {
	switch d.order {
	case "DMY":
		year, month, of = day[2], day[1], day[0]
	case "MDY":
		year, month, of = day[2], day[0], day[1]
	default:
		year, month, of = day[0], day[1], day[2]
	}
	if year < 100 {
		year += 2000
	}
	return year - d.shift, month, of
}

//go:embed halfdays.txt
var halfDayText string

// halfDays are the hours that a name of a half of the day adds, by its letters.
var halfDays = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(halfDayText) {
		names := strings.Fields(line)
		hours, known := map[string]int{"am": 0, "pm": 12}[names[0]] // else a comment
		for _, name := range names[1:] {
			if known {
				out[name] = hours
			}
		}
	}
	return out
})

// halfDay returns what a mark of the clock adds: the longest known name at its end, which may follow other words.
func halfDay(mark string) (hours int, known bool) {
	words := strings.Fields(mark)
	for i := range words {
		if hours, known = halfDays()[strings.Join(words[i:], "")]; known {
			return hours, true
		}
	}
	return 0, false
}

// decideClock finds what the marks of the clock add.
func (d *dates) decideClock(r *reading) {
	d.halves = map[string]int{}
	if d.max > 12 {
		return
	}
	marks := slices.Sorted(maps.Keys(d.marks))
	for _, mark := range marks {
		if hours, known := halfDay(mark); known {
			d.halves[mark] = hours
		}
	}
	if len(marks) == 2 && marks[0] != "" {
		d.decidePair(marks[0], marks[1])
	}
	unknown := slices.DeleteFunc(marks, func(mark string) bool { _, known := d.halves[mark]; return known || mark == "" })
	if len(unknown) == 0 || len(d.halves) == 0 && len(unknown) == 1 && d.padded {
		return // the one is a word before the time of a clock with twenty-four hours
	}
	r.report.Doubts = append(r.report.Doubts, "whether \""+strings.Join(unknown, "\", \"")+"\" is the morning or the afternoon cannot be told from the file; "+
		"hours are taken as they are written. If that is wrong, set the phone to 24 hours and export again")
}

// decidePair decides about two marks of which one or none is known. Of unknown ones, the one that follows the other on one day is the
// afternoon.
func (d *dates) decidePair(one, other string) {
	first, known := d.halves[one]
	second, too := d.halves[other]
	forth, back := d.before[[2]string{one, other}], d.before[[2]string{other, one}]
	switch {
	case known && too:
	case known:
		d.halves[other] = 12 - first
	case too:
		d.halves[one] = 12 - second
	case forth > back:
		d.halves[one], d.halves[other] = 0, 12
	case back > forth:
		d.halves[one], d.halves[other] = 12, 0
	}
}

// at returns the time of a message.
func (d *dates) at(h chatHead, zone *time.Location) time.Time {
	year, month, of := d.split(h.date)
	hour := h.clock[0]
	if more, ok := d.halves[h.mark]; ok {
		hour = hour%12 + more
	}
	return time.Date(year, time.Month(month), of, hour, h.clock[1], h.clock[2], 0, zone)
}
