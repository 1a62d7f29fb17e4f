package bench_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/test/must"
)

// hybrid runs a hybrid search through a gateway for one of the queries.
func (m *serversBench) hybrid(p *process, c uuid.UUID, queries []string, i int) error {
	_, err := m.searchOverHTTP(p, c, map[string]any{"query": queries[i%len(queries)]})
	return err
}

// searches measures searches over HTTP for five notes, in a new gateway and in one whose index is
// loaded, and the memory of the index.
func (m *serversBench) searches(b *testing.B) {
	queries := m.text.Queries(256)
	for _, n := range m.sizes {
		c := m.filled(b, n)
		name := fmt.Sprintf("%d notes, ", n)
		row(b, name+"written to the store, 500 a transaction", map[string]float64{"notes/s": float64(n) / c.took.Seconds()})
		m.cold(b, c.id, name+"first search of a gateway, hybrid: Postgres scans", map[string]any{"query": queries[0]})
		m.cold(b, c.id, name+"first search of a gateway, vector: Postgres scans", map[string]any{"query": queries[0], "mode": "vector"})
		g := m.gateway(b, m.site)
		m.warm(b, c.id, g)
		m.memory(b, g, c.id, name+"index")
		search := func(_, i int) error { return m.hybrid(g, c.id, queries, i) }
		m.compare(b, way{name: name + "hybrid, 1 client", clients: 1, do: search}, way{name: name + "hybrid, 8 clients", clients: 8, do: search})
		g.stop(b)
	}
}

// cold measures the first search of new gateways. The caches of Postgres stay warm.
func (m *serversBench) cold(b *testing.B, c uuid.UUID, name string, body map[string]any) {
	b.Helper()
	m.logf("%s", name)
	var f figures
	for range 5 {
		g := m.gateway(b, m.site)
		start := time.Now()
		m.searchUntilReady(b, g, c, body)
		f.times = append(f.times, time.Since(start))
		g.stop(b)
	}
	row(b, name, f.values())
}

// searchUntilReady repeats a search until it succeeds: loading a large index may take longer than
// a search waits.
func (m *serversBench) searchUntilReady(b *testing.B, g *process, c uuid.UUID, body map[string]any) {
	b.Helper()
	for deadline := time.After(5 * time.Minute); ; {
		_, err := m.searchOverHTTP(g, c, body)
		if err == nil {
			return
		}
		select {
		case <-deadline:
			b.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// loadedIndex is what a gateway says of the index of a collection once it is loaded.
type loadedIndex struct {
	State string  `json:"state"`
	Notes float64 `json:"notes"`
	Bytes float64 `json:"bytes"`
}

// loaded waits until a gateway has loaded the index of a collection. Searches are answered by a scan meanwhile.
func (m *serversBench) loaded(b *testing.B, g *process, c uuid.UUID) loadedIndex {
	b.Helper()
	var out struct {
		Index loadedIndex `json:"index"`
	}
	g.Await(b, "the index is loaded", func() bool {
		answer := must.Get(m.call(g, http.MethodGet, "/v1/collections/"+c.String(), nil, http.StatusOK))(b)
		must.Do(b, json.Unmarshal(answer, &out))
		return out.Index.State == "ready"
	})
	return out.Index
}

// memory reports the memory of a collection's index and of the gateway that holds it.
func (m *serversBench) memory(b *testing.B, g *process, c uuid.UUID, name string) {
	b.Helper()
	index := m.loaded(b, g, c)
	values := map[string]float64{"B/note": index.Bytes / index.Notes, "MiB-index": index.Bytes / (1 << 20)}
	if status, err := os.ReadFile("/proc/" + strconv.Itoa(g.pid) + "/status"); err == nil {
		values["MiB-resident"] = float64(procKilobytes(string(status), "VmRSS:")) / 1024
	}
	row(b, name, values)
}

// forks measures forking the largest collection, and searches in forks that have newer versions of
// a part of its notes.
func (m *serversBench) forks(b *testing.B) {
	n := m.largest()
	c := m.filled(b, n)
	g := m.gateway(b, m.site)
	fork := func() (id uuid.UUID, err error) {
		answer, err := m.call(g, http.MethodPost, "/v1/collections/"+c.id.String()+"/clone", map[string]any{"name": "f-" + uuid.NewString()}, http.StatusCreated)
		if err != nil {
			return id, err
		}
		var out struct {
			ID uuid.UUID `json:"id"`
		}
		err = json.Unmarshal(answer, &out)
		return out.ID, err
	}
	m.compare(b, way{name: fmt.Sprintf("fork of %d notes", n), do: func(int, int) error {
		_, err := fork()
		return err
	}})
	queries := m.text.Queries(256)
	search := func(name string, id uuid.UUID) way {
		return way{name: name, do: func(_, i int) error { return m.hybrid(g, id, queries, i) }}
	}
	ways := []way{search(fmt.Sprintf("hybrid search of %d notes", n), c.id)}
	for _, percent := range []int{0, 10, 50} {
		id := must.Get(fork())(b)
		m.logf("shadowing %d %% of %d notes", percent, n)
		m.shadow(b, id, c.notes[:n*percent/100])
		ways = append(ways, search(fmt.Sprintf("in a fork with %d %% of them shadowed", percent), id))
	}
	m.exec(b, "VACUUM (ANALYZE)")
	m.compare(b, ways...)
}

// shadow writes newer versions of notes.
func (m *serversBench) shadow(b *testing.B, c uuid.UUID, ids []uuid.UUID) {
	b.Helper()
	for len(ids) > 0 {
		notes := m.notes(b, min(500, len(ids)))
		for i := range notes {
			notes[i].ID = ids[i]
		}
		m.put(b, c, notes)
		ids = ids[len(notes):]
	}
}
