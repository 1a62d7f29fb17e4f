package contexts

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The frame of a context consists of whole lines:
//
//	## Episodes                    a part
//	### Friday 2026-05-08 13:56 UTC    the date of the notes below
//	[1] Ada: I moved to Lisbon.    a note
//	    Yes, really!               its second line
//
// Content can produce none of them: its first line follows a mark, its other lines are indented by
// more than Markdown allows for a heading, and citations and tags inside it are escaped. So the text of
// a note cannot pass for another note or a heading, cite a note that it does not come from, or end the
// message that holds it.
const indent = "    "

func partHeading(title string) string { return "## " + title + "\n" }

// timeHeading dates the notes below it by day and time, which says its zone.
func timeHeading(at time.Time) string {
	return "### " + formatDay(at) + at.Format(" 15:04 ") + memory.ZoneOf(at) + "\n"
}

// groupHeading dates a group by its first note. It leaves out midnight, which is the time of dates
// without a time.
func groupHeading(at time.Time) string {
	if h, m, s := at.Clock(); h == 0 && m == 0 && s == 0 && at.Nanosecond() == 0 {
		return dayHeading(at)
	}
	return timeHeading(at)
}

// dayHeading dates the notes below it by day.
func dayHeading(at time.Time) string { return "### " + formatDay(at) + "\n" }

func formatDay(at time.Time) string { return at.Format("Monday 2006-01-02") }

// noteLine returns the line of a note: its mark and its framed text.
func noteLine(mark int, framed string) string {
	return "[" + strconv.Itoa(mark) + "] " + framed + "\n"
}

// frameContent makes content safe for the frame: it trims and indents the lines, drops blank lines
// and invisible characters, and escapes citations and tags.
func frameContent(content string) string {
	var b strings.Builder
	b.Grow(len(content) + len(content)/16)
	for l := range strings.SplitSeq(text.EscapeMarks(visibleText(content)), "\n") {
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
		b.WriteString(l)
	}
	return b.String()
}

// visibleText returns s without control characters and without those that change the direction of
// the text or hide text in it. Every line break becomes "\n".
func visibleText(s string) string {
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
			r >= 0xe0000 && r <= 0xe007f: // tags: invisible ASCII
			return -1
		}
		return r
	}, s)
}

// maxLabel bounds the name of a speaker, in bytes.
const maxLabel = 128

// speakerOf returns who speaks in a note: attributes.speaker, name or role, or else the role at the
// start of the content. "" means that nobody is named.
func speakerOf(n *memory.Note) string {
	for _, key := range []string{"speaker", "name", "role"} {
		if s, ok := n.Attributes[key].(string); ok && len(s) <= maxLabel {
			if s = strings.Join(strings.Fields(frameContent(s)), " "); s != "" {
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

// fileOf returns which file a passage is of, and its page; "" for other notes.
func fileOf(n *memory.Note) string {
	name, page := memory.FileOf(n)
	name = strings.Join(strings.Fields(frameContent(name)), " ")
	if name == "" || page == 0 {
		return name
	}
	return name + ", p. " + strconv.FormatInt(page, 10)
}

// withSpeaker puts the speaker before the content, unless the content starts with it.
func withSpeaker(speaker, content string) string {
	if speaker == "" || strings.HasPrefix(text.Fold(content), text.Fold(speaker)+":") {
		return content
	}
	return speaker + ": " + content
}

// sessionOf returns attributes.session, a string or a number, as a key; "" without a session.
func sessionOf(n *memory.Note) string {
	switch s := n.Attributes["session"].(type) {
	case string:
		return "s" + s
	case float64:
		return "n" + strconv.FormatFloat(s, 'g', -1, 64)
	case interface{ String() string }: // a json.Number, as it was written
		return "n" + s.String()
	}
	return ""
}
