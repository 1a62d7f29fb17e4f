package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Bound is a layer and the revision it is read at.
type Bound struct {
	Layer *Layer
	At    int64
}

// View is a stack of layers at fixed bounds. It is immutable, cheap to open
// again, and safe for concurrent use; it sees one state however long it is
// held, except that a vector which comes later may be missing from it.
type View struct {
	layers     []layerView
	dimensions int
	notes      int
	average    float64 // length of a visible note, in terms
	langs      []text.Language
}

// layerView is a layer as one view sees it.
type layerView struct {
	layer   *Layer
	data    *data
	visible bitset
	rows    []entry
	slots   []uint32
	blocks  [][]float32
}

// visibility is the set of visible rows of one layer, with what BM25 needs to
// know about it. It is immutable once made.
type visibility struct {
	rows   bitset
	notes  int
	length int64
	langs  []int // rows by language number
	used   uint64
}

// stack is the visibility of every layer of a view.
type stack struct {
	layers []*visibility
	// What it was made from. Generations stand for the layers' data, which a
	// remembered stack must not keep alive after an erasure.
	from        []*Layer
	generations []uint64
	used        uint64
}

// kept is how many visibilities and stacks a layer remembers.
const kept = 8

// Open makes a view of layers, nearest first. The error is [ErrBehind] where
// a layer has not reached its bound.
func Open(bounds []Bound) (*View, error) {
	if len(bounds) == 0 {
		return nil, fmt.Errorf("index: a view of no layers")
	}
	v := &View{dimensions: bounds[0].Layer.dimensions}
	datas := make([]*data, len(bounds))
	for i, b := range bounds {
		if b.Layer.dimensions != v.dimensions {
			return nil, fmt.Errorf("index: layers of %d and %d dimensions in one view", v.dimensions, b.Layer.dimensions)
		}
		if have := b.Layer.Revision(); have < b.At {
			return nil, fmt.Errorf("%w: layer %d has %d, bound is %d", ErrBehind, i, have, b.At)
		}
		datas[i] = b.Layer.data.Load()
	}
	s := visibleStack(bounds, datas)
	langs := map[text.Language]bool{}
	length := int64(0)
	for i, b := range bounds {
		d, vis := datas[i], s.layers[i]
		d.mu.RLock()
		v.layers = append(v.layers, layerView{layer: b.Layer, data: d, visible: vis.rows, rows: d.rows, slots: d.slots, blocks: d.blocks})
		for j, n := range vis.langs {
			if n > 0 {
				langs[d.langs[j]] = true
			}
		}
		d.mu.RUnlock()
		v.notes += vis.notes
		length += vis.length
	}
	for l := range langs {
		v.langs = append(v.langs, l)
	}
	slices.Sort(v.langs)
	if v.notes > 0 {
		v.average = float64(length) / float64(v.notes)
	}
	return v, nil
}

// Len is the number of visible notes.
func (v *View) Len() int { return v.notes }

// visibleStack gives what is visible in each layer, from the nearest layer's
// memory where it can.
func visibleStack(bounds []Bound, datas []*data) *stack {
	if len(bounds) == 1 {
		return &stack{layers: []*visibility{datas[0].at(bounds[0].At)}}
	}
	s := &stack{}
	for i, b := range bounds {
		s.from = append(s.from, b.Layer)
		s.generations = append(s.generations, datas[i].generation)
	}
	nearest, key := datas[0], stackKey(bounds)
	if known := nearest.remembered(key, s); known != nil {
		return known
	}
	for i, b := range bounds {
		vis := datas[i].at(b.At)
		for j := range i {
			vis = datas[i].without(vis, datas[j].holds(bounds[j].At))
		}
		s.layers = append(s.layers, vis)
	}
	nearest.remember(key, s)
	return s
}

// remembered gives the stack under key if it was made from the same layers
// in the same generations as want, else nil.
func (d *data) remembered(key string, want *stack) *stack {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.stacked[key]
	if !ok || !slices.Equal(s.from, want.from) || !slices.Equal(s.generations, want.generations) {
		return nil
	}
	d.clock++
	s.used = d.clock
	return s
}

func (d *data) remember(key string, s *stack) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clock++
	s.used = d.clock
	d.stacked[key] = s
	if len(d.stacked) > kept {
		forgetOldest(d.stacked, func(s *stack) uint64 { return s.used })
	}
}

// stackKey tells stacks of one nearest layer apart: by their bounds.
func stackKey(bounds []Bound) string {
	var key []byte
	for _, b := range bounds {
		key = binary.LittleEndian.AppendUint64(key, uint64(b.At)) //nolint:gosec // bits, not a number
	}
	return string(key)
}

// at gives what is live at a bound. Later writes begin and end versions past
// the bound, so the answer is kept.
func (d *data) at(bound int64) *visibility {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clock++
	if vis, ok := d.visible[bound]; ok {
		vis.used = d.clock
		return vis
	}
	vis := &visibility{rows: newBitset(len(d.rows)), langs: make([]int, len(d.langs)), used: d.clock}
	for i := range d.rows {
		e := &d.rows[i]
		if e.tombstone || !live(e.from, d.to[i], bound) {
			continue
		}
		vis.rows.set(uint32(i))
		vis.notes++
		vis.length += int64(e.length)
		vis.langs[e.lang]++
	}
	d.visible[bound] = vis
	if len(d.visible) > kept {
		forgetOldest(d.visible, func(v *visibility) uint64 { return v.used })
	}
	return vis
}

// holds lists the notes of which the layer has any version at a bound.
func (d *data) holds(bound int64) []ID {
	d.mu.RLock()
	hides := d.hides
	notes := make([]ID, 0, len(hides))
	for _, h := range hides {
		if h.from <= bound {
			notes = append(notes, h.note)
		}
	}
	d.mu.RUnlock()
	return notes
}

// without takes hidden notes out of what is visible.
func (d *data) without(vis *visibility, notes []ID) *visibility {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := vis
	for _, note := range notes {
		row, ok := d.last[note]
		for ok {
			e := &d.rows[row]
			if out.rows.has(row) {
				if out == vis {
					out = &visibility{rows: vis.rows.clone(), notes: vis.notes, length: vis.length, langs: slices.Clone(vis.langs)}
				}
				out.rows.clear(row)
				out.notes--
				out.length -= int64(e.length)
				out.langs[e.lang]--
			}
			if ok = e.prev != none; ok {
				row = uint32(e.prev) //nolint:gosec // not none
			}
		}
	}
	return out
}

func forgetOldest[K comparable, V any](m map[K]V, used func(V) uint64) {
	var oldest K
	first := true
	for k, v := range m {
		if first || used(v) < used(m[oldest]) {
			oldest, first = k, false
		}
	}
	delete(m, oldest)
}

// find gives where a note is visible.
func (v *View) find(note ID) (layer int, row uint32, ok bool) {
	for i, l := range v.layers {
		l.data.mu.RLock()
		row, ok := l.data.last[note]
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

// Selection is the part of a view that a filter lets pass.
type Selection struct{ rows []bitset }

// Select works a filter out over the visible rows of the view, once for all
// queries of it. A nil filter gives the nil Selection, which selects all.
func (v *View) Select(e filter.Expr) *Selection {
	if e == nil {
		return nil
	}
	return v.SelectFunc(func(_ ID, _ int64, r *filter.Record) bool { return e.Match(r) })
}

// SelectFunc selects the visible versions that keep names; it serves
// conditions that are resolved elsewhere to version keys.
func (v *View) SelectFunc(keep func(note ID, from int64, r *filter.Record) bool) *Selection {
	s := &Selection{}
	for _, l := range v.layers {
		pass := newBitset(len(l.visible) * 64)
		l.visible.each(func(row uint32) {
			e := &l.rows[row]
			if keep(e.note, e.from, e.record) {
				pass.set(row)
			}
		})
		s.rows = append(s.rows, pass)
	}
	return s
}

// of gives what may be hit in a layer: nothing that is not visible.
func (s *Selection) of(i int, l *layerView) bitset {
	if s == nil {
		return l.visible
	}
	return s.rows[i]
}

// Hit is a note that a query found.
type Hit struct {
	Note  ID
	From  int64 // of the version that is visible
	Layer int   // its place in the view's layers, 0 the nearest
	Score float64
}

// Before is the order of hits: higher score first, then the lower note id.
func (h Hit) Before(o Hit) bool {
	if h.Score != o.Score {
		return h.Score > o.Score
	}
	return bytes.Compare(h.Note[:], o.Note[:]) < 0
}
