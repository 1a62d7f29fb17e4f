// Package o200k counts tokens by o200k_base, the byte-pair encoding of OpenAI's models since GPT-4o: a text is split into
// pieces (words, numbers, signs, blanks), and within a piece neighbors are joined, those with the lowest rank first.
package o200k

import (
	_ "embed" // of the ranks
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/packed"
)

//go:generate go run ../../../tools/ranks ranks
//go:generate go run ../../../tools/pack -rm ranks

// file has the tokens in the order of their ranks: a byte with the length, and the bytes.
//
//go:embed ranks.gz
var file []byte

// Count returns the number of tokens of a text. Control tokens are counted as text, and each byte that is not UTF-8
// as the character U+FFFD. The first call takes some tens of milliseconds. It is safe for concurrent use. An error
// means that the program was built with a damaged file.
func Count(s string) (int, error) {
	r, err := load()
	if err != nil {
		return 0, err
	}
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	n := 0
	var j joiner
	for len(s) > 0 {
		end := first(s)
		if _, ok := r.of(s[:end]); ok {
			n++
		} else {
			n += j.join(r, s[:end])
		}
		s = s[end:]
	}
	return n, nil
}

var load = sync.OnceValues(loadRanks)

func loadRanks() (*ranks, error) {
	content, err := packed.Unpack(file)
	if err != nil {
		return nil, err
	}
	return newRanks(content)
}

// ranks are all tokens. The rank of one is its place in the file.
type ranks struct {
	content []byte
	starts  []uint32 // of each token, where its length is
	slots   []uint32 // rank + 1, at the hash of the token or the next free place; 0 is free
	seed    maphash.Seed
}

// slotCount is a power of two, and more than twice the number of tokens.
const slotCount = 1 << 19

func newRanks(content []byte) (*ranks, error) {
	r := &ranks{content: content, starts: make([]uint32, 0, slotCount/2), slots: make([]uint32, slotCount), seed: maphash.MakeSeed()}
	for at := 0; at < len(content); at += 1 + int(content[at]) {
		if len(r.starts) == slotCount/2 || at+1+int(content[at]) > len(content) {
			return nil, errors.New("the ranks of o200k_base are damaged")
		}
		slot := maphash.Bytes(r.seed, content[at+1:at+1+int(content[at])]) % slotCount
		for r.slots[slot] != 0 {
			slot = (slot + 1) % slotCount
		}
		r.starts = append(r.starts, uint32(at))
		r.slots[slot] = uint32(len(r.starts)) //nolint:gosec // at most slotCount/2
	}
	r.starts = slices.Clip(r.starts)
	return r, nil
}

// of returns the rank of a token.
func (r *ranks) of(token string) (rank uint32, ok bool) {
	for slot := maphash.String(r.seed, token) % slotCount; r.slots[slot] != 0; slot = (slot + 1) % slotCount {
		rank := r.slots[slot] - 1
		at := r.starts[rank]
		if n := uint32(r.content[at]); int(n) == len(token) && string(r.content[at+1:at+1+n]) == token {
			return rank, true
		}
	}
	return 0, false
}
