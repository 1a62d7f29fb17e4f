package secret

import (
	"slices"
	"strings"
)

// Found is a secret in a text: its place in bytes, and what it is, as in "AWS access token".
type Found struct {
	Start, End int
	Kind       string
}

// Kinds of what the package's own rules find. Kinds of keys are named by the rules of gitleaks.
const (
	Password    = "password"
	PIN         = "PIN"
	Card        = "card number"
	IBAN        = "IBAN"
	CardCode    = "card code"
	PrivateKey  = "private key"
	Key         = "key"
	APIKey      = "API key"
	OwnKey      = "slipbox key"
	URLPassword = "password in a URL"
)

// Mark returns what stands for a secret of a kind in a text.
func Mark(kind string) string { return markStart + kind + "]" }

// Marked reports whether a text has a mark.
func Marked(s string) bool { return strings.Contains(s, markStart) }

// Unmark returns a text without its marks.
func Unmark(s string) string {
	for {
		before, rest, ok := strings.Cut(s, markStart)
		_, after, closed := strings.Cut(rest, "]")
		if !ok || !closed {
			return s
		}
		s = before + after
	}
}

const markStart = "[redacted: "

// Redact returns the text with a mark for each secret, and the kinds of them, each once, in order of their names. A
// text without secrets is returned as it is, with no kinds. A redacted text has no secrets.
func Redact(s string) (string, []string) {
	found := Find(s)
	if len(found) == 0 {
		return s, nil
	}
	return Replace(s, found), Kinds(found)
}

// Replace returns the text with a mark for each of the secrets that Find has found in it.
func Replace(s string, found []Found) string {
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(s[at:f.Start])
		b.WriteString(Mark(f.Kind))
		at = f.End
	}
	b.WriteString(s[at:])
	return b.String()
}

// Kinds returns the kinds of secrets, each once, in order of their names.
func Kinds(found []Found) []string {
	kinds := make([]string, len(found))
	for i, f := range found {
		kinds[i] = f.Kind
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Classes of bytes.
const (
	inRun = 1 << iota // may be part of a key
	digit
	lower
	upper
)

var class = func() (c [256]byte) {
	for b := range 256 {
		switch {
		case b >= '0' && b <= '9':
			c[b] = inRun | digit
		case b >= 'a' && b <= 'z':
			c[b] = inRun | lower
		case b >= 'A' && b <= 'Z':
			c[b] = inRun | upper
		case strings.IndexByte("_-.+/~", byte(b)) >= 0:
			c[b] = inRun
		}
	}
	return c
}()

// Find returns the secrets of a text in order; they do not overlap. One pass over the bytes looks for places where one
// could be: a run of characters that is not a word, a number as long as a card's, a word such as "password". Ordinary text
// has none of these. Only there are the rules applied.
func Find(s string) []Found {
	f := finder{s: s, budget: rulesBase + rulesPerByte*len(s)}
	for i := 0; i < len(s); {
		c := s[i]
		if class[c]&inRun == 0 {
			switch {
			case c == ':' && strings.HasPrefix(s[i:], "://"):
				f.url(i + len("://"))
			case c == 0xE5 && hanCue(s[i:]):
				f.cue(i)
			}
			i++
			continue
		}
		from, seen := i, byte(0)
		for i < len(s) && class[s[i]]&inRun != 0 {
			seen |= class[s[i]]
			i++
		}
		f.run(from, i, seen)
	}
	f.closeWindow()
	f.found = append(f.found, inOtherDigits(s)...)
	return f.merged()
}

// hanCue reports whether a text begins with a Chinese word for a password.
func hanCue(s string) bool {
	return strings.HasPrefix(s, "密码") || strings.HasPrefix(s, "密碼") || strings.HasPrefix(s, "口令")
}

// finder collects what is found in one text.
type finder struct {
	s          string
	found      []Found
	start, end int // the window that is open: where the rules will be applied; none if end is 0
	suspects   []span
	budget     int // bytes that rules may still read
}

type span struct{ start, end int }

// Bounds of the work on one text. A text that asks for more, because it is written to, loses every run of characters
// that could be a key.
const (
	rulesBase    = 64 << 10
	rulesPerByte = 40
)

// run looks at a run of characters without spaces.
func (f *finder) run(from, to int, seen byte) {
	n := to - from
	c := f.s[from]
	if class[c]&digit != 0 && f.card(from, to) {
		return
	}
	if class[c]&upper != 0 && f.iban(from, to) {
		return
	}
	if c == '-' && strings.HasPrefix(f.s[from:], "-----BEGIN") && f.privateKey(from) {
		return
	}
	if n >= 3 && isCue(f.s[from:to]) {
		f.cue(from)
	}
	mixed := seen&digit != 0 && seen&(lower|upper) != 0
	if n >= 10 && mixed || n >= 16 && seen&upper != 0 {
		f.widen(from, to)
	}
}

// isCue reports whether a word announces a password, a PIN or the code of a card.
func isCue(w string) bool {
	if len(w) >= 6 {
		return strings.Contains(w, "ass") && passWord(w) || strings.Contains(w, "ASS") && passWord(w) || len(w) < 12 && strings.EqualFold(w[len(w)-3:], "pwd")
	}
	switch w[0] | 0x20 {
	case 'p':
		return strings.EqualFold(w, "pin") || strings.EqualFold(w, "pwd") || strings.EqualFold(w, "pass")
	case 'c':
		return len(w) <= 4 && (strings.EqualFold(w[:3], "cvv") || strings.EqualFold(w[:3], "cvc")) || w == "curl"
	}
	return false
}

func passWord(w string) bool {
	w = strings.ToLower(w)
	return strings.Contains(w, "passw") || strings.Contains(w, "passc") || strings.Contains(w, "passp")
}

// Bytes around a run that the rules see: words before a key say whose it is.
const (
	wordsBefore = 100
	wordsAfter  = 16
)

// widen adds a run to the window, or closes the window and opens another.
func (f *finder) widen(from, to int) {
	start := max(0, from-wordsBefore)
	if start > 0 { // not within a word or a character
		for start < from && (class[f.s[start]]&inRun != 0 || f.s[start]&0xC0 == 0x80) {
			start++
		}
	}
	end := min(len(f.s), to+wordsAfter)
	if f.end > 0 && start <= f.end {
		f.end = max(f.end, end)
	} else {
		f.closeWindow()
		f.start, f.end = start, end
	}
	f.suspects = append(f.suspects, span{from, to})
}

// closeWindow applies the rules of keys to the window.
func (f *finder) closeWindow() {
	if f.end == 0 {
		return
	}
	window := f.s[f.start:f.end]
	low := strings.ToLower(window)
	t := rules()
	for i := range t {
		if !t[i].mayMatch(low) {
			continue
		}
		if f.budget -= len(window); f.budget < 0 {
			f.takeSuspects()
			break
		}
		f.found = t[i].find(window, f.start, f.found)
	}
	f.end, f.suspects = 0, f.suspects[:0]
}

// takeSuspects takes every run of the window that looks random for a key.
func (f *finder) takeSuspects() {
	for _, r := range f.suspects {
		if w := f.s[r.start:r.end]; r.end-r.start >= 16 && entropy(w) >= 3 {
			f.found = append(f.found, Found{r.start, r.end, Key})
		}
	}
}

// add adds a secret.
func (f *finder) add(start, end int, kind string) { f.found = append(f.found, Found{start, end, kind}) }

// merged returns what was found, in order. Of two that overlap, the kind of the first found is kept, since rules of
// single services come before general ones.
func (f *finder) merged() []Found {
	if len(f.found) < 2 {
		return f.found
	}
	slices.SortStableFunc(f.found, func(a, b Found) int { return a.Start - b.Start })
	out := f.found[:1]
	for _, x := range f.found[1:] {
		last := &out[len(out)-1]
		if x.Start >= last.End {
			out = append(out, x)
			continue
		}
		if general(last.Kind) && !general(x.Kind) {
			last.Kind = x.Kind
		}
		last.End = max(last.End, x.End)
	}
	return out
}

// general reports whether a kind says little, so that another one of the same place is better.
func general(kind string) bool { return kind == APIKey || kind == Key || kind == genericKind }
