package sqlite

import (
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/test/must"
)

// Vectors that builds of before have written as two bytes a number are read, compared, checked, copied and moved as they were.
func TestVectorsOfBefore(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	rng := rand.New(rand.NewPCG(1, 2))
	var notes []memory.Note
	for range 4 {
		n := memory.Note{Content: "x", Vector: make([]float32, 384)}
		for i := range n.Vector {
			n.Vector[i] = float32(rng.NormFloat64() / 20)
		}
		notes = append(notes, n)
	}
	notes = b.add(t, notes...)
	before := map[uuid.UUID][]float32{}
	for i := range notes[:2] {
		v := store.VectorOf(store.Halves(notes[i].Vector))
		for j := range v {
			v[j] = store.VectorOf(store.Halves([]float32{v[j] * 1.0003}))[0] // eleven bits of its own
		}
		before[notes[i].ID] = v
		b.direct(t, "UPDATE vectors SET vec = ? WHERE note = ?", store.Halves(v), notes[i].ID)
	}
	for _, n := range notes[2:] {
		before[n.ID] = n.Vector
	}
	check := func(what string, s *Store) {
		t.Helper()
		if p, err := s.Verify(ctx); err != nil || len(p) > 0 {
			t.Errorf("%s: %+v, %v", what, p, err)
		}
		v := must.Get(s.OpenView(ctx, b.scope, b.collection.String(), memory.At{}))(t)
		if n, other, err := s.CountVectors(ctx, b.scope, v, "hash", 384); n != 4 || other != 0 || err != nil {
			t.Errorf("%s: %d and %d vectors, %v", what, n, other, err)
		}
		for id, want := range before {
			got := must.Get(s.Notes(ctx, b.scope, v, []uuid.UUID{id}, memory.ReadOptions{Vector: true}))(t)
			if !slices.Equal(got[0].Vector, want) {
				t.Errorf("%s: the vector of %s is another", what, id)
			}
			found := must.Get(s.Nearest(ctx, b.scope, v, memory.NearestQuery{Vector: want, Limit: 4}))(t)
			if len(found) != 4 || found[0].Note != id || found[0].Score < .9999 {
				t.Errorf("%s: nearest to the vector of %s is %+v", what, id, found)
			}
		}
	}
	check("a file of before", b.Store)
	var rows []store.Row
	must.Do(t, b.Export(ctx, func(r store.Row) error {
		rows = append(rows, r)
		return nil
	}))
	moved := openTest(t, Config{})
	must.Do(t, moved.Import(ctx, func() (store.Row, error) {
		if len(rows) == 0 {
			return store.Row{}, io.EOF
		}
		r := rows[0]
		rows = rows[1:]
		return r, nil
	}))
	check("moved", moved)
}

// The statement counts the numbers of each kept vector, of any length, and of other bytes none that a vector has.
func TestDimensionsOfVectors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	count := func(vec []byte) (n int) {
		t.Helper()
		b.direct(t, "UPDATE vectors SET vec = ?", vec)
		must.Do(t, raw(t, b.path).QueryRowContext(t.Context(), "SELECT "+dimensions+" FROM vectors v").Scan(&n))
		return n
	}
	b.add(t, plain(1))
	v := make([]float32, 130)
	for i := range v {
		v[i] = float32(i%7) + 1
	}
	for n := 1; n <= len(v); n += 1 + n/24 {
		packed := store.PackVector(v[:n])
		if len(packed)%2 == 0 || count(packed) != n || count(store.Halves(v[:n])) != n {
			t.Errorf("%d numbers in %d bytes are counted as %d, and as %d", n, len(packed), count(packed), count(store.Halves(v[:n])))
		}
	}
	for _, bad := range [][]byte{{}, {1}, make([]byte, 51), store.PackVector(v)[2:]} {
		if n := count(bad); n != 0 || store.VectorOf(bad) != nil {
			t.Errorf("%d bytes are counted as %d", len(bad), n)
		}
	}
}
