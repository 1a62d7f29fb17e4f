package recall

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// The frame of a context is made of whole lines:
//
//	## Episodes                    a part
//	### Friday 2026-05-08 13:56    the date of what follows
//	[1] Ada: I moved to Lisbon.    a note
//	    Yes, really!               goes on
//
// Content can make none of them: its first line stands behind a mark, every
// other one is indented by more than Markdown lets a heading be, and marks
// within it are escaped. So text of a note can neither pass for another note,
// nor for a heading, nor cite what it does not come from.
const indent = "    "

func partHeading(title string) string { return "## " + title + "\n" }

// datedHeading dates what follows it, in UTC.
func datedHeading(at time.Time) string { return "### " + day(at) + at.UTC().Format(" 15:04") + "\n" }

// groupHeading is datedHeading for the first of a group. Midnight is what
// dates without a time say, so it is left out.
func groupHeading(at time.Time) string {
	if at.UTC().Truncate(24 * time.Hour).Equal(at) {
		return dayHeading(at)
	}
	return datedHeading(at)
}

// dayHeading dates what follows it by the day.
func dayHeading(at time.Time) string { return "### " + day(at) + "\n" }

func day(at time.Time) string { return at.UTC().Format("Monday 2006-01-02") }

// line shows a note behind its mark.
func line(mark int, shown string) string {
	return "[" + strconv.Itoa(mark) + "] " + shown + "\n"
}

// framed makes content safe to stand in the frame: one space-trimmed line
// under the other without blank ones, and without what is not to be seen.
func framed(content string) string {
	var b strings.Builder
	b.Grow(len(content) + len(content)/16)
	for l := range strings.SplitSeq(visible(content), "\n") {
		l = strings.TrimRight(l, " \t")
		if b.Len() == 0 {
			l = strings.TrimLeft(l, " \t")
		}
		if strings.TrimSpace(l) == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n" + indent)
		}
		escape(&b, l)
	}
	return b.String()
}

// visible drops control characters, and those that turn the direction of the
// text or hide text in it; every line break becomes the same.
func visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			return '\n'
		case unicode.IsControl(r),
			r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u206f', // direction
			r == '\ufeff', r >= '\ufff9' && r <= '\ufffb', // byte order mark, annotations
			r >= 0xe0000 && r <= 0xe007f: // tags: ASCII that nobody sees
			return -1
		}
		return r
	}, s)
}

// escape writes a line with a backslash where it has the form of a mark, [1],
// or of a control token of a chat template, <|…|>.
func escape(b *strings.Builder, l string) {
	from := 0
	for i := range len(l) {
		if l[i] == '[' && isMark(l[i+1:]) || l[i] == '<' && strings.HasPrefix(l[i+1:], "|") {
			b.WriteString(l[from:i])
			if l[i] == '[' {
				b.WriteString(`\[`)
			} else {
				b.WriteString(`<\`)
			}
			from = i + 1
		}
	}
	b.WriteString(l[from:])
}

// isMark tells whether the text behind a bracket goes on like a mark.
func isMark(rest string) bool {
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	return digits > 0 && strings.HasPrefix(rest[digits:], "]")
}

// maxLabel bounds the name of a speaker, in bytes.
const maxLabel = 128

// labelOf names who speaks in a note: attributes.speaker, name or role, or the
// role that the content begins with. "" is nobody.
func labelOf(n *memory.Note) string {
	for _, key := range []string{"speaker", "name", "role"} {
		if s, ok := n.Attributes[key].(string); ok && len(s) <= maxLabel {
			if s = strings.Join(strings.Fields(framed(s)), " "); s != "" {
				return s
			}
		}
	}
	for _, role := range []string{"assistant", "user"} {
		if strings.HasPrefix(n.Content, role+":") {
			return role
		}
	}
	return ""
}

// labelled puts a label before content that does not begin with it.
func labelled(label, content string) string {
	if label == "" || strings.HasPrefix(strings.ToLower(content), strings.ToLower(label)+":") {
		return content
	}
	return label + ": " + content
}

// sessionOf is attributes.session, a string or a number; "" is none.
func sessionOf(n *memory.Note) string {
	switch s := n.Attributes["session"].(type) {
	case string:
		return "s" + s
	case float64:
		return "n" + strconv.FormatFloat(s, 'g', -1, 64)
	case interface{ String() string }: // a number that JSON kept as it was written
		return "n" + s.String()
	}
	return ""
}
