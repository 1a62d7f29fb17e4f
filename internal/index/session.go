package index

import (
	"bytes"
	"cmp"
	"slices"
)

// session is the rows of one session within a layer, by position: when they occurred, then by note
// id, then by version. A slice that a reader has never changes: a row that comes in order is
// appended past its end, any other row makes a copy.
type session struct {
	name string
	rows []uint32
}

// before returns a negative number when e is before o in a session, and a positive one when it is
// after.
func (e *entry) before(o *entry) int {
	return cmp.Or(cmp.Compare(e.occurredAt, o.occurredAt), bytes.Compare(e.note[:], o.note[:]), cmp.Compare(e.from, o.from))
}

// joinSession adds a row to its session and returns the number of the session. The caller holds the
// lock.
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

// sessionRows returns the rows of a session in order, and the entries that they index. Both may
// hold rows that the view does not see; its bitmap decides.
func (l *layerView) sessionRows(name string) ([]uint32, []entry) {
	l.data.mu.RLock()
	defer l.data.mu.RUnlock()
	number, ok := l.data.sessionOf[name]
	if !ok {
		return nil, nil
	}
	return l.data.sessions[number].rows, l.data.rows
}

// sessionName returns the name of a session of the layer by its number.
func (l *layerView) sessionName(number int32) string {
	l.data.mu.RLock()
	defer l.data.mu.RUnlock()
	return l.data.sessions[number].name
}

// sessionNeighbors returns the visible notes just before and just after a note in its session, over
// all layers; none when there is no such note.
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
