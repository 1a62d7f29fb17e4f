package index

import (
	"bytes"
	"math"
	"slices"
)

// ranked is a row, by its number in a view, with a score.
type ranked struct {
	score float64
	row   uint32
}

// top keeps the k best rows of a view: a heap whose root is the worst of them. Equal scores are
// ordered by note id; without a view they are not ordered.
type top struct {
	view  *View
	k     int
	heap  []ranked
	least float64 // no lower score is among the k best: loops compare it before they call push
}

func newTop(v *View, k int) *top {
	const most = 512 // slots that are allocated together
	t := &top{view: v, k: max(k, 0), heap: make([]ranked, 0, min(max(k, 0), most)), least: math.Inf(-1)}
	if t.k == 0 {
		t.least = math.Inf(1)
	}
	return t
}

// compare is negative when a is better than b.
func (t *top) compare(a, b ranked) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	case t.view == nil:
		return 0
	}
	x, y := &t.view.entry(a.row).note, &t.view.entry(b.row).note
	return bytes.Compare(x[:], y[:])
}

// rejects reports whether a score is certainly not among the k best.
func (t *top) rejects(score float64) bool {
	return score < t.least || t.view == nil && score == t.least
}

// threshold returns the score of the k-th best row, or 0 when there are fewer.
func (t *top) threshold() float64 {
	if len(t.heap) < t.k || t.k == 0 {
		return 0
	}
	return t.heap[0].score
}

func (t *top) push(row uint32, score float64) {
	if t.rejects(score) {
		return
	}
	r := ranked{score, row}
	if len(t.heap) < t.k {
		t.heap = append(t.heap, r)
		i := len(t.heap) - 1
		for i > 0 {
			parent := (i - 1) / 2
			if t.compare(t.heap[parent], r) > 0 {
				break
			}
			t.heap[i] = t.heap[parent]
			i = parent
		}
		t.heap[i] = r
		if len(t.heap) == t.k {
			t.least = t.heap[0].score
		}
		return
	}
	if t.k == 0 || t.compare(r, t.heap[0]) >= 0 {
		return
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(t.heap) {
			break
		}
		if right := child + 1; right < len(t.heap) && t.compare(t.heap[child], t.heap[right]) < 0 {
			child = right
		}
		if t.compare(r, t.heap[child]) >= 0 {
			break
		}
		t.heap[i] = t.heap[child]
		i = child
	}
	t.heap[i] = r
	t.least = t.heap[0].score
}

// sorted returns the rows, best first. The heap cannot be used afterwards.
func (t *top) sorted() []ranked {
	slices.SortFunc(t.heap, t.compare)
	return t.heap
}
