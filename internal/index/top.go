package index

import (
	"bytes"
	"cmp"
	"slices"
)

// ranked is a row, by its number in a view, with a score.
type ranked struct {
	score float64
	row   uint32
}

// top keeps the k best rows of a view: a heap whose root is the worst of them.
// Equal scores order by note id.
type top struct {
	view *View
	k    int
	heap []ranked
}

func newTop(v *View, k int) *top { return &top{view: v, k: max(k, 0)} }

// order is negative where a is better than b.
func (t *top) order(a, b ranked) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	x, y := &t.view.entry(a.row).note, &t.view.entry(b.row).note
	return bytes.Compare(x[:], y[:])
}

func (t *top) push(row uint32, score float64) {
	r := ranked{score, row}
	switch {
	case t.k == 0:
		return
	case len(t.heap) < t.k:
		t.heap = append(t.heap, r)
		for i := len(t.heap) - 1; i > 0; {
			parent := (i - 1) / 2
			if t.order(t.heap[parent], t.heap[i]) > 0 {
				break
			}
			t.heap[parent], t.heap[i] = t.heap[i], t.heap[parent]
			i = parent
		}
		return
	case score < t.heap[0].score || t.order(r, t.heap[0]) >= 0:
		return
	}
	t.heap[0] = r
	for i := 0; ; {
		worst, left := i, 2*i+1
		for _, child := range []int{left, left + 1} {
			if child < len(t.heap) && t.order(t.heap[worst], t.heap[child]) < 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.heap[worst], t.heap[i] = t.heap[i], t.heap[worst]
		i = worst
	}
}

// sorted gives the rows, best first, and ends the heap.
func (t *top) sorted() []ranked {
	slices.SortFunc(t.heap, t.order)
	return t.heap
}
