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

// each calls yield with every member in ascending order.
func (b bitset) each(yield func(i uint32)) {
	for w, word := range b {
		for ; word != 0; word &= word - 1 {
			yield(uint32(w<<6 + bits.TrailingZeros64(word))) //nolint:gosec // row numbers fit 32 bits
		}
	}
}

// and returns the members of both sets.
func (b bitset) and(o bitset) bitset {
	out := make(bitset, len(b))
	for i := range min(len(b), len(o)) {
		out[i] = b[i] & o[i]
	}
	return out
}

// without returns the members of a set that another does not have.
func (b bitset) without(o bitset) bitset {
	out := make(bitset, len(b))
	copy(out, b)
	for i := range min(len(b), len(o)) {
		out[i] &^= o[i]
	}
	return out
}
