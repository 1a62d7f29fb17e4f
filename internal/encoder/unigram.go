package encoder

import (
	"fmt"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"
)

// unigram is a SentencePiece vocabulary with a language model of single pieces (T. Kudo, Subword
// Regularization, ACL 2018), as XLM-R has: a word is split into the pieces with the highest sum of
// log probabilities.
type unigram struct {
	pieces  string
	offsets []uint32 // of pieces, and the end
	scores  []float32
	table   []int32 // open addressing by hash: id + 1, 0 is empty
	longest int     // length of the longest piece, in bytes

	begin, end, unknown int32
	unknownScore        float32

	replace map[rune]string // normalization: what a character is read as

	// What the model was trained to read before a text, behind begin.
	query, passage []int32
	// The centers of the vectors of queries and passages.
	queryCenter, passageCenter []float32
}

// wordMark begins each word. It stands for the space before it.
const wordMark = "\u2581"

// newUnigram makes the table of pieces.
func newUnigram(pieces string, offsets []uint32, scores []float32, replace map[rune]string) (*unigram, error) {
	u := &unigram{pieces: pieces, offsets: offsets, scores: scores, replace: replace}
	if len(offsets) != len(scores)+1 || len(scores) == 0 || offsets[0] != 0 || int(offsets[len(scores)]) != len(pieces) {
		return nil, fmt.Errorf("%w: the offsets of the vocabulary do not fit", ErrDamaged)
	}
	size := 1
	for size < 2*len(scores) {
		size *= 2
	}
	u.table = make([]int32, size)
	lowest := float32(math.Inf(1))
	for id, score := range scores {
		if offsets[id] > offsets[id+1] {
			return nil, fmt.Errorf("%w: piece %d of the vocabulary ends before it begins", ErrDamaged, id)
		}
		piece := u.piece(int32(id))
		if score == 0 || piece == "" {
			continue // of the frame, which no text has
		}
		lowest = min(lowest, score)
		u.longest = max(u.longest, len(piece))
		h := hashStart
		for i := range len(piece) {
			h = hashByte(h, piece[i])
		}
		at := int(h) & (size - 1)
		for u.table[at] != 0 {
			at = (at + 1) & (size - 1)
		}
		u.table[at] = int32(id) + 1
	}
	const penalty = 10 // of an unknown character, as in the reference
	u.unknownScore = lowest - penalty
	return u, nil
}

// hashStart and hashByte are the FNV-1a hash of 32 bits, which grows with a piece byte by byte.
const hashStart uint32 = 2166136261

func hashByte(h uint32, b byte) uint32 { return (h ^ uint32(b)) * 16777619 }

func (u *unigram) piece(id int32) string { return u.pieces[u.offsets[id]:u.offsets[id+1]] }

// find returns the id of a piece with a hash, or -1.
func (u *unigram) find(h uint32, piece []byte) int32 {
	mask := len(u.table) - 1
	for at := int(h) & mask; ; at = (at + 1) & mask {
		id := u.table[at] - 1
		if id < 0 || u.piece(id) == string(piece) {
			return id
		}
	}
}

// tokenize splits a text into at most e5Tokens pieces, including the frame and the prefix that says what
// the text is for.
func (u *unigram) tokenize(text string, query bool) input {
	prefix, center := u.passage, u.passageCenter
	if query {
		prefix, center = u.query, u.queryCenter
	}
	r := unigramReader{unigram: u, text: text, run: span{-1, -1}}
	r.center = center
	r.ids = append(append(make([]int32, 0, 32+len(prefix)), u.begin), prefix...)
	r.skip = len(r.ids)
	r.readText()
	if most := e5Tokens - 1; len(r.ids) > most {
		r.ids, r.words, r.truncated = r.ids[:most], r.words[:most-r.skip], true
	}
	r.ids = append(r.ids, u.end)
	return r.input
}

// unigramReader reads one text; it stops soon after there are too many pieces.
type unigramReader struct {
	*unigram
	input
	text string

	word  []byte      // the current word, normalized, with its mark
	chars []character // of word
	best  []split     // of the first characters of word
	run   span        // the last one of runAt
}

// character is one of a normalized word.
type character struct {
	at   int  // in bytes of the word
	from span // in bytes of the text
}

// split is the best way to split the start of a word.
type split struct {
	score float64
	last  int32 // piece; -1: an unknown character
	from  int   // where the last piece begins, in characters
}

// maxWord is a bound, in characters, of a word that is split as a whole; scripts without spaces have long ones.
const maxWord = 4096

func (r *unigramReader) readText() {
	for i := 0; i < len(r.text) && len(r.ids) < e5Tokens; {
		c, n := utf8.DecodeRuneInString(r.text[i:])
		at := span{i, i + n}
		i += n
		out, ok := r.replace[c]
		if !ok {
			r.addChar(c, at)
			continue
		}
		for _, c := range out {
			r.addChar(c, at)
		}
	}
	r.flush()
}

func (r *unigramReader) addChar(c rune, at span) {
	if unicode.IsSpace(c) {
		r.flush()
		return
	}
	if len(r.chars) >= maxWord {
		r.flush()
	}
	if len(r.chars) == 0 {
		r.word = append(r.word, wordMark...)
		r.chars = append(r.chars, character{0, span{at.start, at.start}})
	}
	r.chars = append(r.chars, character{len(r.word), at})
	r.word = utf8.AppendRune(r.word, c)
}

// flush splits the current word (A. Viterbi, 1967) and appends its pieces. Adjacent unknown characters are one
// unknown piece.
func (r *unigramReader) flush() {
	n := len(r.chars)
	if n == 0 {
		return
	}
	end := func(i int) int {
		if i < n {
			return r.chars[i].at
		}
		return len(r.word)
	}
	r.best = slices.Grow(r.best[:0], n+1)[:n+1]
	for i := range r.best {
		r.best[i].score = math.Inf(-1)
	}
	r.best[0].score = 0
	for i := range n {
		start, h := r.chars[i].at, hashStart
		here := r.best[i].score
		for j, at := i+1, start; j <= n && end(j)-start <= r.longest; j++ {
			for ; at < end(j); at++ {
				h = hashByte(h, r.word[at])
			}
			id := r.find(h, r.word[start:at])
			if id < 0 {
				continue
			}
			if score := here + float64(r.scores[id]); score > r.best[j].score {
				r.best[j] = split{score, id, i}
			}
		}
		if score := here + float64(r.unknownScore); score > r.best[i+1].score {
			r.best[i+1] = split{score, -1, i}
		}
	}
	first := len(r.ids)
	for i := n; i > 0; {
		s := r.best[i]
		for s.last < 0 && s.from > 0 && r.best[s.from].last < 0 {
			s.from = r.best[s.from].from
		}
		id := s.last
		if id < 0 {
			id = r.unknown
		}
		r.ids = append(r.ids, id)
		r.words = append(r.words, r.wordOf(span{r.chars[s.from].from.start, r.chars[i-1].from.end}))
		i = s.from
	}
	slices.Reverse(r.ids[first:])
	slices.Reverse(r.words[first-r.skip:])
	r.word, r.chars = r.word[:0], r.chars[:0]
}

// wordOf returns the range of the word that a piece belongs to: letters and digits around it, or the piece
// itself where a script has no spaces between words, and where it has neither letter nor digit.
func (r *unigramReader) wordOf(piece span) span {
	letters := false
	for _, c := range r.text[piece.start:piece.end] {
		if isUnspaced(c) {
			return piece
		}
		letters = letters || isWordRune(c)
	}
	if !letters {
		return piece
	}
	return span{r.runAt(piece.start).start, r.runAt(piece.end).end}
}

// runAt returns the letters and digits before and behind a place in the text. A run may be as long as the text, and have many pieces: the
// last one is kept.
func (r *unigramReader) runAt(place int) span {
	if r.run.start <= place && place <= r.run.end {
		return r.run
	}
	r.run = span{place, place}
	for r.run.start > 0 {
		c, n := utf8.DecodeLastRuneInString(r.text[:r.run.start])
		if !inWord(c) {
			break
		}
		r.run.start -= n
	}
	for r.run.end < len(r.text) {
		c, n := utf8.DecodeRuneInString(r.text[r.run.end:])
		if !inWord(c) {
			break
		}
		r.run.end += n
	}
	return r.run
}

// inWord reports whether a character is of a word that is longer than itself.
func inWord(c rune) bool { return isWordRune(c) && !isUnspaced(c) }

func isWordRune(c rune) bool { return unicode.In(c, unicode.L, unicode.N, unicode.M) }

// isUnspaced reports whether a character is of a script that puts no spaces between words.
func isUnspaced(c rune) bool {
	return c >= 0x0E00 && unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
