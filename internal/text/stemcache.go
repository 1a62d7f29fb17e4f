package text

import (
	"hash/maphash"
	"sync/atomic"
)

// stemmed is the result of analyzing one folded word in one language.
type stemmed struct {
	word, term string
	lang       Language
	stop       bool
}

// stemCache remembers recent words, because most words of a text occurred before. It is a table of
// fixed size without locks: a word has two slots, and a new one usually replaces the older of the
// two. It never changes a result.
type stemCache struct {
	seed maphash.Seed
	slot [1 << stemCacheBits]atomic.Pointer[stemmed]
}

// stemCacheBits makes room for 32,768 words, about 4 MB when all slots are taken.
const stemCacheBits = 15

var stems = &stemCache{seed: maphash.MakeSeed()}

// stem returns the analysis of a folded word.
func (c *stemCache) stem(word []byte, lang Language) *stemmed {
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
