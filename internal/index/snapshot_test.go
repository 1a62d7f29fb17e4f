package index

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/test/must"
)

const snapshotDim = 40 // padded to 64

// snapshotRows returns a log with sessions, attributes of all types, ended versions, tombstones, texts
// of several passages, and rows with tokens, with a vector alone and without one.
func snapshotRows(r *rand.Rand, from, n int) (rows []Row) {
	words := []string{"tide", "garden", "river", "Lisbon", "harbor", "music", "letter", "winter", "bread", "train", "café", "東京", "Übung"}
	for i := from; i < from+n; i++ {
		row := Row{
			Note: ID{byte(i), byte(i >> 8), 7}, From: int64(i + 1), Context: words[i%len(words)],
			Record: filter.Record{
				Kind: "note", State: "evolved", Importance: float64(i) / 8, Tags: []string{words[i%3]}, Keywords: []string{words[i%5], words[i%7]},
				OccurredAt: time.Date(2026, 1, 1+i%300, i%24, 0, 0, 1000*i, time.UTC), CreatedAt: time.Date(2026, 11, 1, 0, 0, i, 0, time.UTC),
			},
		}
		for j := range 5 + 40*(i%7) {
			row.Content += words[r.IntN(len(words))] + " "
			if j%9 == 8 {
				row.Content += "so? "
			}
		}
		switch i % 5 {
		case 0:
			row.Record.Attributes = map[string]any{
				"session": fmt.Sprint("s", i%4), "speaker": words[i%4], "role": "user", "n": json.Number("12.50"), "b": i%2 == 0,
				"list": []any{"a", nil, 1.5, 7, int64(8), map[string]any{"x": "y"}}, "nothing": nil,
			}
		case 1:
			row.Record.Attributes = map[string]any{"session": json.Number("4"), "speaker": words[i%4]}
		case 2:
			row.Record.Attributes = map[string]any{}
		case 3:
			row.Record.OccurredAt, row.Record.Tags = time.Time{}, nil
		}
		if i%6 != 5 {
			row.Vector = make([]float32, snapshotDim)
			for j := range row.Vector {
				row.Vector[j] = float32(r.NormFloat64())
			}
			if i%6 != 4 {
				row.Tokens = make([]byte, TokenDim*(1+i%4))
				for j := range row.Tokens {
					row.Tokens[j] = byte(r.IntN(255) - 127)
				}
			}
		}
		if i > 20 && i%11 == 0 {
			row.Note = ID{byte(i - 20), byte((i - 20) >> 8), 7} // a later version
			row.Tombstone = i%22 == 0
			if row.Tombstone {
				row = Row{Note: row.Note, From: row.From, Tombstone: true}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func newSnapshotLayer(t *testing.T) *Layer {
	t.Helper()
	l := must.Get(NewLayer(Config{Dimensions: snapshotDim}))(t)
	return l
}

func applyRows(t *testing.T, l *Layer, rows []Row) {
	t.Helper()
	must.Do(t, l.Apply(l.Revision(), rows[len(rows)-1].From, rows))
}

func written(t *testing.T, l *Layer) (Written, []byte) {
	t.Helper()
	var b bytes.Buffer
	w := must.Get(l.WriteSnapshot(&b))(t)
	// A mapped file begins at a page; the sections are aligned to that.
	return w, append(make([]byte, 0, b.Len()), b.Bytes()...)
}

// answers returns all that queries measure over a layer at some bounds.
func answers(t *testing.T, l *Layer, r *rand.Rand) (out []any) {
	t.Helper()
	for _, bound := range []int64{l.Revision(), l.Revision() / 2, 3} {
		v := must.Get(Open([]Bound{{l, bound}}))(t)
		for _, words := range []string{"tide in the harbor", "what did Lisbon write in winter?", "東京", "bread on January 3"} {
			vector := make([]float32, snapshotDim)
			for i := range vector {
				vector[i] = float32(r.NormFloat64())
			}
			q := must.Get(v.Query(words, vector))(t)
			sel := v.Select(nil)
			tokens := []Token{{Word: "tide"}, {Word: "harbor"}}
			for i := range tokens {
				for j := range tokens[i].Code {
					tokens[i].Code[j] = int8(r.IntN(255) - 127)
				}
			}
			found := q.Signals(sel, 40)
			out = append(out, found, q.Late(tokens, found), q.Lexical(sel, 20), q.Vector(sel, 20), v.Facets(), v.Named(words), v.Len(), v.MeanLength())
		}
	}
	return out
}

func sameAnswers(t *testing.T, what string, a, b *Layer) {
	t.Helper()
	x, y := answers(t, a, rand.New(rand.NewPCG(5, 5))), answers(t, b, rand.New(rand.NewPCG(5, 5)))
	if len(x) == 0 || !reflect.DeepEqual(x, y) {
		t.Errorf("%s: the layers answer differently", what)
	}
}

// A layer that was read from a snapshot answers as the layer that was written, also after later rows
// and compaction, and is written to the same bytes.
func TestSnapshotAnswersAlike(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 9))
	rows := snapshotRows(r, 0, 900) // more than two blocks of vectors
	l := newSnapshotLayer(t)
	applyRows(t, l, rows[:700])
	w, data := written(t, l)
	if w.Revision != l.Revision() || w.Rows != l.Rows() {
		t.Errorf("written is %+v", w)
	}
	again := newSnapshotLayer(t)
	must.Do(t, again.ReadSnapshot(data, nil))
	if again.Revision() != l.Revision() || again.Rows() != l.Rows() || again.Ended() != l.Ended() {
		t.Errorf("at %d with %d rows, want %d with %d", again.Revision(), again.Rows(), l.Revision(), l.Rows())
	}
	if _, second := written(t, again); !bytes.Equal(second, data) {
		t.Error("written again, the snapshot differs")
	}
	sameAnswers(t, "after reading", l, again)
	must.Do(t, l.UseSnapshot(w, data, "owner"))
	sameAnswers(t, "with its vectors in the snapshot", l, again)
	v := must.Get(Open([]Bound{{l, l.Revision()}}))(t)
	nearest := func() []Hit {
		q := must.Get(v.Query("", rows[0].Vector))(t)
		return q.Vector(nil, 20)
	}
	before := nearest()
	for _, x := range []*Layer{l, again} {
		applyRows(t, x, rows[700:])
	}
	sameAnswers(t, "after more rows", l, again)
	if after := nearest(); !reflect.DeepEqual(after, before) {
		t.Errorf("an open view finds %v after more rows, before %v", after, before)
	}
	if _, second := written(t, again); true {
		if _, first := written(t, l); !bytes.Equal(first, second) {
			t.Error("after more rows, the snapshots differ")
		}
	}
	for _, x := range []*Layer{l, again} {
		x.Compact(3, x.Revision()/2)
	}
	sameAnswers(t, "after compaction", l, again)
	// What was written before rows were dropped is not used.
	must.Do(t, l.UseSnapshot(w, data, "owner"))
	sameAnswers(t, "with an old snapshot", l, again)
}

// A layer whose vectors are in a snapshot takes less memory, by what they took.
func TestSnapshotFreesMemory(t *testing.T) {
	t.Parallel()
	l := newSnapshotLayer(t)
	applyRows(t, l, snapshotRows(rand.New(rand.NewPCG(1, 9)), 0, 2000))
	before := l.Bytes()
	w, data := written(t, l)
	// Bytes of another process, which has dropped rows and is at the same revision.
	other := newSnapshotLayer(t)
	must.Do(t, other.ReadSnapshot(data, nil))
	other.Compact(other.Revision())
	if _, foreign := written(t, other); l.UseSnapshot(w, foreign, "owner") != nil || l.Bytes() != before {
		t.Errorf("the snapshot of another layer is used: %d bytes, before %d", l.Bytes(), before)
	}
	must.Do(t, l.UseSnapshot(w, data, "owner"))
	blocks := int64(7) // the last one too, which is not full
	if freed := before - l.Bytes(); freed < blocks*planeBytes(64) {
		t.Errorf("%d bytes of %d are freed", freed, before)
	}
	again := newSnapshotLayer(t)
	must.Do(t, again.ReadSnapshot(data, "owner"))
	if a, b := again.Bytes(), l.Bytes(); a > b {
		t.Errorf("%d bytes after reading, %d before", a, b)
	}
}

// Each term of a snapshot is found with its postings, and no other: before the first, between two, after the last.
func TestStoredTerms(t *testing.T) {
	t.Parallel()
	l := newSnapshotLayer(t)
	var rows []Row
	for i := range 3*termStep + 1 {
		// In each note one word of its own, and the first is in all.
		rows = append(rows, Row{Note: ID{byte(i)}, From: int64(i + 1), Content: fmt.Sprintf("x100 x%d", 2*i+100)})
	}
	applyRows(t, l, rows)
	_, data := written(t, l)
	again := newSnapshotLayer(t)
	must.Do(t, again.ReadSnapshot(data, nil))
	own, stored := l.data.Load().terms, again.data.Load().terms
	if got := len(stored.stored.at); got < 4 || len(stored.own) != 0 {
		t.Errorf("%d places, %d terms on the heap", got, len(stored.own))
	}
	for i := 98; i < 100+2*len(rows)+4; i++ {
		term := fmt.Sprintf("x%d", i)
		if a, b := own.list(term), stored.list(term); !slices.Equal(a, b) || (len(a) > 0) != (i%2 == 0 && i >= 100 && i < 100+2*len(rows)) {
			t.Errorf("%s has %v, and in the snapshot %v", term, a, b)
		}
	}
	for _, term := range []string{"", "a", "zzz"} {
		if got := stored.list(term); got != nil {
			t.Errorf("%q has %v", term, got)
		}
	}
	if got := (&lexicon{stored: &storedTerms{}}).list("x"); got != nil {
		t.Errorf("no terms, but %v", got)
	}
}

// A snapshot without token codes has no place for them on the heap, and is continued with rows that have some.
func TestSnapshotWithoutTokens(t *testing.T) {
	t.Parallel()
	rows := snapshotRows(rand.New(rand.NewPCG(2, 9)), 0, 400)
	for i := range rows[:300] {
		rows[i].Tokens = nil
	}
	l, again := newSnapshotLayer(t), newSnapshotLayer(t)
	applyRows(t, l, rows[:300])
	_, data := written(t, l)
	must.Do(t, again.ReadSnapshot(data, nil))
	for i, b := range again.data.Load().blocks {
		if b.tokens != nil {
			t.Errorf("block %d has %d places", i, len(b.tokens))
		}
	}
	sameAnswers(t, "without tokens", l, again)
	for _, x := range []*Layer{l, again} {
		applyRows(t, x, rows[300:])
	}
	sameAnswers(t, "after rows with tokens", l, again)
}

// Damaged, cut off and foreign bytes are refused, and leave the layer as it is.
func TestDamagedSnapshots(t *testing.T) {
	t.Parallel()
	l := newSnapshotLayer(t)
	applyRows(t, l, snapshotRows(rand.New(rand.NewPCG(1, 9)), 0, 60))
	_, data := written(t, l)
	refused := func(what string, data []byte) {
		t.Helper()
		into := newSnapshotLayer(t)
		if err := into.ReadSnapshot(data, nil); !errors.Is(err, ErrSnapshot) {
			t.Errorf("%s: error is %v", what, err)
		}
		if into.Rows() != 0 || into.Revision() != 0 {
			t.Errorf("%s: the layer has %d rows", what, into.Rows())
		}
	}
	for n := 0; n < len(data); n += 1 + n/3 {
		refused(fmt.Sprintf("cut off at %d of %d", n, len(data)), data[:n])
	}
	s := must.Get(openSnapshot(data))(t)
	for i, section := range s.section {
		if len(section) == 0 {
			t.Errorf("section %d is empty", i)
			continue
		}
		bad := bytes.Clone(data)
		at := bytes.Index(data, section) + len(section)/2
		bad[at] ^= 0x10
		refused(fmt.Sprintf("a bit of section %d differs", i), bad)
	}
	var b bytes.Buffer
	f, w := l.freeze(), &snapshotWriter{to: bufio.NewWriter(&b), numbers: map[string]uint32{}}
	f.hides = f.hides[1:]
	f.write(w)
	must.Do(t, w.finish())
	refused("a row of a note that is not held", b.Bytes())
	for at := len(data) - snapshotFloor; at < len(data); at += 5 {
		bad := bytes.Clone(data)
		bad[at] ^= 1
		refused(fmt.Sprintf("a bit of the end differs, at %d", at), bad)
	}
	other := must.Get(NewLayer(Config{Dimensions: snapshotDim - 1}))(t)
	if err := other.ReadSnapshot(data, nil); !errors.Is(err, ErrSnapshot) {
		t.Errorf("other dimensions: error is %v", err)
	}
	if err := l.ReadSnapshot(data, nil); !errors.Is(err, ErrOutOfStep) {
		t.Errorf("a layer that is not empty: error is %v", err)
	}
}

// Bytes whose checksums are right, but which no layer has written, are refused without a panic.
func FuzzSnapshot(f *testing.F) {
	l := must.Get(NewLayer(Config{Dimensions: 4}))(f)
	rows := []Row{
		{Note: ID{1}, From: 1, Content: "tides", Vector: []float32{1, 2, 3, 4}, Record: filter.Record{Attributes: map[string]any{"session": "s"}}},
		{Note: ID{2}, From: 2, Content: "rivers", Vector: []float32{4, 3, 2, 1}, Tokens: make([]byte, TokenDim)},
	}
	must.Do(f, l.Apply(0, 2, rows))
	var b bytes.Buffer
	must.Get(l.WriteSnapshot(&b))(f)
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := openSnapshot(data)
		if err != nil {
			return
		}
		d, _, err := s.decode(nil, 4)
		if err != nil {
			return
		}
		made := &Layer{dimensions: 4}
		made.data.Store(d)
		made.revision.Store(1 << 40)
		if v, err := Open([]Bound{{made, 1 << 40}}); err == nil {
			_ = v.Len()
		}
	})
}

// The bytes of a snapshot of fixed rows. When they change, the layout has changed, or what is computed
// from a text or a vector: raise snapshotFormat, so that no file of an older build is used, and set the
// sum.
func TestSnapshotFormat(t *testing.T) {
	t.Parallel()
	const format, want = 8, "9c9b675b1abd061a3064d862afe143f80ffd15784ce413a03c53ec781045b6b3"
	l := newSnapshotLayer(t)
	applyRows(t, l, snapshotRows(rand.New(rand.NewPCG(3, 3)), 0, 300))
	_, data := written(t, l)
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != want || snapshotFormat != format {
		t.Errorf("format %d with %s, want format %d with %s", snapshotFormat, got, format, want)
	}
}
