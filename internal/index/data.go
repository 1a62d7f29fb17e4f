package index

import (
	"slices"
	"strings"
	"sync"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text"
)

// blockRows is the number of vectors in one block: growing by blocks never
// copies what is there.
const blockRows = 256

// none marks the absence of a row or a slot.
const none = -1

// entry is what is kept of a row besides its words and vector. It never
// changes once appended, but for prev, which is read under the lock.
type entry struct {
	note      ID
	from      int64
	prev      int32 // the row of the note's next older version, or none
	length    uint32
	lang      uint8 // into data.langs
	tombstone bool
	record    *filter.Record
}

// posting says how often a term stands in a row.
type posting struct{ row, tf uint32 }

// hide says from which revision on a layer holds a note at all.
type hide struct {
	note ID
	from int64
}

// data is the content of a layer. Slices only grow, so a header copied under
// the lock is a consistent snapshot that is read without it. Erasure and
// compaction make a new data.
type data struct {
	mu         sync.RWMutex
	generation uint64 // of the layer: how often its data was replaced or mended

	rows    []entry
	to      []int64       // read and written under the lock
	slotOf  []int32       // row → vector slot, or none; under the lock
	last    map[ID]uint32 // note → the row of its newest version
	hides   []hide        // in the order in which notes came
	hideOf  map[ID]int    // note → place in hides
	terms   map[string]*[]posting
	slots   []uint32    // slot → row
	blocks  [][]float32 // slot s is in block s/blockRows
	langs   []text.Language
	bytes   int64                 // of records, terms, postings and vectors; size adds the rest
	visible map[int64]*visibility // by bound
	stacked map[string]*stack     // by the bounds of the stack that this layer is nearest of
	clock   uint64                // for forgetting the least recently used of both
}

func newData() *data {
	return &data{
		last: map[ID]uint32{}, hideOf: map[ID]int{}, terms: map[string]*[]posting{},
		visible: map[int64]*visibility{}, stacked: map[string]*stack{},
	}
}

// find gives the row of a note's version. The lock is held.
func (d *data) find(note ID, from int64) (uint32, bool) {
	row, ok := d.last[note]
	for ok {
		e := &d.rows[row]
		if e.from == from {
			return row, true
		}
		if e.prev == none || e.from < from {
			break
		}
		row = uint32(e.prev) //nolint:gosec // not none
	}
	return 0, false
}

// add takes in one analyzed row; known ones get their end and their vector.
// The lock is held.
func (d *data) add(a analyzed, dimensions int) {
	if row, known := d.find(a.Note, a.From); known {
		if a.To != 0 {
			d.to[row] = a.To
		}
		if a.unit != nil && d.slotOf[row] == none {
			d.attach(row, a.unit, dimensions)
		}
		return
	}
	row := uint32(len(d.rows)) //nolint:gosec // memory ends long before 2^32 rows
	e := entry{note: a.Note, from: a.From, prev: none, length: a.len, tombstone: a.Tombstone}
	if !a.Tombstone {
		e.lang = d.language(a.lang)
		e.record = cloneRecord(a.Record)
		d.bytes += recordBytes(e.record)
	}
	newer, older := d.link(row, a.Note, a.From)
	e.prev = older
	to := a.To
	if newer != none && to == 0 {
		to = d.rows[newer].from
	}
	if older != none && d.to[older] == 0 {
		d.to[older] = a.From
	}
	d.rows = append(d.rows, e)
	d.to = append(d.to, to)
	d.slotOf = append(d.slotOf, none)
	d.hold(a.Note, a.From)
	for term, tf := range a.tf {
		d.post(term, posting{row, tf})
	}
	if a.unit != nil {
		d.attach(row, a.unit, dimensions)
	}
}

// post adds a posting. A term is cut out of a text: its first row copies it,
// or each term would keep a whole text.
func (d *data) post(term string, p posting) {
	list, ok := d.terms[term]
	if !ok {
		list = new([]posting)
		d.terms[strings.Clone(term)] = list
		d.bytes += termBytes(term)
	}
	before := cap(*list)
	*list = append(*list, p)
	d.bytes += postingBytes * int64(cap(*list)-before)
}

// link puts a row, which is the next to be appended, into its note's chain of
// versions, newest first, and gives its neighbors there. It mostly becomes
// the head; a version that compaction dropped and the log told again goes
// further back.
func (d *data) link(row uint32, note ID, from int64) (newer, older int32) {
	newer, older = none, none
	if head, ok := d.last[note]; ok {
		older = int32(head) //nolint:gosec // see add
	}
	for older != none && d.rows[older].from > from {
		newer, older = older, d.rows[older].prev
	}
	if newer == none {
		d.last[note] = row
	} else {
		d.rows[newer].prev = int32(row) //nolint:gosec // see add
	}
	return newer, older
}

// hold notes from when on the layer holds a note.
func (d *data) hold(note ID, from int64) {
	if i, ok := d.hideOf[note]; ok {
		d.hides[i].from = min(d.hides[i].from, from)
		return
	}
	d.hideOf[note] = len(d.hides)
	d.hides = append(d.hides, hide{note, from})
}

// attach stores the vector of a row.
func (d *data) attach(row uint32, v []float32, dimensions int) {
	slot := len(d.slots)
	if slot%blockRows == 0 {
		d.blocks = append(d.blocks, make([]float32, blockRows*dimensions))
		d.bytes += int64(4 * blockRows * dimensions)
	}
	copy(d.blocks[slot/blockRows][slot%blockRows*dimensions:], v)
	d.slots = append(d.slots, row)
	d.slotOf[row] = int32(slot) //nolint:gosec // no more slots than rows
}

// language gives the number of a language within the layer.
func (d *data) language(l text.Language) uint8 {
	i := slices.Index(d.langs, l)
	if i < 0 {
		i = len(d.langs)
		d.langs = append(d.langs, l)
	}
	return uint8(i) //nolint:gosec // there are fourteen languages
}

// rebuild copies the rows that keep names into a new data. A note whose
// versions go in part still hides from its first one on; forget drops notes
// whole. The lock is held at least for reading.
func (d *data) rebuild(dimensions int, forget map[ID]bool, keep func(row uint32) bool) *data {
	n := newData()
	n.generation = d.generation + 1
	n.langs = slices.Clone(d.langs)
	number := make([]int32, len(d.rows))
	for i, e := range d.rows {
		row := uint32(i)
		number[i] = none
		if forget[e.note] || !keep(row) {
			continue
		}
		number[i] = int32(len(n.rows))                          //nolint:gosec // see add
		_, e.prev = n.link(uint32(len(n.rows)), e.note, e.from) //nolint:gosec // see add
		n.rows = append(n.rows, e)
		n.to = append(n.to, d.to[i])
		n.slotOf = append(n.slotOf, none)
		if e.record != nil {
			n.bytes += recordBytes(e.record)
		}
	}
	for _, h := range d.hides {
		if !forget[h.note] {
			n.hold(h.note, h.from)
		}
	}
	for term, list := range d.terms {
		var kept []posting
		for _, p := range *list {
			if number[p.row] != none {
				kept = append(kept, posting{uint32(number[p.row]), p.tf}) //nolint:gosec // not none
			}
		}
		if kept != nil {
			n.terms[term] = &kept
			n.bytes += termBytes(term) + postingBytes*int64(cap(kept))
		}
	}
	for slot, row := range d.slots {
		if number[row] != none {
			n.attach(uint32(number[row]), vectorAt(d.blocks, slot, dimensions), dimensions) //nolint:gosec // not none
		}
	}
	return n
}

// vectorAt gives the vector in a slot.
func vectorAt(blocks [][]float32, slot, dimensions int) []float32 {
	at := slot % blockRows * dimensions
	return blocks[slot/blockRows][at : at+dimensions]
}

// cloneRecord copies a record's lists, which the caller may reuse. Attributes
// are shared: they are a decoded JSON value that nobody changes.
func cloneRecord(r filter.Record) *filter.Record {
	r.Tags = slices.Clone(r.Tags)
	r.Keywords = slices.Clone(r.Keywords)
	return &r
}
