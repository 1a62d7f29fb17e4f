package index

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/slipboxhq/slipbox/internal/text"
)

// blockRows is the number of vectors in one block. Growing by blocks never copies existing vectors.
const blockRows = 256

// none marks a missing row, slot or session.
const none = -1

// entry is what is kept of a row besides its words and vector. It does not change once it is
// appended, except prev, which is read under the lock.
type entry struct {
	note       ID
	from       int64
	digest     int64 // as Row.Digest
	occurredAt int64 // when the note occurred, in microseconds of Unix time
	createdAt  int64 // as above
	importance float64
	labels     *labels // nil for a tombstone
	lists      *lists  // nil when the record has none
	prev       int32   // the row of the note's next older version, or none
	session    int32   // index into data.sessions, or none
	first      uint32  // index of its first passage
	passages   uint32
	length     uint32 // in terms, the date counted once
	terms      uint32 // of all passages, the date counted in each
	lang       uint8  // index into data.langs
	role       Role
	marks      marks
	tombstone  bool
	turn       int32 // the row before it of the same exchange, or none; see turns
}

// passage is a part of a row: content[start:end], and for the first one also what is not content.
// The passages of a row are adjacent and in order.
type passage struct {
	row        uint32
	start, end uint32
	length     uint32 // in terms
}

// posting is how often a term occurs in a passage. tf counts the note's date in each passage, own
// only in the first one. Counts are capped at 65,535.
type posting struct {
	passage uint32
	tf, own uint16
}

// addCounts returns the sum of two counts, capped.
func addCounts(a, b uint16) uint16 { return uint16(min(uint32(a)+uint32(b), math.MaxUint16)) }

// end is the revision at which a row ends.
type end struct {
	to  int64
	row uint32
}

// block holds the vectors of blockRows slots. A slot is filled before readers can see it and never
// changes.
type block struct {
	codes   []byte // as of packed
	low     []byte // as of packed
	inverse [blockRows]float64
	tokens  [][]byte // empty in a snapshot without any
	owner   any      // of codes, low and tokens, when they are a part of a snapshot; then only filled slots have a place
}

// hide is the first revision at which a layer holds any version of a note. From there on it hides
// the note in layers farther away.
type hide struct {
	note   ID
	from   int64
	newest int32 // the row of the note's newest version, or none; under the lock
}

// data is the content of a layer. Slices only grow, so a slice header that is copied under the lock
// is a consistent snapshot, which is read without the lock. Erasure and compaction build a new
// data.
type data struct {
	mu         sync.RWMutex
	generation uint64 // how often the layer's data was replaced or repaired

	rows       []entry
	passages   []passage
	to         []int64 // read and written under the lock
	ends       []end   // of rows that have one; endsIn sorts them by revision
	sorted     int     // how many of ends are in order
	outOfOrder bool    // rows came out of order: revisions do not ascend along rows and hides
	slotOf     []int32 // row → vector slot, or none; under the lock
	hides      []hide  // in the order in which notes were added
	hideOf     places
	labels     map[labels]*labels
	terms      lexicon
	sessions   []session
	sessionOf  map[string]int32
	slots      []uint32 // slot → row
	blocks     []*block // slot s is in block s/blockRows
	langs      []text.Language
	bytes      int64                 // of records, terms, postings, sessions and vectors; size adds the rest
	visible    map[int64]*visibility // by bound
	stacked    map[string]*stack     // of views whose nearest layer is this one, by stack.key
	clock      uint64                // a counter for dropping the least recently used of both

	facets     facets // the values of attributes
	conditions conditions
	latest     latest
	turns      turns // under the lock
}

func newData() *data {
	return &data{
		labels: map[labels]*labels{}, terms: lexicon{own: map[string]*[]posting{}}, sessionOf: map[string]int32{},
		visible: map[int64]*visibility{}, stacked: map[string]*stack{},
		facets: facets{number: map[facet]int{}, values: map[string]int{}},
	}
}

// newest returns the row of a note's newest version. The caller holds the lock.
func (d *data) newest(note ID) (row uint32, ok bool) {
	i, ok := d.hideOf.find(d.hides, note)
	if !ok || d.hides[i].newest == none {
		return 0, false
	}
	return uint32(d.hides[i].newest), true //nolint:gosec // not none
}

// findVersion returns the row of a note's version. The caller holds the lock.
func (d *data) findVersion(note ID, from int64) (uint32, bool) {
	row, ok := d.newest(note)
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

// add adds one analyzed row. A row that exists gets its end and its vector. The caller holds the
// lock.
func (d *data) add(a *analyzed, stride int) {
	if row, known := d.findVersion(a.Note, a.From); known {
		if a.To != 0 {
			d.setEnd(row, a.To)
		}
		if a.packed.codes != nil && d.slotOf[row] == none {
			d.setVector(row, a, stride)
		}
		return
	}
	row := uint32(len(d.rows)) //nolint:gosec // memory ends long before 2^32 rows
	e := entry{note: a.Note, from: a.From, prev: none, session: none, turn: none, tombstone: a.Tombstone}
	if !a.Tombstone {
		e.lang = d.language(a.lang)
		r := a.Record
		r.Tags, r.Keywords = slices.Clone(r.Tags), slices.Clone(r.Keywords) // the caller may reuse them
		d.bytes += d.setRecord(&e, &r)
		e.role = roleOf(a.Content, a.Record.Attributes)
		e.marks, e.digest = a.marks, a.Digest
		d.bytes += d.facets.add(&e)
		d.bytes += d.turns.add(row, &e)
	}
	e.first, e.passages = uint32(len(d.passages)), uint32(len(a.passages)) //nolint:gosec // see above
	for _, p := range a.passages {
		p.row = row
		e.terms += p.length
		d.passages = append(d.passages, p)
	}
	e.length = e.terms
	if e.passages > 1 {
		e.length -= (e.passages - 1) * a.date
	}
	d.markHeld(a.Note, a.From)
	newer, older := d.linkVersion(row, a.Note, a.From)
	e.prev = older
	d.rows = append(d.rows, e)
	d.to = append(d.to, 0)
	d.slotOf = append(d.slotOf, none)
	to := a.To
	if newer != none && to == 0 {
		to = d.rows[newer].from
	}
	if to != 0 {
		d.setEnd(row, to)
	}
	if older != none && d.to[older] == 0 {
		d.setEnd(uint32(older), a.From) //nolint:gosec // not none
	}
	for _, c := range a.counts {
		d.bytes += d.terms.add(c.term, posting{e.first + c.passage, c.tf, c.own})
	}
	if !a.Tombstone {
		d.rows[row].session = d.joinSession(row, sessionOf(a.Record.Attributes))
	}
	if a.packed.codes != nil {
		d.setVector(row, a, stride)
	}
}

// setEnd sets the end of a row. endsIn sorts it into the list of ends later.
func (d *data) setEnd(row uint32, to int64) {
	if d.to[row] == to {
		return
	}
	if d.to[row] != 0 {
		d.outOfOrder = true // the end in the list is no longer valid
	}
	d.to[row] = to
	if n := len(d.ends); d.sorted == n && (n == 0 || d.ends[n-1].to <= to) {
		d.sorted++
	}
	d.ends = append(d.ends, end{to, row})
}

// endsIn returns the ends after one revision and up to another. The caller holds the lock.
func (d *data) endsIn(after, upTo int64) []end {
	if d.sorted < len(d.ends) {
		slices.SortFunc(d.ends, func(a, b end) int { return cmp.Compare(a.to, b.to) })
		d.sorted = len(d.ends)
	}
	from, _ := slices.BinarySearchFunc(d.ends, after+1, func(e end, to int64) int { return cmp.Compare(e.to, to) })
	until, _ := slices.BinarySearchFunc(d.ends, upTo+1, func(e end, to int64) int { return cmp.Compare(e.to, to) })
	return d.ends[from:until]
}

// rowsUpTo returns the number of rows that can be visible at a bound: the rows before that number.
func (d *data) rowsUpTo(bound int64) int {
	if d.outOfOrder {
		return len(d.rows)
	}
	n, _ := slices.BinarySearchFunc(d.rows, bound+1, func(e entry, from int64) int { return cmp.Compare(e.from, from) })
	return n
}

// linkVersion inserts a row, the next to be appended, into its note's list of versions, newest
// first, and returns its neighbors there. The note was marked as held before. Usually it becomes the head. A version that compaction
// dropped and the log delivered again is inserted further back.
func (d *data) linkVersion(row uint32, note ID, from int64) (newer, older int32) {
	newer, older = none, none
	if head, ok := d.newest(note); ok {
		older = int32(head) //nolint:gosec // see add
	}
	for older != none && d.rows[older].from > from {
		newer, older = older, d.rows[older].prev
	}
	if newer == none {
		i, _ := d.hideOf.find(d.hides, note)
		d.hides[i].newest = int32(row) //nolint:gosec // see add
	} else {
		d.rows[newer].prev = int32(row) //nolint:gosec // see add
	}
	return newer, older
}

// markHeld records the first revision at which the layer holds a note.
func (d *data) markHeld(note ID, from int64) {
	if i, ok := d.hideOf.find(d.hides, note); ok {
		d.hides[i].from = min(d.hides[i].from, from)
		return
	}
	d.hides = append(d.hides, hide{note, from, none})
	d.hideOf = d.hideOf.added(d.hides)
}

// newSlot allocates a slot for the vector of a row and returns its block and its place in the
// block.
func (d *data) newSlot(row uint32, stride int) (into *block, at int) {
	slot := len(d.slots)
	if slot%blockRows == 0 {
		b := newBlock(stride)
		d.blocks = append(d.blocks, b)
		d.bytes += b.own() + planeBytes(stride)
	} else if last := d.blocks[len(d.blocks)-1]; len(last.codes) < blockRows*stride {
		d.ownLast(last, stride)
	}
	d.slots = append(d.slots, row)
	d.slotOf[row] = int32(slot) //nolint:gosec // no more slots than rows
	return d.blocks[slot/blockRows], slot % blockRows
}

// planeBytes returns the memory of the planes of a block, in bytes.
func planeBytes(stride int) int64 { return int64(blockRows * (stride + stride/2)) }

// own returns the memory of a block without its planes and token codes, in bytes.
func (b *block) own() int64 { return int64(unsafe.Sizeof(*b)) + sliceBytes*int64(cap(b.tokens)) }

// vector returns the vector of a slot.
func (b *block) vector(i, stride int) packed {
	return packed{codes: b.codes[i*stride:][:stride], low: b.low[i*stride/2:][:stride/2], inverse: b.inverse[i]}
}

// set copies a vector into a slot.
func (b *block) set(i int, p *packed) {
	copy(b.codes[i*len(p.codes):], p.codes)
	copy(b.low[i*len(p.low):], p.low)
	b.inverse[i] = p.inverse
}

// token returns the token codes of a slot.
func (b *block) token(i int) []byte {
	if len(b.tokens) == 0 {
		return nil
	}
	return b.tokens[i]
}

func newBlock(stride int) *block {
	return &block{codes: make([]byte, blockRows*stride), low: make([]byte, blockRows*stride/2), tokens: make([][]byte, blockRows)}
}

// ownLast replaces the last block, which is a part of a snapshot and has no room, by a copy with room.
func (d *data) ownLast(last *block, stride int) {
	b := newBlock(stride)
	copy(b.codes, last.codes)
	copy(b.low, last.low)
	b.inverse = last.inverse
	d.bytes += b.own() - last.own() + planeBytes(stride)
	for i, t := range last.tokens {
		b.tokens[i] = slices.Clone(t) // the copy does not keep the snapshot
		d.bytes += allocated(len(t))
	}
	d.blocks = append(slices.Clone(d.blocks[:len(d.blocks)-1]), b) // readers have the former list
}

// setVector stores the vector of a row, and its token codes.
func (d *data) setVector(row uint32, a *analyzed, stride int) {
	b, i := d.newSlot(row, stride)
	b.set(i, &a.packed)
	b.tokens[i] = slices.Clone(a.Tokens)
	d.bytes += allocated(len(a.Tokens))
}

// language returns the number of a language within the layer.
func (d *data) language(l text.Language) uint8 {
	i := slices.Index(d.langs, l)
	if i < 0 {
		i = len(d.langs)
		d.langs = append(d.langs, l)
	}
	return uint8(i) //nolint:gosec // there are fourteen languages
}

// rebuild copies the rows that keep selects into a new data. A note of which some versions are
// dropped still hides farther ones from its first version on. The caller holds the lock, at least for
// reading.
func (d *data) rebuild(stride int, keep func(row uint32) bool) *data {
	n := newData()
	n.generation = d.generation + 1
	n.outOfOrder = d.outOfOrder
	n.langs = slices.Clone(d.langs)
	for _, h := range d.hides {
		n.markHeld(h.note, h.from)
	}
	number := make([]int32, len(d.rows))
	passageNumber := make([]int32, len(d.passages))
	for i, e := range d.rows {
		row := uint32(i)
		number[i] = none
		if !keep(row) {
			continue
		}
		into := uint32(len(n.rows)) //nolint:gosec // see add
		number[i] = int32(into)     //nolint:gosec // see add
		first := e.first
		e.first = uint32(len(n.passages)) //nolint:gosec // see add
		for j := range e.passages {
			p := d.passages[first+j]
			p.row = into
			passageNumber[first+j] = int32(e.first + j) //nolint:gosec // see add
			n.passages = append(n.passages, p)
		}
		_, e.prev = n.linkVersion(into, e.note, e.from)
		if e.labels != nil {
			n.bytes += n.label(&e, *e.labels)
		}
		n.bytes += n.turns.add(into, &e)
		n.rows = append(n.rows, e)
		n.to = append(n.to, 0)
		n.slotOf = append(n.slotOf, none)
		if d.to[i] != 0 {
			n.setEnd(into, d.to[i])
		}
		if e.session != none {
			n.rows[into].session = n.joinSession(into, d.sessions[e.session].name)
		}
		n.bytes += e.lists.size() + n.facets.add(&e)
	}
	for term, list := range d.terms.sorted() {
		for _, p := range list {
			if number[d.passages[p.passage].row] != none {
				n.bytes += n.terms.add(term, posting{uint32(passageNumber[p.passage]), p.tf, p.own}) //nolint:gosec // of a kept row
			}
		}
	}
	for slot, row := range d.slots {
		if number[row] == none {
			continue
		}
		from, at := d.blocks[slot/blockRows], slot%blockRows
		into, i := n.newSlot(uint32(number[row]), stride) //nolint:gosec // not none
		vector := from.vector(at, stride)
		into.set(i, &vector)
		into.tokens[i] = from.token(at)
		if from.owner != nil {
			into.tokens[i] = slices.Clone(into.tokens[i]) // the new block does not keep the snapshot
		}
		n.bytes += allocated(len(into.tokens[i]))
	}
	return n
}
