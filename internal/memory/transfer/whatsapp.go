package transfer

import (
	"bufio"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// whatsApp reads the text that WhatsApp's programs export, of all platforms and languages. A line with a time begins a message, and
// others continue it. The order of day and month, and which mark of the clock means the afternoon, differ by language: the whole
// file decides (dates.go).
type whatsApp struct {
	file, title string
	layout      string
	shape       string // of the beginning of a message
	dates       *dates
	authors     map[string]int
}

func whatsAppFile(s *Source) string {
	var texts []string
	for _, name := range s.files {
		if strings.EqualFold(path.Ext(name), ".txt") {
			texts = append(texts, name)
		}
	}
	if len(texts) != 1 && len(s.files) != 1 {
		return ""
	}
	return append(texts, s.files[0])[0]
}

// isWhatsApp reports whether a text begins with a message, and most of what begins like one has an author.
func isWhatsApp(s *Source) bool {
	name := whatsAppFile(s)
	if name == "" || s.zip == nil && len(s.files) > 1 && !strings.HasPrefix(path.Base(name), "_chat") {
		return false
	}
	first, said := true, 0
	for line := range strings.Lines(s.head(name)) {
		if plain(line) == "" {
			continue
		}
		h, ok := parseChatLine(strings.TrimRight(line, "\r\n"))
		if first && !ok {
			return false
		}
		first = false
		if _, _, spoken := splitAuthor(h.rest); ok && spoken {
			said++
		}
	}
	return said > 0
}

// index finds the days of the chat, the people, and how its dates are written.
func (t *whatsApp) index(r *reading) (pieces []piece, err error) {
	t.file, t.authors, t.dates = whatsAppFile(r.source), map[string]int{}, &dates{order: strings.ToUpper(r.Dates)}
	if t.title = stem(path.Base(t.file)); t.title == "_chat" {
		t.title = stem(r.source.name)
	}
	var days [][3]int
	last, lastFrom := "", int64(0)
	err = t.lines(r, piece{to: -1}, func(line string, from int64, whole bool) error {
		last, lastFrom = line, from
		h, ok := t.head(line, whole)
		if !ok {
			if len(pieces) > 0 {
				pieces[len(pieces)-1].to = from + int64(len(line))
			}
			return nil
		}
		if author, _, said := splitAuthor(h.rest); said && len(t.authors) < maxPeople {
			t.authors[author]++
		}
		t.dates.add(h)
		if len(days) == 0 || days[len(days)-1] != h.date {
			days = append(days, h.date)
			pieces = append(pieces, piece{from: from})
		}
		pieces[len(pieces)-1].to = from + int64(len(line))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(pieces) == 0 {
		return nil, fault.New(fault.Invalid, "%s has no message with a time, as WhatsApp writes them", t.file)
	}
	if !strings.HasSuffix(last, "\n") {
		if s := shapeOf(last); strings.HasPrefix(t.shape, s) && strings.Count(s, "0") >= len(days[0]) {
			pieces[len(pieces)-1].to = lastFrom
			r.left("a last line that is cut off", 1)
		} else {
			r.report.Doubts = append(r.report.Doubts, "the file ends within a line: if it is cut off, so is its last message, and a later import of the whole chat adds that again")
		}
	}
	if err := t.dates.decide(r); err != nil {
		return nil, err
	}
	for i := range pieces {
		pieces[i].at = unix(t.dates.at(chatHead{date: days[i]}, r.Zone))
	}
	t.forgetNotices()
	return pieces, nil
}

// head returns the beginning of a message in the layout of the chat; another layout is of a text that was quoted.
func (t *whatsApp) head(line string, whole bool) (chatHead, bool) {
	if !whole {
		return chatHead{}, false
	}
	h, ok := parseChatLine(strings.TrimRight(line, "\r\n"))
	if ok && t.layout == "" {
		t.layout, t.shape = h.layout, shapeOf(strings.TrimSuffix(strings.TrimRight(line, "\r\n"), h.rest))
	}
	return h, ok && h.layout == t.layout
}

// forgetNotices takes out authors that are the beginning of a notice with a colon, such as: Nora changed the subject to "A: B".
func (t *whatsApp) forgetNotices() {
	for name, n := range t.authors {
		for other, more := range t.authors {
			if other != name && more >= n && n == 1 && strings.HasPrefix(name, other+" ") {
				delete(t.authors, name)
			}
		}
	}
}

// lines calls each for the lines of a piece, with their ends and places. Of a line that is too long it passes the parts; whole is
// false for the second and later ones.
func (t *whatsApp) lines(r *reading, p piece, each func(line string, from int64, whole bool) error) error {
	in, err := r.part(t.file, p.from, p.to)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	buffered := bufio.NewReaderSize(in, 1<<20)
	whole := true
	for at := p.from; ; {
		line, err := buffered.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !long && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) > 0 {
			if err := each(string(line), at, whole); err != nil {
				return err
			}
		}
		at += int64(len(line))
		whole = !long
		if err != nil && !long {
			return nil
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
	}
}

func (t *whatsApp) read(r *reading, p piece) error {
	var m *message
	flush := func() error {
		if m == nil {
			return nil
		}
		done := *m
		m = nil
		return t.pass(r, done)
	}
	err := t.lines(r, p, func(line string, _ int64, whole bool) error {
		h, ok := t.head(line, whole)
		if !ok {
			if m != nil && len(m.text) < maxElement {
				m.text += line
			}
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		author, text, said := splitAuthor(h.rest)
		if !said || t.authors[author] == 0 && len(t.authors) < maxPeople {
			r.left("notices of the program", 1)
			return nil
		}
		at := t.dates.at(h, r.Zone)
		m = &message{name: author, at: at, text: text + "\n", session: headOf(t.title, 180) + " " + at.Format(time.DateOnly)}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// pass passes a message on without what the program added to it.
func (t *whatsApp) pass(r *reading, m message) error {
	text := strings.TrimSpace(m.text)
	first, rest, _ := strings.Cut(text, "\n")
	if found := chatAttached.FindStringSubmatch(strings.TrimSpace(first)); found != nil {
		text = strings.TrimSpace(rest)
		m.attributes = map[string]any{"files": []string{label(found[1] + found[2])}}
	} else if strings.HasPrefix(text, "\u200e") || chatOmitted.MatchString(text) {
		r.left("notices of the program", 1) // deleted messages and media that were not exported are such, too
		return nil
	}
	m.text = chatEdited.ReplaceAllString(text, "")
	return r.message(m)
}
