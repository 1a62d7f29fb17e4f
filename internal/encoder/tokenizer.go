package encoder

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// maxWordRunes is the longest word that is cut into pieces; a longer one is unknown.
const maxWordRunes = 100

// vocabulary is a WordPiece vocabulary (Y. Wu et al., 2016) of BERT, uncased.
type vocabulary struct {
	// first has the pieces that begin a word, rest those that follow, without their "##".
	first, rest map[string]int32
	longest     int // piece, in bytes
	unknown     int32
	begin, end  int32
	special     [len(specials)]int32
}

// specials are read as themselves wherever a text holds them, as the reference does.
var specials = [...]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}

// input is a text as the model reads it.
type input struct {
	ids       []int32 // with the frame
	words     []span  // of ids without the frame, in bytes of the text
	truncated bool
}

func openVocabulary(path string) (*vocabulary, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != VocabSHA256 {
		return nil, fmt.Errorf("%w: %s has another hash", ErrDamaged, path)
	}
	return readVocabulary(string(b))
}

// readVocabulary reads one piece a line; the number of the line is its id.
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

// read cuts a text into at most MaxTokens pieces, the frame included.
func (v *vocabulary) read(text string) input {
	r := reader{vocabulary: v, input: input{ids: make([]int32, 1, 32)}}
	r.ids[0] = v.begin
	r.text(text)
	if r.truncated = len(r.ids) > MaxTokens-1; r.truncated {
		r.ids, r.words = r.ids[:MaxTokens-1], r.words[:MaxTokens-2]
	}
	r.ids = append(r.ids, v.end)
	return r.input
}

// reader reads one text; it stops soon after there are too many pieces.
type reader struct {
	*vocabulary
	input
	word  []byte // being read, normalised
	runes int    // in word
	span  span   // of word in the text
}

func (r *reader) full() bool { return len(r.ids) >= MaxTokens }

func (r *reader) text(text string) {
	for start := 0; start < len(text) && !r.full(); {
		at, which := nextSpecial(text[start:])
		r.part(text[start:start+at], start)
		start += at
		if which >= 0 && !r.full() {
			end := start + len(specials[which])
			r.add(r.special[which], span{start, end})
			start = end
		}
	}
}

// nextSpecial returns where the first of the specials begins, and which one it is; the
// length of the text and -1 where there is none.
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

// part reads text without specials, which begins at offset of the whole.
func (r *reader) part(text string, offset int) {
	for i := 0; i < len(text) && !r.full(); {
		if c := rune(text[i]); c < utf8.RuneSelf {
			r.rune(unicode.ToLower(c), offset+i, offset+i+1)
			i++
			continue
		}
		c, n := utf8.DecodeRuneInString(text[i:])
		at, end := offset+i, offset+i+n
		i += n
		if dropped(c) {
			continue
		}
		alone := ideograph(c)
		if alone {
			r.flush()
		}
		for _, c := range norm.NFD.String(text[at-offset : end-offset]) {
			if !known(unicode.Mn, c) {
				r.rune(unicode.ToLower(c), at, end)
			}
		}
		if alone {
			r.flush()
		}
	}
	r.flush()
}

// rune reads one normalised character.
func (r *reader) rune(c rune, at, end int) {
	switch {
	case c == '\t' || c == '\n' || c == '\r' || unicode.IsSpace(c) && !dropped(c):
		r.flush()
	case dropped(c):
	case punctuation(c):
		r.flush()
		r.append(c, at, end)
		r.flush()
	default:
		r.append(c, at, end)
	}
}

func (r *reader) append(c rune, at, end int) {
	if r.runes == 0 {
		r.span.start = at
	}
	r.span.end = end
	r.runes++
	if r.runes <= maxWordRunes {
		r.word = utf8.AppendRune(r.word, c)
	}
}

func (r *reader) add(id int32, s span) {
	r.ids = append(r.ids, id)
	r.words = append(r.words, s)
}

// flush cuts the word that was read into the longest pieces that the vocabulary has, from the
// left; where that fails, the word is unknown as a whole.
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
			r.add(id, r.span)
			word, pieces = word[n+1:], r.rest
		}
	}
	if !known {
		r.ids, r.words = r.ids[:whole], r.words[:whole-1]
		r.add(r.unknown, r.span)
	}
	r.word, r.runes = r.word[:0], 0
}

// age is the version of Unicode whose classes the reference implementation goes by: to it,
// signs that came later are letters.
var age = rangetable.Assigned("8.0.0")

func known(class *unicode.RangeTable, c rune) bool {
	return unicode.Is(class, c) && unicode.Is(age, c)
}

// dropped says that BERT's normaliser leaves the character out: control, format and
// private ones. White space among the control characters is looked at before.
func dropped(c rune) bool {
	if c < utf8.RuneSelf {
		return (c < ' ' || c == 0x7f) && c != '\t' && c != '\n' && c != '\r'
	}
	return c == utf8.RuneError || known(unicode.Cc, c) || known(unicode.Cf, c) || known(unicode.Co, c)
}

// punctuation says that the character is a word by itself: all signs of ASCII, and what
// Unicode calls punctuation.
func punctuation(c rune) bool {
	if c < utf8.RuneSelf {
		return c > ' ' && c < 0x7f && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}
	return known(unicode.P, c)
}

// ideograph says that the character is a word by itself although it is a letter: the blocks
// of Chinese characters that BERT names.
func ideograph(c rune) bool {
	return c >= 0x4E00 && c <= 0x9FFF || c >= 0x3400 && c <= 0x4DBF ||
		c >= 0x20000 && c <= 0x2A6DF || c >= 0x2A700 && c <= 0x2B73F ||
		c >= 0x2B740 && c <= 0x2B81F || c >= 0x2B920 && c <= 0x2CEAF ||
		c >= 0xF900 && c <= 0xFAFF || c >= 0x2F800 && c <= 0x2FA1F
}
