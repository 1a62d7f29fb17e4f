package index

import "slices"

// visibility is the set of visible rows of one layer, with the counts that BM25 needs. It is
// immutable once it is built.
type visibility struct {
	n        int // number of rows considered; later ones are not visible
	rows     bitset
	notes    int
	passages int
	length   int64   // of the notes
	terms    int64   // of the passages
	langs    []int   // number of rows, by language number
	sessions []tally // by session number
	held     tally   // number of sessions with a note, and the length of all their notes
	facets   []int32 // number of notes, by the number of a facet
	roles    [OtherRole + 1]int
	used     uint64
}

// tally is a number of visible notes of a session, or of sessions of a view, with their length in
// terms.
type tally struct {
	notes int
	total int64
}

// clone copies a visibility for changes, with room for n rows.
func (v *visibility) clone(n, langs, sessions, facets int) *visibility {
	out := *v
	out.n = n
	out.rows = newBitset(n)
	copy(out.rows, v.rows)
	out.langs = make([]int, max(langs, len(v.langs)))
	copy(out.langs, v.langs)
	out.sessions = make([]tally, max(sessions, len(v.sessions)))
	copy(out.sessions, v.sessions)
	out.facets = make([]int32, max(facets, len(v.facets)))
	copy(out.facets, v.facets)
	return &out
}

// setVisible makes a row visible, or with sign -1 invisible.
func (v *visibility) setVisible(row uint32, e *entry, f *facets, sign int) {
	if sign > 0 {
		v.rows.set(row)
	} else {
		v.rows.clear(row)
	}
	length := int64(sign) * int64(e.length)
	v.notes += sign
	v.passages += sign * int(e.passages)
	v.length += length
	v.terms += int64(sign) * int64(e.terms)
	v.langs[e.lang] += sign
	v.roles[e.role] += sign
	f.eachCounted(e, func(n int) { v.facets[n] += int32(sign) }) //nolint:gosec // 1 or -1
	v.held.total += length
	if e.session == none {
		v.held.notes += sign // a session by itself
		return
	}
	s := &v.sessions[e.session]
	if s.notes == 0 || s.notes+sign == 0 {
		v.held.notes += sign
	}
	s.notes += sign
	s.total += length
}

// visibilityAt returns what is live at a bound. Later writes begin and end versions past the bound,
// so the result is kept. It is computed from the nearest lower bound and the rows that began and
// ended since.
func (d *data) visibilityAt(bound int64) *visibility {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clock++
	if vis, ok := d.visible[bound]; ok {
		vis.used = d.clock
		return vis
	}
	from, base := int64(0), (*visibility)(nil)
	for b, vis := range d.visible {
		if b < bound && (base == nil || b > from) {
			from, base = b, vis
		}
	}
	if base == nil || d.outOfOrder {
		from, base = 0, &visibility{}
	}
	n := d.rowsUpTo(bound)
	vis := base.clone(n, len(d.langs), len(d.sessions), len(d.facets.list))
	vis.used = d.clock
	if base.n > 0 {
		for _, e := range d.endsIn(from, bound) {
			if vis.rows.has(e.row) {
				vis.setVisible(e.row, &d.rows[e.row], &d.facets, -1)
			}
		}
	}
	for i := base.n; i < n; i++ {
		if e := &d.rows[i]; !e.tombstone && isLive(e.from, d.to[i], bound) {
			vis.setVisible(uint32(i), e, &d.facets, 1) //nolint:gosec // row numbers fit 32 bits
		}
	}
	d.visible[bound] = vis
	if len(d.visible) > maxRemembered {
		forgetOldest(d.visible, func(v *visibility) uint64 { return v.used })
	}
	return vis
}

// without returns the visibility without hidden notes.
func (d *data) without(vis *visibility, notes []ID) *visibility {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := vis
	for _, note := range notes {
		row, ok := d.newest(note)
		for ok {
			e := &d.rows[row]
			if out.rows.has(row) {
				if out == vis {
					out = vis.clone(vis.n, 0, 0, 0)
				}
				out.setVisible(row, e, &d.facets, -1)
			}
			if ok = e.prev != none; ok {
				row = uint32(e.prev) //nolint:gosec // not none
			}
		}
	}
	return out
}

// sessions joins the sessions of a view's layers by their names.
type sessions struct {
	tally             // of the view
	number  [][]int32 // by layer and the layer's number; nil means the number itself
	tallies []tally   // by the view's number
}

// joinSessions counts the sessions over all layers. Sessions of the farthest layer keep their
// numbers. Sessions of nearer layers take over the number of the same name, or get a new one.
func (v *View) joinSessions(layers []*visibility) *sessions {
	far := layers[len(layers)-1]
	s := &sessions{tally: far.held, tallies: far.sessions, number: make([][]int32, len(layers))}
	if len(layers) == 1 {
		return s
	}
	if slices.ContainsFunc(layers[:len(layers)-1], func(l *visibility) bool { return len(l.sessions) > 0 }) {
		s.tallies = slices.Clone(far.sessions)
	}
	added := map[string]int32{}
	for i := len(layers) - 2; i >= 0; i-- {
		own, d := layers[i], v.layers[i].data
		farthest := v.layers[len(layers)-1].data
		s.notes += own.held.notes
		s.total += own.held.total
		numbers := make([]int32, len(own.sessions))
		for n, t := range own.sessions {
			d.mu.RLock()
			name := d.sessions[n].name
			d.mu.RUnlock()
			farthest.mu.RLock()
			number, ok := farthest.sessionOf[name]
			farthest.mu.RUnlock()
			if !ok || int(number) >= len(far.sessions) {
				if number, ok = added[name]; !ok {
					number = int32(len(s.tallies)) //nolint:gosec // no more sessions than rows
					added[name] = number
					s.tallies = append(s.tallies, tally{})
				}
			}
			numbers[n] = number
			into := &s.tallies[number]
			if into.notes > 0 && t.notes > 0 {
				s.notes-- // it continues one of a farther layer
			}
			into.notes += t.notes
			into.total += t.total
		}
		s.number[i] = numbers
	}
	return s
}

// viewNumber returns the view's number of a session of a layer.
func (s *sessions) viewNumber(layer int, number int32) int32 {
	if number == none || s.number[layer] == nil {
		return number
	}
	return s.number[layer][number]
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
