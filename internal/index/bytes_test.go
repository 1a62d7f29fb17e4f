//go:build !race

package index

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/test/must"
)

// shape is a kind of collection, by what its notes are made of.
type shape struct {
	notes, versions, words, keywords, attributes, dimensions int
}

var shapes = map[string]shape{
	"notes":    {notes: 4_000, versions: 1, words: 40, keywords: 6, dimensions: 384},
	"turns":    {notes: 4_000, versions: 1, words: 12, dimensions: 384},
	"evolved":  {notes: 800, versions: 5, words: 40, keywords: 6, dimensions: 384},
	"words":    {notes: 4_000, versions: 1, words: 40, keywords: 6},
	"pages":    {notes: 300, versions: 1, words: 2_000, keywords: 6, dimensions: 1536},
	"metadata": {notes: 4_000, versions: 1, words: 12, keywords: 3, attributes: 10, dimensions: 384},
}

// row generates a version as a store reads it: every string has its own memory.
func (s shape) row(r *rand.Rand, note, version int) Row {
	word := func() string { return fmt.Sprintf("word%d", int(math.Exp(r.Float64()*math.Log(30_000)))) }
	some := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = word()
		}
		return out
	}
	at := time.Date(2026, 1, 1, 0, 0, note, 0, time.UTC)
	row := Row{
		Note: noteID(note), From: int64(1 + note + version*s.notes), Content: strings.Join(some(s.words), " "),
		Record: filter.Record{
			Kind: strings.Clone("note"), State: strings.Clone("evolved"), Category: strings.Clone("Uncategorized"),
			Tags: some(s.keywords / 2), Keywords: some(s.keywords), Importance: 0.5, OccurredAt: at, CreatedAt: at,
		},
	}
	if s.keywords > 0 {
		row.Context = strings.Join(some(15), " ")
	}
	if s.attributes > 0 {
		attributes := map[string]any{}
		for i := range s.attributes {
			attributes[fmt.Sprintf("field%d", i)] = []any{word(), r.Float64(), i%2 == 0}[i%3]
		}
		raw, err := json.Marshal(attributes)
		if err != nil {
			panic(err)
		}
		row.Record.Attributes = nil
		if err := json.Unmarshal(raw, &row.Record.Attributes); err != nil {
			panic(err)
		}
	}
	if s.dimensions > 0 {
		row.Vector = make([]float32, s.dimensions)
		for i := range row.Vector {
			row.Vector[i] = float32(r.NormFloat64())
		}
	}
	return row
}

// load fills a layer as a registry does and returns the growth of the heap.
func (s shape) load(tb testing.TB) (l *Layer, held int64) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	before := heap()
	l = must.Get(NewLayer(Config{Dimensions: s.dimensions}))(tb)
	batch := make([]Row, 0, 2_000)
	for i := range s.notes * s.versions {
		if batch = append(batch, s.row(r, i%s.notes, i/s.notes)); len(batch) == cap(batch) || i == s.notes*s.versions-1 {
			must.Do(tb, l.Apply(l.Revision(), batch[len(batch)-1].From, batch))
			clear(batch)
			batch = batch[:0]
		}
	}
	must.Get(Open([]Bound{{l, l.Revision()}}))(tb)
	return l, heap() - before
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The memory that a layer reports is what the heap holds for it, within a fifth: memory budgets
// rely on it. The test runs alone, because others use the heap.
func TestBytesMatchTheHeap(t *testing.T) { //nolint:paralleltest // the heap is shared
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			s.load(t) // the cache of word analysis does not belong to the layer
			l, held := s.load(t)
			said := l.Bytes()
			t.Logf("%d versions: says %d, holds %d (%.2f), %d bytes each", l.Rows(), said, held, float64(said)/float64(held), held/int64(l.Rows()))
			if ratio := float64(said) / float64(held); ratio < 0.8 || ratio > 1.2 {
				t.Errorf("reports %d bytes and holds %d", said, held)
			}
			runtime.KeepAlive(l)
		})
	}
}
