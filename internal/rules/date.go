package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/when"
)

// relativeWords matches a time expression that depends on the day on which it was said.
var relativeWords = regexp.MustCompile(`(?i)\b(?:yesterday|today|tonight|tomorrow|last|past|previous|this|next|coming|ago|from now|from today|before last|after tomorrow|mon|monday|tues?|tuesday|wed|wednesday|thurs?|thursday|fri|friday|sat|saturday|sun|sunday)\b|昨|今|明|前天|后天|上|下|这|本|去年|前年|后年|[前后]$|周|星期|礼拜`)

// futureWords matches a sentence about the future.
var futureWords = regexp.MustCompile(`(?i)\b(?:will|'ll|going to|gonna|plan(?:s|ning)?|planned|next|upcoming|tomorrow|soon|looking forward|can't wait|hope to|hoping to|want to|would like|scheduled|(?:is|are|am|'m|'re) (?:\w+ing))\b|'ll\b|打算|计划|准备|将|要去|会去|想去|下周|明天`)

// bareWeekday matches a weekday alone, which may be the last or the next one.
var bareWeekday = regexp.MustCompile(`(?i)^(?:mon|tues?|wednes|wed|thurs?|fri|satur|sat|sun)(?:day)?$|^(?:周|星期|礼拜)[一二三四五六日天]$`)

// resolveDates replaces the relative dates of a sentence by dates as of saidAt: "yesterday"
// becomes "on 7 May 2023". It changes nothing if saidAt is zero.
func resolveDates(s string, saidAt time.Time) string {
	if saidAt.IsZero() {
		return s
	}
	found := when.Parse(s, saidAt)
	for _, r := range slices.Backward(found) {
		start, expression := r.Start, s[r.Start:r.End]
		if !relativeWords.MatchString(expression) {
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
		if bareWeekday.MatchString(expression) && futureWords.MatchString(s) && r.From.Before(saidAt) {
			r.From, r.To = r.From.AddDate(0, 0, 7), r.To.AddDate(0, 0, 7)
		}
		s = replaceDate(s, start, r)
	}
	return s
}

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
