package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// screen is an output: a terminal, or a pipe or file.
type screen struct {
	w        io.Writer
	terminal bool
	moves    bool // a line can be replaced
	color    bool
	width    int // columns that text is wrapped to
	drawn    bool
	err      error // of the first write that failed
}

const (
	defaultWidth = 80
	// narrowest is the fewest columns that text is wrapped to; a terminal with fewer wraps by itself.
	narrowest = 20
	// widest keeps lines readable on a wide terminal.
	widest = 100
)

// newScreen returns the screen of an output. It writes colors and rewrites lines on a terminal alone, and not with
// NO_COLOR or TERM=dumb.
func newScreen(w io.Writer, getenv func(string) string) *screen {
	s := &screen{w: w, width: defaultWidth}
	columns, err := strconv.Atoi(getenv("COLUMNS"))
	if fd, ok := terminal(w); ok {
		dumb := getenv("TERM") == "dumb"
		s.terminal, s.moves, s.color = true, !dumb, !dumb && getenv("NO_COLOR") == ""
		if n, _, sizeErr := term.GetSize(fd); sizeErr == nil && n > 0 {
			columns, err = n, nil
		}
	}
	if err == nil && columns > 0 {
		s.width = columns
	}
	s.width = min(max(s.width, narrowest), widest)
	return s
}

// terminal returns the descriptor of an input or output that is a terminal.
func terminal(stream any) (fd int, ok bool) {
	file, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	return int(file.Fd()), true
}

// write prints a text as it is. After a write that failed nothing more is printed: all that print return that error, and the root
// command fails with it, so a caller looks at it only where it would print without end.
func (s *screen) write(text string) error {
	if s.err == nil {
		_, s.err = io.WriteString(s.w, text)
	}
	return s.err
}

// line prints a line as it is.
func (s *screen) line(format string, args ...any) error {
	return s.write(fmt.Sprintf(format+"\n", args...))
}

// json prints JSON as it is. On a terminal what would control it is written in the other form that JSON has for it.
func (s *screen) json(raw []byte) error {
	if !s.terminal {
		return s.line("%s", raw)
	}
	var b strings.Builder
	for _, r := range string(raw) {
		if controls(r) && r != '\n' && r != '\t' { // these are between the values
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return s.line("%s", b.String())
}

// value prints a value as JSON.
func (s *screen) value(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.json(raw)
}

// text prints text that others wrote, wrapped, with spaces before each line but the first, which begins with head.
func (s *screen) text(head, content string) error {
	indent := uniseg.StringWidth(head)
	for i, l := range wrap(clean(content), max(s.width-indent, narrowest/2)) {
		before := s.bold(head)
		if i > 0 {
			before = strings.Repeat(" ", indent)
		}
		s.line("%s", strings.TrimRight(before+l, " "))
	}
	return s.err
}

// details prints short values in a faint color, with as many in a line as fit.
func (s *screen) details(indent int, values ...string) error {
	var lines []string
	for _, v := range values {
		if v = clean(v); v == "" {
			continue
		}
		last := len(lines) - 1
		if last >= 0 && indent+uniseg.StringWidth(lines[last]+" · "+v) <= s.width {
			lines[last] += " · " + v
		} else {
			lines = append(lines, v)
		}
	}
	for _, l := range lines {
		s.line("%s%s", strings.Repeat(" ", indent), s.faint(l))
	}
	return s.err
}

func (s *screen) faint(text string) string { return s.paint("2", text) }
func (s *screen) bold(text string) string  { return s.paint("1", text) }

func (s *screen) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// statusf shows how far long work is, in place of the status before. Without a terminal it shows nothing.
func (s *screen) statusf(format string, args ...any) {
	if !s.moves {
		return
	}
	shown, more := cut(clean(fmt.Sprintf(format, args...)), s.width-1)
	if more != "" {
		shown, _ = cut(shown, s.width-2)
		shown += "…"
	}
	_, _ = fmt.Fprintf(s.w, "\r\x1b[K%s", shown)
	s.drawn = true
}

// done removes the status.
func (s *screen) done() {
	if s.drawn {
		_, _ = io.WriteString(s.w, "\r\x1b[K")
		s.drawn = false
	}
}

// clean returns a text that cannot control a terminal: without control characters but line feeds, and without marks that
// change the direction of what follows.
func clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r):
			return unicode.ReplacementChar
		case controls(r):
			return -1
		}
		return r
	}, s)
}

// controls reports whether a character controls a terminal, or the direction or lines of what follows.
func controls(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// flow prints text that others wrote while it comes, wrapped as text is.
type flow struct {
	*screen

	held string // what the next part may continue
	gap  string // the spaces before it
	used int    // columns of the line, with the gap
}

// add prints what a part completes. The last one completes all.
func (f *flow) add(part string, last bool) error {
	f.held += clean(part)
	var b strings.Builder
	for f.held != "" {
		piece, rest, _, _ := uniseg.FirstLineSegmentInString(f.held, -1)
		if rest == "" && !last {
			break
		}
		f.held = rest
		piece, ends := strings.CutSuffix(piece, "\n")
		word := strings.TrimRight(piece, " ")
		if f.used > 0 && f.used+uniseg.StringWidth(word) > f.width {
			b.WriteByte('\n')
			f.gap, f.used = "", 0
		}
		b.WriteString(f.gap + word)
		f.gap, f.used = piece[len(word):], f.used+uniseg.StringWidth(piece)
		if ends {
			b.WriteByte('\n')
			f.gap, f.used = "", 0
		}
	}
	return f.write(b.String())
}

// wrap breaks a text into lines of at most width columns, where a line may be broken. What has no such place is broken
// anywhere.
func wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		var line strings.Builder
		used, state := 0, -1
		for rest := paragraph; rest != ""; {
			var piece string
			piece, rest, _, state = uniseg.FirstLineSegmentInString(rest, state)
			n := uniseg.StringWidth(strings.TrimRight(piece, " "))
			if used > 0 && used+n > width {
				lines = append(lines, strings.TrimRight(line.String(), " "))
				line.Reset()
				used = 0
			}
			for n > width {
				head, tail := cut(piece, width)
				lines = append(lines, head)
				piece, n = tail, uniseg.StringWidth(strings.TrimRight(tail, " "))
			}
			line.WriteString(piece)
			used += uniseg.StringWidth(piece)
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

// cut returns the longest start of a text within width columns, at least a character, and the rest.
func cut(s string, width int) (head, tail string) {
	used, state, rest := 0, -1, s
	for rest != "" {
		var next string
		var n int
		_, next, n, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used > 0 && used+n > width {
			break
		}
		used, rest = used+n, next
	}
	return s[:len(s)-len(rest)], rest
}

// when returns a time for people, in their time zone, which it names; "" for none.
func when(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04 MST") //nolint:gosmopolitan // people read the time of their clock
}
