package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/corpus"
	"github.com/slipboxhq/slipbox/test/must"
)

// BenchmarkGateway measures a whole gateway: the services in process, and the server on the
// loopback. The data is in the directory for temporary files (TMPDIR), which should be on a disk.
func BenchmarkGateway(b *testing.B) {
	g := newGateway(b)
	b.Run("fsync", g.fsync)
	b.Run("add", g.adds)
	b.Run("adds-at-once", g.addsAtOnce)
	b.Run("evolve", g.evolves)
	b.Run("bulk", g.bulk)
	bases := map[int]func() memory.Collection{}
	for _, n := range []int{500, 10_000, 100_000} {
		bases[n] = sync.OnceValue(func() memory.Collection { return g.filled(b, n) })
	}
	over := func(name string, run func(*testing.B, memory.Collection), sizes ...int) {
		b.Run(name, func(b *testing.B) {
			for _, n := range sizes {
				b.Run(strconv.Itoa(n), func(b *testing.B) { run(b, bases[n]()) })
			}
		})
	}
	over("search", g.searches, 500, 10_000)
	over("list", g.list, 500, 10_000)
	over("load", g.load, 10_000)
	for _, n := range []int{1000, 20_000} {
		b.Run("remember/"+strconv.Itoa(n), func(b *testing.B) { g.remembers(b, n) })
	}
	over("forked-search", g.forkedSearch, 10_000)
	// The largest base comes last: its rows would slow the others down.
	over("fork", g.fork, 10_000, 100_000)
}

// gateway is a running gateway with one tenant.
type gateway struct {
	*app.Gateway
	dir   string
	key   string
	scope tenant.Scope
	text  *corpus.Corpus
}

// newGateway starts a gateway with the hashed embedder: an encoder's time would hide all others.
func newGateway(b testing.TB) *gateway {
	b.Helper()
	return newGatewayWith(b, llm.EmbedHash)
}

// newGatewayWith starts a gateway with an embedder.
func newGatewayWith(b testing.TB, embedder string) *gateway {
	b.Helper()
	cfg := config.Default()
	cfg.Addr, cfg.Data = "127.0.0.1:0", b.TempDir()
	cfg.Limits.SingleTenant = true
	cfg.LLM.EmbedProvider = embedder
	ctx, stop := context.WithCancel(context.Background())
	a := must.Get(app.NewGateway(ctx, cfg, slog.New(slog.DiscardHandler)))(b)
	g := &gateway{Gateway: a, dir: cfg.Data, text: corpus.New(7)}
	t := must.Get(a.Tenants.Create(ctx, grant.Operator("bench"), tenant.NewTenant{Name: app.DefaultTenant}))(b)
	g.scope = grant.Scope(t.ID, uuid.Nil, "bench", tenant.AllPermissions()...)
	g.key = must.Get(a.Auth.Keys.Create(ctx, g.scope, auth.NewKey{Name: "bench"}))(b).Text
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, io.Discard, false) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	// The gateway has started when it answers.
	must.Do(b, g.call(ctx, "/v1/auth/token", map[string]any{}, http.StatusOK))
	return g
}

// measure calls fn with the number of the call. fn returns the time of the part to measure.
// measure reports the median and the 99th percentile in milliseconds, instead of the mean.
func measure(b *testing.B, fn func(i int) time.Duration) (median time.Duration) {
	b.Helper()
	var times []time.Duration
	for i := 0; b.Loop(); i++ {
		times = append(times, fn(i))
	}
	slices.Sort(times)
	at := func(p float64) time.Duration { return times[int(math.Ceil(p*float64(len(times))))-1] }
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	median = at(0.5)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(median), "p50-ms")
	b.ReportMetric(ms(at(0.99)), "p99-ms")
	return median
}

// timed measures the whole of fn.
func timed(b *testing.B, fn func(i int) error) time.Duration {
	b.Helper()
	return measure(b, func(i int) time.Duration {
		start := time.Now()
		must.Do(b, fn(i))
		return time.Since(start)
	})
}

// newCollection creates an empty collection.
func (g *gateway) newCollection(b testing.TB, policyName string) memory.Collection {
	b.Helper()
	return g.newCollectionWith(b, policyName, "")
}

// newCollectionWith creates an empty collection whose policy has settings of its own.
func (g *gateway) newCollectionWith(b testing.TB, policyName, config string) memory.Collection {
	b.Helper()
	id := must.Get(uuid.NewV7())(b)
	v := must.Get(g.Collections.Create(b.Context(), g.scope,
		notes.CollectionInput{Name: "c-" + id.String(), Policy: policyName, PolicyConfig: json.RawMessage(config)}, memory.Request{}))(b)
	return v.Collection
}

// lines returns n notes for a bulk.
func (g *gateway) lines(n int) []notes.BulkLine {
	out := make([]notes.BulkLine, n)
	for i := range out {
		out[i].Note.Content = g.text.Note()
	}
	return out
}

// fill adds notes in bulk and returns the job of the last one, or nil when it has none.
func (g *gateway) fill(b *testing.B, c memory.Collection, lines []notes.BulkLine) (last *memory.Job) {
	b.Helper()
	for part := range slices.Chunk(lines, memory.MaxBulkLines) {
		for _, r := range must.Get(g.Notes.AddMany(b.Context(), g.scope, c.ID.String(), part))(b) {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
			last = r.Job
		}
	}
	return last
}

// filled creates a collection of n notes without a policy.
func (g *gateway) filled(b *testing.B, n int) memory.Collection {
	b.Helper()
	c := g.newCollection(b, memory.PolicyNone)
	g.fill(b, c, g.lines(n))
	return c
}

// call sends a request and reads the whole answer.
func (g *gateway) call(ctx context.Context, path string, body any, want int) error {
	return g.answer(ctx, path, body, want, &json.RawMessage{})
}

// answer sends a request and decodes the answer.
func (g *gateway) answer(ctx context.Context, path string, body any, want int, to any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL()+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+g.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("%s: %s: %s", path, resp.Status, answer)
	}
	if err != nil || len(answer) == 0 {
		return err
	}
	return json.Unmarshal(answer, to)
}

// fsync measures the disk: a page of 4 KiB and fsync, at the end of a file, and over an older
// page as the write-ahead log does when it is long enough. No durable add can be faster than the
// latter.
func (g *gateway) fsync(b *testing.B) {
	run := func(name string, offset func(i int) int64) {
		b.Run(name, func(b *testing.B) {
			f := must.Get(os.Create(filepath.Join(g.dir, "fsync-"+name)))(b)
			defer func() { _ = f.Close() }()
			page := make([]byte, 4096)
			for i := range 256 {
				must.Get(f.WriteAt(page, int64(i)*4096))(b)
			}
			must.Do(b, f.Sync())
			timed(b, func(i int) error {
				if _, err := f.WriteAt(page, offset(i)); err != nil {
					return err
				}
				return f.Sync()
			})
		})
	}
	run("append", func(i int) int64 { return int64(256+i) * 4096 })
	run("overwrite", func(i int) int64 { return int64(i%256) * 4096 })
}

// adds measures durable adds, which return when the note is on the disk: without a policy, with
// A-MEM whose jobs run at the same time, and over HTTP.
func (g *gateway) adds(b *testing.B) {
	for _, policyName := range []string{memory.PolicyNone, memory.PolicyAMEM} {
		b.Run(policyName, func(b *testing.B) {
			c := g.newCollection(b, policyName)
			var last *memory.Job
			timed(b, func(int) error {
				w, err := g.Notes.Add(b.Context(), g.scope, c.ID.String(), notes.NewNote{Content: g.text.Note()}, memory.Request{})
				last = w.Job
				return err
			})
			if last != nil {
				g.waitFor(b, last)
			}
		})
	}
	b.Run("http", func(b *testing.B) {
		c := g.newCollection(b, memory.PolicyNone)
		timed(b, func(int) error {
			return g.call(b.Context(), "/v1/collections/"+c.ID.String()+"/notes", map[string]any{"content": g.text.Note()}, http.StatusCreated)
		})
	})
}

// addsAtOnce measures durable adds over HTTP by several clients.
func (g *gateway) addsAtOnce(b *testing.B) {
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	for _, clients := range []int{1, 4, 16, 64} {
		b.Run(strconv.Itoa(clients), func(b *testing.B) {
			c := g.newCollection(b, memory.PolicyNone)
			texts := make([]string, b.N)
			for i := range texts {
				texts[i] = g.text.Note()
			}
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range clients {
				all.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := g.call(b.Context(), "/v1/collections/"+c.ID.String()+"/notes", map[string]any{"content": texts[i-1]}, http.StatusCreated); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "adds/s")
		})
	}
}

// remembers measures remembering an item in a memory of layers whose log has n messages.
func (g *gateway) remembers(b *testing.B, n int) {
	c := g.newCollection(b, "layered")
	for range n / 1000 {
		must.Get(g.Store.Write(b.Context(), g.scope, c.ID, memory.WriteOptions{Cause: memory.CauseImport}, func(ctx context.Context, tx memory.Tx) error {
			for range 1000 {
				said := memory.Note{Kind: memory.KindMessage, Content: g.text.Note(), State: memory.StateEvolved, Attributes: map[string]any{memory.AttrRole: "user", "layer": "log"}}
				if _, err := tx.Put(ctx, said); err != nil {
					return err
				}
			}
			return nil
		}))(b)
	}
	v := must.Get(g.Recall.Open(b.Context(), g.scope, c.ID.String(), nil, 0))(b)
	must.Get(g.Recall.Search(b.Context(), g.scope, v, recall.Query{Text: "harbor"}))(b) // loads the index
	timed(b, func(int) error {
		args := json.RawMessage(`{"role":"user","content":` + strconv.Quote(g.text.Note()) + `}`)
		_, err := g.Layers.Remember(b.Context(), g.scope, c.ID.String(), args, 200, memory.Request{})
		return err
	})
}

// waitFor waits until a job has ended. The earlier jobs of its collection have ended then too.
func (g *gateway) waitFor(b *testing.B, j *memory.Job) {
	b.Helper()
	var state memory.JobState
	err := g.Waiters.Watch(b.Context(), g.scope, j.ID, func(now memory.Job) error {
		state = now.State
		return nil
	})
	if err != nil || state != memory.JobDone {
		b.Fatalf("the job is %s: %v", state, err)
	}
}

// evolves measures adds until the heuristic analyst has evolved the note: one after the other,
// and a conversation of 600 notes at once.
func (g *gateway) evolves(b *testing.B) {
	b.Run("one", func(b *testing.B) {
		c := g.newCollection(b, memory.PolicyAMEM)
		ctx := b.Context()
		timed(b, func(int) error {
			w, err := g.Notes.Add(ctx, g.scope, c.ID.String(), notes.NewNote{Content: g.text.Note()}, memory.Request{})
			if err != nil {
				return err
			}
			g.waitFor(b, w.Job)
			return nil
		})
	})
	b.Run("conversation", func(b *testing.B) {
		const n = 600
		var took time.Duration
		rounds := 0
		for b.Loop() {
			c, lines := g.newCollection(b, memory.PolicyAMEM), g.lines(n)
			start := time.Now()
			g.waitFor(b, g.fill(b, c, lines))
			took += time.Since(start)
			rounds++
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(rounds*n)/took.Seconds(), "notes/s")
		b.ReportMetric(took.Seconds()*1000/float64(rounds*n), "ms/note")
	})
}

// bulk measures the rate of durable notes without a policy, 5,000 per call.
func (g *gateway) bulk(b *testing.B) {
	const n = 5_000
	c, lines := g.newCollection(b, memory.PolicyNone), g.lines(n)
	rounds := 0
	for b.Loop() {
		g.fill(b, c, lines)
		rounds++
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(rounds*n)/b.Elapsed().Seconds(), "notes/s")
}

// cachingEmbedder returns vectors embedded before for a set of queries.
type cachingEmbedder struct {
	memory.Embedder
	vectors map[string][]float32
}

func (k cachingEmbedder) Embed(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	if v, ok := k.vectors[texts[0]]; ok && len(texts) == 1 {
		return []memory.Embedding{{Vector: v}}, nil
	}
	return k.Embedder.Embed(ctx, s, texts)
}

func (k cachingEmbedder) Default() memory.Embedder { return k }
func (k cachingEmbedder) Names() []string          { return []string{k.Name()} }

func (k cachingEmbedder) ByName(name string) (memory.Embedder, bool) { return k, name == k.Name() }

// searches measures hybrid searches for the first five hits, in Go with links and usage, over HTTP as a client gets them:
// embedding the query, with a query embedded before, and over HTTP.
func (g *gateway) searches(b *testing.B, c memory.Collection) {
	queries := g.text.Queries(256)
	k := cachingEmbedder{g.Embedders.Default(), map[string][]float32{}}
	for _, q := range queries {
		k.vectors[q] = must.Get(k.Embedder.Embed(b.Context(), g.scope, []string{q}))(b)[0].Vector
	}
	apart := must.Get(recall.New(recall.Deps{Store: g.Store, Embedders: k}, recall.Config{}))(b)
	for _, way := range []struct {
		name string
		r    *recall.Service
	}{{"embedding", g.Recall}, {"embedded", apart}} {
		b.Run(way.name, func(b *testing.B) {
			g.search(b, way.r, c, queries[0])
			measure(b, func(i int) time.Duration { return g.search(b, way.r, c, queries[i%len(queries)]) })
		})
	}
	b.Run("http", func(b *testing.B) {
		timed(b, func(i int) error {
			return g.call(b.Context(), "/v1/collections/"+c.ID.String()+"/search", map[string]any{"query": queries[i%len(queries)]}, http.StatusOK)
		})
	})
}

// search opens a view and searches it.
func (g *gateway) search(b *testing.B, r *recall.Service, c memory.Collection, query string) time.Duration {
	b.Helper()
	start := time.Now()
	v := must.Get(r.Open(b.Context(), g.scope, c.ID.String(), nil, 0))(b)
	out := must.Get(r.Search(b.Context(), g.scope, v, recall.Query{Text: query}))(b)
	took := time.Since(start)
	if len(out.Hits) != recall.DefaultK || out.Degraded != "" {
		b.Fatalf("%d hits, degraded: %q", len(out.Hits), out.Degraded)
	}
	return took
}

// list measures reading pages of 50 notes with links and usage.
func (g *gateway) list(b *testing.B, c memory.Collection) {
	var after uuid.UUID
	timed(b, func(int) error {
		v, err := g.Recall.Open(b.Context(), g.scope, c.ID.String(), nil, 0)
		if err != nil {
			return err
		}
		page, err := g.Recall.List(b.Context(), g.scope, v, recall.ListQuery{After: after, Limit: 50})
		if err == nil && len(page.Items) == 0 {
			err = fmt.Errorf("an empty page after %s", after)
		}
		after = page.Next
		return err
	})
}

// load measures the first search of a process, which fills the index from the log.
func (g *gateway) load(b *testing.B, c memory.Collection) {
	q := g.text.Query()
	measure(b, func(int) time.Duration {
		g.Recall.Evict(g.scope.Tenant(), c.ID)
		return g.search(b, g.Recall, c, q)
	})
}

func (g *gateway) forked(b *testing.B, c memory.Collection) (memory.Collection, time.Duration) {
	b.Helper()
	id := must.Get(uuid.NewV7())(b)
	start := time.Now()
	out := must.Get(g.Clones.Clone(b.Context(), g.scope, c.ID.String(), clone.Input{Name: "f-" + id.String()}, memory.Request{}))(b)
	return out.Collection, time.Since(start)
}

// fork measures forking one base.
func (g *gateway) fork(b *testing.B, c memory.Collection) {
	measure(b, func(int) time.Duration {
		_, took := g.forked(b, c)
		return took
	})
}

// forkedSearch measures the first search in a new fork whose base is indexed.
func (g *gateway) forkedSearch(b *testing.B, c memory.Collection) {
	queries := g.text.Queries(256)
	g.search(b, g.Recall, c, queries[0])
	measure(b, func(i int) time.Duration {
		f, _ := g.forked(b, c)
		return g.search(b, g.Recall, f, queries[i%len(queries)])
	})
}
