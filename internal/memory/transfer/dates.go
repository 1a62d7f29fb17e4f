package transfer

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// dates decides how the dates of a chat are written. Messages are in the order in which they were sent: an order of day, month and
// year is right when all dates exist, none is ahead, and time does not run backwards.
type dates struct {
	order   string
	days    [][3]int       // each change of the date
	halves  map[string]int // hours that a mark of the clock adds, which then has twelve
	shift   int            // of the year: 543 in the calendar of Thailand
	max     int            // hour
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
	d.max = max(d.max, h.clock[0])
	if len(d.marks) < 16 {
		d.marks[h.mark]++
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
func (d *dates) decide(r *reading) error {
	d.decideClock(r)
	orders := []string{"DMY", "MDY", "YMD"}
	if d.order != "" {
		if !slices.Contains(orders, d.order) {
			return fault.InvalidField("dates", "must be DMY, MDY or YMD: the order of day, month and year in the file")
		}
		orders = []string{d.order}
	}
	var list []candidate
	for _, order := range orders {
		if c, ok := d.try(order, r.Now); ok {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.back, b.back), cmp.Compare(a.span, b.span)) })
	if len(list) == 0 {
		return fault.New(fault.Invalid, "the dates of the chat cannot be read in any order of day, month and year")
	}
	best := list[0]
	for _, other := range list[1:] {
		// A chat is dense: an order in which it takes several times as long is wrong. A two-digit year in front is rare.
		sparse := other.span > 3*best.span+7*24*time.Hour
		if other.back > best.back || sparse || other.first.Equal(best.first) && other.span == best.span || other.order == "YMD" {
			continue
		}
		one := d.days[0]
		return fault.InvalidField("dates", "is needed: whether %d/%d/%d is %s or %s cannot be told from the file. Say %s or %s",
			one[0], one[1], one[2], best.first.Format("2 January 2006"), other.first.Format("2 January 2006"), best.order, other.order)
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

// halfDays are the marks of the halves of a day, with the hours that each adds: those of the languages that write twelve hours
// by default, and of Chinese, Japanese and Korean, in letters alone (Unicode CLDR 48, dayPeriods: am and pm, of Korean the wide forms; of
// Chinese also the parts of the day, which are on one side of noon by its dayPeriodRules).
var halfDays = map[string]int{
	"am": 0, "pm": 12, "a": 0, "p": 12, // am and pm in any spelling
	"上午": 0, "下午": 12, "上晝": 0, "下晝": 12, "凌晨": 0, "清晨": 0, "早上": 0, "中午": 12, "晚上": 12, // zh, yue
	"午前": 0, "午後": 12, // ja
	"오전": 0, "오후": 12, // ko
	"ص": 0, "م": 12, // ar
	"صبح": 0, "شام": 12, // sd
	"بن": 0, "دن": 12, // ckb
	"πμ": 0, "μμ": 12, // el
	"pg": 0, "ptg": 12, // ms
	"pd": 0, "md": 12, // sq
	"gh": 0, "gd": 12, // so
	"wd": 0, "wb": 12, // om
	"ጥዋት": 0, "ከሰዓት": 12, // am
	"ቅቀ": 0, "ድቀ": 12, // ti
	"পূৰ্বাহ্ন": 0, "অপৰাহ্ন": 12, // as
}

// decideClock finds what the marks of the clock add. Of two that are not known, the one that follows the other on one day is the afternoon.
func (d *dates) decideClock(r *reading) {
	d.halves = map[string]int{}
	if d.max > 12 {
		return
	}
	for mark := range d.marks {
		if hours, known := halfDays[mark]; known {
			d.halves[mark] = hours
		}
	}
	if len(d.halves) > 0 || len(d.marks) != 2 {
		return
	}
	marks := slices.Sorted(maps.Keys(d.marks))
	forth, back := d.before[[2]string{marks[0], marks[1]}], d.before[[2]string{marks[1], marks[0]}]
	switch {
	case forth > back:
		d.halves[marks[0]], d.halves[marks[1]] = 0, 12
	case back > forth:
		d.halves[marks[0]], d.halves[marks[1]] = 12, 0
	default:
		r.report.Doubts = append(r.report.Doubts, "whether \""+marks[0]+"\" or \""+marks[1]+"\" is the afternoon cannot be told from the file; hours are taken as they are written")
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
