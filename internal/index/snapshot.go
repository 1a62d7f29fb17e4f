package index

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/slipboxhq/slipbox/internal/text"
)

// snapshotFormat is the number of the form of snapshots, and of what they hold. Raise it when either
// changes: the layout here, how a text is cut into terms and passages, marks, roles, or how vectors are
// encoded. A test compares the bytes of a snapshot.
const snapshotFormat = 8

// ErrSnapshot is returned for bytes that are not a whole snapshot of this format. The layer has to be filled
// from the log.
var ErrSnapshot = errors.New("index: no usable snapshot")

// A snapshot is a list of sections, each at a multiple of sectionAlign, and a trailer: the place, length
// and checksum of each section, then the length and checksum of the trailer, and snapshotMagic. All
// numbers are little-endian. The codes, their low bits, tokens, terms and postings are used in place, the rest is decoded.
const (
	sectionAlign  = 64
	snapshotMagic = 0x31786469786f6270 // "pboxidx1"
)

const (
	sectionMeta = iota
	sectionStrings
	sectionRows
	sectionRecords
	sectionPassages
	sectionTerms
	sectionPostings
	sectionSessions
	sectionHides
	sectionSlots
	sectionCodes
	sectionLow
	sectionTokens
	sections
)

const (
	placeBytes    = 8 + 8 + 4             // offset, length, checksum
	trailerBytes  = sections * placeBytes // without its end
	trailerEnd    = 4 + 8                 // checksum, magic
	snapshotFloor = trailerBytes + trailerEnd
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// littleEndian reports whether numbers in memory have the order that snapshots have.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// frozen is the content of a layer at one revision, as a snapshot is written from it. The lists are
// copies, or never change.
type frozen struct {
	dimensions int
	revision   int64
	outOfOrder bool
	rows       []entry
	to         []int64
	slotOf     []int32
	data       *data
	passages   []passage
	hides      []hide
	sessions   []session
	slots      []uint32
	blocks     []*block
	langs      []text.Language
	terms      lexicon
}

// freeze copies what later writes could change. It blocks writers for as long.
func (l *Layer) freeze() *frozen {
	l.writer.Lock()
	defer l.writer.Unlock()
	d := l.data.Load()
	d.mu.RLock()
	defer d.mu.RUnlock()
	f := &frozen{
		data: d, dimensions: l.dimensions, revision: l.Revision(), outOfOrder: d.outOfOrder, rows: slices.Clone(d.rows), to: slices.Clone(d.to),
		slotOf: slices.Clone(d.slotOf), passages: d.passages, hides: slices.Clone(d.hides), sessions: slices.Clone(d.sessions),
		slots: d.slots, blocks: d.blocks, langs: slices.Clone(d.langs), terms: d.terms.clone(),
	}
	return f
}

// Written is what a snapshot holds.
type Written struct {
	Revision int64
	Rows     int

	of    *data
	terms lexicon // as they were
	sums  [sections]uint32
}

// WriteSnapshot writes the layer as it is now. Other writers wait only while the small part is copied.
func (l *Layer) WriteSnapshot(to io.Writer) (Written, error) {
	if !littleEndian {
		return Written{}, ErrSnapshot
	}
	f := l.freeze()
	w := &snapshotWriter{to: bufio.NewWriterSize(to, 1<<16), numbers: map[string]uint32{}}
	f.write(w)
	err := w.finish()
	runtime.KeepAlive(f) // a part of it may be in an older snapshot
	done := Written{Revision: f.revision, Rows: len(f.rows), of: f.data, terms: f.terms}
	for i := range w.places {
		done.sums[i] = w.places[i].sum
	}
	return done, err
}

// UseSnapshot makes the layer use the planes of vectors, tokens and postings of a snapshot that WriteSnapshot has
// written, instead of its own, as [ReadSnapshot] does. It does nothing when rows were dropped since, and
// when the bytes are another snapshot: another process may have rows in another order.
func (l *Layer) UseSnapshot(written Written, data []byte, owner any) error {
	s, err := openSnapshot(data)
	if err != nil {
		return err
	}
	if s.sums != written.sums {
		return nil
	}
	m, err := s.meta(l.dimensions)
	if err != nil {
		return err
	}
	mapped, _, err := s.vectors(&m, owner, padded(l.dimensions))
	if err != nil {
		return err
	}
	stored, err := s.terms(&m, owner)
	if err != nil {
		return err
	}
	l.writer.Lock()
	defer l.writer.Unlock()
	d := l.data.Load()
	if d != written.of {
		return nil
	}
	// Terms and blocks change under the lock of writers only; readers wait for the exchange alone.
	terms := d.terms.without(stored, written.terms)
	smaller := d.terms.size() - terms.size()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.terms = terms
	d.bytes -= smaller
	blocks := slices.Clone(d.blocks)
	if len(d.slots) > m.slots {
		mapped = mapped[:m.slots/blockRows] // the last block of the snapshot lacks the rows that came since
	}
	for i := range mapped {
		d.bytes += mapped[i].own() - blocks[i].own()
		if blocks[i].owner == nil {
			d.bytes -= int64(len(blocks[i].codes) + len(blocks[i].low))
			for _, t := range blocks[i].tokens {
				d.bytes -= allocated(len(t))
			}
		}
		blocks[i] = mapped[i]
	}
	d.blocks = blocks
	return nil
}

// snapshotWriter writes sections. It keeps the first error.
type snapshotWriter struct {
	to      *bufio.Writer
	at      uint64
	places  [sections]place
	err     error
	numbers map[string]uint32 // of strings
	strings []string
	created int64 // when the last record was made
}

type place struct {
	offset, length uint64
	sum            uint32
}

// section writes a section in the pieces that fill writes.
func (w *snapshotWriter) section(n int, fill func(write func([]byte))) {
	for ; w.at%sectionAlign != 0 && w.err == nil; w.at++ {
		w.err = w.to.WriteByte(0)
	}
	p := &w.places[n]
	p.offset = w.at
	fill(func(b []byte) {
		if w.err != nil {
			return
		}
		_, w.err = w.to.Write(b)
		p.sum = crc32.Update(p.sum, castagnoli, b)
		p.length += uint64(len(b))
		w.at += uint64(len(b))
	})
}

func (w *snapshotWriter) finish() error {
	trailer := make([]byte, 0, snapshotFloor)
	for _, p := range w.places {
		trailer = binary.LittleEndian.AppendUint64(trailer, p.offset)
		trailer = binary.LittleEndian.AppendUint64(trailer, p.length)
		trailer = binary.LittleEndian.AppendUint32(trailer, p.sum)
	}
	trailer = binary.LittleEndian.AppendUint32(trailer, crc32.Checksum(trailer, castagnoli))
	trailer = binary.LittleEndian.AppendUint64(trailer, snapshotMagic)
	if w.err == nil {
		_, w.err = w.to.Write(trailer)
	}
	if w.err == nil {
		w.err = w.to.Flush()
	}
	return w.err
}

// number returns the number of a string in the list of all strings.
func (w *snapshotWriter) number(s string) uint64 {
	n, ok := w.numbers[s]
	if !ok {
		n = uint32(len(w.strings)) //nolint:gosec // memory ends before
		w.numbers[s] = n
		w.strings = append(w.strings, s)
	}
	return uint64(n)
}

// The least lengths of what is written by itself, for bounds of what is read.
const (
	leastRow     = 16 + 8 + 4 + 9
	leastPassage = 3
)

func (f *frozen) write(w *snapshotWriter) {
	le := binary.LittleEndian
	w.section(sectionRows, func(write func([]byte)) {
		var buf []byte
		last := rowBefore{slot: none}
		for i := range f.rows {
			e := &f.rows[i]
			buf = le.AppendUint64(append(buf[:0], e.note[:]...), uint64(e.digest)) //nolint:gosec // bits, not a number
			buf = append(buf, e.lang, byte(e.role), byte(e.marks), boolByte(e.tombstone))
			for _, n := range []int64{
				e.from - last.from, f.to[i], e.occurredAt - last.occurredAt, distance(i, e.prev), int64(e.session) - none,
				distance(last.slot, f.slotOf[i]), int64(e.passages), int64(e.length), int64(e.terms) - int64(e.length),
			} {
				buf = binary.AppendVarint(buf, n)
			}
			write(buf)
			last.add(e, f.slotOf[i])
		}
	})
	w.section(sectionRecords, func(write func([]byte)) {
		var buf []byte
		for i := range f.rows {
			if e := &f.rows[i]; !e.tombstone {
				buf = w.appendRecord(buf[:0], e)
				write(buf)
			}
		}
	})
	w.section(sectionPassages, func(write func([]byte)) {
		var buf []byte
		for i := range f.rows { // the passages of a row follow those of the one before it
			e := &f.rows[i]
			for _, p := range f.passages[e.first:][:e.passages] {
				buf = binary.AppendUvarint(binary.AppendUvarint(buf[:0], uint64(p.start)), uint64(p.end-p.start))
				write(binary.AppendUvarint(buf, uint64(p.length)))
			}
		}
	})
	var lists [][]posting // by term
	w.section(sectionTerms, func(write func([]byte)) {
		var buf []byte
		for t, list := range f.terms.sorted() {
			buf = binary.AppendUvarint(buf[:0], uint64(len(t)))
			write(binary.AppendUvarint(append(buf, t...), uint64(len(list))))
			lists = append(lists, list)
		}
	})
	w.section(sectionPostings, func(write func([]byte)) {
		var buf []byte
		for _, list := range lists {
			buf = buf[:0]
			for _, p := range list {
				buf = le.AppendUint16(le.AppendUint16(le.AppendUint32(buf, p.passage), p.tf), p.own)
			}
			write(buf)
		}
	})
	w.section(sectionSessions, func(write func([]byte)) {
		var buf []byte
		for _, s := range f.sessions {
			buf = binary.AppendUvarint(buf[:0], w.number(s.name))
			buf = binary.AppendUvarint(buf, uint64(len(s.rows)))
			for _, r := range s.rows {
				buf = binary.AppendUvarint(buf, uint64(r))
			}
			write(buf)
		}
	})
	w.section(sectionHides, func(write func([]byte)) {
		var buf []byte
		last := none
		for _, h := range f.hides {
			row := h.newest
			for row != none && f.rows[row].prev != none {
				row = f.rows[row].prev
			}
			if row != none && f.rows[row].from == h.from {
				write(binary.AppendVarint(buf[:0], distance(last, row)))
				last = int(row)
				continue
			}
			buf = append(binary.AppendVarint(buf[:0], 0), h.note[:]...) // compaction has dropped the first version
			write(binary.AppendVarint(buf, h.from))
		}
	})
	f.writeVectors(w)
	w.section(sectionStrings, func(write func([]byte)) {
		var buf []byte
		for _, s := range w.strings {
			write(append(binary.AppendUvarint(buf[:0], uint64(len(s))), s...))
		}
	})
	w.section(sectionMeta, func(write func([]byte)) {
		buf := binary.AppendUvarint(nil, snapshotFormat)
		buf = binary.AppendVarint(buf, f.revision)
		buf = append(buf, boolByte(f.outOfOrder))
		for _, n := range []int{
			f.dimensions, len(f.rows), len(f.passages), len(lists), len(f.sessions), len(f.hides), len(f.slots), len(w.strings), len(f.langs),
		} {
			buf = binary.AppendUvarint(buf, uint64(n)) //nolint:gosec // not negative
		}
		for _, l := range f.langs {
			buf = append(binary.AppendUvarint(buf, uint64(len(l))), l...)
		}
		write(buf)
	})
}

// rowBefore is what a row is written relative to.
type rowBefore struct {
	from, occurredAt int64
	slot             int // of the last row that has one, or none
}

func (r *rowBefore) add(e *entry, slot int32) {
	r.from, r.occurredAt = e.from, e.occurredAt
	if slot != none {
		r.slot = int(slot)
	}
}

// distance returns how far another number is from a number, which it does not equal; 0: there is no other.
func distance(from int, to int32) int64 {
	if to == none {
		return 0
	}
	return int64(to) - int64(from)
}

func (f *frozen) writeVectors(w *snapshotWriter) {
	stride := padded(f.dimensions)
	w.section(sectionSlots, func(write func([]byte)) {
		var buf []byte
		for slot := range f.slots {
			buf = binary.AppendUvarint(buf[:0], uint64(len(f.blocks[slot/blockRows].token(slot%blockRows))/TokenDim))
			write(buf)
		}
	})
	// each calls fn with the blocks and how many of their slots are filled.
	each := func(fn func(b *block, filled int)) {
		for i, b := range f.blocks {
			fn(b, min(blockRows, len(f.slots)-i*blockRows))
		}
	}
	w.section(sectionCodes, func(write func([]byte)) {
		each(func(b *block, filled int) { write(b.codes[:filled*stride]) })
	})
	w.section(sectionLow, func(write func([]byte)) {
		each(func(b *block, filled int) { write(b.low[:filled*stride/2]) })
	})
	w.section(sectionTokens, func(write func([]byte)) {
		each(func(b *block, filled int) {
			for i := range filled {
				write(b.token(i))
			}
		})
	})
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// ReadSnapshot fills an empty layer from the bytes of a snapshot. The planes of vectors, tokens, terms and postings are not
// copied: the layer keeps owner, which must keep the bytes readable and unchanged, and drops it with what it has of
// them. Bytes that are damaged, cut off, or of another format or another number of dimensions are
// ErrSnapshot, and leave the layer empty. A layer that is not empty is ErrOutOfStep.
func (l *Layer) ReadSnapshot(data []byte, owner any) error {
	s, err := openSnapshot(data)
	if err != nil {
		return err
	}
	if err := s.verify(); err != nil {
		return err
	}
	d, revision, err := s.decode(owner, l.dimensions)
	if err != nil {
		return err
	}
	l.writer.Lock()
	defer l.writer.Unlock()
	old := l.data.Load()
	old.mu.RLock()
	empty := len(old.rows) == 0
	old.mu.RUnlock()
	if !empty || l.Revision() > revision {
		return fmt.Errorf("%w: the layer is at %d, the snapshot at %d", ErrOutOfStep, l.Revision(), revision)
	}
	d.generation = old.generation + 1
	l.data.Store(d)
	l.revision.Store(revision)
	return nil
}

// snapshot is a snapshot's bytes by section.
type snapshot struct {
	section [sections][]byte
	sums    [sections]uint32
}

func openSnapshot(data []byte) (*snapshot, error) {
	le := binary.LittleEndian
	if !littleEndian || len(data) < snapshotFloor {
		return nil, ErrSnapshot
	}
	trailer := data[len(data)-snapshotFloor:]
	if le.Uint64(trailer[trailerBytes+4:]) != snapshotMagic || le.Uint32(trailer[trailerBytes:]) != crc32.Checksum(trailer[:trailerBytes], castagnoli) {
		return nil, fmt.Errorf("%w: the end is missing or damaged", ErrSnapshot)
	}
	s := &snapshot{}
	limit := uint64(len(data) - snapshotFloor) //nolint:gosec // not negative
	for i := range s.section {
		p := trailer[i*placeBytes:]
		offset, length := le.Uint64(p), le.Uint64(p[8:])
		if offset > limit || length > limit-offset {
			return nil, fmt.Errorf("%w: a section is outside", ErrSnapshot)
		}
		s.section[i], s.sums[i] = data[offset:offset+length:offset+length], le.Uint32(p[16:])
	}
	return s, nil
}

// verify compares the checksums, of the large sections beside the others.
func (s *snapshot) verify() error {
	bad := make([]bool, sections)
	var wg sync.WaitGroup
	for i := range s.section {
		check := func() { bad[i] = crc32.Checksum(s.section[i], castagnoli) != s.sums[i] }
		if len(s.section[i]) > 1<<20 {
			wg.Go(check)
		} else {
			check()
		}
	}
	wg.Wait()
	if slices.Contains(bad, true) {
		return fmt.Errorf("%w: a checksum differs", ErrSnapshot)
	}
	return nil
}

// snapshotMeta are the numbers of what a snapshot holds.
type snapshotMeta struct {
	revision                                                              int64
	outOfOrder                                                            bool
	dimensions, rows, passages, terms, sessions, hides, slots, stringList int
	langs                                                                 []text.Language
}

func (s *snapshot) meta(dimensions int) (m snapshotMeta, err error) {
	c := &cursor{rest: s.section[sectionMeta]}
	if format := c.uvarint(); c.bad || format != snapshotFormat {
		return m, fmt.Errorf("%w: another format", ErrSnapshot)
	}
	m.revision, m.outOfOrder = c.varint(), c.byte() != 0
	langs := 0
	for _, n := range []*int{&m.dimensions, &m.rows, &m.passages, &m.terms, &m.sessions, &m.hides, &m.slots, &m.stringList, &langs} {
		*n = c.count(math.MaxInt32)
	}
	for range min(langs, math.MaxUint8) {
		m.langs = append(m.langs, text.Language(c.bytes(c.count(math.MaxUint8))))
	}
	stride := padded(dimensions)
	switch {
	case c.bad || m.dimensions != dimensions:
		err = fmt.Errorf("%w: another number of dimensions", ErrSnapshot)
	case len(s.section[sectionRows]) < m.rows*leastRow, len(s.section[sectionPassages]) < m.passages*leastPassage,
		len(s.section[sectionHides]) < m.hides, len(s.section[sectionSlots]) < m.slots, m.slots > m.rows,
		len(s.section[sectionCodes]) != m.slots*stride, len(s.section[sectionLow]) != m.slots*stride/2,
		len(s.section[sectionPostings])%int(postingBytes) != 0:
		err = fmt.Errorf("%w: the length of a section is wrong", ErrSnapshot)
	}
	return m, err
}

var (
	errSnapshotContent = fmt.Errorf("%w: its content contradicts itself", ErrSnapshot)
	errUnaligned       = fmt.Errorf("%w: it is not aligned", ErrSnapshot)
)

// decode builds the data of a layer.
func (s *snapshot) decode(owner any, dimensions int) (d *data, revision int64, err error) {
	m, err := s.meta(dimensions)
	if err != nil {
		return nil, 0, err
	}
	d = newData()
	d.outOfOrder, d.langs = m.outOfOrder, m.langs
	// The words and the rows are independent of each other.
	var words error
	var wg sync.WaitGroup
	wg.Go(func() { d.terms.stored, words = s.terms(&m, owner) })
	err = s.decodeRows(d, &m)
	wg.Wait()
	if err := errors.Join(err, words); err != nil {
		return nil, 0, err
	}
	if err := s.decodeVectors(d, &m, owner, padded(dimensions)); err != nil {
		return nil, 0, err
	}
	return d, m.revision, nil
}

func (s *snapshot) decodeRows(d *data, m *snapshotMeta) error {
	c := &cursor{rest: s.section[sectionStrings], text: string(s.section[sectionStrings])}
	list := make([]string, m.stringList)
	for i := range list {
		list[i] = c.string(c.count(math.MaxInt32))
	}
	records := &recordReader{cursor: cursor{rest: s.section[sectionRecords]}, strings: list}
	rows, passages := &cursor{rest: s.section[sectionRows]}, &cursor{rest: s.section[sectionPassages]}
	d.rows, d.to, d.slotOf = make([]entry, m.rows), make([]int64, m.rows), make([]int32, m.rows)
	d.passages, d.slots = make([]passage, 0, m.passages), make([]uint32, m.slots)
	last, ended, slots := rowBefore{slot: none}, 0, 0
	for i := range d.rows {
		e := &d.rows[i]
		d.to[i], d.slotOf[i] = rows.row(e, i, &last)
		if e.prev < none || int(e.prev) >= m.rows || e.session < none || int(e.session) >= m.sessions || d.slotOf[i] < none || int(d.slotOf[i]) >= m.slots ||
			e.role > OtherRole || !e.tombstone && int(e.lang) >= len(d.langs) || int(e.passages) > m.passages-len(d.passages) {
			return errSnapshotContent
		}
		last.add(e, d.slotOf[i])
		if slot := d.slotOf[i]; slot != none {
			d.slots[slot] = uint32(i)
			slots++
		}
		e.first = uint32(len(d.passages)) //nolint:gosec // memory ends before
		for range e.passages {
			d.passages = append(d.passages, passages.passage(i))
		}
		if d.to[i] != 0 {
			ended++
		}
		if !e.tombstone {
			r := records.read()
			r.OccurredAt = e.at()
			d.bytes += d.setRecord(e, &r)
			d.bytes += d.facets.add(e) + d.turns.add(uint32(i), e)
		}
	}
	for slot, row := range d.slots {
		if slots != m.slots || d.slotOf[row] != int32(slot) {
			return errSnapshotContent // a slot is of two rows, or of none
		}
	}
	hides, at := &cursor{rest: s.section[sectionHides]}, none
	d.hides = make([]hide, m.hides)
	for i := range d.hides {
		if n := hides.varint(); n != 0 {
			if at = int(int64(at) + n); at < 0 || at >= m.rows {
				return errSnapshotContent
			}
			d.hides[i] = hide{d.rows[at].note, d.rows[at].from, none}
		} else {
			var note ID
			copy(note[:], hides.bytes(len(note)))
			d.hides[i] = hide{note, hides.varint(), none}
		}
		d.hideOf = d.hideOf.added(d.hides[:i+1])
	}
	if rows.bad || passages.bad || hides.bad || len(d.passages) != m.passages {
		return errSnapshotContent
	}
	d.ends = make([]end, 0, ended)
	for i := range d.rows {
		e := &d.rows[i]
		n, held := d.hideOf.find(d.hides, e.note)
		if !held {
			return errSnapshotContent
		}
		// The head of a note's versions is the one with the highest revision.
		if h := &d.hides[n]; h.newest == none || d.rows[h.newest].from < e.from {
			h.newest = int32(i)
		}
		if d.to[i] != 0 {
			d.ends = append(d.ends, end{d.to[i], uint32(i)})
		}
	}
	slices.SortStableFunc(d.ends, func(a, b end) int { return cmp.Compare(a.to, b.to) })
	d.sorted = len(d.ends)
	if c.bad || records.bad {
		return errSnapshotContent
	}
	return s.decodeSessions(d, m, list)
}

func (s *snapshot) decodeSessions(d *data, m *snapshotMeta, list []string) error {
	c := &cursor{rest: s.section[sectionSessions]}
	d.sessions, d.sessionOf = make([]session, m.sessions), make(map[string]int32, m.sessions)
	for i := range d.sessions {
		name, n := c.count(len(list)-1), c.count(m.rows)
		if c.bad {
			return errSnapshotContent
		}
		rows := make([]uint32, n)
		for j := range rows {
			rows[j] = uint32(c.count(m.rows - 1)) //nolint:gosec // bounded
		}
		d.sessions[i] = session{name: list[name], rows: rows}
		d.sessionOf[list[name]] = int32(i)
		d.bytes += slotBytes(stringBytes+4) + allocated(len(list[name])) + 4*int64(n)
	}
	if c.bad {
		return errSnapshotContent
	}
	return nil
}

// decodeVectors sets the blocks.
func (s *snapshot) decodeVectors(d *data, m *snapshotMeta, owner any, stride int) error {
	blocks, bytes, err := s.vectors(m, owner, stride)
	if err != nil {
		return err
	}
	d.blocks = blocks
	d.bytes += bytes + d.terms.size()
	return nil
}

// vectors returns the blocks, and the memory that they take. They use the planes and
// tokens in place; the last one is copied when it is filled further.
func (s *snapshot) vectors(m *snapshotMeta, owner any, stride int) (blocks []*block, bytes int64, err error) {
	blocks = make([]*block, (m.slots+blockRows-1)/blockRows)
	slots, tokens := &cursor{rest: s.section[sectionSlots]}, s.section[sectionTokens]
	against := make([]int16, stride) // of a vector, only the length is needed
	for n := range blocks {
		b := &block{owner: owner}
		first := n * blockRows
		filled := min(blockRows, m.slots-first)
		b.codes, b.low = s.section[sectionCodes][first*stride:][:filled*stride], s.section[sectionLow][first*stride/2:][:filled*stride/2]
		if len(s.section[sectionTokens]) > 0 {
			b.tokens = make([][]byte, filled)
		}
		for i := range filled {
			v := b.vector(i, stride)
			_, squares := wholeDots(against, v.codes, v.low)
			size := TokenDim * slots.count(len(tokens)/TokenDim)
			if slots.bad || squares <= 0 {
				return nil, 0, errSnapshotContent
			}
			b.inverse[i] = inverseOf(squares)
			if size > 0 {
				b.tokens[i], tokens = tokens[:size:size], tokens[size:]
			}
		}
		bytes += b.own()
		blocks[n] = b
	}
	return blocks, bytes, nil
}

// cursor reads bytes in order. After the first that is missing, bad is set and all that is read is zero.
type cursor struct {
	rest []byte
	text string // the same bytes from the start, for string
	bad  bool
}

func (c *cursor) bytes(n int) []byte {
	if n > len(c.rest) {
		c.bad, n = true, 0
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

// string returns bytes as a part of text, so that no string is allocated.
func (c *cursor) string(n int) string {
	at := len(c.text) - len(c.rest)
	return c.text[at:][:len(c.bytes(n))]
}

func (c *cursor) byte() byte {
	if b := c.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (c *cursor) uvarint() uint64 {
	x, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.bad = true
		return 0
	}
	c.rest = c.rest[n:]
	return x
}

func (c *cursor) varint() int64 {
	x, n := binary.Varint(c.rest)
	if n <= 0 {
		c.bad = true
		return 0
	}
	c.rest = c.rest[n:]
	return x
}

// count returns a number that is at most limit.
func (c *cursor) count(limit int) int {
	n := c.uvarint()
	if limit < 0 || n > uint64(limit) {
		c.bad = true
		return 0
	}
	return int(n) //nolint:gosec // bounded
}

func (c *cursor) float() float64 {
	b := c.bytes(8)
	if len(b) < 8 {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// row reads a row without its record and its first passage, and returns its end and its slot.
func (c *cursor) row(e *entry, i int, last *rowBefore) (to int64, slot int32) {
	b := c.bytes(16 + 8 + 4)
	if c.bad {
		return 0, none
	}
	e.note, e.digest = ID(b[:16]), int64(binary.LittleEndian.Uint64(b[16:])) //nolint:gosec // bits, not a number
	e.lang, e.role, e.marks, e.tombstone = b[24], Role(b[25]), marks(b[26]), b[27] != 0
	e.from, to = last.from+c.varint(), c.varint()
	e.occurredAt = last.occurredAt + c.varint()
	e.prev = c.near(i)
	e.session = int32(c.varint() + none) //nolint:gosec // the caller checks the bounds
	slot = c.near(last.slot)
	e.passages, e.length = uint32(c.varint()), uint32(c.varint()) //nolint:gosec // as above
	e.terms = e.length + uint32(c.varint())                       //nolint:gosec // as above
	return to, slot
}

// near is the reverse of distance.
func (c *cursor) near(from int) int32 {
	n := c.varint()
	if n == 0 {
		return none
	}
	return int32(int64(from) + n) //nolint:gosec // the caller checks the bounds
}

// passage reads a passage of a row.
func (c *cursor) passage(row int) passage {
	p := passage{row: uint32(row), start: uint32(c.uvarint())}         //nolint:gosec // bits, not a number
	p.end, p.length = p.start+uint32(c.uvarint()), uint32(c.uvarint()) //nolint:gosec // as above
	return p
}
