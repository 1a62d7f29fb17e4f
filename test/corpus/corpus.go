// Package corpus generates text for benchmarks and tests. It imports nothing of the product.
package corpus

import (
	"math/rand/v2"
	"strings"
)

// Corpus generates text that looks like English, from a fixed vocabulary. The frequency of the
// words follows Zipf's law as in a language, so that postings, stop words and document
// frequencies are realistic. Equal seeds generate equal text.
type Corpus struct {
	rng  *rand.Rand
	rank *rand.Zipf
	word []string
}

// function holds the most frequent words, as in any English text.
const function = `the of and to a in that is was he for it with as his on be at by i this had not are but from or have
 an they which one you were her all she there would their we him been has when who will more no if out so said what up
 its about into than them can only other new some could time these two may then do first any my now such like our over`

// vocabulary is the number of different words: as many as in a long conversation.
const vocabulary = 12_000

// New returns a corpus with a seed.
func New(seed uint64) *Corpus {
	c := &Corpus{word: strings.Fields(function)}
	// The vocabulary is the same for every seed.
	words := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // not a secret; the text must be reproducible
	onset := strings.Fields("b br c cl d dr f fl g gr h j k l m n p pl pr qu r s sh sl st str t th tr v w")
	vowel := strings.Fields("a e i o u ai ea ee ou oa")
	coda := strings.Fields("n r l s t m nd rt st ck ng d p")
	seen := map[string]bool{}
	for _, w := range c.word {
		seen[w] = true
	}
	for len(c.word) < vocabulary {
		var b strings.Builder
		for range 1 + words.IntN(3) {
			b.WriteString(onset[words.IntN(len(onset))] + vowel[words.IntN(len(vowel))])
		}
		b.WriteString(coda[words.IntN(len(coda))])
		if w := b.String(); !seen[w] {
			seen[w] = true
			c.word = append(c.word, w)
		}
	}
	c.rng = rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // as above
	c.rank = rand.NewZipf(c.rng, 1.07, 4, vocabulary-1)
	return c
}

// Sentence returns a sentence of so many words.
func (c *Corpus) Sentence(words int) string {
	var b strings.Builder
	for i := range words {
		w := c.word[c.rank.Uint64()]
		if i == 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	b.WriteByte('.')
	return b.String()
}

// Note returns the text of a turn of a conversation: one to three sentences, 25 words on average.
func (c *Corpus) Note() string {
	parts := make([]string, 1+c.rng.IntN(3))
	for i := range parts {
		parts[i] = c.Sentence(7 + c.rng.IntN(12))
	}
	return strings.Join(parts, " ")
}

// Query returns a question of 5 to 10 words.
func (c *Corpus) Query() string { return c.Sentence(5 + c.rng.IntN(6)) }

// Queries returns n questions.
func (c *Corpus) Queries(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = c.Query()
	}
	return out
}
