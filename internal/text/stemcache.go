package text

import (
	"hash/maphash"
	"sync/atomic"
)

// stemmed is what analysis makes of one folded word in one language.
type stemmed struct {
	word, term string
	lang       Language
	stop       bool
}

// stemCache remembers the latest words. It is a table of fixed size without
// locks: a word has two places, and a new one takes the older of them, more or
// less. It changes what analysis costs and never what it gives: a text is
// mostly words that came before.
type stemCache struct {
	seed maphash.Seed
	slot [1 << stemCacheBits]atomic.Pointer[stemmed]
}

// stemCacheBits gives 32,768 words, some 4 MB where all are taken.
const stemCacheBits = 15

var stems = &stemCache{seed: maphash.MakeSeed()}

// find gives the stem of a folded word.
func (c *stemCache) find(word []byte, lang Language) *stemmed {
	h := maphash.Bytes(c.seed, word)
	for i := range lang {
		h = h*31 + uint64(lang[i])
	}
	first := h & (1<<stemCacheBits - 1)
	second := first ^ 1
	for _, at := range [...]uint64{first, second} {
		if e := c.slot[at].Load(); e != nil && e.lang == lang && e.word == string(word) {
			return e
		}
	}
	e := &stemmed{word: string(word), lang: lang}
	e.stop = stopWords[lang][e.word]
	if !e.stop {
		e.term = Stem(e.word, lang)
	}
	if old := c.slot[first].Swap(e); old != nil {
		c.slot[second].Store(old)
	}
	return e
}
