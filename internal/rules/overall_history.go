package rules

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/text"
)

// overallHistory summarizes the days in order, each behind its date, within the bound of
// characters.
func overallHistory(in memorybank.OverallInput) memorybank.History {
	chars := in.Chars
	if chars <= 0 {
		chars = defaultChars
	}
	days := slices.Clone(in.Days)
	slices.SortStableFunc(days, func(a, b memorybank.DatedText) int { return cmp.Compare(a.Date, b.Date) })
	// The newest days are added first. Each day gets an equal share of the characters, but at
	// least 60.
	var lines []string
	share := max(60, chars/max(1, len(days)))
	left := chars
	for _, day := range slices.Backward(days) {
		room := min(share, left)
		prefix := day.Date + ": "
		room -= utf8.RuneCountInString(prefix) + 1
		if room < 20 {
			break
		}
		body := extractiveSummary([]string{day.Text}, room, in.Language)
		if body == "" {
			body = text.Shorten(text.ExtractiveSentence(day.Text), room)
		}
		if body == "" {
			continue
		}
		line := prefix + body
		left -= utf8.RuneCountInString(line) + 1
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return memorybank.History{Summary: strings.Join(lines, " ")}
}

// joinParts joins sentences, with spaces between them except in Chinese.
func joinParts(parts []string, zh bool) string {
	if zh {
		return strings.Join(parts, "")
	}
	return strings.Join(parts, " ")
}

// dateSpan returns the first and the last day.
func dateSpan(days []memorybank.DatedText, to string) string {
	first, last := days[0].Date, days[0].Date
	for _, d := range days {
		first, last = min(first, d.Date), max(last, d.Date)
	}
	if first == last {
		return first
	}
	return first + to + last
}
