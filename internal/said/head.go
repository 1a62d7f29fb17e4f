package said

import (
	_ "embed"
	"encoding/binary"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/text"
)

// The head is a logistic regression. Its weights are data: tools/heads writes them from the labeled dialogues.

// The sizes of the head.
const (
	formWeights = 48      // weights of the form of a sentence
	wordWeights = 1 << 15 // weights of the parts of its words, by their hash
	headBytes   = 4 + formWeights*4 + wordWeights
)

//go:embed head.bin
var headFile []byte

// Head holds the weights of the form, and those of the parts of words, times Scale.
type Head struct {
	Form  [formWeights]float32
	Words [wordWeights]int8
	Scale float32
}

var head = readHead(headFile)

func readHead(raw []byte) *Head {
	h := &Head{}
	if len(raw) != headBytes {
		return h
	}
	next := func() float32 {
		f := math.Float32frombits(binary.LittleEndian.Uint32(raw))
		raw = raw[4:]
		return f
	}
	h.Scale = next()
	for i := range h.Form {
		h.Form[i] = next()
	}
	for i := range h.Words {
		h.Words[i] = int8(raw[i]) //nolint:gosec // the same bits
	}
	return h
}

// Bytes returns the weights as the file holds them.
func (h *Head) Bytes() []byte {
	out := binary.LittleEndian.AppendUint32(nil, math.Float32bits(h.Scale))
	for _, f := range h.Form {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	for i := range h.Words {
		out = append(out, byte(h.Words[i])) //nolint:gosec // the same bits
	}
	return out
}

// features are what the head sees of a sentence.
type features struct {
	form    [formWeights]float32
	parts   []uint16 // hashes of the parts of its words, each once
	opening []uint16 // hashes of how it begins, which tells a request or a supposition
}

// Features returns what the head sees of a sentence, for training.
func (s *Sentence) Features() (form []float32, parts, opening []uint16) {
	return s.features.form[:], s.features.parts, s.features.opening
}

func (h *Head) worth(f *features) float64 {
	sum := float32(0)
	for i, v := range f.form {
		sum += v * h.Form[i]
	}
	words := 0
	for _, p := range f.parts {
		words += int(h.Words[p])
	}
	sum += float32(words) * h.Scale * partValue(len(f.parts))
	for _, p := range f.opening {
		sum += float32(h.Words[p]) * h.Scale * OpeningValue
	}
	return 1 / (1 + math.Exp(-float64(sum)))
}

// OpeningValue is the value of each part of the opening.
const OpeningValue = 0.4

// partValue is the value of each of n parts: long sentences do not shout.
func partValue(n int) float32 { return float32(1 / math.Sqrt(float64(n)+1)) }

// PartValue is partValue, for training.
func PartValue(n int) float32 { return partValue(n) }

// featuresOf reads a sentence that is the at-th of so many in its turn.
func featuresOf(s *Sentence, turn *Turn, at, of int, asked bool, known map[string]bool) features {
	var f features
	seen := *s
	seen.Text = withoutAddresses(s.Text)
	f.form = formOf(&seen, turn, at, of, asked, known)
	words := text.Words(s.Lead + " " + seen.Text)
	f.parts = partsOf(words)
	for n := 1; n <= min(openingWords, len(words)); n++ {
		f.opening = append(f.opening, hashOf("^^"+strings.Join(words[:n], " ")))
	}
	return f
}

// withoutAddresses returns a text with a name for each web address, which is one thing and not many words.
func withoutAddresses(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	words := strings.Fields(s)
	for i, w := range words {
		if strings.Contains(w, "://") {
			words[i] = "Web" + w[len(strings.TrimRight(w, ".,;!)")):]
		}
	}
	return strings.Join(words, " ")
}

// openingWords are the first words of which the head sees the first one, two and three.
const openingWords = 3

// hashOf returns the weight that a part of a sentence has.
func hashOf(part string) uint16 {
	h := uint32(2166136261)
	for i := range len(part) {
		h = (h ^ uint32(part[i])) * 16777619
	}
	return uint16((h ^ h>>15) % wordWeights)
}

// shape counts the characters of a sentence by kind.
type shape struct {
	runes, letters, digits, numbers, upper, inner, words, commas, symbols, marks, quotes int
}

func shapeOf(s string) shape {
	var c shape
	before := ' '
	for _, r := range s {
		c.runes++
		switch {
		case unicode.IsLetter(r):
			c.letters++
			if r >= 0x2e80 && r < 0xac00 || !unicode.IsLetter(before) && before != '\'' && before != '’' && !unicode.IsMark(before) {
				c.words++
			}
			if unicode.IsUpper(r) {
				c.upper++
				if unicode.IsSpace(before) && c.words > 1 {
					c.inner++
				}
			}
		case unicode.IsNumber(r):
			if c.digits++; !unicode.IsNumber(before) {
				c.numbers++
			}
		case strings.ContainsRune(",，、،;；", r):
			c.commas++
		case strings.ContainsRune(openQuotes, r):
			c.quotes++
		case unicode.IsSymbol(r):
			c.symbols++
		case unicode.IsPunct(r):
			c.marks++
		}
		before = r
	}
	return c
}

// The sentences and bytes from which a turn is long; beyond them length makes no difference.
const (
	longTurn      = 30
	longTurnBytes = 3000
)

// formOf returns the features that hold in every language.
func formOf(s *Sentence, turn *Turn, at, of int, asked bool, known map[string]bool) (f [formWeights]float32) {
	c := shapeOf(s.Text)
	terms, words, fresh := text.Terms(s.Text), text.Words(s.Text), 0
	for _, w := range words {
		if !known[w] {
			fresh++
		}
	}
	n, last := 0, at == of-1
	at, of = min(at, longTurn), min(of, longTurn)
	add := func(v float64) { f[n] = float32(v); n++ }
	is := func(b bool) {
		if add(0); b {
			f[n-1] = 1
		}
	}
	end, _ := utf8.DecodeLastRuneInString(s.Text)
	size := math.Log1p(float64(c.words))
	add(1)
	add(size)
	add(size * size / 4)
	is(c.words <= 2)
	is(c.words <= 4)
	is(c.words <= 7)
	is(c.words > 25)
	is(c.numbers > 0)
	add(math.Log1p(float64(c.numbers)))
	is(c.inner > 0)
	add(math.Log1p(float64(c.inner)))
	add(float64(c.inner) / float64(c.words+1))
	is(end == '!' || end == '！')
	is(end == '…')
	is(end == ':' || end == '：')
	is(s.Asks)
	is(strings.ContainsAny(s.Text, questionMarks))
	is(unicode.IsSymbol(end))
	add(math.Log1p(float64(c.commas)))
	add(math.Log1p(float64(c.quotes)))
	add(math.Log1p(float64(c.symbols)))
	add(float64(c.marks) / float64(c.runes+1))
	is(c.upper == 0)
	is(c.upper*2 > c.letters && c.letters > 3)
	is(at == 0)
	is(last)
	is(of == 1)
	add(math.Log1p(float64(at)))
	add(math.Log1p(float64(of)))
	is(asked && at == 0)
	is(asked)
	is(turn.Assistant)
	turnSize := math.Log1p(float64(min(len(turn.Text), longTurnBytes)))
	add(turnSize / 4)
	if turn.Assistant {
		add(size / 4)
		add(turnSize / 4)
	} else {
		add(0)
		add(0)
	}
	add(math.Log1p(float64(fresh)))
	add(float64(fresh) / float64(len(words)+1))
	add(math.Log1p(float64(len(terms))))
	add(float64(len(terms)) / float64(c.words+1))
	is(s.Lead != "")
	is(introduces(s.Text))
	is(c.numbers > 0 && c.inner > 0)
	is(len(terms) == 0)
	add(float64(c.letters) / float64(c.runes+1))
	return f
}

// partsOf returns the hashes of words and of their parts of three and four characters, each once.
func partsOf(words []string) []uint16 {
	var out []uint16
	seen := map[uint16]bool{}
	add := func(part string) {
		if p := hashOf(part); !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	last := "^"
	for _, w := range words {
		w = digitsAsZero(w)
		add(" " + w + " ")
		add(last + " " + w)
		last = w
		r := []rune("<" + w + ">")
		for i := 0; i+4 <= len(r); i++ {
			add(string(r[i : i+4]))
		}
	}
	return out
}

// digitsAsZero returns a word with a zero for each digit, so that all numbers of one length are alike.
func digitsAsZero(w string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsNumber(r) {
			return '0'
		}
		return r
	}, w)
}
