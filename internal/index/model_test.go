package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/test/must"
)

const testDims = 12

// model is the naive counterpart of a layer: the list of its rows.
type model struct {
	layer *Layer
	rows  []Row
	head  int64
}

func newModel(t interface{ Fatal(...any) }, start int64) *model {
	l, err := NewLayer(Config{Dimensions: testDims, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	return &model{layer: l, head: start}
}

// write adds rows at the next revision to the model and returns them.
func (m *model) write(rows ...Row) []Row {
	m.head++
	for i := range rows {
		rows[i].From = m.head
		for j := range m.rows {
			if m.rows[j].Note == rows[i].Note && m.rows[j].To == 0 {
				m.rows[j].To = m.head
			}
		}
	}
	m.rows = append(m.rows, rows...)
	return rows
}

type modelBound struct {
	m  *model
	at int64
}

type modelRow struct {
	Row
	layer int
}

// visible is the definition of the package comment, word for word.
func visible(bounds []modelBound) []modelRow {
	var out []modelRow
	for i, b := range bounds {
		for _, r := range b.m.rows {
			if live := r.From <= b.at && (r.To == 0 || r.To > b.at); r.Tombstone || !live {
				continue
			}
			hidden := false
			for _, nearer := range bounds[:i] {
				for _, x := range nearer.m.rows {
					hidden = hidden || x.Note == r.Note && x.From <= nearer.at
				}
			}
			if !hidden {
				out = append(out, modelRow{r, i})
			}
		}
	}
	return out
}

func searchable(r Row) string {
	return strings.Join([]string{r.Content, r.Context, strings.Join(r.Record.Keywords, "\n"), strings.Join(r.Record.Tags, "\n")}, "\n")
}

// naiveLexical is BM25 from its formula, one document at a time.
func naiveLexical(rows []modelRow, query string, keep filter.Expr, k int) []Hit {
	if len(rows) == 0 {
		return nil
	}
	v := newNaiveView(rows)
	var hits []Hit
	for i, r := range rows {
		if score, _ := v.words(query, i); score > 0 && filter.Match(keep, &r.Record) {
			hits = append(hits, Hit{Note: r.Note, From: r.From, Layer: r.layer, Score: score})
		}
	}
	return cut(hits, k)
}

func naiveVector(rows []modelRow, query []float32, keep filter.Expr, k int) []Hit {
	var hits []Hit
	q, _ := Round(query)
	for _, r := range rows {
		if r.Vector == nil || !filter.Match(keep, &r.Record) {
			continue
		}
		v, _ := Round(r.Vector)
		dot, qq, vv := 0.0, 0.0, 0.0
		for i := range v {
			dot += float64(q[i]) * float64(v[i])
			qq += float64(q[i]) * float64(q[i])
			vv += float64(v[i]) * float64(v[i])
		}
		hits = append(hits, Hit{Note: r.Note, From: r.From, Layer: r.layer, Score: dot / math.Sqrt(qq*vv)})
	}
	return cut(hits, k)
}

func cut(hits []Hit, k int) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Note[:], b.Note[:]))
	})
	return hits[:min(k, len(hits))]
}

// sameHits compares scores within 1e-5. It compares identities exactly where the naive scores are
// far enough apart to decide the order.
func sameHits(got, want []Hit) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d hits, want %d\n got %v\nwant %v", len(got), len(want), got, want)
	}
	for i := range want {
		if math.Abs(got[i].Score-want[i].Score) > 1e-5 {
			return fmt.Errorf("hit %d scores %v, want %v", i, got[i].Score, want[i].Score)
		}
		near := func(j int) bool {
			return j >= 0 && j < len(want) && j != i && math.Abs(want[i].Score-want[j].Score) < 1e-5
		}
		last := i == len(want)-1 || math.Abs(want[i].Score-want[len(want)-1].Score) < 1e-5
		if g, w := got[i], want[i]; (g.Note != w.Note || g.From != w.From || g.Layer != w.Layer) && !near(i-1) && !near(i+1) && !last {
			return fmt.Errorf("hit %d is %v, want %v", i, g, w)
		}
	}
	for i := 1; i < len(got); i++ {
		if !got[i-1].Before(got[i]) {
			return fmt.Errorf("hits %d and %d are out of order", i-1, i)
		}
	}
	return nil
}

func noteID(n int) ID {
	var id ID
	binary.BigEndian.PutUint32(id[12:], uint32(n))
	return id
}

var vocabulary = strings.Fields("kiln pottery ramen Osaka trip sister river violin lesson garden maple storm harbor letter")

var (
	genText = rapid.Map(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 9), func(w []string) string { return strings.Join(w, " ") })
	genVec  = rapid.Custom(func(t *rapid.T) []float32 {
		// A coarse grid makes exact ties common.
		v := rapid.SliceOfN(rapid.SampledFrom([]float32{-1, -0.3333, 0, 0.25, 1}), testDims, testDims).Draw(t, "v")
		v[0] += 0.125
		return v
	})
	genRow = rapid.Custom(func(t *rapid.T) Row {
		r := Row{Note: noteID(rapid.IntRange(1, 12).Draw(t, "note")), Tombstone: rapid.IntRange(0, 5).Draw(t, "dead") == 0}
		if r.Tombstone {
			return r
		}
		r.Content, r.Context = genText.Draw(t, "content"), genText.Draw(t, "context")
		r.Record = filter.Record{Kind: rapid.SampledFrom([]string{"note", "fact"}).Draw(t, "kind"), Tags: rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 2).Draw(t, "tags"), Keywords: rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 2).Draw(t, "keywords")}
		if rapid.IntRange(0, 7).Draw(t, "long") == 0 {
			r.Content = strings.Repeat(r.Content+".\n", 40)
		}
		if rapid.Bool().Draw(t, "dated") {
			r.Record.OccurredAt = time.Date(2023, time.May, rapid.IntRange(1, 4).Draw(t, "day"), 0, 0, 0, 0, time.UTC)
		}
		if rapid.IntRange(0, 3).Draw(t, "alone") > 0 {
			r.Record.Attributes = map[string]any{
				"session": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session"), "turn": rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "turn"),
			}
		}
		if rapid.Bool().Draw(t, "dense") {
			r.Vector = genVec.Draw(t, "vector")
			for _, token := range rapid.SliceOfN(genToken, 0, 3).Draw(t, "tokens") {
				for _, x := range token.Code {
					r.Tokens = append(r.Tokens, byte(x))
				}
			}
		}
		return r
	})
)

// check compares a view with the model, and with a copy that holds the same
// visible rows in one layer.
func check(t *rapid.T, bounds []modelBound) {
	stacked := make([]Bound, 0, len(bounds))
	for _, b := range bounds {
		stacked = append(stacked, Bound{b.m.layer, b.at})
	}
	view := must.Get(Open(stacked))(t)
	rows := visible(bounds)
	if view.Len() != len(rows) {
		t.Fatalf("%d notes visible, want %d", view.Len(), len(rows))
	}
	clone := newModel(t, 0)
	copied := make([]Row, 0, len(rows))
	top := int64(0)
	for _, r := range rows {
		r.To = 0
		copied = append(copied, r.Row)
		top = max(top, r.From)
	}
	must.Do(t, clone.layer.Apply(0, top, copied))
	twin := must.Get(Open([]Bound{{clone.layer, top}}))(t)
	words, vec := genText.Draw(t, "query"), genVec.Draw(t, "query vector")
	k := rapid.IntRange(0, 14).Draw(t, "k")
	var keep filter.Expr
	if rapid.Bool().Draw(t, "filtered") {
		keep = &filter.Leaf{Field: filter.Kind, Op: filter.Eq, Values: []filter.Value{{Type: filter.Text, Text: "fact"}}}
	}
	q := must.Get(view.Query(words, vec))(t)
	q2 := must.Get(twin.Query(words, vec))(t)
	lex, dense := q.Lexical(view.Select(keep), k), q.Vector(view.Select(keep), k)
	if err := sameHits(lex, naiveLexical(rows, words, keep, k)); err != nil {
		t.Fatalf("lexical %q: %v", words, err)
	}
	if err := sameHits(dense, naiveVector(rows, vec, keep, k)); err != nil {
		t.Fatalf("vector: %v", err)
	}
	flat := func(hits []Hit) []Hit {
		out := slices.Clone(hits)
		for i := range out {
			out[i].Layer = 0
		}
		return out
	}
	if l2 := q2.Lexical(twin.Select(keep), k); !slices.Equal(flat(lex), flat(l2)) {
		t.Fatalf("a copy ranks words differently:\n%v\n%v", lex, l2)
	}
	if d2 := q2.Vector(twin.Select(keep), k); !slices.Equal(flat(dense), flat(d2)) {
		t.Fatalf("a copy ranks vectors differently:\n%v\n%v", dense, d2)
	}
	checkExchanges(t, view, rows)
	checkSignals(t, q, q2, view.Select(keep), twin.Select(keep), rows, words, vec, keep)
	ids := make([]ID, 0, 14)
	for n := range 14 {
		ids = append(ids, noteID(n))
	}
	scores := q.SignalsOf(ids)
	if len(scores) != len(rows) {
		t.Fatalf("%d scores for %d visible notes", len(scores), len(rows))
	}
	for _, s := range scores {
		for _, h := range lex {
			if h.Note == s.Note && h.Score != s.Words {
				t.Fatalf("score %v of hit %v", s, h)
			}
		}
		for _, h := range dense {
			if h.Note == s.Note && (h.Score != s.Vector || !s.Dense) {
				t.Fatalf("score %v of hit %v", s, h)
			}
		}
	}
}

// checkExchanges compares the exchanges of a view with the model.
func checkExchanges(t *rapid.T, view *View, rows []modelRow) {
	for _, turn := range []string{"", "x", "y", "z", "none"} {
		var got, want []ID
		for _, r := range view.Exchange(turn) {
			got = append(got, r.ID)
		}
		for _, r := range rows {
			if turn != "" && r.Record.Attributes["turn"] == turn {
				want = append(want, r.Note)
			}
		}
		for _, list := range [][]ID{got, want} {
			slices.SortFunc(list, func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the exchange %q has %v, want %v", turn, got, want)
		}
	}
}

// TestAgainstModel drives random writes, forks, forks of forks, vectors that are stored later
// and compaction. It compares every kind of read at random bounds with the model and with a
// copy.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		chain := []*model{newModel(t, 0)}
		forkAt := []int64{0}
		floor := int64(0) // bounds below were compacted away
		feed := func(m *model, rows []Row) {
			must.Do(t, m.layer.Apply(m.layer.Revision(), m.head, rows))
		}
		open := func() {
			// The near end at a random revision; each farther one at most at its fork point.
			depth := rapid.IntRange(1, len(chain)).Draw(t, "depth")
			m := chain[depth-1]
			at := rapid.Int64Range(min(max(forkAt[depth-1], floor), m.head), m.head).Draw(t, "at")
			bounds := []modelBound{{m, at}}
			for i := depth - 1; i > 0; i-- {
				at = min(at, forkAt[i])
				bounds = append(bounds, modelBound{chain[i-1], at})
			}
			check(t, bounds)
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				m := chain[rapid.IntRange(0, len(chain)-1).Draw(t, "layer")]
				rows := rapid.SliceOfNDistinct(genRow, 1, 4, func(r Row) ID { return r.Note }).Draw(t, "rows")
				feed(m, slices.Clone(m.write(rows...)))
			},
			"fork": func(t *rapid.T) {
				if len(chain) == 4 {
					t.Skip("deep enough")
				}
				parent := chain[len(chain)-1]
				at := rapid.Int64Range(min(max(forkAt[len(forkAt)-1], floor), parent.head), parent.head).Draw(t, "fork at")
				chain, forkAt = append(chain, newModel(t, at)), append(forkAt, at)
			},
			"late vector": func(t *rapid.T) {
				m := chain[rapid.IntRange(0, len(chain)-1).Draw(t, "layer")]
				for i := range m.rows {
					if r := &m.rows[i]; r.Vector == nil && !r.Tombstone {
						r.Vector = genVec.Draw(t, "vector")
						m.head++
						feed(m, []Row{*r})
						return
					}
				}
				t.Skip("none pending")
			},
			"compact": func(t *rapid.T) {
				// Heads and fork points stay in use, older bounds do not.
				for i, m := range chain {
					m.layer.Compact(append([]int64{m.head}, forkAt[i+1:]...)...)
					floor = max(floor, m.head)
				}
			},
			"read": func(*rapid.T) { open() },
		})
		floor = max(floor, 0)
		open()
	})
}
