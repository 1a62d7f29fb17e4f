package index

import "slices"

// top keeps the k best hits: a heap whose root is the worst of them.
type top struct {
	k    int
	heap []Hit
}

func newTop(k int) *top { return &top{k: max(k, 0)} }

func (t *top) full() bool { return len(t.heap) >= t.k }

// worst is the score of the root; it is asked only when full.
func (t *top) worst() float64 {
	if t.k == 0 {
		return 0
	}
	return t.heap[0].Score
}

func (t *top) push(h Hit) {
	if t.k == 0 {
		return
	}
	if !t.full() {
		t.heap = append(t.heap, h)
		for i := len(t.heap) - 1; i > 0; {
			parent := (i - 1) / 2
			if !t.heap[parent].Before(t.heap[i]) {
				break
			}
			t.heap[parent], t.heap[i] = t.heap[i], t.heap[parent]
			i = parent
		}
		return
	}
	if !h.Before(t.heap[0]) {
		return
	}
	t.heap[0] = h
	for i := 0; ; {
		worst, left := i, 2*i+1
		for _, child := range []int{left, left + 1} {
			if child < len(t.heap) && t.heap[worst].Before(t.heap[child]) {
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

// sorted gives the hits, best first, and ends the heap.
func (t *top) sorted() []Hit {
	slices.SortFunc(t.heap, func(a, b Hit) int {
		switch {
		case a.Before(b):
			return -1
		case b.Before(a):
			return 1
		}
		return 0
	})
	return t.heap
}
