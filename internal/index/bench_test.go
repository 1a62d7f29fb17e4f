package index

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
)

// corpus generates rows like those of a conversation: two speakers who alternate, sessions of 25
// turns, about fourteen words of a Zipf distribution, and vectors of 384 dimensions that cluster
// around some topics as those of sentences do.
type corpus struct {
	r      *rand.Rand
	zipf   *rand.Zipf
	topics [][]float32
	texts  bool
}

const benchDims = 384

func newCorpus() *corpus {
	r := rand.New(rand.NewPCG(3, 4))
	c := &corpus{r: r, zipf: rand.NewZipf(r, 1.2, 8, 20000), topics: make([][]float32, 200), texts: true}
	for i := range c.topics {
		c.topics[i] = make([]float32, benchDims)
		for j := range c.topics[i] {
			c.topics[i][j] = float32(r.NormFloat64())
		}
	}
	return c
}

func (c *corpus) vector() []float32 {
	v := make([]float32, benchDims)
	near, far := c.topics[c.r.IntN(len(c.topics))], c.topics[c.r.IntN(len(c.topics))]
	for i := range v {
		v[i] = near[i] + 0.5*far[i] + float32(c.r.NormFloat64())
	}
	rounded, err := Round(v) // as a store returns it
	if err != nil {
		panic(err)
	}
	return rounded
}

func (c *corpus) row(n int, from int64) Row {
	r := Row{Note: noteID(n), From: from, Vector: c.vector(), Record: filter.Record{
		Kind: "message", OccurredAt: time.Unix(int64(n)*60, 0), Attributes: map[string]any{"session": float64(n / 25)},
	}}
	if c.texts {
		var s strings.Builder
		fmt.Fprintf(&s, "Speaker%d: ", n%2)
		for range 14 {
			fmt.Fprintf(&s, "word%d ", c.zipf.Uint64())
		}
		r.Content = s.String()
		r.Record.Tags = []string{"a", "b"}
	}
	return r
}

func (c *corpus) rows(n int) []Row {
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = c.row(i, 1)
	}
	return rows
}

// load builds a layer of n notes, in batches.
func (c *corpus) load(tb testing.TB, n int) *Layer {
	tb.Helper()
	l := newTestLayer(tb, benchDims)
	for done := 0; done < n; {
		rows := make([]Row, min(5000, n-done))
		for i := range rows {
			rows[i] = c.row(done+i, l.Revision()+1)
		}
		mustApply(tb, l, l.Revision()+1, rows...)
		done += len(rows)
	}
	return l
}

// The words of a question with the frequencies that they have in a conversation: the name of the
// speaker, in every second note, a word in a tenth of them, and rarer ones. The other question has
// three more words that occur in every fourth to tenth note.
const (
	rareWords   = "speaker1 word17 word250 word900 word4000"
	commonWords = "speaker1 word3 word9 word17 word250 word4000"
)

func benchmarkSearch(b *testing.B, n int) {
	b.Helper()
	c := newCorpus()
	l := c.load(b, n)
	vector := c.vector()
	at := l.Revision()
	b.Logf("%d bytes a note", l.Bytes()/int64(n))
	keep := &filter.Leaf{Field: filter.Tags, Op: filter.Contains, Values: []filter.Value{{Type: filter.Text, Text: "a"}}}
	for _, x := range []struct {
		name string
		ask  func(v *View) int
	}{
		{"signals", func(v *View) int {
			_, q := mustQuery(b, rareWords, vector, Bound{l, at})
			return len(q.Signals(nil, 100))
		}},
		{"signals/common", func(v *View) int {
			_, q := mustQuery(b, commonWords, vector, Bound{l, at})
			return len(q.Signals(nil, 100))
		}},
		{"signals/filtered", func(v *View) int {
			_, q := mustQuery(b, rareWords, vector, Bound{l, at})
			return len(q.Signals(v.Select(keep), 100))
		}},
		{"lexical", func(v *View) int {
			_, q := mustQuery(b, rareWords, nil, Bound{l, at})
			return len(q.Lexical(nil, 50))
		}},
		{"vector", func(v *View) int {
			_, q := mustQuery(b, "", vector, Bound{l, at})
			return len(q.Vector(nil, 50))
		}},
	} {
		b.Run(x.name, func(b *testing.B) {
			v, _ := mustQuery(b, "", nil, Bound{l, at})
			v.sessionChain()
			for b.Loop() {
				if x.ask(v) == 0 {
					b.Fatal("nothing found")
				}
			}
		})
	}
}

func BenchmarkSearch500(b *testing.B)  { benchmarkSearch(b, 500) }
func BenchmarkSearch10k(b *testing.B)  { benchmarkSearch(b, 10_000) }
func BenchmarkSearch100k(b *testing.B) { benchmarkSearch(b, 100_000) }

// BenchmarkSearch1M needs 3 GB of memory.
func BenchmarkSearch1M(b *testing.B) { benchmarkSearch(b, 1_000_000) }

// BenchmarkLate is two hundred notes of sixteen tokens against ten tokens of a query.
func BenchmarkLate(b *testing.B) {
	c := newCorpus()
	rows := c.rows(1000)
	for i := range rows {
		rows[i].Tokens = make([]byte, 16*TokenDim)
		for j := range rows[i].Tokens {
			rows[i].Tokens[j] = byte(c.r.Uint32())
		}
	}
	l := newTestLayer(b, benchDims)
	mustApply(b, l, 1, rows...)
	_, q := mustQuery(b, rareWords, c.vector(), Bound{l, 1})
	found := q.Signals(nil, 200)[:200]
	tokens := make([]Token, 10)
	for i := range tokens {
		tokens[i].Word = fmt.Sprintf("word%d", i)
		for j := range tokens[i].Code {
			tokens[i].Code[j] = int8(c.r.IntN(64) - 32)
		}
	}
	for b.Loop() {
		q.Late(tokens, found)
	}
}
