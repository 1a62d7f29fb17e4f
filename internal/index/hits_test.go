package index

import "bytes"

// Lexical returns the k best notes by words, best first, as Signals finds them among its candidates.
func (q *Query) Lexical(sel *Selection, k int) []Hit {
	w := acquireWorkspace(q.view)
	defer w.release()
	best := q.lexical(w, sel, k).sorted()
	out := make([]Hit, len(best))
	for i, r := range best {
		out[i] = q.view.newHit(r)
	}
	return out
}

// Before reports whether h is ordered before o: a higher score first, then the lower note id.
func (h Hit) Before(o Hit) bool {
	if h.Score != o.Score {
		return h.Score > o.Score
	}
	return bytes.Compare(h.Note[:], o.Note[:]) < 0
}
