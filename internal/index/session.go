package index

import (
	"bytes"
	"cmp"
	"slices"
)

// session is the rows of one session within a layer, by position: when they
// occurred, then by note id, then by version. A slice that was handed out
// never changes: what comes in order is appended past its end, what does not
// makes a copy.
type session struct {
	name string
	rows []uint32
}

// before is the order of positions.
func (e *entry) before(o *entry) int {
	return cmp.Or(cmp.Compare(e.at, o.at), bytes.Compare(e.note[:], o.note[:]), cmp.Compare(e.from, o.from))
}

// joinSession puts a row into its session. The lock is held.
func (d *data) joinSession(row uint32, name string) int32 {
	if name == "" {
		return none
	}
	number, ok := d.sessionOf[name]
	if !ok {
		number = int32(len(d.sessions)) //nolint:gosec // no more sessions than rows
		d.sessionOf[name] = number
		d.sessions = append(d.sessions, session{name: name})
		d.bytes += slotBytes(stringBytes+4) + allocated(len(name))
	}
	s := &d.sessions[number]
	e := &d.rows[row]
	before := cap(s.rows)
	if n := len(s.rows); n == 0 || d.rows[s.rows[n-1]].before(e) < 0 {
		s.rows = append(s.rows, row)
	} else {
		at, _ := slices.BinarySearchFunc(s.rows, e, func(r uint32, e *entry) int { return d.rows[r].before(e) })
		moved := make([]uint32, n+1, n+1+n/8)
		copy(moved, s.rows[:at])
		moved[at] = row
		copy(moved[at+1:], s.rows[at:])
		s.rows = moved
	}
	d.bytes += 4 * int64(cap(s.rows)-before)
	return number
}

// sessionRows gives the rows of a session in order, and all rows that they may
// be. Both may be longer than what a view sees, which its bitmap tells.
func (l *layerView) sessionRows(name string) ([]uint32, []entry) {
	l.data.mu.RLock()
	defer l.data.mu.RUnlock()
	number, ok := l.data.sessionOf[name]
	if !ok {
		return nil, nil
	}
	return l.data.sessions[number].rows, l.data.rows
}

// sessionName gives the name of a session of the layer by its number.
func (l *layerView) sessionName(number int32) string {
	l.data.mu.RLock()
	defer l.data.mu.RUnlock()
	return l.data.sessions[number].name
}

// sessionNeighbors walks from a note to the visible notes just before and just after it
// in its session, over all layers; none where there is none.
func (v *View) sessionNeighbors(g uint32) (prev, next int32) {
	prev, next = none, none
	e := v.entry(g)
	if e.session == none {
		return prev, next
	}
	i, _ := v.locate(g)
	name := v.layers[i].sessionName(e.session)
	var prevEntry, nextEntry *entry
	for i := range v.layers {
		l := &v.layers[i]
		list, rows := l.sessionRows(name)
		at, found := slices.BinarySearchFunc(list, e, func(r uint32, e *entry) int { return rows[r].before(e) })
		before := at - 1
		for before >= 0 && !l.visible.has(list[before]) {
			before--
		}
		if found {
			at++
		}
		for at < len(list) && !l.visible.has(list[at]) {
			at++
		}
		if before >= 0 {
			if o := &rows[list[before]]; prevEntry == nil || o.before(prevEntry) > 0 {
				prevEntry, prev = o, l.number(list[before])
			}
		}
		if at < len(list) {
			if o := &rows[list[at]]; nextEntry == nil || o.before(nextEntry) < 0 {
				nextEntry, next = o, l.number(list[at])
			}
		}
	}
	return prev, next
}
