package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant" // without a store there is only this tenant
)

// noteID returns the id of note i; numberOf is its inverse.
func noteID(i int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(i)) //nolint:gosec // not negative
	return id
}

func numberOf(id uuid.UUID) int {
	return int(binary.BigEndian.Uint64(id[8:])) //nolint:gosec // noteID made it from an int
}

const (
	oursVector = "slipbox, vectors"
	oursHybrid = "slipbox, hybrid"
)

// vectors is the bare index with vectors only, like the other libraries.
func vectors(_ context.Context, c *corpus, n int, _ bool, _ logger) ([]*built, error) {
	const batch = 2_000
	before := heap()
	layer, err := index.NewLayer(index.Config{Dimensions: c.dim})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for from := 0; from < n; from += batch {
		to := min(from+batch, n)
		rows := make([]index.Row, 0, batch)
		for i := from; i < to; i++ {
			rows = append(rows, index.Row{Note: noteID(i), From: int64(to), Vector: c.vectors[i]})
		}
		if err := layer.Apply(int64(from), int64(to), rows); err != nil {
			return nil, err
		}
	}
	view, err := index.Open([]index.Bound{{Layer: layer, At: layer.Revision()}})
	if err != nil {
		return nil, err
	}
	b := &built{name: oursVector, took: time.Since(start)}
	b.bytes = heap() - before
	b.finders = []finder{{ask: func(_ context.Context, q *query) ([]int, error) {
		asked, err := view.Query("", q.Vector)
		if err != nil {
			return nil, err
		}
		hits := asked.Vector(nil, k)
		out := make([]int, len(hits))
		for i, h := range hits {
			out[i] = numberOf(h.Note)
		}
		return out, nil
	}}}
	return []*built{b}, nil
}

// hybrid is a whole search of the core with the defaults, from an embedded query to ids: words,
// vectors, sessions and late interaction over the index, fused. Its building time is that of a
// process before its first search, which reads the log (here from memory).
func hybrid(ctx context.Context, c *corpus, n int, _ bool, _ logger) ([]*built, error) {
	before := heap()
	// The tenant is in no store: there is only this log.
	scope := grant.Scope(uuid.UUID{15: 1}, uuid.Nil, "indexbench", tenant.AllPermissions()...)
	log := &log{corpus: c, notes: n}
	asked := embedder{byText: map[string]memory.Embedding{}, dim: c.dim}
	for _, q := range c.queries {
		asked.byText[q.text] = q.Embedding
	}
	service, err := recall.New(recall.Deps{Store: log, Embedders: asked}, recall.Config{IndexBytes: 1 << 40, LoadTimeout: time.Hour, WarmNotes: -1})
	if err != nil {
		return nil, err
	}
	id := uuid.UUID{15: 2}
	view := memory.NewView(scope, memory.Collection{ID: id, Name: "indexbench", Embedder: asked.Name(), Dim: c.dim, Head: memory.Revision(n)},
		memory.Revision(n), []memory.Layer{{Collection: id, Bound: memory.Revision(n)}})
	ask := func(ctx context.Context, q *query) ([]int, error) {
		result, err := service.Search(ctx, scope, view, recall.Query{Text: q.text, K: k, IDsOnly: true, Internal: true})
		if err != nil {
			return nil, err
		}
		if result.Degraded != "" {
			return nil, errors.New(result.Degraded)
		}
		out := make([]int, len(result.Hits))
		for i, h := range result.Hits {
			out[i] = numberOf(h.ID)
		}
		return out, nil
	}
	start := time.Now()
	if _, err := ask(ctx, &c.queries[0]); err != nil {
		return nil, err
	}
	took := time.Since(start)
	return []*built{{name: oursHybrid, took: took, bytes: heap() - before, finders: []finder{{words: true, ask: ask}}}}, nil
}

// log is a store of one collection that only has a log.
type log struct {
	memory.Reader // nil: a search for ids needs no method but those below

	corpus *corpus
	notes  int
}

func (l *log) Log(_ context.Context, _ tenant.Scope, _ memory.View, _ int, after memory.Revision, name string, fn func(memory.LogRow) error) (memory.Revision, error) {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := int(after); i < l.notes; i++ {
		at := first.Add(time.Duration(i) * time.Minute)
		err := fn(memory.LogRow{Note: memory.Note{
			ID: noteID(i), From: memory.Revision(i + 1), Kind: memory.KindNote, State: memory.StateRaw, Content: noteText(i),
			Attributes: map[string]any{"session": fmt.Sprint(i / session)}, OccurredAt: at, CreatedAt: at, UpdatedAt: at,
			Embedder: name, Vector: l.corpus.vectors[i], Tokens: l.corpus.tokens[i],
		}})
		if err != nil {
			return 0, err
		}
	}
	return memory.Revision(l.notes), nil
}

// Versions returns the texts of notes, by which statements about the same thing are told.
func (l *log) Versions(_ context.Context, _ tenant.Scope, _ memory.View, keys []memory.Version) ([]memory.Note, error) {
	out := make([]memory.Note, len(keys))
	for i, key := range keys {
		out[i] = memory.Note{ID: key.Note, From: key.From, Kind: memory.KindNote, Content: noteText(numberOf(key.Note))}
	}
	return out, nil
}

// embedder returns the vectors of the queries, embedded before.
type embedder struct {
	byText map[string]memory.Embedding
	dim    int
}

func (e embedder) Name() string                               { return "indexbench" }
func (e embedder) Dim() int                                   { return e.dim }
func (e embedder) Fast() bool                                 { return true }
func (e embedder) Default() memory.Embedder                   { return e }
func (e embedder) Names() []string                            { return []string{e.Name()} }
func (e embedder) ByName(name string) (memory.Embedder, bool) { return e, name == e.Name() }

func (e embedder) Embed(_ context.Context, _ tenant.Scope, texts []string) ([]memory.Embedding, error) {
	out := make([]memory.Embedding, len(texts))
	for i, t := range texts {
		made, ok := e.byText[t]
		if !ok {
			return nil, fmt.Errorf("%q is no query of this run", t)
		}
		out[i] = made
	}
	return out, nil
}
