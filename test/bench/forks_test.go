package bench_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// BenchmarkForks measures forks of one base of 100,000 notes: a diff with ten changes, a page of notes in a fork of a fork seven
// times over, the first search in a new fork, searches in a fork beside its base, and a fleet of idle forks.
func BenchmarkForks(b *testing.B) {
	g := newGateway(b)
	base := g.filled(b, 100_000)
	queries := g.text.Queries(256)
	g.warm(b, base, queries[0])

	b.Run("diff", func(b *testing.B) {
		f, _ := g.forked(b, base)
		g.fill(b, f, g.lines(10))
		timed(b, func(int) error {
			d, err := g.Clones.Diff(b.Context(), g.scope, f.ID.String(), clone.DiffInput{Limit: 50})
			if err == nil && len(d.Notes) != 10 {
				err = fmt.Errorf("%d changes", len(d.Notes))
			}
			return err
		})
	})
	b.Run("page-at-depth-7", func(b *testing.B) {
		f := base
		for range 7 {
			f, _ = g.forked(b, f)
			g.fill(b, f, g.lines(10))
		}
		g.list(b, f)
	})
	b.Run("first-search", func(b *testing.B) { g.forkedSearch(b, base) })
	f, _ := g.forked(b, base)
	g.fill(b, f, g.lines(10))
	for name, c := range map[string]memory.Collection{"search/base": base, "search/fork": f} {
		b.Run(name, func(b *testing.B) {
			g.search(b, g.Recall, c, queries[0])
			measure(b, func(i int) time.Duration { return g.search(b, g.Recall, c, queries[i%len(queries)]) })
		})
	}
	b.Run("fleet", func(b *testing.B) { g.fleet(b, base, 10_000) })
}

// warm searches until the index of a large collection is loaded.
func (g *gateway) warm(b *testing.B, c memory.Collection, query string) {
	b.Helper()
	for {
		v := must.Get(g.Recall.Open(b.Context(), g.scope, c.ID.String(), nil, 0))(b)
		if out := must.Get(g.Recall.Search(b.Context(), g.scope, v, recall.Query{Text: query}))(b); out.Degraded == "" {
			return
		}
	}
}

// fleet makes forks, and reports how many a second, and what each takes of the heap and of the disk.
func (g *gateway) fleet(b *testing.B, base memory.Collection, forks int) {
	b.Helper()
	heap, disk := heapBytes(), g.diskBytes(b)
	start := time.Now()
	for range forks {
		g.forked(b, base)
	}
	took := time.Since(start)
	for b.Loop() {
		continue // the forks are the measure
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(forks)/took.Seconds(), "forks/s")
	b.ReportMetric(float64(heapBytes()-heap)/float64(forks), "heap-B/fork")
	b.ReportMetric(float64(g.diskBytes(b)-disk)/float64(forks), "disk-B/fork")
}

// heapBytes returns what is reachable in the heap.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// diskBytes returns the size of the gateway's files, without logs that are truncated when nobody writes.
func (g *gateway) diskBytes(b *testing.B) (sum int64) {
	b.Helper()
	must.Do(b, filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "-wal") || strings.HasSuffix(path, "-shm") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	}))
	return sum
}
