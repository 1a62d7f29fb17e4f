package transfer

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// transcript reads talks that were written down: lines that begin with a name, captions of meetings (WebVTT, SubRip), and the texts
// that imessage-exporter writes.
type transcript struct{ files []string }

// turn is what one of a talk says until another one does.
type turn struct {
	name  string
	lines []string
	at    time.Time
}

func (t *turn) text() string { return strings.Join(t.lines, "\n") }

const (
	clockText = `[\[(]?\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?[\])]?`
	nameText  = `\pL[\pL\pM\pN .'’_()-]{0,39}?`
)

var (
	// spokenLine matches a line that begins with a name, which may be bold, or after a time.
	spokenLine = regexp.MustCompile(`^(?:` + clockText + ` +)?(?:\*\*|__)?(` + nameText + `)(?: *` + clockText + `)?(?:\*\*|__)?(?::(?:\*\*|__)?(?:\s+|$)|：(?:\*\*|__)?\s*)(.*)$`)
	// namedLine matches a name in angle brackets, as logs of IRC have it; a page has the same and a closing tag. taggedLine matches one
	// that WebVTT has.
	namedLine  = regexp.MustCompile(`^(?:` + clockText + ` +)?<[ @+~&%]?([^<>\s]{1,40})> +((?:[^<]|<[^/])+)$`)
	taggedLine = regexp.MustCompile(`^<v(?:\.[^ >]*)? ([^<>]{1,80})>`)
	// headedLine matches a line with a name and a time, below which are the words.
	headedLine  = regexp.MustCompile(`^(` + nameText + `) {2,}` + clockText + `$`)
	cueLine     = regexp.MustCompile(`^(?:\d+:)?\d{2}:\d{2}[.,]\d{3} +--> +`)
	cueTag      = regexp.MustCompile(`</?[\w.]+(?: [^<>]*)?>|<[\d:.]+>`)
	sentenceEnd = regexp.MustCompile(`[.?!…。？！؟۔।]["'”’»)*_]*$`)
	clockLine   = regexp.MustCompile(`^\s*\d{1,2}:\d{2}:\d{2}\s*$`)
	sentAt      = regexp.MustCompile(`^(\pL{3} \d{2}, \d{4}) +(\d{1,2}:\d{2}:\d{2} [AP]M)(?: \(.*\))?$`)
)

// roleNames are the roles by the words that APIs have for them.
var roleNames = map[string]string{"user": "user", "human": "user", "assistant": "assistant"}

func isTranscript(s *Source) bool { return len(talksOf(s, isTalk)) > 0 }

// isTalk reports whether a text is a talk of two or more who speak again and again. Lines of a name and a value look the same: in a
// talk a third of the turns ends as sentences do. Behind a title, two speak twice, and few lines are outside of turns.
func isTalk(head string) bool {
	turns, layout := turnsOf(head, time.UTC)
	names, ended, lines := map[string]int{}, 0, 0
	title := len(turns) > 0 && turns[0].name == ""
	if title {
		turns = turns[1:]
	}
	for _, t := range turns {
		names[cmp.Or(roleNames[strings.ToLower(t.name)], t.name)]++
		said := strings.TrimSpace(t.text())
		lines += 1 + strings.Count(said, "\n")
		if sentenceEnd.MatchString(said) {
			ended++
		}
	}
	again, long := 0, false
	for name, n := range names {
		if n > 1 {
			again++
		}
		long = long || utf8.RuneCountInString(name) > 1 // questions and answers of a list are a Q and an A
	}
	switch {
	case layout == sentLayout:
		return true
	case len(turns) < 2 || len(names) < 2:
		return false
	case layout == markedLayout:
		return !title
	case title:
		return long && again > 1 && 2*len(names) <= len(turns) && 3*ended >= len(turns) && 2*lines <= 3*len(turns)
	}
	roles := names["user"] > 0 && names["assistant"] > 0 // of a program: they are not values
	return roles || long && len(turns) > 2 && 2*len(names) <= len(turns)+1 && 3*ended >= len(turns)
}

// Layouts of a talk.
const (
	noLayout = iota
	spokenLayout
	markedLayout // that little else is written in
	sentLayout   // of imessage-exporter
)

// maxTitle bounds the lines before a talk.
const maxTitle = 12

// turnsOf returns the turns of a text; none: it is not a talk. The lines before it are a turn without a name.
func turnsOf(text string, zone *time.Location) ([]turn, int) {
	lines := strings.Split(strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff"), "\n")
	if first := strings.TrimSpace(lines[0]); sentAt.MatchString(first) {
		return sentTurns(lines, zone), sentLayout
	}
	captions := slices.ContainsFunc(lines[:min(len(lines), 20)], cueLine.MatchString)
	if captions {
		lines = withoutCues(lines)
	}
	var out []turn
	layout, title := spokenLayout, ""
	for _, line := range lines {
		line = strings.TrimRight(line, " \t")
		name, said := "", ""
		if m := strings.SplitN(line, tagMark, 3); len(m) == 3 {
			name, said = m[1], m[2]
		} else if m := spokenLine.FindStringSubmatch(line); m != nil {
			name, said = strings.TrimSpace(m[1]), m[2]
		} else if m := namedLine.FindStringSubmatch(line); m != nil {
			name, said, layout = m[1], m[2], markedLayout
		} else if m := headedLine.FindStringSubmatch(line); m != nil {
			name, layout = m[1], markedLayout
		}
		switch n := len(out); {
		case name != "" && captions && n > 0 && out[n-1].name == name:
			out[n-1].lines = append(out[n-1].lines, said)
		case name != "" && (title == "" || layout == spokenLayout):
			out = append(out, turn{name: name, lines: []string{said}})
		case clockLine.MatchString(line): // how long the talk lasts by then
		case n > 0:
			out[n-1].lines = append(out[n-1].lines, line)
		case line == "---" && title == "":
			return nil, noLayout // front matter
		case strings.TrimSpace(line) != "":
			if title += line + "\n"; strings.Count(title, "\n") > maxTitle {
				return nil, noLayout
			}
		}
	}
	if title != "" && len(out) > 0 {
		out = slices.Insert(out, 0, turn{lines: []string{title}})
	}
	if captions && len(out) > 0 {
		layout = markedLayout
	}
	return out, layout
}

// tagMark is around a name that WebVTT names as one, with any signs in it.
const tagMark = "\x00"

// withoutCues returns the words of captions, with the names of those who speak before them.
func withoutCues(lines []string) (out []string) {
	for i, line := range lines {
		next := i+1 < len(lines) && cueLine.MatchString(lines[i+1]) // this line is the number or the name of a cue
		if line = strings.TrimSpace(line); line == "" || next || cueLine.MatchString(line) || strings.HasPrefix(line, "WEBVTT") || strings.HasPrefix(line, "NOTE") {
			continue
		}
		line = taggedLine.ReplaceAllString(line, tagMark+"$1"+tagMark)
		out = append(out, cueTag.ReplaceAllString(line, ""))
	}
	return out
}

// sentTurns reads the texts of imessage-exporter: a time, a name, and the words until an empty line before the next time. What it
// writes below a message is indented, or about reactions.
func sentTurns(lines []string, zone *time.Location) (out []turn) {
	for i := 0; i < len(lines); i++ {
		if m := sentAt.FindStringSubmatch(strings.TrimSpace(lines[i])); m != nil && (i == 0 || strings.TrimSpace(lines[i-1]) == "") && i+1 < len(lines) {
			at, _ := time.ParseInLocation("Jan 02, 2006 3:04:05 PM", m[1]+" "+m[2], zone)
			out = append(out, turn{name: strings.TrimSpace(lines[i+1]), at: at})
			i++
			continue
		}
		if last := &out[len(out)-1]; strings.TrimSpace(lines[i]) == "Tapbacks:" {
			for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" {
				i++
			}
		} else if !strings.HasPrefix(lines[i], "    ") {
			last.lines = append(last.lines, lines[i])
		}
	}
	return out
}

func (t *transcript) index(r *reading) (pieces []piece, err error) {
	t.files = r.orFirst(talksOf(r.source, isTalk))
	for i, name := range t.files {
		day, _ := dateOfName(name, r.Now, r.Zone)
		pieces = append(pieces, piece{at: unix(day), file: i, to: -1})
	}
	return pieces, nil
}

func (t *transcript) read(r *reading, p piece) error {
	name := t.files[p.file]
	raw, err := r.source.text(name, maxText)
	if err != nil {
		return err
	}
	turns, layout := turnsOf(string(raw), r.Zone)
	if len(turns) == 0 {
		return fault.New(fault.Invalid, "%s has no turns of a talk: lines that begin with a name and a colon", name)
	}
	if layout == spokenLayout && r.Format == "" {
		r.report.Doubts = append(r.report.Doubts, fmt.Sprintf("%s is read as a talk, in which %s says the last words; the format markdown reads it as a text", name, turns[len(turns)-1].name))
	}
	day, _ := dateOfName(name, r.Now, r.Zone)
	for _, said := range turns {
		if said.name == "" {
			if err := r.note(Line{Content: strings.TrimSpace(said.text()), Attributes: map[string]any{AttrSource: r.report.Format}}, day); err != nil {
				return err
			}
			continue
		}
		m := message{name: said.name, text: said.text(), at: said.at, session: stem(path.Base(name))}
		if m.at.IsZero() {
			m.at = day
		} else {
			m.session += " " + m.at.Format(time.DateOnly)
		}
		if role := roleNames[strings.ToLower(said.name)]; role != "" {
			m.role, m.name = role, ""
		}
		if err := r.message(m); err != nil {
			return err
		}
	}
	return nil
}
