package index

import (
	"math/bits"
	"slices"
)

// chain has the neighbors in their sessions of all visible notes of a view. Every slice is indexed
// by the row's number in the view. A chain is immutable once it is built.
type chain struct {
	// What it was built from.
	visible []bitset
	slots   []int

	prev, next   []int32  // the visible notes before and after it in its session, or none
	slot         []int32  // of its vector within its layer, or none
	session      []int32  // by the view's number, or none
	length       []uint32 // in terms; 0 when the row is not visible
	windowLength []uint32 // in terms, of the note and two on either side; undefined for rows that are not visible
}

// sessionChain returns the chain of the view. The first call builds it: from the chain of an
// earlier stack or of the farthest layer when there is one, else from all sessions.
func (v *View) sessionChain() *chain {
	s := v.stack
	if c := s.chain.Load(); c != nil {
		return c
	}
	s.chainMutex.Lock()
	defer s.chainMutex.Unlock()
	if c := s.chain.Load(); c != nil {
		return c
	}
	c := v.extendChain(s.earlierChain.Load())
	if c == nil {
		c = v.extendChain(v.farChain())
	}
	if c == nil {
		c = v.buildChain()
	}
	s.chain.Store(c)
	s.earlierChain.Store(nil)
	return c
}

// farChain returns the chain of the farthest layer alone, which all forks of a base share; nil when that layer has changed since the
// view was opened, or when the others hold too much.
func (v *View) farChain() *chain {
	s, far := v.stack, len(v.layers)-1
	if far == 0 || 8*(v.rows-len(v.layers[far].rows)) > v.rows {
		return nil
	}
	layer := s.source[far].Value()
	if layer == nil {
		return nil
	}
	alone, err := Open([]Bound{{layer, s.bounds[far]}})
	if err != nil || alone.stack.generations[0] != s.generations[far] || alone.stack.slots[0] != s.slots[far] {
		return nil
	}
	return alone.sessionChain()
}

func (v *View) newChain() *chain {
	c := &chain{
		prev: make([]int32, v.rows), next: make([]int32, v.rows), slot: make([]int32, v.rows),
		session: make([]int32, v.rows), length: make([]uint32, v.rows), windowLength: make([]uint32, v.rows),
		slots: v.stack.slots,
	}
	for i := range v.layers {
		c.visible = append(c.visible, v.layers[i].visible)
	}
	return c
}

// buildChain builds the chain from the rows of all sessions.
func (v *View) buildChain() *chain {
	c := v.newChain()
	for g := range c.slot {
		c.prev[g], c.next[g], c.slot[g], c.session[g] = none, none, none, none
	}
	people := v.stack.sessions
	lists := make([][]uint32, len(people.tallies))
	mixed := make([]bool, len(lists))
	for i := len(v.layers) - 1; i >= 0; i-- {
		l := &v.layers[i]
		for slot, row := range l.slots {
			if int(row) < len(l.rows) {
				c.slot[l.number(row)] = int32(slot)
			}
		}
		for row := range l.visible.all {
			c.length[l.number(row)] = l.rows[row].length
		}
		for n, t := range v.stack.visibilities[i].sessions {
			if t.notes == 0 {
				continue
			}
			l.data.mu.RLock()
			rows := l.data.sessions[n].rows
			l.data.mu.RUnlock()
			into := people.viewNumber(i, int32(n))
			mixed[into] = len(lists[into]) > 0
			lists[into] = slices.Grow(lists[into], t.notes)
			for _, row := range rows {
				if l.visible.has(row) {
					lists[into] = append(lists[into], l.base+row)
				}
			}
		}
	}
	for n, list := range lists {
		if mixed[n] {
			slices.SortFunc(list, func(a, b uint32) int { return v.entry(a).before(v.entry(b)) })
		}
		for i, g := range list {
			c.session[g] = int32(n)
			if i == 0 {
				continue
			}
			c.prev[list[i]], c.next[list[i-1]] = int32(list[i-1]), int32(list[i]) //nolint:gosec // rows fit
		}
	}
	for g := range c.windowLength {
		c.updateWindowLength(uint32(g))
	}
	return c
}

// layerOf returns what the chain was built from of a layer of a view: nothing, when it is of fewer layers and that one is nearer.
func (c *chain) layerOf(v *View, i int) (visible bitset, slots int) {
	if i -= len(v.layers) - len(c.visible); i < 0 {
		return nil, 0
	}
	return c.visible[i], c.slots[i]
}

// extendChain builds the chain from an earlier one, or from that of farther layers, and what changed since. When nothing did, it
// is the same chain. It returns nil when too much changed.
func (v *View) extendChain(from *chain) *chain {
	if from == nil || len(from.visible) > len(v.layers) {
		return nil
	}
	// Only the nearest layer grows, and its numbers are the last.
	var changed []uint32
	placed := 0
	for i := range v.layers {
		l := &v.layers[i]
		visible, slots := from.layerOf(v, i)
		for w, word := range l.visible {
			if w < len(visible) {
				word ^= visible[w]
			}
			for ; word != 0; word &= word - 1 {
				changed = append(changed, l.base+uint32(w<<6+bits.TrailingZeros64(word))) //nolint:gosec // rows fit
			}
		}
		for _, row := range l.slots[slots:] {
			if int(row) < len(l.rows) {
				placed++
			}
		}
	}
	if len(changed)+placed == 0 && v.rows == len(from.prev) {
		return from
	}
	if 8*(len(changed)+placed) > v.rows {
		return nil
	}
	c := v.newChain()
	for g := copy(c.prev, from.prev); g < v.rows; g++ {
		c.prev[g], c.next[g], c.slot[g], c.session[g] = none, none, none, none
	}
	copy(c.next, from.next)
	copy(c.session, from.session)
	copy(c.slot, from.slot)
	copy(c.length, from.length)
	copy(c.windowLength, from.windowLength)
	for i := range v.layers {
		l := &v.layers[i]
		_, slots := from.layerOf(v, i)
		for at, row := range l.slots[slots:] {
			if int(row) < len(l.rows) {
				c.slot[l.number(row)] = int32(slots + at) //nolint:gosec // no more slots than rows
			}
		}
	}
	// A vector may have been stored before its row became visible.
	for at, g := range changed {
		i, row := v.locate(g)
		l := &v.layers[i]
		c.slot[g] = int32(l.slotOf(row)) //nolint:gosec // no more slots than rows
		prev, next := v.sessionNeighbors(g)
		own := int32(g) //nolint:gosec // rows fit
		if l.visible.has(row) {
			c.prev[g], c.next[g], c.length[g] = prev, next, l.rows[row].length
			c.session[g] = v.stack.sessions.viewNumber(i, l.rows[row].session)
			c.link(prev, own)
			c.link(own, next)
		} else {
			c.prev[g], c.next[g], c.session[g], c.length[g] = none, none, none, 0
			c.link(prev, next)
			changed[at] = uint32(max(prev, next, 0)) // the neighbors are what changed
		}
	}
	// A change affects the windows of the two notes on either side of it.
	for _, g := range changed {
		near, _, n := c.window(g)
		for _, o := range near[:n] {
			c.updateWindowLength(o)
		}
	}
	return c
}

// updateWindowLength computes the length of the window of a row.
func (c *chain) updateWindowLength(g uint32) {
	near, _, n := c.window(g)
	c.windowLength[g] = 0
	for _, o := range near[:n] {
		c.windowLength[g] += c.length[o]
	}
}

// link makes two notes neighbors; none is the end of a session.
func (c *chain) link(prev, next int32) {
	if prev != none {
		c.next[prev] = next
	}
	if next != none {
		c.prev[next] = prev
	}
}

// vector returns the vector of a note; ok is false when it has none.
func (v *View) vector(c *chain, g int32) (out packed, ok bool) {
	if g == none || c.slot[g] == none {
		return packed{}, false
	}
	i, _ := v.locate(uint32(g)) //nolint:gosec // not none
	return v.vectorAt(i, int(c.slot[g]))
}
