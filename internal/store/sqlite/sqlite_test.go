package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

func openTest(tb testing.TB, c Config) *Store {
	tb.Helper()
	if c.Path == "" {
		c.Path = newFile(tb)
	}
	s := must.Get(Open(tb.Context(), c, Deps{}))(tb)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// newFile returns the path of an empty store with the newest schema. To migrate takes six times as long as to open this copy.
func newFile(tb testing.TB) string {
	tb.Helper()
	file := must.Get(emptyFile())(tb)
	path := filepath.Join(tb.TempDir(), "slipbox.db")
	must.Do(tb, os.WriteFile(path, file, 0o600))
	return path
}

var emptyFile = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "slipbox-template-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "slipbox.db")
	s, err := Open(context.Background(), Config{Path: path}, Deps{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // moves the log into the file
		return nil, err
	}
	return os.ReadFile(path)
})

// bench is a store with a tenant and a collection.
type bench struct {
	*Store
	scope      tenant.Scope
	collection uuid.UUID
}

func newBench(tb testing.TB) bench {
	tb.Helper()
	return newBenchAt(tb, "")
}

func newBenchAt(tb testing.TB, path string) bench {
	tb.Helper()
	s := openTest(tb, Config{Path: path})
	ctx := context.Background()
	tn := must.Get(s.CreateTenant(ctx, grant.Operator("test"), tenant.Tenant{Name: "t"}))(tb)
	sc := grant.Scope(tn.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	c := must.Get(s.CreateCollection(ctx, sc, memory.NewCollection{Collection: memory.Collection{Name: "c", Policy: "amem", Embedder: "hash", Dim: 384}}))(tb)
	return bench{s, sc, c.Collection.ID}
}

func (b bench) add(tb testing.TB, notes ...memory.Note) []memory.Note {
	tb.Helper()
	return storetest.Add(tb, b, b.scope, b.collection, notes...)
}

func vector(seed int) []float32 {
	v := make([]float32, 384)
	for i := range v {
		v[i] = float32((seed*31+i*7)%97) / 97
	}
	return v
}

func TestSmoke(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	n := b.add(t, memory.Note{Content: "a\u2028b", Tags: []string{"x"}, Attributes: map[string]any{"k": 1.5}, Vector: vector(1)}, memory.Note{Content: "two"})
	v := must.Get(b.OpenView(ctx, b.scope, "c", memory.At{}))(t)
	got, err := b.Notes(ctx, b.scope, v, []uuid.UUID{n[1].ID, n[0].ID}, memory.ReadOptions{Vector: true})
	if err != nil || len(got) != 2 || got[1].Content != "a\u2028b" || len(got[1].Vector) != 384 {
		t.Fatal(got, err)
	}
	l, err := b.ListNotes(ctx, b.scope, v, memory.NoteQuery{Limit: 10})
	if err != nil || len(l) != 2 {
		t.Fatal(l, err)
	}
	due, err := b.DueCollections(ctx, b.now(), 10)
	if err != nil || len(due) != 1 {
		t.Fatal(due, err)
	}
	p, err := b.Verify(ctx)
	if err != nil || len(p) > 0 {
		t.Fatal(p, err)
	}
}
