package recall_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// BenchmarkSearch measures a whole search, from opening the view to reading the notes, over a
// collection with vectors of 384 dimensions.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{500, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkSearch(b, n) })
	}
}

func benchmarkSearch(b *testing.B, n int) {
	b.Helper()
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	store, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(b.TempDir(), "slipbox.db")}, sqlite.Deps{})
	must(err)
	b.Cleanup(func() { must(store.Close()) })
	made, err := store.CreateTenant(ctx, grant.Operator("bench"), tenant.Tenant{Name: "acme", State: tenant.Active})
	must(err)
	s := grant.Scope(made.ID, uuid.Nil, "bench", tenant.AllPermissions()...)
	e := &embedder{}
	service, err := notes.New(notes.Deps{Store: store, Embedders: e}, notes.Config{})
	must(err)
	collections, err := notes.NewCollections(notes.CollectionsDeps{Store: store, Agents: store, Embedders: e, Policies: memory.NewPolicySet(policy.NewNone())})
	must(err)
	_, err = collections.Create(ctx, s, notes.CollectionInput{Name: "bench", Policy: memory.PolicyNone}, memory.Request{})
	must(err)
	r, err := recall.New(recall.Deps{Store: store, Embedders: e}, recall.Config{})
	must(err)
	rng := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var out strings.Builder
		for range 12 {
			fmt.Fprintf(&out, "word%d ", rng.IntN(2000))
		}
		return out.String()
	}
	lines := make([]notes.BulkLine, n)
	for i := range lines {
		lines[i].Note.Content = text()
	}
	_, err = service.AddMany(ctx, s, "bench", lines)
	must(err)
	queries := make([]string, 64)
	for i := range queries {
		queries[i] = text()
	}
	search := func(i int) {
		v, err := r.Open(ctx, s, "bench", nil, 0)
		must(err)
		out, err := r.Search(ctx, s, v, recall.Query{Text: queries[i%len(queries)]})
		must(err)
		if len(out.Hits) != recall.DefaultK {
			b.Fatalf("%d hits", len(out.Hits))
		}
	}
	search(0)
	for i := 0; b.Loop(); i++ {
		search(i)
	}
}
