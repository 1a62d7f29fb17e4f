package main

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/viterin/vek/vek32"
)

const bruteName = "float32, brute force"

// nearest keeps the k best of the scores that are added.
type nearest struct {
	most  int
	found []scored // best first
}

type scored struct {
	note  int
	score float64
}

func (s *nearest) push(x scored) {
	if len(s.found) == s.most && x.score <= s.found[len(s.found)-1].score {
		return
	}
	at, _ := slices.BinarySearchFunc(s.found, x, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	if len(s.found) == s.most {
		s.found = s.found[:s.most-1]
	}
	s.found = slices.Insert(s.found, at, x)
}

func (s *nearest) notes() []int {
	out := make([]int, len(s.found))
	for i, x := range s.found {
		out[i] = x.note
	}
	return out
}

// scan compares with the first n rows of flat, on as many processors as the index uses for so many
// rows.
func scan(flat, q []float32, n, most int) *nearest {
	workers := scanners(n)
	parts := make([]nearest, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			part := nearest{most: most, found: make([]scored, 0, most)}
			for i := w * n / workers; i < (w+1)*n/workers; i++ {
				part.push(scored{i, float64(vek32.Dot(q, flat[i*len(q):][:len(q)]))})
			}
			parts[w] = part
		})
	}
	wg.Wait()
	all := &parts[0]
	for _, p := range parts[1:] {
		for _, x := range p.found {
			all.push(x)
		}
	}
	return all
}

// scanners returns the number of processors that package index uses for n rows.
func scanners(n int) int {
	if n < 1<<15 {
		return 1
	}
	return min(4, runtime.GOMAXPROCS(0))
}

// brute compares with every float32 vector, with vector instructions.
func brute(_ context.Context, c *corpus, n int, _ bool, _ logger) ([]*built, error) {
	before, start := heap(), time.Now()
	flat := make([]float32, 0, n*c.dim)
	for _, v := range c.vectors[:n] {
		flat = append(flat, v...)
	}
	took := time.Since(start)
	return []*built{{name: bruteName, took: took, bytes: heap() - before, finders: []finder{{ask: func(_ context.Context, q *query) ([]int, error) {
		return scan(flat, q.Vector, n, k).notes(), nil
	}}}}}, nil
}

// truth holds the nearest notes of each query, in float64. A note is a right answer when it is at
// least as near as the k-th nearest, so that of equally near notes any is right.
type truth struct {
	corpus *corpus
	last   []float64 // by query
}

func newTruth(c *corpus, n int) truth {
	// Rounding of float32 changes no order beyond so many more.
	const more = 30
	t := truth{corpus: c, last: make([]float64, len(c.queries))}
	for i := range c.queries {
		q := c.queries[i].Vector
		best := nearest{most: k}
		parts := nearest{most: k + more}
		for j, v := range c.vectors[:n] {
			parts.push(scored{j, float64(vek32.Dot(q, v))})
		}
		for _, x := range parts.found {
			best.push(scored{x.note, dot(q, c.vectors[x.note])})
		}
		t.last[i] = best.found[len(best.found)-1].score
	}
	return t
}

// recall returns the recall of an answer to query i, from 0 to 1.
func (t truth) recall(i int, answer []int) float64 {
	right := 0
	slices.Sort(answer)
	for _, note := range slices.Compact(answer) {
		if dot(t.corpus.queries[i].Vector, t.corpus.vectors[note]) >= t.last[i] {
			right++
		}
	}
	return float64(min(right, k)) / k
}

// mean returns the mean cosine of the k-th nearest: the density of the corpus.
func (t truth) mean() float64 {
	sum := 0.0
	for _, x := range t.last {
		sum += x
	}
	return sum / float64(len(t.last))
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // frees what finalizers and pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // no heap is that large
}
