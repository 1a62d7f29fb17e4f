package when

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Range is the period of a time expression: from From, inclusive, to To, exclusive. A zero From or To means no bound on
// that side.
type Range struct{ From, To time.Time }

// Contains reports whether t is in the range. The days of a range are those of the calendar: a time of another zone is
// compared by what the clock there showed, and one in UTC, whose zone may not be known, by the instant.
func (r Range) Contains(t time.Time) bool {
	if _, offset := t.Zone(); offset != 0 {
		t, r = onClock(t), Range{onClock(r.From), onClock(r.To)}
	}
	return (r.From.IsZero() || !t.Before(r.From)) && (r.To.IsZero() || t.Before(r.To))
}

// onClock returns what a clock in the zone of t shows, as a time in UTC. The zero time stays.
func onClock(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// Words returns the date of t, in its zone, as it is indexed with a note: "8 May 2023". It is "" for the zero
// time.
func Words(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2 January 2006")
}

// Parse returns the time expressions of a query in order, relative to the reference time and in its zone. It is pure
// and accepts any string.
func Parse(query string, reference time.Time) []Range {
	var out []Range
	for at := 0; at < len(query); {
		found, end := parseAt(query, at, reference)
		if end > at {
			out, at = append(out, found), end
			continue
		}
		at = next(query, at)
	}
	return out
}

// longest is how many bytes a phrase has at most, so that the cost stays linear.
const longest = 64

// parseAt returns the longest phrase that begins at a position; end is 0 without one.
func parseAt(query string, at int, now time.Time) (found Range, end int) {
	s := place{now: now, before: wordBefore(query[:at])}
	rest := query[at:min(len(query), at+longest)]
	var best int
	for _, p := range phrasesAt(query, at) {
		m := p.form.FindStringSubmatch(rest)
		if len(m) == 0 || len(m[0]) <= best {
			continue
		}
		if r, ok := p.read(m, s); ok {
			found, best = r, len(m[0])
		}
	}
	if best == 0 {
		return Range{}, 0
	}
	return bound(found, s, query, at+best)
}

// phrasesAt returns the phrases that may begin at a position.
func phrasesAt(query string, at int) []phrase {
	first, _ := utf8.DecodeRuneInString(query[at:])
	last, _ := utf8.DecodeLastRuneInString(query[:at])
	switch {
	case strings.ContainsRune(hanStarts, first):
		// After a number a week is counted, and what follows is not a weekday: 一周五天.
		if strings.ContainsRune("周星", first) && (strings.ContainsRune("一二两三四五六七八九十几每个", last) || unicode.IsDigit(last)) {
			return nil
		}
		return han
	case strings.ContainsRune("$€£¥#+−-.,:/_@&=%*~", last): // the rest of a number or a name: "$2022", "555-2022"
		return nil
	case first >= '0' && first <= '9':
		return both
	}
	word, _, _ := strings.Cut(query[at:min(len(query), at+3)], " ")
	if englishStarts[strings.ToLower(word)] {
		return english
	}
	return nil
}

// next returns where the next word begins, or the next Chinese character.
func next(query string, at int) int {
	inWord := true
	for i, r := range query[at:] {
		isWord := unicode.IsLetter(r) || unicode.IsDigit(r)
		isHan := unicode.Is(unicode.Han, r)
		if i > 0 && (isWord && !inWord || isHan) {
			return at + i
		}
		inWord = isWord && !isHan
	}
	return len(query)
}

// wordBefore returns the last word of what is before a phrase, without an article.
func wordBefore(before string) string {
	before = strings.ToLower(strings.TrimRight(before[max(0, len(before)-longest):], " "))
	if rest, ok := strings.CutSuffix(before, " the"); ok {
		before = rest
	}
	return before[strings.LastIndexFunc(before, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
}

// bound turns a period into an open one where the words around it say so: "since May", "before 2022", 2022年以前.
func bound(r Range, s place, query string, end int) (Range, int) {
	switch s.before {
	case "before":
		return Range{To: r.From}, end
	case "until":
		return Range{To: r.To}, end
	case "after":
		return Range{From: r.To}, end
	case "since":
		if tomorrow := unitAt(s.now, day).To; r.From.Before(tomorrow) {
			return Range{From: r.From, To: tomorrow}, end
		}
	}
	rest := query[end:]
	hasPrefix := func(prefix string) bool { return strings.HasPrefix(rest, prefix) }
	switch {
	case slices.ContainsFunc([]string{"以前", "之前"}, hasPrefix):
		return Range{To: r.From}, end + len("以前")
	case slices.ContainsFunc([]string{"以后", "之后"}, hasPrefix):
		return Range{From: r.To}, end + len("以后")
	}
	return r, end
}
