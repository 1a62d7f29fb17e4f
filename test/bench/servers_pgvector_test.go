package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	pgxvector "github.com/pgvector/pgvector-go/pgx"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// nearestK is the number of notes that a query asks for, nearestQueries the number of queries
// that the recall is measured with.
const nearestK, nearestQueries = 10, 100

// finder returns the nearest notes of a query.
type finder struct {
	name string
	find func(query int) ([]uuid.UUID, error)
}

// besidePgvector compares pgvector with our index, for equal queries over equal vectors. pgvector
// has one table of all collections, as in a product that keeps its vectors in Postgres, with a
// primary key that begins with the collection, and an HNSW index with pgvector's defaults.
func (m *serversBench) besidePgvector(b *testing.B) {
	ctx := b.Context()
	bases := []base{m.filled(b, m.largest())}
	if m.middle() != m.largest() {
		bases = append(bases, m.filled(b, m.middle()))
	}
	m.createVectorTable(b, bases)
	texts := m.text.Queries(nearestQueries)
	vectors := make([]pgvector.HalfVector, len(texts))
	for i, t := range texts {
		vectors[i] = pgvector.NewHalfVector(m.embed(b, t))
	}
	// The settings force the planner to use the index; checkUsesIndex checks that it does.
	const byIndex = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET hnsw.ef_search = "
	exact := m.session(b, "SET enable_indexscan = off")
	hnsw := []struct {
		name string
		conn *pgx.Conn
	}{
		{"HNSW, ef 40", m.session(b, byIndex+"40")},
		{"HNSW, ef 100", m.session(b, byIndex+"100")},
		{"HNSW, ef 40, iterative scan", m.session(b, byIndex+"40; SET hnsw.iterative_scan = strict_order")},
	}
	e := cachingEmbedder{Embedder: llm.Hash{}}
	r := must.Get(recall.New(recall.Deps{Store: m.Store, Embedders: e}, recall.Config{LoadTimeout: 5 * time.Minute}))(b)
	g := m.gateway(b, m.site)
	for _, c := range bases {
		m.warm(b, c.id, g)
		ask := func(conn *pgx.Conn) func(int) ([]uuid.UUID, error) {
			return func(q int) ([]uuid.UUID, error) { return queryNearest(ctx, conn, c.id, vectors[q]) }
		}
		finders := []finder{{"pgvector, exact", ask(exact)}}
		for _, h := range hnsw {
			m.checkUsesIndex(b, h.conn, c.id, vectors[0])
			finders = append(finders, finder{"pgvector, " + h.name, ask(h.conn)})
		}
		finders = append(finders, finder{"our index in process, ids", func(q int) ([]uuid.UUID, error) {
			v, err := r.Open(ctx, m.scope, c.id.String(), nil, 0)
			if err != nil {
				return nil, err
			}
			near, err := r.Nearest(ctx, m.scope, v, memory.NearestQuery{Vector: vectors[q].Slice(), Limit: nearestK})
			ids := make([]uuid.UUID, len(near))
			for i, n := range near {
				ids[i] = n.Note
			}
			return ids, err
		}}, finder{"search of a gateway over HTTP, notes", func(q int) ([]uuid.UUID, error) {
			return m.vectorSearch(g, c.id, texts[q])
		}})
		m.compareFinders(b, fmt.Sprintf("%d of %d notes: ", len(c.notes), totalNotes(bases)), finders)
	}
}

func totalNotes(bases []base) (n int) {
	for _, c := range bases {
		n += len(c.notes)
	}
	return n
}

// compareFinders compares the times of finders, and their recall against the first one.
func (m *serversBench) compareFinders(b *testing.B, name string, finders []finder) {
	b.Helper()
	m.logf("%srecall", name)
	truth := make([][]uuid.UUID, nearestQueries)
	ways := make([]way, len(finders))
	for i, f := range finders {
		found := 0
		for q := range nearestQueries {
			ids := must.Get(f.find(q))(b)
			if i == 0 {
				truth[q] = ids
			}
			found += countCommon(truth[q], ids)
		}
		ways[i] = way{name: name + f.name, more: map[string]float64{"recall@10": float64(found) / (nearestK * nearestQueries)}, do: func(_, n int) error {
			_, err := f.find(n % nearestQueries)
			return err
		}}
	}
	m.compare(b, ways...)
}

func countCommon(a, b []uuid.UUID) (n int) {
	in := make(map[uuid.UUID]bool, len(a))
	for _, id := range a {
		in[id] = true
	}
	for _, id := range b {
		if in[id] {
			n++
		}
	}
	return n
}

// createVectorTable creates pgvector's table with the vectors of our store, and its index.
func (m *serversBench) createVectorTable(b *testing.B, bases []base) {
	b.Helper()
	m.exec(b, fmt.Sprintf(`CREATE TABLE beside (collection uuid, note uuid, vec halfvec(%d) NOT NULL, PRIMARY KEY (collection, note));
 ALTER TABLE beside ALTER COLUMN vec SET STORAGE PLAIN`, llm.HashDim))
	ids := make([]string, len(bases))
	for i, c := range bases {
		ids[i] = "'" + c.id.String() + "'"
	}
	m.exec(b, "INSERT INTO beside SELECT layer, note, vec FROM vectors WHERE layer IN ("+strings.Join(ids, ", ")+")")
	m.logf("building the HNSW index")
	start := time.Now()
	m.exec(b, "SET maintenance_work_mem = '512MB'; CREATE INDEX beside_vec ON beside USING hnsw (vec halfvec_cosine_ops)")
	took := time.Since(start)
	m.exec(b, "VACUUM (ANALYZE) beside")
	var size int64
	m.query(b, "SELECT pg_relation_size('beside_vec')", &size)
	row(b, fmt.Sprintf("pgvector, HNSW index of %d notes built", totalNotes(bases)),
		map[string]float64{"s": took.Seconds(), "MiB-index": float64(size) / (1 << 20), "B/note": float64(size) / float64(totalNotes(bases))})
}

// session opens a connection of the owner with settings.
func (m *serversBench) session(b *testing.B, settings string) *pgx.Conn {
	b.Helper()
	conn := m.owner(b)
	must.Do(b, pgxvector.RegisterTypes(b.Context(), conn))
	must.Get(conn.Exec(b.Context(), settings, pgx.QueryExecModeSimpleProtocol))(b)
	return conn
}

const nearestText = "SELECT note FROM beside WHERE collection = $1 ORDER BY vec <=> $2::halfvec LIMIT $3"

func queryNearest(ctx context.Context, conn *pgx.Conn, c uuid.UUID, vector pgvector.HalfVector) ([]uuid.UUID, error) {
	rows, err := conn.Query(ctx, nearestText, c, vector, nearestK)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// checkUsesIndex fails when the planner does not use the HNSW index.
func (m *serversBench) checkUsesIndex(b *testing.B, conn *pgx.Conn, c uuid.UUID, vector pgvector.HalfVector) {
	b.Helper()
	rows := must.Get(conn.Query(b.Context(), "EXPLAIN "+nearestText, c, vector, nearestK))(b)
	plan := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(b)
	if text := strings.Join(plan, "\n"); !strings.Contains(text, "beside_vec") {
		b.Fatalf("the HNSW index is not used:\n%s", text)
	}
}

// vectorSearch returns the ids that a search by vector finds.
func (m *serversBench) vectorSearch(g *process, c uuid.UUID, text string) ([]uuid.UUID, error) {
	answer, err := m.searchOverHTTP(g, c, map[string]any{"query": text, "mode": "vector", "k": nearestK})
	if err != nil {
		return nil, err
	}
	var out struct {
		Hits []struct {
			Note struct {
				ID uuid.UUID `json:"id"`
			} `json:"note"`
		} `json:"hits"`
	}
	err = json.Unmarshal(answer, &out)
	ids := make([]uuid.UUID, len(out.Hits))
	for i, h := range out.Hits {
		ids[i] = h.Note.ID
	}
	return ids, err
}
