package transfer

import (
	"bufio"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// whatsApp reads the texts that WhatsApp's programs export, of all platforms and languages, each of which is a chat.
type whatsApp struct{ chats []*chat }

// chat is one of them. A line with a time begins a message, and others continue it. The order of day and month, and which mark of
// the clock means the afternoon, differ by language: the whole file decides (dates.go).
type chat struct {
	file, title string
	layout      string
	shape       string   // of the beginning of a message
	days        [][3]int // on which something was said, in its order
	dates       *dates
	authors     map[string]int
	trailing    map[string]int // marks that messages end with
}

// talksOf returns the files of a source that are talks, unless most of its texts are something else: then they were kept with the
// notes of a person. A talk that is named as an export is one in any company: texts beside it are what somebody sent in it.
func talksOf(s *Source, is func(head string) bool) (talks []string) {
	others, named := 0, false
	for _, name := range s.files {
		switch base := path.Base(name); {
		case len(s.files) > 1 && !IsDocument(name):
		case !is(s.head(name)):
			others++
		default:
			talks = append(talks, name)
			named = named || strings.HasPrefix(base, "_chat") || s.zip != nil && folded(stem(base)) == folded(stem(s.name))
		}
	}
	if len(talks) < others && !named {
		return nil
	}
	return talks
}

func isWhatsApp(s *Source) bool { return len(talksOf(s, isChat)) > 0 }

// isChat reports whether a text begins with a message, and something that begins like one has an author.
func isChat(head string) bool {
	first, said := true, 0
	for line := range strings.Lines(head) {
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

// index finds the days of the chats. What a chat does not show of how its dates are written, another one of the same phone does.
func (t *whatsApp) index(r *reading) (pieces []piece, err error) {
	files := r.orFirst(talksOf(r.source, isChat))
	folders := map[string]map[string]bool{} // by the titles of chats
	for _, file := range files {
		title := stem(path.Base(file))
		if folders[title] == nil {
			folders[title] = map[string]bool{}
		}
		folders[title][path.Dir(file)] = true
	}
	r.several = len(files) > 1
	order := strings.ToUpper(r.Dates)
	found := make([][]piece, len(files))
	for i, file := range files {
		c := &chat{file: file, title: stem(path.Base(file)), authors: map[string]int{}, trailing: map[string]int{}, dates: &dates{file: file, order: order}}
		switch {
		case len(folders[c.title]) > 1:
			c.title = path.Base(path.Dir(file))
		case c.title == "_chat":
			c.title = stem(r.source.name)
		}
		t.chats = append(t.chats, c)
		if found[i], err = c.index(r); err != nil {
			return nil, err
		}
	}
	var open []*chat
	for _, c := range t.chats {
		if err = c.dates.decide(r.Now); err == nil {
			order = c.dates.order
		} else {
			open = append(open, c)
		}
	}
	for _, c := range open {
		c.dates.order = order
		if err := c.dates.decide(r.Now); err != nil {
			return nil, err
		}
	}
	for i, c := range t.chats {
		c.dates.decideClock(r)
		for _, p := range found[i] {
			p.at, p.file = unix(c.dates.at(chatHead{date: c.days[p.file]}, r.Zone)), i
			pieces = append(pieces, p)
		}
	}
	return pieces, nil
}

func (t *whatsApp) read(r *reading, p piece) error { return t.chats[p.file].read(r, p) }

// index finds the days of a chat and its people. The file of a piece is the number of its day.
func (t *chat) index(r *reading) (pieces []piece, err error) {
	last, lastFrom := "", int64(0)
	err = t.lines(r, piece{to: -1}, func(line string, from int64, whole bool) error {
		last, lastFrom = line, from
		if mark := chatTrailing.FindString(strings.TrimSpace(line)); mark != "" && len(t.trailing) < maxPeople {
			t.trailing[mark]++
		}
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
		if n := len(t.days); n == 0 || t.days[n-1] != h.date {
			t.days = append(t.days, h.date)
			pieces = append(pieces, piece{file: n, from: from})
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
		if s := shapeOf(last); strings.HasPrefix(t.shape, s) && strings.Count(s, "0") >= len(t.days[0]) {
			pieces[len(pieces)-1].to = lastFrom
			r.left("a last line that is cut off", 1)
		} else {
			r.report.Doubts = append(r.report.Doubts, "the file ends within a line: if it is cut off, so is its last message, and a later import of the whole chat adds that again")
		}
	}
	t.forgetNotices()
	return pieces, nil
}

// head returns the beginning of a message in the layout of the chat; another layout is of a text that was quoted.
func (t *chat) head(line string, whole bool) (chatHead, bool) {
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
func (t *chat) forgetNotices() {
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
func (t *chat) lines(r *reading, p piece, each func(line string, from int64, whole bool) error) error {
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

func (t *chat) read(r *reading, p piece) error {
	var m *message
	var text strings.Builder
	flush := func() error {
		if m == nil {
			return nil
		}
		done := *m
		done.text = text.String()
		m = nil
		text.Reset()
		return t.pass(r, done)
	}
	err := t.lines(r, p, func(line string, _ int64, whole bool) error {
		h, ok := t.head(line, whole)
		if !ok {
			if m != nil && text.Len() < maxElement {
				text.WriteString(line)
			}
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		author, first, said := splitAuthor(h.rest)
		if !said || t.authors[author] == 0 && len(t.authors) < maxPeople {
			r.left("notices of the program", 1)
			return nil
		}
		at := t.dates.at(h, r.Zone)
		text.WriteString(first + "\n")
		m = &message{name: author, at: at, session: dayOf(t.title, at)}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// pass passes a message on without what the program added to it.
func (t *chat) pass(r *reading, m message) error {
	text := strings.TrimSpace(m.text)
	first, rest, _ := strings.Cut(text, "\n")
	if found := chatAttached.FindStringSubmatch(strings.TrimSpace(first)); found != nil {
		text = strings.TrimSpace(rest)
		m.files = []string{found[1] + found[2]}
	} else if strings.HasPrefix(text, "\u200e") || chatOmitted.MatchString(text) {
		r.left("notices of the program", 1) // deleted messages and media that were not exported are such, too
		return nil
	}
	m.text = chatEdited.ReplaceAllString(text, "")
	if mark := chatTrailing.FindString(m.text); t.trailing[mark] > 1 { // one alone may be what somebody wrote
		m.text = strings.TrimSuffix(m.text, mark)
	}
	return r.message(m)
}
