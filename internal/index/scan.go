package index

import (
	"math/bits"
	"runtime"
	"sync"
)

const (
	// chunk is the number of slots whose codes are scanned at once, where a
	// quarter of them is asked for; else each that is asked for by itself.
	chunk = 32
	// wide is the number of slots from which on a scan takes several processors.
	wideScan = 1 << 15
	// scanners bounds how many.
	scanners = 4
)

// shortlist is how many rows are looked at exactly to find the k best: the
// error of a code is far below the distance that so many rows keep.
func shortlist(k int) int { return k + k/4 + 32 }

// scan puts into w.near the approximate cosine of every selected row that has
// a vector. The sum over the codes is exact, and so the same on every machine
// and by every kernel, and in every view that holds the row.
func (q *Query) scan(w *workspace, sel *Selection) {
	for g := range w.near {
		w.near[g] = absent
	}
	for i := range q.view.layers {
		l := &q.view.layers[i]
		pass := sel.of(i, l)
		workers := 1
		if len(l.slots) >= wideScan {
			workers = min(scanners, runtime.GOMAXPROCS(0))
		}
		blocks := (len(l.blocks) + workers - 1) / workers
		var wg sync.WaitGroup
		for from := blocks; from < len(l.blocks); from += blocks {
			wg.Go(func() { q.scanBlocks(l, pass, w.near, from, min(from+blocks, len(l.blocks))) })
		}
		q.scanBlocks(l, pass, w.near, 0, min(blocks, len(l.blocks)))
		wg.Wait()
	}
}

func (q *Query) scanBlocks(l *layerView, pass bitset, near []float32, from, until int) {
	stride := len(q.vector.codes)
	near = near[l.base:]
	var out [chunk]int32
	for i := from; i < until; i++ {
		bl := l.blocks[i]
		for at := 0; at < blockRows; at += chunk {
			first := i*blockRows + at
			if first >= len(l.slots) {
				break
			}
			rows := l.slots[first:min(first+chunk, len(l.slots))]
			var asked uint32
			for j, row := range rows {
				if pass.has(row) {
					asked |= 1 << j
				}
			}
			if n := bits.OnesCount32(asked); n == 0 {
				continue
			} else if dense := n >= chunk/4; dense {
				codeDots(q.vector.codes, bl.codes[at*stride:], out[:len(rows)])
			} else {
				for rest := asked; rest != 0; rest &= rest - 1 {
					j := bits.TrailingZeros32(rest)
					codeDots(q.vector.codes, bl.codes[(at+j)*stride:], out[j:j+1])
				}
			}
			for rest := asked; rest != 0; rest &= rest - 1 {
				j := bits.TrailingZeros32(rest)
				near[rows[j]] = float32(float64(out[j]) * float64(bl.factor[at+j]) * q.vector.factor)
			}
		}
	}
}

// vectorAt gives the vector in a slot of a layer; ok is false for none.
func (v *View) vectorAt(layer, slot int) (out vector, ok bool) {
	if slot == none {
		return vector{}, false
	}
	stride := padded(v.dimensions)
	from, at := v.layers[layer].blocks[slot/blockRows], slot%blockRows
	return vector{halves: from.halves[at*stride:][:stride], inverse: from.inverse[at]}, true
}
