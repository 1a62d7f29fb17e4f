package llm

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// textsOf reads a JSON value that comes in pieces, and passes on the pieces of its texts as they come.
// What is not valid JSON is read as far as it makes sense: the whole value is checked when it is there.
type textsOf struct {
	// emit gets a piece of the text at a path, such as "calls.0.tool"; end reports whether the text is complete.
	emit func(path, piece string, end bool)

	open   []openValue
	text   bool   // within a text
	key    bool   // the text is a key
	name   []byte // the key so far
	escape []byte // an escape so far, with its backslash
	high   rune   // the first half of a surrogate pair; 0: none
}

// openValue is an object or a list that has begun.
type openValue struct {
	list bool
	key  string
	at   int  // in a list
	want bool // an object: a key comes next
}

// maxDepth bounds how deep values may nest; what is deeper is not read.
const maxDepth = 32

// feed reads the next piece.
func (t *textsOf) feed(piece string) {
	for piece != "" {
		if t.text {
			piece = piece[t.readText(piece):]
			continue
		}
		t.readMark(piece[0])
		piece = piece[1:]
	}
}

// readMark reads a byte outside of texts. Numbers and literals mean nothing here.
func (t *textsOf) readMark(b byte) {
	last := len(t.open) - 1
	switch b {
	case '{', '[':
		if len(t.open) < maxDepth {
			t.open = append(t.open, openValue{list: b == '[', want: b == '{'})
		}
	case '}', ']':
		if last >= 0 {
			t.open = t.open[:last]
		}
	case ',':
		if last >= 0 {
			t.open[last].at++
			t.open[last].want = !t.open[last].list
		}
	case '"':
		t.text, t.name = true, nil
		t.key = last >= 0 && t.open[last].want
	}
}

// readText reads a text up to its end, or to that of the piece, and returns how many bytes it has read.
func (t *textsOf) readText(piece string) int {
	if t.escape != nil {
		return t.readEscape(piece)
	}
	at := strings.IndexAny(piece, "\"\\")
	if at < 0 {
		t.put(piece, false)
		return len(piece)
	}
	t.put(piece[:at], false)
	if piece[at] == '\\' {
		t.escape = []byte{'\\'}
		return at + 1
	}
	t.text = false
	if t.key {
		t.open[len(t.open)-1].key, t.open[len(t.open)-1].want = string(t.name), false
		return at + 1
	}
	t.put("", true)
	return at + 1
}

// The lengths of escapes: \n, and \u with four digits.
const (
	shortEscape = 2
	longEscape  = 6
)

// readEscape reads the next byte of an escape.
func (t *textsOf) readEscape(piece string) int {
	t.escape = append(t.escape, piece[0])
	switch {
	case t.escape[1] != 'u':
		if i := strings.IndexByte("bfnrt", t.escape[1]); i >= 0 {
			t.put("\b\f\n\r\t"[i:i+1], false)
		} else {
			t.put(string(t.escape[1:shortEscape]), false)
		}
		t.escape = nil
	case len(t.escape) == longEscape:
		n, err := strconv.ParseUint(string(t.escape[2:]), 16, 16)
		t.escape = nil
		if err != nil {
			n = utf8.RuneError
		}
		t.putRune(rune(n))
	}
	return 1
}

// putRune puts a character that was escaped; of a surrogate pair, both halves are.
func (t *textsOf) putRune(r rune) {
	switch {
	case t.high != 0:
		r, t.high = utf16.DecodeRune(t.high, r), 0
	case utf16.IsSurrogate(r):
		t.high = r
		return
	}
	t.put(string(r), false)
}

// put passes on a piece of a text, or keeps it if it is a key.
func (t *textsOf) put(piece string, end bool) {
	switch {
	case t.key:
		t.name = append(t.name, piece...)
	case piece != "" || end:
		t.emit(t.path(), piece, end)
	}
}

// path names the place of the current text.
func (t *textsOf) path() string {
	parts := make([]string, len(t.open))
	for i := range t.open {
		if parts[i] = t.open[i].key; t.open[i].list {
			parts[i] = strconv.Itoa(t.open[i].at)
		}
	}
	return strings.Join(parts, ".")
}
