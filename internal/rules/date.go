package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/grammar"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
	"github.com/slipboxhq/slipbox/internal/when"
)

// relativeWords matches a time expression that depends on the day on which it was said.
var relativeWords = regexp.MustCompile(`(?i)\b(?:yesterday|today|tonight|tomorrow|last|past|previous|this|next|coming|ago|from now|from today|before last|after tomorrow|mon|monday|tues?|tuesday|wed|wednesday|thurs?|thursday|fri|friday|sat|saturday|sun|sunday)\b|昨|今|明|前天|后天|上|下|这|本|去年|前年|后年|[前后]$|周|星期|礼拜`)

// futureWords matches a sentence about the future.
var futureWords = regexp.MustCompile(`(?i)\b(?:will|'ll|going to|gonna|plan(?:s|ning)?|planned|next|upcoming|tomorrow|soon|looking forward|can't wait|hope to|hoping to|want to|would like|scheduled|(?:is|are|am|'m|'re) (?:\w+ing))\b|'ll\b|打算|计划|准备|将|要去|会去|想去|下周|明天`)

// bareWeekday matches a weekday alone or with "this", which may be the last or the next one.
var bareWeekday = regexp.MustCompile(`(?i)^(?:this )?(?:mon|tues?|wednes|wed|thurs?|fri|satur|sat|sun)(?:day)?$|^[这本]?(?:周|星期|礼拜)[一二三四五六日天]$`)

// The tense of what a sentence says about a day.
type tense int

const (
	tenseUnknown tense = iota
	tensePast
	tenseAhead
)

var (
	// scheduled matches nouns for what is agreed on for a day.
	scheduled = regexp.MustCompile(`(?i)\b(?:appointments?|deadlines?|exams?|meetings?|interviews?|tests?|flights?|reservations?|bookings?|surgery|checkups?|check-ups?|presentations?|due|rehearsals?|conferences?|sessions?|shifts?|lessons?|class(?:es)?|tickets?)\b`)
	// agreed matches verbs in the past that agree on a day to come.
	agreed = wordSet("booked scheduled arranged reserved agreed rescheduled postponed invited registered")

	hanAhead = regexp.MustCompile(`有(?:一?[个场次门节]|事|课|会|考|约)|打算|计划|准备|要|会|将|想|约好|安排|截止|提醒|考试|面试|开会|出发|[去飞见搬]|是.{0,6}(?:日|天|截止)`)
	// hanWeekly matches what takes place on the same day of each week, hanOnce says that it is one of these days.
	hanWeekly     = regexp.MustCompile(`课|培训|训练|排练|值班|练|学`)
	hanOneOfWeeks = regexp.MustCompile(`[这下上本那]个?(?:周|星期|礼拜|次|节)|今天|明天|考`)
	hanPast       = regexp.MustCompile(`[了过]|刚|已经|之前|很|非常|特别|太`)
)

// tenseAt returns the tense of what a sentence says about the day named at start..end: that of the
// nearest verb before it in the clause, else of the first verb behind it.
func tenseAt(s string, start, end int) tense {
	if isHan(s) {
		if hanMovedTo.MatchString(s[:start]) {
			return tenseAhead
		}
		switch past := hanPast.MatchString(s); {
		case past && hanPlan.MatchString(s):
			return tenseUnknown
		case past:
			return tensePast
		case hanAhead.MatchString(s):
			return tenseAhead
		}
		return tenseUnknown
	}
	words := grammar.English(s)
	at := slices.IndexFunc(words, func(w grammar.Word) bool { return w.Start >= start })
	if at < 0 {
		return tenseUnknown
	}
	before := ""
	if at > 0 {
		before = strings.ToLower(words[at-1].Text)
	}
	if before == "since" {
		return tensePast
	}
	if startsClause(s[:start]) && dateIsSubject.MatchString(s[end:]) {
		for i := at + 1; i < len(words); i++ {
			if t := verbTense(words, i); t != tenseUnknown {
				return t // "I'm out, Friday was my last day"
			}
		}
	}
	for i := at - 1; i >= 0; i-- {
		if t := verbTense(words, i); t != tenseUnknown {
			verb := strings.ToLower(words[i].Text)
			booked := (verb == "got" || verb == "made") && scheduled.MatchString(s[words[i].End:start])
			switch {
			case t == tensePast && (before == "for" || before == "by" || before == "until" || before == "to") && (booked || agreed[verb] || verb == "moved" || verb == "set" || verb == "planned"):
				return tenseAhead
			case t == tensePast && (booked || agreed[verb]):
				return tenseUnknown // when it was agreed, or what for
			}
			return t
		}
	}
	for i := at; i < len(words); i++ {
		if words[i].Start < end {
			continue
		}
		if t := verbTense(words, i); t != tenseUnknown {
			return t
		}
	}
	if scheduled.MatchString(s) {
		return tenseAhead
	}
	return tenseUnknown
}

// startsClause reports whether a new clause begins behind a text.
func startsClause(before string) bool {
	before = strings.TrimSpace(before)
	return before == "" || strings.HasSuffix(before, ",") || strings.HasSuffix(before, ";")
}

// verbTense returns the tense that a word gives its clause; tenseUnknown if it is no verb.
func verbTense(words []grammar.Word, i int) tense {
	w := strings.ToLower(words[i].Text)
	switch {
	case w == "was" || w == "were" || w == "did" || w == "had" || w == "went":
		return tensePast
	case w == "is" || w == "'s" && words[i].Tag == "VBZ" || w == "will" || w == "'ll" || w == "are" || w == "'re" || w == "am" || w == "'m":
		return tenseAhead
	}
	switch words[i].Tag {
	case "VBD":
		return tensePast
	case "VBN":
		for j := i - 1; j >= max(0, i-3); j-- {
			switch strings.ToLower(words[j].Text) {
			case "is", "are", "be", "am", "'s", "'m", "'re":
				return tenseAhead // "is planned"
			case "was", "were", "been", "has", "have", "had", "'ve", "got":
				return tensePast
			}
		}
		return tenseUnknown
	case "VBZ", "VBP", "MD", "VB":
		return tenseAhead
	}
	return tenseUnknown
}

// beforeDate matches a date, behind the weekday that it falls on.
var beforeDate = regexp.MustCompile(`^,? (?:the )?(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? ` + monthWord + `|` + monthWord + ` \d)`)

// isOfDate reports whether a weekday is that of a date behind it.
func isOfDate(behind string) bool { return beforeDate.MatchString(behind) }

// resolveDates replaces the relative dates of a sentence by dates as of saidAt: "yesterday"
// becomes "on 7 May 2023". A weekday is the next one if the sentence looks ahead and the last one
// if it looks back; otherwise it stays, with the date on which it was said. It changes nothing if
// saidAt is zero.
func resolveDates(s string, saidAt time.Time) string {
	if saidAt.IsZero() {
		return s
	}
	found := when.Parse(s, saidAt)
	for _, r := range slices.Backward(found) {
		start, expression := r.Start, s[r.Start:r.End]
		if !relativeWords.MatchString(expression) || repeated.MatchString(s[:start]) || isOfDate(s[r.End:]) && bareWeekday.MatchString(expression) || namesAfterDay(s[:start]+expression, s[r.End:]) || bareWeekday.MatchString(expression) && (isHanWeekly(s) || weekdayRange.MatchString(s)) {
			continue
		}
		// A bound ("since last week") keeps its preposition; only the date behind it is replaced.
		if first, rest, ok := strings.Cut(expression, " "); ok && boundWords[strings.ToLower(first)] {
			inner := when.Parse(rest, saidAt)
			if len(inner) != 1 || inner[0].Start != 0 || inner[0].End != len(rest) {
				continue
			}
			start += len(first) + 1
			expression, r.From, r.To = rest, inner[0].From, inner[0].To
		}
		if r.From.IsZero() || r.To.IsZero() {
			continue
		}
		if bareWeekday.MatchString(expression) && r.From.Before(saidAt) {
			t := tenseAt(s, start, r.End)
			if t == tenseUnknown && futureWords.MatchString(s) {
				t = tenseAhead
			}
			switch t {
			case tenseAhead:
				r.From, r.To = r.From.AddDate(0, 0, 7), r.To.AddDate(0, 0, 7)
			case tenseUnknown:
				s = s[:r.End] + saidOn(s[start:r.End], saidAt) + s[r.End:]
				continue
			case tensePast:
			}
		}
		s = replaceDate(s, start, r)
	}
	return s
}

// namesAfterDay reports whether a sentence up to a weekday, and the words behind, name what takes place on that day of
// each week, as in "the Saturday market".
func namesAfterDay(until, after string) bool {
	next := strings.Fields(after)
	return len(next) > 0 && strings.HasPrefix(after, " ") && dayNouns[strings.ToLower(strings.Trim(next[0], ".,!;"))] && theWeekday.MatchString(until)
}

var theWeekday = regexp.MustCompile(`(?i)\b(?:the|a|our|my) (?:mon|tues|wednes|thurs|fri|satur|sun)day$`)

// dayNouns are nouns for what takes place on the same day of each week.
var dayNouns = wordSet("market markets class classes club group choir school shift shifts course league service paper night quiz")

// saidOn returns the note behind a weekday that may be before or behind the date on which it was
// said.
func saidOn(weekday string, saidAt time.Time) string {
	day := saidAt.UTC()
	if isHan(weekday) {
		return fmt.Sprintf("（%d年%d月%d日说）", day.Year(), int(day.Month()), day.Day())
	}
	return " (said on " + when.Words(day) + ")"
}

// hanDays matches several weekdays, which come again.
var hanDays = regexp.MustCompile(`(?:周|星期|礼拜)[一二三四五六日天][、和到至与](?:周|星期|礼拜)?[一二三四五六日天]`)

// weekdayRange matches the days of a week from one to another, which come again.
var weekdayRange = regexp.MustCompile(`(?i)\b(?:mon|tues|wednes|thurs|fri|satur|sun)days? (?:to|until|till|through|and) (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b`)

// hanMovedTo matches words in front of the day that something was moved to.
var hanMovedTo = regexp.MustCompile(`(?:` + hanMoved + `)$`)

// isHanWeekly reports whether a Chinese sentence tells what comes again every week.
func isHanWeekly(s string) bool {
	return hanDays.MatchString(s) || hanWeekly.MatchString(s) && !hanOneOfWeeks.MatchString(s)
}

// repeated matches words before a day that comes again and again: "every Sunday".
var repeated = regexp.MustCompile(`(?i)\b(?:every|each|most|any|alternate|every (?:other|second|single))\s+$|(?:每个?|一般|通常|平时|总是|都是|经常)$`)

var boundWords = wordSet("since before until till after from by")

// datePrepositions matches words before a date that the date's own preposition replaces.
// keptPrepositions matches those that stay.
var (
	datePrepositions = regexp.MustCompile(`(?i)(?:^|\s)(?:on|in|at|during|over|the|earlier|later|back|just|all the way|sometime|early|late)\s+$`)
	keptPrepositions = regexp.MustCompile(`(?i)(?:^|\s)(?:since|before|until|till|after|from|by|for|of|to|than|between|and|through)\s+(?:the\s+)?$`)
)

// replaceDate replaces the time expression of s from start to r.End by the name of the range r.
func replaceDate(s string, start int, r when.Range) string {
	before, after := s[:start], s[r.End:]
	if strings.ContainsFunc(s[start:r.End], func(c rune) bool { return unicode.Is(unicode.Han, c) }) {
		return before + chineseDate(r) + after
	}
	preposition, date := englishDate(r)
	if season := seasonName.FindString(s[start:r.End]); season != "" && dayCount(r) > 85 && dayCount(r) < 95 {
		preposition, date = "in", strings.ToLower(season)+r.From.Format(" 2006")
		if r.From.Month() == time.December {
			date += "–" + r.To.Format("06")
		}
	}
	if startsClause(before) && dateIsSubject.MatchString(after) {
		return before + date + after // "Last week was wild"
	}
	if keptPrepositions.MatchString(before) {
		return before + date + after
	}
	for datePrepositions.MatchString(before) {
		before = before[:datePrepositions.FindStringIndex(before)[0]]
		if before != "" {
			before += " "
		}
	}
	return before + preposition + " " + date + after
}

// seasonName matches the name of three months.
var seasonName = regexp.MustCompile(`(?i)\b(?:spring|summer|autumn|fall|winter)\b`)

// dateIsSubject matches the verb behind a date that is the subject of a sentence.
var dateIsSubject = regexp.MustCompile(`^(?:'s| was| is| has| had| were)\b`)

// dayCount returns the number of days of a range.
func dayCount(r when.Range) int { return int(r.To.Sub(r.From).Hours()+0.5) / 24 }

// englishDate returns the name of a range of days, and the preposition that goes with it.
func englishDate(r when.Range) (preposition, date string) {
	f := r.From
	switch n := dayCount(r); {
	case n == 1:
		return "on", when.Words(f)
	case n == 2 && f.Weekday() == time.Saturday:
		return "on", "the weekend of " + when.Words(f)
	case n == 7 && f.Weekday() == time.Monday:
		return "in", "the week of " + when.Words(f)
	case f.Day() == 1 && r.To.Equal(f.AddDate(0, 1, 0)):
		return "in", f.Format("January 2006")
	case f.YearDay() == 1 && r.To.Equal(f.AddDate(1, 0, 0)):
		return "in", f.Format("2006")
	}
	return "between", when.Words(f) + " and " + when.Words(r.To.AddDate(0, 0, -1))
}

func chineseDate(r when.Range) string {
	f := r.From
	day := func(t time.Time) string { return fmt.Sprintf("%d年%d月%d日", t.Year(), int(t.Month()), t.Day()) }
	switch n := dayCount(r); {
	case n == 1:
		return day(f)
	case n == 2 && f.Weekday() == time.Saturday:
		return day(f) + "的周末"
	case n == 7 && f.Weekday() == time.Monday:
		return day(f) + "那一周"
	case f.Day() == 1 && r.To.Equal(f.AddDate(0, 1, 0)):
		return fmt.Sprintf("%d年%d月", f.Year(), int(f.Month()))
	case f.YearDay() == 1 && r.To.Equal(f.AddDate(1, 0, 0)):
		return fmt.Sprintf("%d年", f.Year())
	}
	return day(f) + "至" + day(r.To.AddDate(0, 0, -1))
}
