package index

import "math/bits"

// bitset is a set of row numbers. A number past its end is not in the set.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i uint32) bool {
	w := int(i >> 6)
	return w < len(b) && b[w]&(1<<(i&63)) != 0
}

func (b bitset) set(i uint32)   { b[i>>6] |= 1 << (i & 63) }
func (b bitset) clear(i uint32) { b[i>>6] &^= 1 << (i & 63) }

// all calls yield with every member in ascending order, until it returns false.
func (b bitset) all(yield func(i uint32) bool) {
	for w, word := range b {
		for ; word != 0; word &= word - 1 {
			if !yield(uint32(w<<6 + bits.TrailingZeros64(word))) { //nolint:gosec // row numbers fit 32 bits
				return
			}
		}
	}
}

// and keeps the members that another set has, too.
func (b bitset) and(o bitset) {
	n := min(len(b), len(o))
	for i := range n {
		b[i] &= o[i]
	}
	clear(b[n:])
}

// or adds the members of another set, which is not longer.
func (b bitset) or(o bitset) {
	for i := range o {
		b[i] |= o[i]
	}
}

// without removes the members of another set.
func (b bitset) without(o bitset) {
	for i := range min(len(b), len(o)) {
		b[i] &^= o[i]
	}
}

// leaving makes a set what it leaves of another one, which has all of it.
func (b bitset) leaving(o bitset) {
	for i := range b {
		b[i] = o[i] &^ b[i]
	}
}

// count returns the number of members.
func (b bitset) count() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// isEmpty reports whether a set has no member.
func (b bitset) isEmpty() bool {
	for _, word := range b {
		if word != 0 {
			return false
		}
	}
	return true
}
