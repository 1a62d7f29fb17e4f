package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	pgxvector "github.com/pgvector/pgvector-go/pgx"
)

const (
	exactName = "pgvector, exact"
	hnswName  = "pgvector, HNSW"
)

// The tables are in a schema of their own, dropped at the end.
const (
	schema      = "indexbench"
	table       = schema + ".notes"
	byVector    = "by_vector"
	nearestText = "SELECT id FROM " + table + " ORDER BY v <=> $1 LIMIT $2"
)

// postgres holds connections to a table with pgvector's type "vector" (float32).
type postgres struct{ conns []*pgx.Conn }

// pgVector measures a scan of the table, on as many processors as the planner chooses. With graphs it
// also measures an HNSW index with the defaults: m 16, ef_construction 64.
func pgVector(ctx context.Context, c *corpus, n int, graphs bool, logf logger) (all []*built, err error) {
	p := &postgres{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	start := time.Now()
	conn, err := p.fill(ctx, c, n)
	if err != nil {
		return nil, err
	}
	exact := &built{name: exactName, took: time.Since(start), close: p.close}
	if err := conn.QueryRow(ctx, "SELECT pg_table_size('"+table+"')").Scan(&exact.bytes); err != nil {
		return nil, err
	}
	session, err := p.session(ctx, "SET enable_indexscan = off")
	if err != nil {
		return nil, err
	}
	exact.finders = []finder{{ask: ask(session)}}
	if !graphs {
		return []*built{exact}, nil
	}
	stop := ticking(func(d time.Duration) { logf("%s: building for %v", hnswName, d) })
	_, err = conn.Exec(ctx, "CREATE INDEX "+byVector+" ON "+table+" USING hnsw (v vector_cosine_ops)")
	stop()
	if err != nil {
		return nil, err
	}
	graph := &built{name: hnswName, took: time.Since(start)}
	if err := conn.QueryRow(ctx, "SELECT pg_relation_size('"+schema+"."+byVector+"')").Scan(&graph.bytes); err != nil {
		return nil, err
	}
	graph.bytes += exact.bytes // the index needs its table
	for _, ef := range []int{40, 100, 400} {
		session, err := p.session(ctx, fmt.Sprintf("SET enable_seqscan = off; SET hnsw.ef_search = %d", ef))
		if err != nil {
			return nil, err
		}
		graph.finders = append(graph.finders, finder{setting: fmt.Sprintf("ef %d", ef), ask: ask(session)})
		if err := planned(ctx, session, c, true); err != nil {
			return nil, err
		}
	}
	return []*built{exact, graph}, planned(ctx, session, c, false)
}

// session opens a connection with settings.
func (p *postgres) session(ctx context.Context, settings string) (*pgx.Conn, error) {
	url := cmp.Or(os.Getenv("MIGRATE_DATABASE_URL"), os.Getenv("DATABASE_URL")) // the serving role may not create tables
	if url == "" {
		return nil, errors.New("DATABASE_URL is not set; scripts/bench-index.sh sets it, and -postgres=false leaves Postgres out")
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	p.conns = append(p.conns, conn)
	settings = "SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS vector; " + settings
	if _, err := conn.Exec(ctx, settings, pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, err
	}
	return conn, pgxvector.RegisterTypes(ctx, conn)
}

func (p *postgres) close() {
	ctx := context.Background() // also after a cancellation
	for i, conn := range p.conns {
		if i == 0 {
			_, _ = conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE") // otherwise the next run drops it
		}
		_ = conn.Close(ctx)
	}
}

// fill creates the table and copies the vectors.
func (p *postgres) fill(ctx context.Context, c *corpus, n int) (*pgx.Conn, error) {
	conn, err := p.session(ctx, "SET maintenance_work_mem = '1GB'")
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf("DROP SCHEMA IF EXISTS %s CASCADE; CREATE SCHEMA %[1]s; CREATE TABLE %s (id int PRIMARY KEY, v vector(%d) NOT NULL)",
		schema, table, c.dim), pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, err
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{schema, "notes"}, []string{"id", "v"}, pgx.CopyFromSlice(n, func(i int) ([]any, error) {
		return []any{i, pgvector.NewVector(c.vectors[i])}, nil
	}))
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE) "+table)
	return conn, err
}

func ask(conn *pgx.Conn) func(context.Context, *query) ([]int, error) {
	return func(ctx context.Context, q *query) ([]int, error) {
		rows, err := conn.Query(ctx, nearestText, pgvector.NewVector(q.Vector), k)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[int])
	}
}

// planned fails when the plan does not use the expected scan.
func planned(ctx context.Context, conn *pgx.Conn, c *corpus, indexed bool) error {
	rows, err := conn.Query(ctx, "EXPLAIN "+nearestText, pgvector.NewVector(c.queries[0].Vector), k)
	if err != nil {
		return err
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if text := strings.Join(plan, "\n"); strings.Contains(text, byVector) != indexed {
		return fmt.Errorf("index asked for: %t, but the plan is\n%s", indexed, text)
	}
	return nil
}

// ticking calls log from time to time until stop is called.
func ticking(tell func(time.Duration)) (stop func()) {
	start, done := time.Now(), make(chan struct{})
	go func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				tell(time.Since(start).Round(time.Second))
			}
		}
	}()
	return func() { close(done) }
}

// aboutPostgres returns the versions of Postgres and pgvector.
func aboutPostgres(ctx context.Context) (about string, err error) {
	p := &postgres{}
	defer p.close()
	conn, err := p.session(ctx, "")
	if err != nil {
		return "", err
	}
	err = conn.QueryRow(ctx, `SELECT format('pgvector %s in Postgres %s with shared_buffers %s',
 (SELECT extversion FROM pg_extension WHERE extname = 'vector'), split_part(current_setting('server_version'), ' ', 1), current_setting('shared_buffers'))`).Scan(&about)
	return about, err
}
