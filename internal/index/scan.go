package index

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/slipboxhq/slipbox/internal/cpus"
)

const (
	// chunk is the number of slots whose codes are scanned together when at least a quarter of them
	// is selected. Otherwise each selected slot is scanned by itself.
	chunk = 32
	// wideScan is the number of slots from which on a scan uses several processors.
	wideScan = 1 << 15
	// scanners bounds the number of processors.
	scanners = 4
	// blocksPerTurn is the number of blocks that a processor scans at a time.
	blocksPerTurn = 4
)

// shortlist returns how many rows are ranked exactly to find the k best. The error of a code is far
// below the distance between the first and the last of so many rows.
func shortlist(k int) int { return k + k/4 + 32 }

// scan searches the selected rows that are nearest to the query's vector, by approximate cosine.
// The sum over the codes is exact, so it is the same on every machine, by every kernel, and in
// every view that holds the row.
type scan struct {
	q    *Query
	sel  *Selection
	k    int
	next atomic.Int64 // the next turn
	wg   sync.WaitGroup
	mu   sync.Mutex
	best *top // of the turns that are done
	wide bool // on several processors
}

// startScan starts the search for the k nearest rows, on other processors when there are many rows.
// The caller must call finish.
func (q *Query) startScan(sel *Selection, k int) *scan {
	s := &scan{q: q, sel: sel, k: k, best: newTop(q.view, shortlist(k))}
	slots := 0
	for i := range q.view.layers {
		slots += len(q.view.layers[i].slots)
	}
	if s.wide = slots >= wideScan; s.wide {
		for range min(scanners, cpus.Count()) - 1 {
			s.wg.Go(s.work)
		}
	}
	return s
}

// finish takes part in the rest of the scan, waits for it, and returns the k best by exact cosine.
func (s *scan) finish(exact func(g uint32) float64) *top {
	s.work()
	s.wg.Wait()
	best := newTop(s.q.view, s.k)
	for _, r := range s.best.heap {
		best.push(r.row, exact(r.row))
	}
	return best
}

// work scans turns until none is left.
func (s *scan) work() {
	best := s.best
	if s.wide {
		best = newTop(s.q.view, s.best.k)
	}
	current, passed := int(s.next.Add(1))-1, 0
	for i := range s.q.view.layers {
		l := &s.q.view.layers[i]
		turns := (len(l.blocks) + blocksPerTurn - 1) / blocksPerTurn
		for ; current < passed+turns; current = int(s.next.Add(1)) - 1 {
			from := (current - passed) * blocksPerTurn
			s.q.scanBlocks(i, s.sel.rowsOf(i, l), best, from, min(from+blocksPerTurn, len(l.blocks)))
		}
		passed += turns
	}
	if !s.wide {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range best.heap {
		s.best.push(r.row, r.score)
	}
}

// scanBlocks scans the selected rows of some blocks of a layer and adds them to best.
func (q *Query) scanBlocks(layer int, pass bitset, best *top, from, until int) {
	l, vector := &q.view.layers[layer], q.vector(layer)
	stride := len(vector.codes)
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
				codeDots(vector.codes, bl.codes[at*stride:], out[:len(rows)])
			} else {
				for rest := asked; rest != 0; rest &= rest - 1 {
					j := bits.TrailingZeros32(rest)
					codeDots(vector.codes, bl.codes[(at+j)*stride:], out[j:j+1])
				}
			}
			for rest := asked; rest != 0; rest &= rest - 1 {
				j := bits.TrailingZeros32(rest)
				if score := float64(float32(float64(out[j]) * (bl.inverse[at+j] * vector.factor))); score >= best.least {
					best.push(l.base+rows[j], score)
				}
			}
		}
	}
}

// vectorAt returns the vector in a slot of a layer; ok is false when slot is none.
func (v *View) vectorAt(layer, slot int) (out packed, ok bool) {
	if slot == none {
		return packed{}, false
	}
	return v.layers[layer].blocks[slot/blockRows].vector(slot%blockRows, padded(v.dimensions)), true
}
