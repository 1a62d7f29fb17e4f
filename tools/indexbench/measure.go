package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/viterin/vek/vek32"
)

// turns is the number of parts that the time of a figure is divided into. The libraries take turns,
// so that other work of the machine slows all of them alike.
const turns = 5

// fewest is the least number of calls for a 99th percentile.
const fewest = 100

// Figure is the result of one finder at one size.
type Figure struct {
	Notes   int      `json:"notes"`
	Library string   `json:"library"`
	Setting string   `json:"setting,omitempty"`
	Calls   int      `json:"calls"`
	P50     float64  `json:"p50_ms"`
	P99     *float64 `json:"p99_ms,omitempty"` // nil after too few calls
	Recall  *float64 `json:"recall@10,omitempty"`
	Build   float64  `json:"build_seconds"`
	Bytes   float64  `json:"bytes_per_note"`
}

// Size describes a run at one number of notes.
type Size struct {
	Notes   int     `json:"notes"`
	Encoded int     `json:"encoded"`      // the rest are mixed from them
	Tenth   float64 `json:"tenth_cosine"` // mean cosine of the tenth nearest note
	Scan    Scan    `json:"scan"`
}

// Scan compares the time of our index with a plain loop that reads the same number of bytes on the
// same number of processors.
type Scan struct {
	Bytes      int     `json:"bytes"`
	Processors int     `json:"processors"`
	Read       float64 `json:"read_ms"`   // median
	Answer     float64 `json:"answer_ms"` // median; scan, selection, exact scores of the shortlist
}

// Share returns the bandwidth of the index relative to the plain loop.
func (s Scan) Share() float64 { return s.Read / s.Answer }

// entrant is a finder that is measured.
type entrant struct {
	figure Figure
	call   func(i int) error
	took   []time.Duration
}

// size measures all libraries at one number of notes.
func (r *run) size(ctx context.Context, n int) (err error) {
	c := r.corpus
	r.logf("%d notes: who is nearest, exactly", n)
	truth := newTruth(c, n)
	var all []*built
	defer func() {
		for _, b := range all {
			if b.close != nil {
				b.close()
			}
		}
	}()
	var entrants []*entrant
	for _, build := range r.libraries {
		made, err := build(ctx, c, n, n <= r.graphs, r.logf)
		if err != nil {
			return err
		}
		all = append(all, made...)
		for _, b := range made {
			r.logf("%d notes: %s built in %v", n, b.name, b.took.Round(time.Millisecond))
			for _, f := range b.finders {
				e, err := r.enter(ctx, truth, n, b, f)
				if err != nil {
					return fmt.Errorf("%s %s: %w", b.name, f.setting, err)
				}
				entrants = append(entrants, e)
			}
		}
	}
	reading := newReading(n, c.dim)
	plain := &entrant{call: reading.read}
	if err := r.time(append(slices.Clone(entrants), plain)); err != nil {
		return err
	}
	size := Size{Notes: n, Encoded: min(n, c.encoded), Tenth: truth.mean(), Scan: Scan{
		Bytes: 4 * len(reading.floats), Processors: scanners(n), Read: milliseconds(percentile(plain.took, .5)),
	}}
	for _, e := range entrants {
		f := e.figure
		f.Calls, f.P50 = len(e.took), milliseconds(percentile(e.took, .5))
		if f.Calls >= fewest {
			p99 := milliseconds(percentile(e.took, .99))
			f.P99 = &p99
		}
		if f.Library == oursVector {
			size.Scan.Answer = f.P50
		}
		r.result.Figures = append(r.result.Figures, f)
	}
	r.result.Sizes = append(r.result.Sizes, size)
	return nil
}

// enter runs every query once, to measure the recall and to warm up.
func (r *run) enter(ctx context.Context, t truth, n int, b *built, f finder) (*entrant, error) {
	c := r.corpus
	e := &entrant{
		figure: Figure{Notes: n, Library: b.name, Setting: f.setting, Build: b.took.Seconds(), Bytes: float64(b.bytes) / float64(n)},
		call: func(i int) error {
			_, err := f.ask(ctx, &c.queries[i%len(c.queries)])
			return err
		},
	}
	sum := 0.0
	for i := range c.queries {
		answer, err := f.ask(ctx, &c.queries[i])
		if err != nil {
			return nil, err
		}
		sum += t.recall(i, answer)
	}
	if !f.words {
		mean := sum / float64(len(c.queries))
		e.figure.Recall = &mean
	}
	return e, nil
}

// time measures the entrants one after the other, each for its part of the time.
func (r *run) time(entrants []*entrant) error {
	for turn := range turns {
		r.logf("turn %d of %d", turn+1, turns)
		for _, e := range entrants {
			runtime.GC() // collects the garbage of the previous entrant
			for start := time.Now(); time.Since(start) < r.length/turns; {
				began := time.Now()
				if err := e.call(len(e.took)); err != nil {
					return err
				}
				e.took = append(e.took, time.Since(began))
			}
		}
	}
	return nil
}

// reading is a loop over as many bytes as the codes of n notes have.
type reading struct {
	floats  []float32
	workers int
	sums    []float32
}

func newReading(n, dim int) *reading {
	r := &reading{floats: make([]float32, n*dim/int(unsafe.Sizeof(float32(0)))), workers: scanners(n)}
	for i := range r.floats {
		r.floats[i] = 1 // pages of zeros may share memory
	}
	r.sums = make([]float32, r.workers)
	return r
}

// read sums all values with vector instructions: the least work for the bytes read.
func (r *reading) read(int) error {
	done := make(chan struct{}, r.workers)
	part := func(w int) {
		n := len(r.floats)
		r.sums[w] = vek32.Sum(r.floats[w*n/r.workers : (w+1)*n/r.workers])
		done <- struct{}{}
	}
	for w := 1; w < r.workers; w++ {
		go part(w)
	}
	part(0)
	for range r.workers {
		<-done
	}
	return nil
}

// percentile returns a percentile by nearest rank; 0 without times.
func percentile(took []time.Duration, p float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
