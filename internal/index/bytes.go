package index

import (
	"math/bits"
	"unsafe"
)

// The sizes of what is kept on the heap, in bytes. A test compares them with what the heap reports.
const (
	entryBytes   = int64(unsafe.Sizeof(entry{}))
	hideBytes    = int64(unsafe.Sizeof(hide{}))
	postingBytes = int64(unsafe.Sizeof(posting{}))
	passageBytes = int64(unsafe.Sizeof(passage{}))
	endBytes     = int64(unsafe.Sizeof(end{}))
	sessionBytes = int64(unsafe.Sizeof(session{}))
	tallyBytes   = int64(unsafe.Sizeof(tally{}))
	chainBytes   = 24 // the fields of chain for one row
	sliceBytes   = 24
	stringBytes  = 16
)

// size returns the memory that the data holds, in bytes, without the few bitmaps that stacks keep
// of the layers below. The caller holds the lock, at least for reading.
func (d *data) size() int64 {
	n := d.bytes
	n += entryBytes*int64(cap(d.rows)) + 8*int64(cap(d.to)) + 4*int64(cap(d.slotOf)) + 4*int64(cap(d.slots)) + hideBytes*int64(cap(d.hides))
	n += passageBytes*int64(cap(d.passages)) + endBytes*int64(cap(d.ends)) + sessionBytes*int64(cap(d.sessions)) + 8*int64(cap(d.blocks))
	n += 4 * int64(len(d.hideOf))
	for _, v := range d.visible {
		n += 8*int64(cap(v.rows)) + tallyBytes*int64(cap(v.sessions)) + 4*int64(cap(v.facets))
	}
	for _, s := range d.stacked {
		if c := s.chain.Load(); c != nil && len(c.visible) == len(s.bounds) { // otherwise it is that of the farthest layer
			n += chainBytes * int64(len(c.prev))
		}
	}
	return n
}

// slotBytes returns what an entry of a large map takes: key, value and a control byte, in tables
// that are two thirds full.
func slotBytes(pair int64) int64 { return (pair + 1) * 3 / 2 }

// termBytes returns what a term takes besides its postings.
func termBytes(term string) int64 {
	return slotBytes(stringBytes+8) + sliceBytes + allocated(len(term))
}

// jsonBytes returns what a decoded value takes besides the two words of its interface.
func jsonBytes(v any) int64 {
	switch v := v.(type) {
	case map[string]any:
		// A small map has 8 slots; a table of a larger one is at most seven eighths full.
		slots := 8
		if len(v) > slots {
			slots = 1 << bits.Len(uint(len(v)*8/7))
		}
		n := 48 + allocated(slots*(stringBytes+16+1))
		for k, x := range v {
			n += allocated(len(k)) + jsonBytes(x)
		}
		return n
	case []any:
		n := sliceBytes + allocated(16*cap(v))
		for _, x := range v {
			n += jsonBytes(x)
		}
		return n
	case string:
		return stringBytes + allocated(len(v))
	case bool, nil:
		return 0
	}
	return 8
}

// allocated rounds a size up as the allocator does.
func allocated(n int) int64 {
	switch {
	case n <= 32:
		return int64(n+7) &^ 7
	case n <= 256:
		return int64(n+15) &^ 15
	}
	return int64(n) + int64(n)/16
}
