package bench_test

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// way is one of several ways to do the same thing.
type way struct {
	name    string
	clients int                       // at the same time; default 1
	do      func(client, i int) error // i counts the calls of all clients
	more    map[string]float64        // more figures for its row, by unit
}

// figures are the times of calls.
type figures struct {
	times []time.Duration
	took  time.Duration // until the last call of all clients had ended
}

// turns is how often each way has its turn in a comparison.
const turns = 5

// compare measures each way for m.length in total. The ways take short turns one after the other,
// so that other work of the machine slows all of them alike. It prints a row for each; rows after
// the first have the ratio to the first.
func (m *serversBench) compare(b *testing.B, ways ...way) {
	b.Helper()
	all, next := make([]figures, len(ways)), make([]atomic.Int64, len(ways))
	for i, w := range ways {
		w.turn(b, m.length/20, &next[i]) // warms caches, connections and statements
	}
	for range turns {
		for i, w := range ways {
			f := w.turn(b, m.length/turns, &next[i])
			all[i].times = append(all[i].times, f.times...)
			all[i].took += f.took
		}
	}
	for i, w := range ways {
		values := all[i].values()
		if i > 0 {
			first := all[0].values()
			values["p50-ratio"], values["rate-ratio"] = values["p50-ms"]/first["p50-ms"], values["calls/s"]/first["calls/s"]
		}
		maps.Copy(values, w.more)
		row(b, w.name, values)
	}
}

// turn calls w.do for the length, and at least once with each client.
func (w way) turn(b *testing.B, length time.Duration, next *atomic.Int64) (out figures) {
	b.Helper()
	var mu sync.Mutex
	var clients sync.WaitGroup
	start := time.Now()
	for client := range max(w.clients, 1) {
		clients.Go(func() {
			var times []time.Duration
			for {
				began := time.Now()
				if err := w.do(client, int(next.Add(1)-1)); err != nil {
					b.Errorf("%s: %v", w.name, err)
					return
				}
				times = append(times, time.Since(began))
				if time.Since(start) >= length {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			out.times = append(out.times, times...)
		})
	}
	clients.Wait()
	out.took = time.Since(start)
	if b.Failed() {
		b.FailNow()
	}
	return out
}

// values returns the figures by unit. Fewer than 100 calls have no 99th percentile.
func (f figures) values() map[string]float64 {
	slices.Sort(f.times)
	at := func(p float64) float64 {
		return float64(f.times[int(math.Ceil(p*float64(len(f.times))))-1]) / float64(time.Millisecond)
	}
	out := map[string]float64{"calls": float64(len(f.times)), "p50-ms": at(0.5)}
	if len(f.times) >= 100 {
		out["p99-ms"] = at(0.99)
	}
	if f.took > 0 {
		out["calls/s"] = float64(len(f.times)) / f.took.Seconds()
	}
	return out
}

// row reports a result as a benchmark of its own.
func row(b *testing.B, name string, values map[string]float64) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		for _, unit := range slices.Sorted(maps.Keys(values)) {
			b.ReportMetric(values[unit], unit)
		}
	})
}
