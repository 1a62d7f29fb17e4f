package encoder

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// maxWordRunes is the length of the longest word that is split into pieces; a longer one is
// unknown.
const maxWordRunes = 100

// vocabulary is a WordPiece vocabulary (Y. Wu et al., 2016) of BERT, uncased.
type vocabulary struct {
	// first has the pieces that begin a word, rest those that follow, without their "##".
	first, rest map[string]int32
	longest     int // length of the longest piece, in bytes
	unknown     int32
	begin, end  int32
	special     [len(specials)]int32
}

// specials are pieces of their own where a text contains them, as in the reference.
var specials = [...]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}

// tokenizer splits texts into what a model reads.
type tokenizer interface {
	// tokenize returns at most as many pieces as the model reads, including the frame.
	tokenize(text string, query bool) input
}

// input is a text as the model reads it.
type input struct {
	ids       []int32 // with the frame
	skip      int     // ids before the text's own
	words     []span  // of the text's own ids, in bytes of the text
	truncated bool
	center    []float32 // of the vectors of such texts; nil: none
}

// readVocabulary reads one piece from each line; the number of the line is its id.
func readVocabulary(text string) (*vocabulary, error) {
	v := &vocabulary{first: map[string]int32{}, rest: map[string]int32{}}
	var id int32
	for line := range strings.Lines(text) {
		piece := strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(piece, "##"); ok && rest != "" {
			v.rest[rest] = id
			v.longest = max(v.longest, len(rest))
		} else {
			v.first[piece] = id
			v.longest = max(v.longest, len(piece))
		}
		id++
	}
	for i, s := range specials {
		id, ok := v.first[s]
		if !ok {
			return nil, fmt.Errorf("%w: the vocabulary has no %s", ErrDamaged, s)
		}
		v.special[i] = id
	}
	v.unknown, v.begin, v.end = v.first["[UNK]"], v.first["[CLS]"], v.first["[SEP]"]
	return v, nil
}

// tokenize splits a text into at most miniLMTokens pieces, including the frame. A query is read as any text.
func (v *vocabulary) tokenize(text string, _ bool) input {
	r := reader{vocabulary: v, input: input{ids: make([]int32, 1, 32), skip: 1}}
	r.ids[0] = v.begin
	r.readText(text)
	if r.truncated = len(r.ids) > miniLMTokens-1; r.truncated {
		r.ids, r.words = r.ids[:miniLMTokens-1], r.words[:miniLMTokens-2]
	}
	r.ids = append(r.ids, v.end)
	return r.input
}

// reader reads one text; it stops soon after there are too many pieces.
type reader struct {
	*vocabulary
	input
	word  []byte // the current word, normalized
	runes int    // in word
	span  span   // of word in the text
}

func (r *reader) full() bool { return len(r.ids) >= miniLMTokens }

func (r *reader) readText(text string) {
	for start := 0; start < len(text) && !r.full(); {
		at, which := nextSpecial(text[start:])
		r.readPlain(text[start:start+at], start)
		start += at
		if which >= 0 && !r.full() {
			end := start + len(specials[which])
			r.addPiece(r.special[which], span{start, end})
			start = end
		}
	}
}

// nextSpecial returns where the first of the specials begins, and which one it is; or the length of
// the text and -1 when there is none.
func nextSpecial(text string) (int, int) {
	for at := 0; ; at++ {
		i := strings.IndexByte(text[at:], '[')
		if i < 0 {
			return len(text), -1
		}
		at += i
		for which, s := range specials {
			if strings.HasPrefix(text[at:], s) {
				return at, which
			}
		}
	}
}

// readPlain reads text without specials, which begins at offset in the whole text.
func (r *reader) readPlain(text string, offset int) {
	for i := 0; i < len(text) && !r.full(); {
		if c := rune(text[i]); c < utf8.RuneSelf {
			r.addRune(unicode.ToLower(c), offset+i, offset+i+1)
			i++
			continue
		}
		c, n := utf8.DecodeRuneInString(text[i:])
		at, end := offset+i, offset+i+n
		i += n
		if isDropped(c) {
			continue
		}
		alone := isIdeograph(c)
		if alone {
			r.flush()
		}
		for _, c := range norm.NFD.String(text[at-offset : end-offset]) {
			if !inUnicode8(unicode.Mn, c) {
				r.addRune(unicode.ToLower(c), at, end)
			}
		}
		if alone {
			r.flush()
		}
	}
	r.flush()
}

// addRune reads one normalized character.
func (r *reader) addRune(c rune, at, end int) {
	switch {
	case c == '\t' || c == '\n' || c == '\r' || unicode.IsSpace(c) && !isDropped(c):
		r.flush()
	case isDropped(c):
	case isPunctuation(c):
		r.flush()
		r.appendRune(c, at, end)
		r.flush()
	default:
		r.appendRune(c, at, end)
	}
}

func (r *reader) appendRune(c rune, at, end int) {
	if r.runes == 0 {
		r.span.start = at
	}
	r.span.end = end
	r.runes++
	if r.runes <= maxWordRunes {
		r.word = utf8.AppendRune(r.word, c)
	}
}

func (r *reader) addPiece(id int32, s span) {
	r.ids = append(r.ids, id)
	r.words = append(r.words, s)
}

// flush splits the current word into the longest pieces of the vocabulary, from the left. When that
// fails, the whole word is unknown.
func (r *reader) flush() {
	if r.runes == 0 {
		return
	}
	word, whole := r.word, len(r.ids)
	known := r.runes <= maxWordRunes
	pieces := r.first
	for len(word) > 0 && known {
		n := min(len(word), r.longest)
		id, ok := pieces[string(word[:n])]
		for n--; !ok && n > 0; n-- {
			id, ok = pieces[string(word[:n])]
		}
		if known = ok; known {
			r.addPiece(id, r.span)
			word, pieces = word[n+1:], r.rest
		}
	}
	if !known {
		r.ids, r.words = r.ids[:whole], r.words[:whole-1]
		r.addPiece(r.unknown, r.span)
	}
	r.word, r.runes = r.word[:0], 0
}

// unicode8 has the characters of the Unicode version that the reference implementation uses: it
// treats later signs as letters.
var unicode8 = rangetable.Assigned("8.0.0")

func inUnicode8(class *unicode.RangeTable, c rune) bool {
	return unicode.Is(class, c) && unicode.Is(unicode8, c)
}

// isDropped reports whether BERT's normalizer drops the character: control, format and private
// ones. The caller handles white space among the control characters first.
func isDropped(c rune) bool {
	if c < utf8.RuneSelf {
		return (c < ' ' || c == 0x7f) && c != '\t' && c != '\n' && c != '\r'
	}
	return c == utf8.RuneError || inUnicode8(unicode.Cc, c) || inUnicode8(unicode.Cf, c) || inUnicode8(unicode.Co, c)
}

// isPunctuation reports whether the character is a word by itself: all signs of ASCII, and
// punctuation of Unicode.
func isPunctuation(c rune) bool {
	if c < utf8.RuneSelf {
		return c > ' ' && c < 0x7f && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}
	return inUnicode8(unicode.P, c)
}

// isIdeograph reports whether the character is a word by itself although it is a letter: the blocks
// of Chinese characters that BERT names.
func isIdeograph(c rune) bool {
	return c >= 0x4E00 && c <= 0x9FFF || c >= 0x3400 && c <= 0x4DBF ||
		c >= 0x20000 && c <= 0x2A6DF || c >= 0x2A700 && c <= 0x2B73F ||
		c >= 0x2B740 && c <= 0x2B81F || c >= 0x2B920 && c <= 0x2CEAF ||
		c >= 0xF900 && c <= 0xFAFF || c >= 0x2F800 && c <= 0x2FA1F
}
