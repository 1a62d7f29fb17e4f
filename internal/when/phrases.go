package when

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// phrase is one form of time expressions, and how to read it. ok is false for what is not a time after all.
type phrase struct {
	form *regexp.Regexp
	read func(m []string, s place) (r Range, ok bool)
}

// place is where a phrase is.
type place struct {
	now    time.Time
	before string // the word before it, in lower case
}

const (
	monthForm   = `(?i:(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?)`
	weekdayForm = `((?:[Mm]on|[Tt]ues|[Ww]ednes|[Tt]hurs|[Ff]ri|[Ss]atur|[Ss]un)day)`
	dayForm     = `(\d{1,2})(?:st|nd|rd|th)?`
	countForm   = `(?i:(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten)\s+(day|week|month|year)s?)`
)

const (
	monthNames   = "janfebmaraprmayjunjulaugsepoctnovdec"
	weekdayNames = "montuewedthufrisatsun"
)

// english are the phrases that begin with a letter or a digit; the longest that matches wins.
var english = []phrase{
	{form(`(\d{4})([-/])(\d{1,2})(?:([-/])(\d{1,2}))?(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?\b`), func(m []string, s place) (Range, bool) {
		return dateOf(number(m[1]), max(number(m[3]), 1), number(m[5]), s.now.Location())
	}},
	{form(dayForm + `\s+(?:of\s+)?` + monthForm + `(?:,?\s+(\d{4})\b)?`), func(m []string, s place) (Range, bool) {
		return dayOfMonth(m[3], m[2], m[1], s)
	}},
	{form(monthForm + `\s+` + dayForm + `(?:,?\s+(\d{4}))?\b`), func(m []string, s place) (Range, bool) {
		return dayOfMonth(m[3], m[1], m[2], s)
	}},
	{form(monthForm + `,?\s+(\d{4})\b`), func(m []string, s place) (Range, bool) {
		return dateOf(number(m[2]), named(monthNames, m[1])+1, 0, s.now.Location())
	}},
	{form(monthForm), func(m []string, s place) (Range, bool) {
		return monthNamed(latest, s.now, named(monthNames, m[1])+1), isName(m[1]) && slices.Contains(introducing, s.before)
	}},
	{form(`(\d{4})\b`), func(m []string, s place) (Range, bool) {
		r, ok := dateOf(number(m[1]), 0, 0, s.now.Location())
		return r, ok && slices.Contains(introducing, s.before)
	}},
	{form(`(?i:(day before yesterday|yesterday|last night|today|tonight|tomorrow|day after tomorrow)\b)`), func(m []string, s place) (Range, bool) {
		days := map[string]int{"day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1, "day after tomorrow": 2}
		return unitsAway(s.now, days[strings.ToLower(m[1])], day), true
	}},
	{form(`(?i:(last|this|next))\s+(week|weekend|month|year)\b(\s+of\b)?`), func(m []string, s place) (Range, bool) {
		return unitsAway(s.now, map[string]int{last: -1, coming: 1}[strings.ToLower(m[1])], unitNamed(m[2])), m[3] == ""
	}},
	{form(`(?i:(last|this|next))\s+` + monthForm), func(m []string, s place) (Range, bool) {
		return monthNamed(strings.ToLower(m[1]), s.now, named(monthNames, m[2])+1), isName(m[2])
	}},
	{form(`(?:(?i:(last|this|next))\s+)?` + weekdayForm + `\b`), func(m []string, s place) (Range, bool) {
		return weekday(strings.ToLower(m[1]), s.now, named(weekdayNames, m[2])), true
	}},
	{form(countForm + `\s+ago\b`), func(m []string, s place) (Range, bool) {
		n := count(m[1])
		return unitsAway(s.now, -n, unitNamed(m[2])), n > 0 && s.before != "half"
	}},
	{form(`(?i:last|past)\s+(?:` + countForm + `|(day|week|month|year))\b`), func(m []string, s place) (Range, bool) {
		if m[3] != "" { // "the past week"; "last week" is one of the calendar
			return lastUnits(s.now, 1, unitNamed(m[3])), strings.EqualFold(m[0][:len("past")], "past")
		}
		n := count(m[1])
		return lastUnits(s.now, n, unitNamed(m[2])), n > 0
	}},
}

// introducing are the words that make a date of a year, or of a month that could be another word.
var introducing = []string{"in", "since", "before", "after", "until", "during", "of", "by", "from"}

// englishStarts are the first letters of the words that phrases begin with.
var englishStarts = func() map[string]bool {
	starts := map[string]bool{}
	for s := range strings.FieldsSeq("a an one two thr fou fiv six sev eig nin ten day yes tod ton tom las pas thi nex") {
		starts[s] = true
	}
	for names := monthNames + weekdayNames; names != ""; names = names[3:] {
		starts[names[:3]] = true
	}
	return starts
}()

func form(s string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + s + `)`) }

// dayOfMonth returns a day; without a year it is the latest.
func dayOfMonth(y, name, d string, s place) (Range, bool) {
	m := named(monthNames, name) + 1
	if y != "" {
		return dateOf(number(y), m, max(number(d), 1), s.now.Location())
	}
	r, ok := latestDate(s.now, m, max(number(d), 1))
	return r, ok && isName(name)
}

// isName reports whether a month is written as a name, not as a verb: "May", not "may".
func isName(s string) bool { return unicode.IsUpper(rune(s[0])) }

// named returns the position of a name by its first three letters.
func named(names, s string) int { return strings.Index(names, strings.ToLower(s[:3])) / 3 }

func unitNamed(s string) unit {
	switch strings.TrimPrefix(s, "个") {
	case "week", "周", "星期":
		return week
	case "weekend", "周末":
		return weekend
	case "month", "月":
		return month
	case "year", "年":
		return year
	}
	return day
}

// count returns a number in words or in digits.
func count(s string) int {
	words := []string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	s = strings.ToLower(s)
	if s == "a" || s == "an" {
		return 1
	}
	return max(slices.Index(words, s), number(s))
}

// Numbers of Chinese dates.
const (
	hanNumber = `([\d一二两三四五六七八九十]+)`
	hanDate   = `(?:` + hanNumber + `月(?:` + hanNumber + `[日号])?)`
	hanUnit   = `(天|周|个?星期|个月|年)`
)

// hanStarts are the characters that Chinese phrases begin with.
const hanStarts = "〇零一二两三四五六七八九十大前去今明后昨上这本下最过周星"

// han are the Chinese phrases.
var han = []phrase{
	{form(`([\d〇零一二三四五六七八九]{4})年` + hanDate + `?`), func(m []string, s place) (Range, bool) {
		return hanDateOf(number(m[1]), m[2], m[3], s)
	}},
	{form(`(前年|去年|今年|明年)的?` + hanDate + `?`), func(m []string, s place) (Range, bool) {
		return hanDateOf(s.now.Year()+map[string]int{"前年": -2, "去年": -1, "明年": 1}[m[1]], m[2], m[3], s)
	}},
	{form(hanDate), func(m []string, s place) (Range, bool) {
		return latestDate(s.now, number(m[1]), number(m[2]))
	}},
	{form(`(大前|前|昨|今|明|后|大后)[天日晚]`), func(m []string, s place) (Range, bool) {
		days := map[string]int{"大前": -3, "前": -2, "昨": -1, "明": 1, "后": 2, "大后": 3}
		return unitsAway(s.now, days[m[1]], day), true
	}},
	{form(`(上上|上|这|本|下)一?个?(周末|周|星期|月)([一二三四五六日天])?`), func(m []string, s place) (Range, bool) {
		u := unitNamed(m[2])
		r := unitsAway(s.now, map[string]int{"上上": -2, "上": -1, "下": 1}[m[1]], u)
		if m[3] != "" && u == week {
			r = unitAt(r.From.AddDate(0, 0, hanWeekday(m[3])), day)
		}
		return r, true
	}},
	{form(`(?:周|星期)([一二三四五六日天])`), func(m []string, s place) (Range, bool) {
		return weekday(latest, s.now, hanWeekday(m[1])), true
	}},
	{form(hanNumber + hanUnit + `[以之]?前`), func(m []string, s place) (Range, bool) {
		n := number(m[1])
		return unitsAway(s.now, -n, unitNamed(m[2])), n > 0 && n < 1000
	}},
	{form(`(?:最近|过去)` + hanNumber + hanUnit), func(m []string, s place) (Range, bool) {
		n := number(m[1])
		return lastUnits(s.now, n, unitNamed(m[2])), n > 0 && n < 1000
	}},
}

// both are the phrases that may begin with a digit.
var both = slices.Concat(english, han)

func hanDateOf(y int, m, d string, s place) (Range, bool) {
	if m != "" && number(m) == 0 || d != "" && number(d) == 0 {
		return Range{}, false
	}
	return dateOf(y, number(m), number(d), s.now.Location())
}

// hanWeekday returns the number of a weekday from Monday, which is 0.
func hanWeekday(s string) int {
	if s == "天" {
		s = "日"
	}
	return strings.Index("一二三四五六日", s) / len("一")
}

// number returns a number in digits of either kind; 0 is none.
func number(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	n, tens := 0, false
	for _, r := range strings.NewReplacer("零", "〇", "两", "二").Replace(s) {
		digit := strings.Index("〇一二三四五六七八九", string(r)) / len("一")
		switch {
		case r == '十':
			n, tens = max(n, 1)*10, true
		case tens:
			n += digit
		default:
			n = n*10 + digit
		}
	}
	return n
}
