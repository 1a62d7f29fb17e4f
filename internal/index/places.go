package index

import "hash/maphash"

// places finds the hide of a note by its id, in a table with open addressing: it takes a tenth of the memory of a map, whose keys
// would repeat the ids.
type places []uint32 // a place in the list of hides, plus one; 0: free. Its length is a power of two.

var placeSeed = maphash.MakeSeed()

// find returns the place of a note in the list; ok is false when the list does not have it.
func (p places) find(hides []hide, note ID) (place uint32, ok bool) {
	if len(p) == 0 {
		return 0, false
	}
	at := p.slot(hides, note)
	return p[at] - 1, p[at] != 0
}

// slot returns where the place of a note is, or belongs.
func (p places) slot(hides []hide, note ID) int {
	mask := len(p) - 1
	at := int(maphash.Bytes(placeSeed, note[:])) & mask //nolint:gosec // masked
	for p[at] != 0 && hides[p[at]-1].note != note {
		at = (at + 1) & mask
	}
	return at
}

// added returns the table with the last of the list, which is new. At most three quarters are in use.
func (p places) added(hides []hide) places {
	if 4*len(hides) > 3*len(p) {
		grown := make(places, max(8, 2*len(p)))
		for i := range hides {
			grown[grown.slot(hides, hides[i].note)] = uint32(i + 1)
		}
		return grown
	}
	p[p.slot(hides, hides[len(hides)-1].note)] = uint32(len(hides)) //nolint:gosec // no more than rows
	return p
}
