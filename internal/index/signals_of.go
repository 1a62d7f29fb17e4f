package index

import "runtime"

// SignalsOf measures the given notes as [Query.Signals] does, in the given order. Notes that are
// not visible in the view are left out. It scores linked notes by the same measures as hits.
func (q *Query) SignalsOf(notes []ID) []Signals {
	v := q.view
	if v.notes == 0 || len(notes) == 0 {
		return nil
	}
	defer runtime.KeepAlive(q) // as in Signals
	c := v.sessionChain()
	w := acquireWorkspace(v)
	w.growWindows(v.rows, len(v.stack.sessions.tallies))
	out := make([]Signals, 0, len(notes))
	for _, note := range notes {
		if i, row, ok := v.locateNote(note); ok {
			out = append(out, q.signals(w, c, v.layers[i].base+row))
		}
	}
	q.addContext(w, c, out)
	w.release()
	return out
}
