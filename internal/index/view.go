package index

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Bound is a layer and the revision it is read at.
type Bound struct {
	Layer *Layer
	At    int64
}

// View is a stack of layers at fixed bounds. It is immutable, cheap to open again, and safe for
// concurrent use. It sees one state however long it is kept, except that a vector that is stored
// later may be missing from it.
type View struct {
	layers      []layerView
	stack       *stack
	dimensions  int
	rows        int // number of rows of all layers
	allPassages int // number of passages of all layers
	notes       int
	passages    int
	length      int64 // of the visible notes, in terms
	roles       [OtherRole + 1]int
	terms       int64 // of their passages
	langs       []text.Language
}

// layerView is a layer as one view sees it. Within the view, its rows are numbered from base on and
// its passages from offset on, beginning with the farthest layer, so writes to a fork do not change
// the numbers of its base.
type layerView struct {
	data     *data
	base     uint32
	offset   uint32
	whole    bool // every passage is visible
	visible  bitset
	rows     []entry
	passages []passage
	slots    []uint32
	blocks   []*block
}

// number returns the number of a row within the view.
func (l *layerView) number(row uint32) int32 { return int32(l.base + row) } //nolint:gosec // rows fit

// stack is the visibility of every layer of a view, and what is computed from it. It is immutable,
// except for its chain and its facets, which are computed on first use.
type stack struct {
	visibilities []*visibility
	// What it was built from. Generations identify the layers' data: a remembered stack must not
	// keep the data alive after a compaction.
	source      []weak.Pointer[Layer] // weak: a layer that was dropped must not stay in memory for this
	bounds      []int64
	generations []uint64
	slots       []int // how many slots of each layer the view sees
	hidden      int   // how many hides of the nearest layer are in effect
	used        uint64

	sessions     *sessions
	chainMutex   sync.Mutex // held while the chain is built
	chain        atomic.Pointer[chain]
	earlierChain atomic.Pointer[chain] // of an earlier stack, to build the chain from

	facetsOnce sync.Once
	facets     map[string]*Facet
}

// maxRemembered is the number of visibilities and of stacks that a layer remembers.
const maxRemembered = 8

// maxChains is the number of remembered stacks that keep their chain.
const maxChains = 3

// Open opens a view of layers, nearest first. It returns [ErrBehind] when a layer has not reached
// its bound.
func Open(bounds []Bound) (*View, error) {
	if len(bounds) == 0 {
		return nil, fmt.Errorf("index: a view needs at least one layer")
	}
	v := &View{dimensions: bounds[0].Layer.dimensions, layers: make([]layerView, len(bounds))}
	for i, b := range bounds {
		if b.Layer.dimensions != v.dimensions {
			return nil, fmt.Errorf("index: layers of %d and %d dimensions in one view", v.dimensions, b.Layer.dimensions)
		}
		if have := b.Layer.Revision(); have < b.At {
			return nil, fmt.Errorf("%w: layer %d has %d, bound is %d", ErrBehind, i, have, b.At)
		}
		v.layers[i].data = b.Layer.data.Load()
	}
	v.stack = v.visibleStack(bounds)
	langs := map[text.Language]bool{}
	for i := len(bounds) - 1; i >= 0; i-- {
		l, vis := &v.layers[i], v.stack.visibilities[i]
		d := l.data
		d.mu.RLock()
		l.rows, l.passages = d.rows[:vis.n], d.passages
		for j, n := range vis.langs {
			if n > 0 {
				langs[d.langs[j]] = true
			}
		}
		d.mu.RUnlock()
		l.visible, l.base = vis.rows, uint32(v.rows) //nolint:gosec // rows fit
		l.whole = vis.passages == len(l.passages)
		l.offset = uint32(v.allPassages) //nolint:gosec // passages fit
		v.rows += vis.n
		v.allPassages += len(l.passages)
		v.notes += vis.notes
		v.passages += vis.passages
		v.length += vis.length
		for r, n := range vis.roles {
			v.roles[r] += n
		}
		v.terms += vis.terms
	}
	v.langs = slices.Sorted(maps.Keys(langs))
	return v, nil
}

// Len returns the number of visible notes.
func (v *View) Len() int { return v.notes }

// Sessions returns the number of sessions with a visible note, and their mean length in terms. A
// note without a session counts as a session of its own.
func (v *View) Sessions() (n int, mean float64) {
	s := v.stack.sessions
	if s.notes == 0 {
		return 0, 0
	}
	return s.notes, float64(s.total) / float64(s.notes)
}

// locate returns the layer and the row of a row's number in the view.
func (v *View) locate(g uint32) (layer int, row uint32) {
	for i := range v.layers {
		if b := v.layers[i].base; g >= b {
			return i, g - b
		}
	}
	return 0, g // not reached: the farthest layer's base is 0
}

func (v *View) entry(g uint32) *entry {
	i, row := v.locate(g)
	return &v.layers[i].rows[row]
}

// visibleStack returns what is visible in each layer, and sets the slots and blocks of the layers.
func (v *View) visibleStack(bounds []Bound) *stack {
	s := &stack{}
	for i, b := range bounds {
		l := &v.layers[i]
		l.data.mu.RLock()
		l.slots, l.blocks = l.data.slots, l.data.blocks
		l.data.mu.RUnlock()
		s.source, s.bounds = append(s.source, weak.Make(b.Layer)), append(s.bounds, b.At)
		s.generations = append(s.generations, l.data.generation)
		s.slots = append(s.slots, len(l.slots))
	}
	nearest, key := v.layers[0].data, s.key()
	known, earlier := nearest.remembered(key, s)
	if known != nil {
		return known
	}
	hides, inOrder := nearest.hidesUpTo(s.bounds[0])
	s.hidden = hides
	if !inOrder {
		earlier = nil
	}
	for i := range bounds {
		d := v.layers[i].data
		if i > 0 && earlier != nil {
			s.visibilities = append(s.visibilities, d.without(earlier.visibilities[i], nearest.heldNotes(earlier.hidden, s.hidden, s.bounds[0])))
			continue
		}
		vis := d.visibilityAt(s.bounds[i])
		for j := range i {
			n, _ := v.layers[j].data.hidesUpTo(s.bounds[j])
			vis = d.without(vis, v.layers[j].data.heldNotes(0, n, s.bounds[j]))
		}
		s.visibilities = append(s.visibilities, vis)
	}
	s.sessions = v.joinSessions(s.visibilities)
	if earlier != nil {
		if c := earlier.chain.Load(); c != nil {
			s.earlierChain.Store(c)
		} else {
			s.earlierChain.Store(earlier.earlierChain.Load())
		}
	}
	nearest.remember(key, s)
	return s
}

// remembered returns the stack under key as known, if it was built from the same layers in the same
// generations as want. Otherwise it returns the latest stack that want extends as earlier.
func (d *data) remembered(key string, want *stack) (known, earlier *stack) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.stacked[key]; ok && slices.Equal(s.source, want.source) && slices.Equal(s.generations, want.generations) {
		d.clock++
		s.used = d.clock
		return s, nil
	}
	for _, s := range d.stacked {
		if s.precedes(want) && (earlier == nil || s.bounds[0] > earlier.bounds[0] || s.bounds[0] == earlier.bounds[0] && s.used > earlier.used) {
			earlier = s
		}
	}
	return nil, earlier
}

// precedes reports whether want sees what s sees plus later writes to the nearest layer and later
// vectors only.
func (s *stack) precedes(want *stack) bool {
	if !slices.Equal(s.source, want.source) || !slices.Equal(s.generations, want.generations) ||
		s.bounds[0] > want.bounds[0] || !slices.Equal(s.bounds[1:], want.bounds[1:]) {
		return false
	}
	for i, n := range s.slots {
		if n > want.slots[i] {
			return false
		}
	}
	return true
}

func (d *data) remember(key string, s *stack) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clock++
	s.used = d.clock
	d.stacked[key] = s
	if len(d.stacked) > maxRemembered {
		forgetOldest(d.stacked, func(s *stack) uint64 { return s.used })
	}
	// A chain is much larger than the rest: stacks that were not used recently drop theirs.
	used := make([]uint64, 0, len(d.stacked))
	for _, s := range d.stacked {
		used = append(used, s.used)
	}
	slices.Sort(used)
	for _, s := range d.stacked {
		if len(used) > maxChains && s.used < used[len(used)-maxChains] {
			s.chain.Store(nil)
			s.earlierChain.Store(nil)
		}
	}
}

// key identifies stacks of one nearest layer: by bounds and number of vectors.
func (s *stack) key() string {
	var key []byte
	for i, at := range s.bounds {
		key = binary.LittleEndian.AppendUint64(key, uint64(at))         //nolint:gosec // bits, not a number
		key = binary.LittleEndian.AppendUint64(key, uint64(s.slots[i])) //nolint:gosec // as above
	}
	return string(key)
}

// hidesUpTo returns the number of hides that can be in effect at a bound. inOrder reports whether
// the list is in order of revision, so all of them are in effect.
func (d *data) hidesUpTo(bound int64) (n int, inOrder bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.outOfOrder {
		return len(d.hides), false
	}
	n, _ = slices.BinarySearchFunc(d.hides, bound+1, func(h hide, from int64) int { return cmp.Compare(h.from, from) })
	return n, true
}

// heldNotes returns the notes of a range of hides that are in effect at a bound.
func (d *data) heldNotes(after, upTo int, bound int64) []ID {
	d.mu.RLock()
	defer d.mu.RUnlock()
	notes := make([]ID, 0, upTo-after)
	for _, h := range d.hides[after:upTo] {
		if h.from <= bound {
			notes = append(notes, h.note)
		}
	}
	return notes
}

// locateNote returns where the visible version of a note is.
func (v *View) locateNote(note ID) (layer int, row uint32, ok bool) {
	for i := range v.layers {
		l := &v.layers[i]
		l.data.mu.RLock()
		row, ok := l.data.newest(note)
		for ok && !l.visible.has(row) {
			prev := l.data.rows[row].prev
			if ok = prev != none; ok {
				row = uint32(prev) //nolint:gosec // not none
			}
		}
		l.data.mu.RUnlock()
		if ok {
			return i, row, true
		}
	}
	return 0, 0, false
}

// SelectFunc selects the visible versions for which keep returns true. It serves conditions that
// are resolved elsewhere to version keys. A record is valid until keep returns.
func (v *View) SelectFunc(keep func(note ID, from int64, r *filter.Record) bool) *Selection {
	s := &Selection{}
	var r filter.Record
	for i := range v.layers {
		l := &v.layers[i]
		pass := newBitset(len(l.visible) * 64)
		for row := range l.visible.all {
			e := &l.rows[row]
			if r = e.record(); keep(e.note, e.from, &r) {
				pass.set(row)
			}
		}
		s.rows = append(s.rows, pass)
	}
	return s
}

// Hit is a note that a query found.
type Hit struct {
	Note   ID
	From   int64 // of the visible version
	Layer  int   // index into the view's layers, 0 is the nearest
	Score  float64
	Digest int64 // as Row.Digest
}
