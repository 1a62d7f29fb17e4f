package index

import "hash/maphash"

// idTable finds numbers by note id. It is a hash table with open addressing that holds the numbers alone: what they
// number has the ids. It takes 8 to 16 bytes for each note, a map three times as much.
type idTable struct {
	slots []uint32 // a number plus one, or 0
	count int
}

var idSeed = maphash.MakeSeed() // nobody can choose ids that collide

// find returns the number of a note. idOf returns the id of a number in the table.
func (t *idTable) find(note ID, idOf func(n uint32) *ID) (n uint32, ok bool) {
	if t.count == 0 {
		return 0, false
	}
	at := t.locate(note, idOf)
	return t.slots[at] - 1, t.slots[at] != 0
}

// set sets the number of a note.
func (t *idTable) set(note ID, n uint32, idOf func(n uint32) *ID) {
	if 3*len(t.slots) < 4*(t.count+1) {
		t.grow(2*(t.count+1), idOf)
	}
	at := t.locate(note, idOf)
	if t.slots[at] == 0 {
		t.count++
	}
	t.slots[at] = n + 1
}

// grow makes room for a number of slots. A table grows when three quarters are taken.
func (t *idTable) grow(slots int, idOf func(n uint32) *ID) {
	size := 8
	for size < slots {
		size *= 2
	}
	old := t.slots
	t.slots = make([]uint32, size)
	for _, n := range old {
		if n != 0 {
			t.slots[t.locate(*idOf(n - 1), idOf)] = n
		}
	}
}

// locate returns the slot of a note, or the free one that it would take.
func (t *idTable) locate(note ID, idOf func(n uint32) *ID) int {
	last := len(t.slots) - 1                         // all bits are set
	at := int(maphash.Bytes(idSeed, note[:])) & last //nolint:gosec // bits, not a number
	for t.slots[at] != 0 && *idOf(t.slots[at] - 1) != note {
		at = (at + 1) & last
	}
	return at
}
