package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand" //nolint:depguard // the graph needs this type
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/coder/hnsw"
	"github.com/philippgille/chromem-go"
	"github.com/viterin/vek/vek32"
	_ "modernc.org/sqlite"     // the driver of the other database
	_ "modernc.org/sqlite/vec" // sqlite-vec, for each of its connections
)

const (
	chromemName = "chromem-go"
	sqliteName  = "sqlite-vec"
	coderName   = "coder/hnsw"
)

// chromemGo compares with every vector on all processors, in plain Go.
func chromemGo(ctx context.Context, c *corpus, n int, _ bool, _ logger) ([]*built, error) {
	before, start := heap(), time.Now()
	none := func(context.Context, string) ([]float32, error) { return nil, errors.New("vectors are given") }
	held, err := chromem.NewDB().CreateCollection("notes", nil, none)
	if err != nil {
		return nil, err
	}
	documents := make([]chromem.Document, n)
	for i := range documents {
		documents[i] = chromem.Document{ID: strconv.Itoa(i), Embedding: slices.Clone(c.vectors[i])}
	}
	if err := held.AddDocuments(ctx, documents, runtime.GOMAXPROCS(0)); err != nil {
		return nil, err
	}
	took := time.Since(start)
	return []*built{{
		name: chromemName, took: took, bytes: heap() - before,
		finders: []finder{{ask: func(ctx context.Context, q *query) ([]int, error) {
			found, err := held.QueryEmbedding(ctx, q.Vector, k, nil, nil)
			if err != nil {
				return nil, err
			}
			out := make([]int, len(found))
			for i := range found {
				if out[i], err = strconv.Atoi(found[i].ID); err != nil {
					return nil, err
				}
			}
			return out, nil
		}}},
	}}, nil
}

// coderHNSW is an HNSW graph with M 16 and, like pgvector, 64 candidates while building. Once it has
// as many results as requested, its search ends at the first step that comes no nearer, and
// EfSearch changes almost nothing. Asking for more and keeping the nearest trades time for recall.
func coderHNSW(ctx context.Context, c *corpus, n int, graphs bool, logf logger) ([]*built, error) {
	if !graphs {
		return nil, nil
	}
	const m, efConstruction = 16, 64
	before, start, told := heap(), time.Now(), time.Now()
	g := hnsw.NewGraph[int]()
	g.M, g.EfSearch, g.Rng = m, efConstruction, rand.New(rand.NewSource(seed)) //nolint:gosec // not a secret; the graph must be reproducible
	for i := range n {
		g.Add(hnsw.MakeNode(i, slices.Clone(c.vectors[i])))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			logf("%s: %d of %d notes", coderName, i+1, n)
		}
	}
	b := &built{name: coderName, took: time.Since(start)}
	b.bytes = heap() - before
	for _, wide := range []int{k, 100, 400} {
		b.finders = append(b.finders, finder{setting: fmt.Sprintf("of %d", wide), ask: func(_ context.Context, q *query) ([]int, error) {
			best := nearest{most: k}
			for _, found := range g.Search(q.Vector, wide) {
				best.push(scored{found.Key, float64(vek32.Dot(q.Vector, found.Value))})
			}
			return best.notes(), nil
		}})
	}
	return []*built{b}, nil
}

// sqliteVec compares with every vector. It is the C library translated to Go.
func sqliteVec(ctx context.Context, c *corpus, n int, _ bool, _ logger) ([]*built, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have its own memory database
	b := &built{name: sqliteName, close: func() { _ = db.Close() }}
	if err := b.fillSQLite(ctx, db, c, n); err != nil {
		b.close()
		return nil, err
	}
	const nearest = "SELECT rowid FROM notes WHERE v MATCH ? AND k = ? ORDER BY distance"
	ask, err := db.PrepareContext(ctx, nearest)
	if err != nil {
		b.close()
		return nil, err
	}
	b.finders = []finder{{ask: func(ctx context.Context, q *query) ([]int, error) {
		rows, err := ask.QueryContext(ctx, blob(q.Vector), k)
		if err != nil {
			return nil, err
		}
		defer func() { _ = rows.Close() }()
		out := make([]int, 0, k)
		for rows.Next() {
			var i int
			if err := rows.Scan(&i); err != nil {
				return nil, err
			}
			out = append(out, i)
		}
		return out, rows.Err()
	}}}
	return []*built{b}, nil
}

func (b *built) fillSQLite(ctx context.Context, db *sql.DB, c *corpus, n int) error {
	start := time.Now()
	if _, err := db.ExecContext(ctx, fmt.Sprintf("CREATE VIRTUAL TABLE notes USING vec0(v float[%d] distance_metric=cosine)", c.dim)); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	insert, err := tx.PrepareContext(ctx, "INSERT INTO notes(rowid, v) VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }()
	for i, v := range c.vectors[:n] {
		if _, err := insert.ExecContext(ctx, i, blob(v)); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	b.took = time.Since(start)
	// The pages are not on Go's heap.
	return db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&b.bytes)
}

func blob(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}
