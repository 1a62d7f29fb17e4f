package when

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Digits and numbers of Chinese: "3", "十二", "二〇二三".
const (
	hanNumber = `(\d{1,3}|[一二两三四五六七八九十]{1,3}|半)`
	hanDay    = `(\d{1,2}|[一二三四五六七八九十]{1,3})(?:日|号)`
	hanMonth  = `(\d{1,2}|[一二三四五六七八九十]{1,2})月`
	hanYear   = `(\d{4}|[〇零一二三四五六七八九]{4})年`
	hanPart   = `(春天|夏天|秋天|冬天|春季|夏季|秋季|冬季)`
)

// rule is one Chinese phrase: its form, and how to read it. ok is false for a date that does not
// exist.
type rule struct {
	form *regexp.Regexp
	read func(m []string, reference time.Time) (s span, ok bool)
}

// hanRules are tried in order at each position; the longest match wins.
var hanRules = []rule{
	{anchored(hanYear + `(?:` + hanMonth + `(?:` + hanDay + `)?|` + hanPart + `)?`), func(m []string, _ time.Time) (span, bool) {
		return hanDate(hanInt(m[1]), m[2], m[3], m[4])
	}},
	{anchored(`(大前年|前年|去年|今年|明年|后年)(?:的)?(?:` + hanMonth + `(?:` + hanDay + `)?|` + hanPart + `)?`), func(m []string, ref time.Time) (span, bool) {
		years := map[string]int{"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
		return hanDate(ref.Year()+years[m[1]], m[2], m[3], m[4])
	}},
	{anchored(`(大前天|前天|昨天|昨日|昨晚|昨夜|今天|今日|今晚|今早|明天|明日|明晚|后天|大后天)`), func(m []string, ref time.Time) (span, bool) {
		days := map[string]int{"大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "明天": 1, "明日": 1, "明晚": 1, "后天": 2, "大后天": 3}
		return unitContaining(midnight(ref).AddDate(0, 0, days[m[1]]), day), true
	}},
	{anchored(`(上上|上|这|本|下)(?:一)?个?(周末|季度|月|周|星期|礼拜)(?:(?:的)?([一二三四五六日天])|` + hanDay + `)?`), hanRecurring},
	{anchored(hanNumber + `(天|日|周|个?星期|个?礼拜|个月|年|个?季度)(?:以|之)?(前|后)`), func(m []string, ref time.Time) (span, bool) {
		n, u := hanInt(m[1]), hanUnit(m[2])
		if n == 0 {
			return span{}, false
		}
		if m[3] == "前" {
			n = -n
		}
		return unitContaining(addUnits(midnight(ref), n, u), u), true
	}},
	{anchored(`(?:最近|过去|近)(?:的)?` + hanNumber + `(天|日|周|个?星期|个?礼拜|个月|年|个?季度)`), func(m []string, ref time.Time) (span, bool) {
		n, u := hanInt(m[1]), hanUnit(m[2])
		return newSpan(addUnits(midnight(ref), -n, u), midnight(ref).AddDate(0, 0, 1), u), n > 0
	}},
	{anchored(`(?:周|星期|礼拜)([一二三四五六日天])`), func(m []string, ref time.Time) (span, bool) {
		return pickOccurrence(unitContaining(hanWeekday(unitContaining(ref, week), m[1]), day), week, latest, ref), true
	}},
	{anchored(hanMonth + `(?:` + hanDay + `)?`), func(m []string, ref time.Time) (span, bool) {
		for y := ref.Year(); y > ref.Year()-8; y-- {
			if s, ok := hanDate(y, m[1], m[2], ""); ok && !s.from.After(ref) {
				return s, true
			}
		}
		return span{}, false
	}},
}

func anchored(form string) *regexp.Regexp { return regexp.MustCompile(`^` + form) }

// chinese parses every phrase of a query.
func chinese(query string, reference time.Time) []Range {
	if !strings.ContainsFunc(query, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return nil
	}
	var out []Range
	for i := 0; i < len(query); {
		r, n := utf8.DecodeRuneInString(query[i:])
		if !strings.ContainsRune("0123456789〇零一二两三四五六七八九十半大前去今明后昨上这本下最过近周星礼", r) || i > 0 && isDigit(query[i-1]) || countsWeeks(query[:i], r) {
			i += n
			continue
		}
		var best span
		end := 0
		for _, rule := range hanRules {
			// No phrase is longer than this, so the cost stays linear.
			rest := query[i:min(len(query), i+64)]
			if m := rule.form.FindStringSubmatch(rest); len(m) > 0 && len(m[0]) > end {
				if s, ok := rule.read(m, reference); ok {
					best, end = s, len(m[0])
				}
			}
		}
		if end == 0 {
			i += n
			continue
		}
		best, end = hanBound(best, query[i:], end)
		out = append(out, Range{best.from, best.to, i, i + end})
		i += end
	}
	return out
}

// countsWeeks reports whether a week follows a number, in which case the next character is not a
// weekday: "一周五天", "每周一".
func countsWeeks(before string, r rune) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return strings.ContainsRune("周星礼", r) && (strings.ContainsRune("一二两三四五六七八九十几每个", last) || unicode.IsDigit(last))
}

// hanBound parses what makes a date a bound: "2022年以前", "上周一之后".
func hanBound(s span, query string, end int) (span, int) {
	rest := query[end:]
	for _, w := range []string{"之前", "以前"} {
		if strings.HasPrefix(rest, w) {
			return span{to: s.from}, end + len(w)
		}
	}
	for _, w := range []string{"之后", "以后"} {
		if strings.HasPrefix(rest, w) {
			return span{from: s.to}, end + len(w)
		}
	}
	return s, end
}

// hanDate returns a year, or a month, a day or a season of it.
func hanDate(y int, m, d, part string) (span, bool) {
	if y < firstYear || y > lastYear {
		return span{}, false
	}
	switch {
	case part != "":
		first := map[string]time.Month{"春": time.March, "夏": time.June, "秋": time.September, "冬": time.December}
		return seasonOf(y, first[part[:len("春")]]), true
	case m == "":
		return months(y, 1, 12, year), true
	}
	month1 := hanInt(m)
	if d != "" {
		return checkedDay(y, month1, hanInt(d))
	}
	return months(y, time.Month(month1), 1, month), month1 >= 1 && month1 <= 12
}

// hanRecurring parses "上个月", "上个月3号", "下周", "上周五", "这个周末".
func hanRecurring(m []string, reference time.Time) (span, bool) {
	u := hanUnit(m[2])
	steps := map[string]int{"上上": -2, "上": -1, "下": 1}
	s := unitContaining(addUnits(unitContaining(reference, u).from, steps[m[1]], u), u)
	switch {
	case m[3] != "":
		return unitContaining(hanWeekday(s, m[3]), day), u == week
	case m[4] != "":
		one, ok := checkedDay(s.from.Year(), int(s.from.Month()), hanInt(m[4]))
		return one, ok && u == month
	}
	return s, true
}

func hanUnit(s string) unit {
	switch strings.TrimPrefix(s, "个") {
	case "周", "星期", "礼拜":
		return week
	case "周末":
		return weekend
	case "月":
		return month
	case "季度":
		return quarter
	case "年":
		return year
	}
	return day
}

// hanWeekday returns the day of a week by its character.
func hanWeekday(s span, name string) time.Time {
	at := strings.Index("一二三四五六日", name) / len("一")
	if name == "天" {
		at = 6
	}
	return s.from.AddDate(0, 0, at)
}

// hanInt parses a number; 0 means none.
func hanInt(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	digit := func(r rune) int {
		return strings.Index("〇一二三四五六七八九", string(r)) / len("一")
	}
	n, plain := 0, true
	for _, r := range strings.NewReplacer("零", "〇", "两", "二").Replace(s) {
		switch {
		case r == '十':
			n, plain = max(n, 1)*10, false
		case plain:
			n = n*10 + digit(r)
		default:
			n += digit(r)
		}
	}
	return n
}
