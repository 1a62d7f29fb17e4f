package recall_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/snapshot"
)

// BenchmarkFirstIndex measures how an index is made: from the rows of a log, and from the file that an
// earlier process has left. It reports the heap that each keeps, with vectors and 22 token codes a note.
func BenchmarkFirstIndex(b *testing.B) {
	const dims, tokens = 384, 22
	name := snapshot.Name{Kind: "bench"}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, n := range []int{500, 10_000, 100_000} {
		dir, err := snapshot.Open(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		fill := func(b *testing.B) *index.Layer {
			b.Helper()
			r := rand.New(rand.NewPCG(1, 2))
			l, err := index.NewLayer(index.Config{Dimensions: dims})
			if err != nil {
				b.Fatal(err)
			}
			zipf := rand.NewZipf(r, 1.2, 8, 20000)
			for l.Rows() < n {
				rows := make([]index.Row, min(2000, n-l.Rows()))
				for i := range rows {
					at := l.Rows() + i
					var text strings.Builder
					for range 22 {
						fmt.Fprintf(&text, "word%d ", zipf.Uint64())
					}
					rows[i] = index.Row{
						Note: index.ID{byte(at), byte(at >> 8), byte(at >> 16)}, From: int64(at + 1), Content: text.String(),
						Vector: make([]float32, dims), Tokens: make([]byte, tokens*index.TokenDim),
						Record: filter.Record{
							Kind: "message", State: "evolved", OccurredAt: time.Unix(int64(at)*60, 0),
							Attributes: map[string]any{"session": fmt.Sprint("s", at/25), "speaker": fmt.Sprint("person ", at%2)},
						},
					}
					for j := range rows[i].Vector {
						rows[i].Vector[j] = float32(r.IntN(2000)-1000) / 1024
					}
				}
				if err := l.Apply(l.Revision(), rows[len(rows)-1].From, rows); err != nil {
					b.Fatal(err)
				}
			}
			return l
		}
		search := func(b *testing.B, l *index.Layer) {
			b.Helper()
			v, err := index.Open([]index.Bound{{Layer: l, At: l.Revision()}})
			if err != nil {
				b.Fatal(err)
			}
			q, err := v.Query("word17 word250", nil)
			if err != nil {
				b.Fatal(err)
			}
			if len(q.Signals(nil, 50)) == 0 {
				b.Fatal("nothing was found")
			}
		}
		measure := func(way string, load func(b *testing.B) *index.Layer) {
			b.Run(fmt.Sprintf("%s/%d", way, n), func(b *testing.B) {
				before := heap()
				var l *index.Layer
				for b.Loop() {
					l = load(b)
					search(b, l)
				}
				b.ReportMetric(float64(heap()-before)/(1<<20), "heap-MiB")
				runtime.KeepAlive(l)
			})
		}
		measure("log", fill)
		l := fill(b)
		err = dir.Write(name, func() bool { return true }, func(w io.Writer) error {
			_, err := l.WriteSnapshot(w)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		l = nil
		measure("file", func(b *testing.B) *index.Layer {
			b.Helper()
			l, err := index.NewLayer(index.Config{Dimensions: dims})
			if err != nil {
				b.Fatal(err)
			}
			f, err := dir.Read(name)
			if err != nil {
				b.Fatal(err)
			}
			if err := l.ReadSnapshot(f.Bytes(), f); err != nil {
				b.Fatal(err)
			}
			return l
		})
	}
}
