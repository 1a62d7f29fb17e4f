package rules

import (
	"slices"
	"strconv"
	"strings"
	"time"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds the values in a text that may change while the thing stays the same: the day of an appointment, the
// hour of a meeting, the rent, the dose.

// valueKind is what a value is.
type valueKind string

const (
	valueWeekly valueKind = "weekly" // a day of every week: "Mondays", 每周二
	valueDay    valueKind = "day"    // one day: "12 March", "the 17th", "Thursday", 3月12号
	valueHour   valueKind = "hour"   // a time of day: "half past eight", 九点
	valueAmount valueKind = "amount" // a price, a dose, a number of things: "780 euros a month", 三百瓶
	valuePlace  valueKind = "place"  // where something takes place: "the town hall", 悦宾楼
)

// statedValue is a value in a text.
type statedValue struct {
	kind       valueKind
	text       string
	start, end int
}

const (
	weekdayName = `(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day`
	monthWord   = `(?:January|February|March|April|May|June|July|August|September|October|November|December)`
	ordinalWord = `(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth)`
	hourWord    = `(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon|midnight|\d{1,2}(?::\d{2})?)`
	hanDigits   = `[\d一二两三四五六七八九十百千万]`
	hanWeekday  = `(?:周|星期|礼拜)[一二三四五六日天]`
)

// valueForm is the form of values of a kind. The group v, if it has one, is the value.
type valueForm struct {
	kind valueKind
	form *regexp.Regexp
}

// valueForms are in order: what an earlier one matches is no value of a later one.
var (
	englishValues = []valueForm{
		{valueWeekly, regexp.MustCompile(`\b(?:[Ee]very (?:other |second )?` + weekdayName + `|(?:the )?(?:first|second|third|fourth|last) ` + weekdayName + ` (?:of|in) (?:the|each|every) month|` + weekdayName + `s)\b`)},
		{valueDay, regexp.MustCompile(`\b(?:the (?:week|weekend) of )?(?:(?:next |this )?` + weekdayName + `,? )?(?:(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)? ` + monthWord + `|the ` + ordinalWord + ` of ` + monthWord + `|` + monthWord + ` (?:the )?\d{1,2}(?:st|nd|rd|th)?\b)(?:,? \d{4}\b)?`)},
		{valueDay, regexp.MustCompile(`\b(?P<v>the ` + ordinalWord + `)(?:[.,;!?)]| (?:now|instead|because|after|from|so|and|but|at)\b|$)`)},
		{valueDay, regexp.MustCompile(`\b(?:next |this )?` + weekdayName + `\b`)},
		{valueDay, regexp.MustCompile(`\b(?:in|to|until|till|for|on|is|are) (?P<v>(?:(?:early|late|mid|next)[ -])?(?:` + monthWord + `|spring|summer|autumn|winter)(?: \d{4})?|next (?:week|month|year)|tomorrow)\b`)},
		{valueHour, regexp.MustCompile(`\b(?:half past|(?:a )?quarter (?:past|to)|(?:five|ten|twenty|twenty-five) (?:past|to)) ` + hourWord + `(?: in the (?:morning|afternoon|evening)| at night| ?[ap]\.?m\b\.?)?`)},
		{valueHour, regexp.MustCompile(`\b` + hourWord + ` ?(?:o'clock|in the (?:morning|afternoon|evening)|at night|[ap]\.?m\b\.?)`)},
		{valueHour, regexp.MustCompile(`\b(?:at|to|until|till|from|by|for) (?P<v>` + hourWord + `)(?:[.,;!?)]| (?:now|instead|on|every|because|so|and|but|sharp|today)\b|$)`)},
		{valueAmount, regexp.MustCompile(`(?:[$€£] ?)?\b\d+(?:[.,]\d+)*(?: ?(?:%|percent\b|euros?\b|pounds?\b|dollars?\b|bucks\b|francs?\b|quid\b|cents?\b|mg\b|milligrams?\b|mcg\b|ml\b|grams?\b|kg\b|kilos?\b|miles?\b|km\b|hours?\b|minutes?\b|bottles?\b|loaves\b|pills?\b|tablets?\b|units?\b|people\b|guests?\b))?(?: (?:a|per|each|every) (?:day|week|fortnight|month|quarter|year|night|hour|person)\b)?`)},
		{valuePlace, regexp.MustCompile(`(?:'s|\b[Tt]he|\b[Oo]ur) (?:[\p{L}'-]+ ){1,4}?(?:is|are|will be|takes place|take place)(?: now)?(?: held)? (?:at|in) (?P<v>(?:the )?[\p{L}'-]+(?: [\p{L}'-]+){0,3}?)(?:[.,;!]|$| (?:now|on|from|instead|because|and|after)\b)`)},
	}
	hanValues = []valueForm{
		{valueWeekly, regexp.MustCompile(`每个?` + hanWeekday)},
		{valueDay, regexp.MustCompile(`(?:\d{4}年)?(?:\d{1,2}|[一二三四五六七八九十]{1,3})月(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号]?|(?:这个?月|下个?月|本月)?(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号]|(?:[下上这]个?)?` + hanWeekday)},
		{valueDay, regexp.MustCompile(`(?:\d{4}年)?(?:\d{1,2}|[一二三四五六七八九十]{1,3})月[底初中]?|[下本]个?月|明天|后天|明年`)},
		{valueHour, regexp.MustCompile(`(?:凌晨|清晨|早上|上午|中午|下午|傍晚|晚上)?(?:\d{1,2}|[一二两三四五六七八九十]{1,3})(?:点钟?(?:半|一刻|三刻|` + hanDigits + `{1,3}分)?|:\d{2})`)},
		{valueAmount, regexp.MustCompile(`` + hanDigits + `+(?:\.\d+)?(?:块钱?|元|瓶|片|粒|颗|支|包|盒|箱|份|桌|桶|公斤|斤|毫克|毫升|平米|人|%)|[一二两三四五六七八九][百千万][一二三四五六七八九](?:[百千万][一二三四五六七八九]?)?`)},
		{valuePlace, regexp.MustCompile(`(?:[定订约排]在|改[到在]|(?:宴|会|礼|席|派对|聚餐|课|展|赛|班)[^，。]{0,8}?在)(?P<v>\p{Han}{2,8}?)(?:举行|举办|办|吃|开|集合|见面|[，,。]|$)`)},
	}
)

// valuesIn returns the values of a text by their places.
func valuesIn(s string) []statedValue {
	forms := englishValues
	if isHan(s) {
		forms = hanValues
	}
	var out []statedValue
	for _, f := range forms {
		for _, at := range f.form.FindAllStringSubmatchIndex(s, 8) {
			group := max(0, f.form.SubexpIndex("v"))
			start, end := at[2*group], at[2*group+1]
			isTaken := slices.ContainsFunc(out, func(v statedValue) bool { return start < v.end && v.start < end })
			if !isTaken && !isYear(s[start:end]) {
				out = append(out, statedValue{f.kind, s[start:end], start, end})
			}
		}
	}
	slices.SortFunc(out, func(a, b statedValue) int { return a.start - b.start })
	return out
}

var bareYear = regexp.MustCompile(`^(?:19|20)\d{2}$`)

func isYear(s string) bool { return bareYear.MatchString(s) }

// comparable returns the kinds of older values that a value may take the place of.
func (v *statedValue) comparable() []valueKind {
	switch {
	case v.kind == valueDay && onlyWeekday.MatchString(v.text):
		return []valueKind{valueWeekly, valueDay}
	case onlyNumber.MatchString(v.text):
		return []valueKind{valueAmount, valueHour}
	}
	return []valueKind{v.kind}
}

// onlyValue returns the one value of a kind in a text; ok is false if there are none or several.
func onlyValue(s string, kind valueKind) (v statedValue, ok bool) {
	for _, found := range valuesIn(s) {
		if found.kind != kind {
			continue
		}
		if ok {
			return statedValue{}, false
		}
		v, ok = found, true
	}
	return v, ok
}

var (
	anyWeekday    = regexp.MustCompile(weekdayName)
	anyHanWeekday = regexp.MustCompile(hanWeekday)
	anyMonth      = regexp.MustCompile(monthWord)
	hanMonth      = regexp.MustCompile(`^(?:\d{4}年)?(?:\d{1,2}|[一二三四五六七八九十]{1,3})月`)
	dayOfMonth    = regexp.MustCompile(`^(?:the )?(\d{1,2})(?:st|nd|rd|th)?$`)
	onlyMonth     = regexp.MustCompile(`^(?:(?:early|late|mid|next)[ -])?(?:` + monthWord + `|spring|summer|autumn|winter)(?: \d{4})?$|月$`)
	relativeMonth = regexp.MustCompile(`^(这|本|下)个?月`)
	onlyWeekday   = regexp.MustCompile(`^(?:(?:next |this )?` + weekdayName + `|(?:[下这]个?)?` + hanWeekday + `)$`)
	partOfDay     = regexp.MustCompile(`^(?:凌晨|清晨|早上|上午|中午|下午|傍晚|晚上)`)
	leadingNumber = regexp.MustCompile(`^[$€£]? ?[\d.,]*\d|^` + hanDigits + `+`)
	onlyNumber    = regexp.MustCompile(`^(?:[\d.,]*\d|` + hanDigits + `+)$`)
)

// inFormOf returns a value as an older one of its kind is written: the month stays where only the day of the month is
// said, the unit where only a number is. "" if the two cannot be compared.
func (v *statedValue) inFormOf(old *statedValue, at time.Time) string {
	switch old.kind {
	case valueDay:
		return dayInFormOf(v.text, old.text, at)
	case valueWeekly:
		return weeklyInFormOf(v.text, old.text)
	case valueHour:
		if part := partOfDay.FindString(old.text); part != "" && !partOfDay.MatchString(v.text) {
			return part + v.text
		}
	case valueAmount:
		if onlyNumber.MatchString(v.text) {
			if n := leadingNumber.FindString(old.text); n != "" && (!isHan(old.text) || len(n) < len(old.text)) {
				return strings.TrimRight(v.text, ".,") + old.text[len(n):]
			}
		}
	case valuePlace:
	}
	return v.text
}

// dayInFormOf returns a day that is said by its weekday or its number only with the rest of an older one.
func dayInFormOf(day, old string, at time.Time) string {
	if onlyWeekday.MatchString(old) && !onlyWeekday.MatchString(day) || onlyMonth.MatchString(old) && !onlyMonth.MatchString(day) {
		return "" // the older one is of every week, or the new one only says it more exactly
	}
	if onlyWeekday.MatchString(day) && !onlyWeekday.MatchString(old) && !at.IsZero() {
		if isHan(day) {
			return strings.TrimPrefix(resolveDates("改到"+day, at), "改到")
		}
		return strings.TrimSuffix(strings.TrimPrefix(resolveDates("It is on "+day+".", at), "It is on "), ".")
	}
	if isHan(day) {
		if m := relativeMonth.FindStringSubmatch(day); m != nil && !at.IsZero() {
			ahead := 0
			if m[1] == "下" {
				ahead = 1
			}
			month := time.Date(at.Year(), at.Month()+time.Month(ahead), 1, 0, 0, 0, 0, time.UTC)
			return strconv.Itoa(int(month.Month())) + "月" + day[len(m[0]):]
		}
		if month := hanMonth.FindString(old); month != "" && hanOnlyDay.MatchString(day) {
			return month + day
		}
		return day
	}
	m := dayOfMonth.FindStringSubmatch(day)
	if month := anyMonth.FindString(old); m != nil && month != "" {
		return m[1] + " " + month
	}
	return day
}

var ordinals = strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth")

// dateOf returns a day that is said by its number with the month in which it comes next.
func (v *statedValue) dateOf(at time.Time) string {
	day := 0
	if m := dayOfMonth.FindStringSubmatch(v.text); m != nil {
		day, _ = strconv.Atoi(m[1])
	} else if name, ok := strings.CutPrefix(v.text, "the "); ok {
		day = slices.Index(ordinals, name) + 1
	}
	if v.kind != valueDay || day == 0 || at.IsZero() {
		return v.text
	}
	if day <= at.Day() {
		at = at.AddDate(0, 0, 1-at.Day()).AddDate(0, 1, 0)
	}
	return strconv.Itoa(day) + " " + at.Month().String()
}

// weeklyInFormOf returns a weekday as what takes place every week on it.
func weeklyInFormOf(day, old string) string {
	if isHan(old) {
		if weekday := anyHanWeekday.FindString(day); weekday != "" {
			return anyHanWeekday.ReplaceAllString(old, weekday)
		}
		return ""
	}
	weekday := anyWeekday.FindString(day)
	switch {
	case weekday == "" || strings.Contains(day, "month"):
		return weekday
	case strings.HasSuffix(old, "s") || strings.Contains(old, "month"):
		return weekday + "s"
	}
	return anyWeekday.ReplaceAllString(old, weekday)
}

// A day in the words of several rules.
const (
	calendarDay   = `(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?(?:the )?(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?(?:January|February|March|April|May|June|July|August|September|October|November|December)|(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}(?:st|nd|rd|th)?)`
	hanNumeralDay = `(?:[下上这]?个?(?:周|星期|礼拜)[一二三四五六日天]|(?:\d{1,2}|[一二三四五六七八九十]{1,2})月(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号]?|(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号])`
)

var hanOnlyDay = regexp.MustCompile(`^(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号]$`)
