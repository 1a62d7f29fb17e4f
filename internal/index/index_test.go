package index

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/test/must"
)

func newTestLayer(tb testing.TB, dims int) *Layer {
	tb.Helper()
	l := must.Get(NewLayer(Config{Dimensions: dims}))(tb)
	return l
}

func mustApply(tb testing.TB, l *Layer, upTo int64, rows ...Row) {
	tb.Helper()
	must.Do(tb, l.Apply(l.Revision(), upTo, rows))
}

func mustQuery(tb testing.TB, words string, vector []float32, bounds ...Bound) (*View, *Query) {
	tb.Helper()
	v := must.Get(Open(bounds))(tb)
	q := must.Get(v.Query(words, vector))(tb)
	return v, q
}

func ids(hits []Hit) []ID {
	out := make([]ID, 0, len(hits))
	for _, h := range hits {
		out = append(out, h.Note)
	}
	return out
}

// A few rows, as of a write, are analyzed where they are added: no goroutine is started for them.
func TestFewRowsStartNoGoroutine(t *testing.T) {
	t.Parallel()
	l, made := newTestLayer(t, 0), false
	b := l.NewBatch()
	b.Add(1, func() []Row {
		made = true
		return []Row{{Note: noteID(1), From: 1, Content: "a kiln"}}
	})
	if !made {
		t.Error("the row is not made yet")
	}
	must.Do(t, l.ApplyBatch(0, 1, b))
	if l.Rows() != 1 {
		t.Errorf("%d rows", l.Rows())
	}
}

// C051: a note without a word of the query is never a lexical hit. C053: an empty view returns an
// empty list.
func TestC051C053NoWordNoHit(t *testing.T) {
	t.Parallel()
	l := newTestLayer(t, 0)
	_, q := mustQuery(t, "kiln", nil, Bound{l, 0})
	if h := q.Lexical(nil, 5); len(h) != 0 {
		t.Errorf("an empty layer answers %v", h)
	}
	mustApply(t, l, 1, Row{Note: noteID(1), From: 1, Content: "a kiln"}, Row{Note: noteID(2), From: 1, Content: "a river"})
	_, q = mustQuery(t, "kiln the of", nil, Bound{l, 1})
	if h := q.Lexical(nil, 5); !slices.Equal(ids(h), []ID{noteID(1)}) {
		t.Errorf("hits %v", h)
	}
	if h := q.Vector(nil, 5); len(h) != 0 {
		t.Errorf("vector hits without a vector: %v", h)
	}
	_, q = mustQuery(t, "the of\x00\xff", nil, Bound{l, 1})
	if h := q.Lexical(nil, 5); len(h) != 0 {
		t.Errorf("stop words hit %v", h)
	}
}

// Words of content, context, keywords and tags all find a note.
func TestEveryTextFieldIsSearched(t *testing.T) {
	t.Parallel()
	l := newTestLayer(t, 0)
	mustApply(t, l, 1, Row{Note: noteID(1), From: 1, Content: "alpha", Context: "bravo", Record: filter.Record{Keywords: []string{"charlie"}, Tags: []string{"deltas"}}})
	for _, w := range []string{"Alpha", "bravo", "charlie", "delta"} {
		if _, q := mustQuery(t, w, nil, Bound{l, 1}); len(q.Lexical(nil, 5)) != 1 {
			t.Errorf("%s finds nothing", w)
		}
	}
}

// C057 and C077 at the index: an update replaces words and vector at once; an older bound still
// reads the older version.
func TestC057C077UpdateAndPast(t *testing.T) {
	t.Parallel()
	l := newTestLayer(t, 2)
	mustApply(t, l, 1, Row{Note: noteID(1), From: 1, Content: "alpha", Vector: []float32{1, 0}})
	mustApply(t, l, 2, Row{Note: noteID(1), From: 2, Content: "bravo", Vector: []float32{0, 1}})
	mustApply(t, l, 3, Row{Note: noteID(1), From: 3, Tombstone: true})
	for at, want := range map[int64]string{1: "alpha", 2: "bravo"} {
		for _, w := range []string{"alpha", "bravo"} {
			_, q := mustQuery(t, w, []float32{1, 0}, Bound{l, at})
			if got := len(q.Lexical(nil, 5)) == 1; got != (w == want) {
				t.Errorf("at %d %s found: %v", at, w, got)
			}
			if h := q.Vector(nil, 5); len(h) != 1 || h[0].From != at || h[0].Score != float64(2-at) {
				t.Errorf("at %d vector hits %v", at, h)
			}
		}
	}
	if v, q := mustQuery(t, "bravo", []float32{1, 0}, Bound{l, 3}); v.Len() != 0 || len(q.Lexical(nil, 5))+len(q.Vector(nil, 5)) != 0 {
		t.Error("a deleted note is found")
	}
}

func TestVectorIsRefused(t *testing.T) {
	t.Parallel()
	l := newTestLayer(t, 2)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, v := range map[string][]float32{"dimension": {1, 2, 3}, "empty": {}, "zeros": {0, 0}, "nan": {nan, 1}, "infinity": {1, -inf}} {
		err := l.Apply(0, 1, []Row{{Note: noteID(1), From: 1, Content: "x"}, {Note: noteID(2), From: 1, Vector: v}})
		if name != "empty" && !fault.Is(err, fault.Invalid) || name == "empty" && err == nil {
			t.Errorf("%s: stored, %v", name, err)
		}
		view := must.Get(Open([]Bound{{l, 0}}))(t)
		if _, err := view.Query("", v); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: asked, %v", name, err)
		}
	}
	if l.Revision() != 0 || l.Rows() != 0 {
		t.Error("an invalid batch changed the layer")
	}
}

func TestRound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ of, want []float32 }{
		{[]float32{1, 0.1, -2049}, []float32{0, 0, -2048}},
		{[]float32{1, 0.1, 0}, []float32{1, 0.099609375, 0}},
		{[]float32{2039, 1, -.5}, []float32{2039, 1, 0}},
		{[]float32{2039.6, 1, 3}, []float32{2040, 0, 4}}, // the largest does not fit the unit of 2,039
		{[]float32{65248, 16, 48}, []float32{65248, 0, 64}},
		{[]float32{0x1p-14, 0x1p-24}, []float32{0x1p-14, 0x1p-24}},
	} {
		got, err := Round(c.of)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v is rounded to %v, %v", c.of, got, err)
		}
	}
	for _, scale := range []float64{1e-30, 1, 1e30} {
		got, err := pack([]float32{float32(3 * scale), float32(4 * scale)})
		x, y := float64(got.wholes()[0])*got.inverse, float64(got.wholes()[1])*got.inverse
		if err != nil || math.Abs(x-0.6) > 1e-3 || math.Abs(y-0.8) > 1e-3 {
			t.Errorf("scale %g: %v %v %v", scale, x, y, err)
		}
	}
}

func TestOutOfStepAndBehind(t *testing.T) {
	t.Parallel()
	l := newTestLayer(t, 0)
	mustApply(t, l, 3, Row{Note: noteID(1), From: 2, Content: "x"})
	for _, step := range [][2]int64{{2, 4}, {4, 5}, {3, 2}} {
		if err := l.Apply(step[0], step[1], nil); !errors.Is(err, ErrOutOfStep) {
			t.Errorf("%v: %v", step, err)
		}
	}
	if err := l.Apply(3, 4, []Row{{Note: noteID(1), From: 5}}); err == nil {
		t.Error("a row past the batch is accepted")
	}
	if _, err := Open([]Bound{{l, 4}}); !errors.Is(err, ErrBehind) {
		t.Errorf("behind: %v", err)
	}
	if _, err := Open(nil); err == nil {
		t.Error("a view of nothing opens")
	}
}

// A fork reads its base's index: nothing is copied, and writes on either side are not seen on the
// other.
func TestForkIsolation(t *testing.T) {
	t.Parallel()
	base := newTestLayer(t, 0)
	mustApply(t, base, 1, Row{Note: noteID(1), From: 1, Content: "kiln"}, Row{Note: noteID(2), From: 1, Content: "kiln river"})
	fork := must.Get(NewLayer(Config{Start: 1}))(t)
	_, before := mustQuery(t, "kiln river", nil, Bound{base, 1})
	_, same := mustQuery(t, "kiln river", nil, Bound{fork, 1}, Bound{base, 1})
	if a, b := before.Lexical(nil, 5), same.Lexical(nil, 5); !slices.EqualFunc(a, b, func(x, y Hit) bool { return x.Note == y.Note && x.Score == y.Score }) {
		t.Errorf("a fork without writes ranks %v, its base %v", b, a)
	}
	mustApply(t, fork, 2, Row{Note: noteID(1), From: 2, Content: "storm"}, Row{Note: noteID(2), From: 2, Tombstone: true})
	mustApply(t, base, 2, Row{Note: noteID(3), From: 2, Content: "kiln"})
	if _, q := mustQuery(t, "kiln", nil, Bound{fork, 2}, Bound{base, 1}); len(q.Lexical(nil, 5)) != 0 {
		t.Error("a note that the fork changed or the base added later is found in the fork")
	}
	if _, q := mustQuery(t, "kiln storm", nil, Bound{base, 2}); !slices.Equal(ids(q.Lexical(nil, 5)), []ID{noteID(1), noteID(3), noteID(2)}) {
		t.Errorf("the base reads %v", q.Lexical(nil, 5))
	}
}

// A version that compaction dropped and the log delivers again, with a vector that was stored
// later, gets its place in its note's history.
func TestDroppedVersionReturnsAfterCompaction(t *testing.T) {
	t.Parallel()
	l := newTestLayer(t, 2)
	old := Row{Note: noteID(1), From: 1, To: 2, Content: "alpha"}
	mustApply(t, l, 1, old)
	mustApply(t, l, 2, Row{Note: noteID(1), From: 2, Content: "bravo"})
	l.Compact(2)
	if l.Rows() != 1 {
		t.Fatalf("%d rows after compaction", l.Rows())
	}
	if v, _ := mustQuery(t, "", nil, Bound{l, 1}); v.Len() != 0 {
		t.Error("a dropped version is visible")
	}
	old.Vector = []float32{1, 0}
	mustApply(t, l, 3, old)
	mustApply(t, l, 4, Row{Note: noteID(1), From: 4, Tombstone: true})
	for at, want := range map[int64]int{1: 1, 2: 1, 3: 1, 4: 0} {
		if v, _ := mustQuery(t, "", nil, Bound{l, at}); v.Len() != want {
			t.Errorf("at %d: %d notes, want %d", at, v.Len(), want)
		}
	}
	if _, q := mustQuery(t, "alpha", []float32{1, 0}, Bound{l, 1}); len(q.Lexical(nil, 1)) != 1 || len(q.Vector(nil, 1)) != 1 {
		t.Error("the version delivered again is not found")
	}
}

// A German note is found by a German word in a view that also holds English.
func TestNotesOfSeveralLanguages(t *testing.T) {
	t.Parallel()
	l := newTestLayer(t, 0)
	mustApply(t, l, 1,
		Row{Note: noteID(1), From: 1, Content: "Die Katzen schlafen auf dem Sofa, und ich trinke einen Kaffee."},
		Row{Note: noteID(2), From: 1, Content: "The agencies are in the mountains."},
		Row{Note: noteID(3), From: 1, Content: "我昨天和妹妹去了北京大学"})
	for query, want := range map[string]ID{"Katze": noteID(1), "mountain agency": noteID(2), "北京": noteID(3)} {
		if _, q := mustQuery(t, query, nil, Bound{l, 1}); !slices.Equal(ids(q.Lexical(nil, 5)), []ID{want}) {
			t.Errorf("%s finds %v", query, q.Lexical(nil, 5))
		}
	}
}

func TestSelectFuncAndRecord(t *testing.T) {
	t.Parallel()
	l := newTestLayer(t, 0)
	mustApply(t, l, 1, Row{Note: noteID(1), From: 1, Content: "kiln", Record: filter.Record{Kind: "fact"}}, Row{Note: noteID(2), From: 1, Content: "kiln"})
	v, q := mustQuery(t, "kiln", nil, Bound{l, 1})
	sel := v.SelectFunc(func(note ID, from int64, _ *filter.Record) bool { return note == noteID(2) && from == 1 })
	if h := q.Lexical(sel, 5); !slices.Equal(ids(h), []ID{noteID(2)}) {
		t.Errorf("%v", h)
	}
	if h, r, ok := v.Record(noteID(1)); !ok || r.Kind != "fact" || h.From != 1 {
		t.Errorf("%v %v %v", h, r, ok)
	}
	if _, _, ok := v.Record(noteID(9)); ok {
		t.Error("an unknown note has a record")
	}
}

// Readers and a writer run at once; what a view returns never changes. Run with the race detector.
func TestReadersWithAWriter(t *testing.T) {
	t.Parallel()
	base := newTestLayer(t, 4)
	r := rand.New(rand.NewPCG(7, 7))
	random := func() []float32 { return []float32{r.Float32() + 0.1, r.Float32(), r.Float32(), r.Float32()} }
	mustApply(t, base, 1, Row{Note: noteID(1), From: 1, Content: "kiln", Vector: random()})
	fork := must.Get(NewLayer(Config{Dimensions: 4, Start: 1}))(t)
	const writes = 300
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for _, bounds := range [][]Bound{{{base, base.Revision()}}, {{fork, fork.Revision()}, {base, 1}}} {
					v, err := Open(bounds)
					if err != nil {
						t.Error(err)
						return
					}
					q, err := v.Query("kiln river", []float32{1, 1, 1, 1})
					if err != nil {
						t.Error(err)
						return
					}
					first := [][]Hit{q.Lexical(nil, 500), q.Vector(nil, 500)}
					second := [][]Hit{q.Lexical(nil, 500), q.Vector(v.Select(filter.Not{Term: &filter.Leaf{Field: filter.Kind, Op: filter.Exists, Want: true}}), 500)}
					for i := range first {
						if len(first[i]) != v.Len() || !slices.Equal(first[i], second[i]) {
							t.Errorf("a view of %d notes had %d, then %d", v.Len(), len(first[i]), len(second[i]))
							return
						}
					}
					q.SignalsOf(ids(first[0]))
				}
			}
		})
	}
	for i := range writes {
		for _, l := range []*Layer{base, fork} {
			at := l.Revision() + 1
			mustApply(t, l, at, Row{Note: noteID(2 + i%100), From: at, Content: fmt.Sprintf("kiln number %d", i), Vector: random()})
		}
		if i%100 == 50 {
			fork.Compact(1, fork.Revision())
		}
	}
	close(done)
	wg.Wait()
}

func TestBytesGrow(t *testing.T) {
	t.Parallel()
	l := newTestLayer(t, 8)
	mustApply(t, l, 1, Row{Note: noteID(1), From: 1, Content: strings.Repeat("word ", 100), Vector: make([]float32, 8), Record: filter.Record{Attributes: map[string]any{"a": []any{"b", 1.0}}}}.with(1))
	if small := l.Bytes(); small < 3*8*blockRows {
		t.Errorf("%d bytes", small)
	}
}

func (r Row) with(x float32) Row { r.Vector[0] = x; return r }

// A base of many notes under two small overlays ranks like its copy, hit by hit and score by score.
func TestLargeForkRanksLikeItsCopy(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	row := func(note int, from int64) Row {
		words := make([]string, 3+r.IntN(12))
		for i := range words {
			words[i] = fmt.Sprintf("word%d", int(math.Abs(r.NormFloat64())*40))
		}
		v := make([]float32, 8)
		for i := range v {
			v[i] = float32(r.IntN(5) - 2)
		}
		v[0] = 1
		return Row{Note: noteID(note), From: from, Content: strings.Join(words, " "), Vector: v, Tombstone: r.IntN(20) == 0}
	}
	now := map[ID]Row{}
	bounds, at := []Bound(nil), int64(0)
	for _, notes := range []int{4950, 100, 60} {
		l := must.Get(NewLayer(Config{Dimensions: 8, Start: at}))(t)
		for range notes {
			n := r.IntN(5000)
			if len(bounds) == 0 {
				n = int(at)
			}
			at++
			w := row(n, at)
			now[w.Note] = w
			mustApply(t, l, at, w)
		}
		bounds = append([]Bound{{l, at}}, bounds...)
	}
	flat := newTestLayer(t, 8)
	rows := make([]Row, 0, len(now))
	for _, w := range now {
		if !w.Tombstone {
			rows = append(rows, w)
		}
	}
	mustApply(t, flat, at, rows...)
	for range 20 {
		ask := row(0, 1)
		_, fork := mustQuery(t, ask.Content, ask.Vector, bounds...)
		_, copied := mustQuery(t, ask.Content, ask.Vector, Bound{flat, at})
		same := func(a, b Hit) bool { return a.Note == b.Note && a.From == b.From && a.Score == b.Score }
		if a, b := fork.Lexical(nil, 200), copied.Lexical(nil, 200); len(a) == 0 || !slices.EqualFunc(a, b, same) {
			t.Fatalf("words rank differently for %q", ask.Content)
		}
		if a, b := fork.Vector(nil, 200), copied.Vector(nil, 200); len(a) != 200 || !slices.EqualFunc(a, b, same) {
			t.Fatal("vectors rank differently")
		}
	}
}
