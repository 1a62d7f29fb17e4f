package index

import "sync"

// workspace holds the arrays that one query computes in, over the rows of a view. All elements are
// zero between queries; the lists of touched elements say what to clear.
type workspace struct {
	exact  []float64 // cosine, or 0 when it is not computed yet
	looked []uint32  // rows in exact

	words   []float64 // score of the best passage so far
	found   []uint32  // rows in words
	passage []float64 // score of a passage so far
	touched []uint32  // passages in it, or rows in count

	count    []uint32  // of one word, by row
	reached  []uint32  // rows in wide
	wide     []uint32  // of one word, in the window
	window   []float64 // score of the window
	windowed []uint32  // rows in window
	session  []uint32  // count of one word, by session
	asked    []bool    // sessions whose words count
	mask     bitset    // rows whose words count
}

var workspaces sync.Pool

// acquireWorkspace returns a workspace for the rows of a view.
func acquireWorkspace(v *View) *workspace {
	w, ok := workspaces.Get().(*workspace)
	if !ok {
		w = &workspace{}
	}
	w.exact = grown(w.exact, v.rows)
	w.words, w.passage = grown(w.words, v.rows), grown(w.passage, v.allPassages)
	return w
}

// release clears what was touched and makes the workspace available to the next query. It is not
// deferred: what a panic left in the workspace must not get into another score.
func (w *workspace) release() {
	for _, g := range w.found {
		w.words[g] = 0
	}
	for _, g := range w.windowed {
		w.window[g] = 0
	}
	for _, g := range w.looked {
		w.exact[g] = 0
	}
	w.looked = w.looked[:0]
	w.found, w.windowed, w.touched = w.found[:0], w.windowed[:0], w.touched[:0]
	workspaces.Put(w)
}

// growWindows makes room for the counts of windows and sessions.
func (w *workspace) growWindows(rows, sessions int) {
	w.count, w.wide = grown(w.count, rows), grown(w.wide, rows)
	w.window = grown(w.window, rows)
	w.session, w.asked = grown(w.session, sessions), grown(w.asked, sessions)
	w.mask = grown(w.mask, (rows+63)/64)
}

// grown returns an array of at least n elements; new elements are zero. It keeps its full length,
// so all elements are known to be zero.
func grown[T any](have []T, n int) []T {
	have = have[:cap(have)]
	if len(have) < n {
		return make([]T, n+n/8)
	}
	return have
}
