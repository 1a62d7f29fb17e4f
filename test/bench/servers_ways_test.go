package bench_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/test/must"
)

// gateways compares two gateways with one, under equal load.
func (m *serversBench) gateways(b *testing.B) {
	const clients = 16
	n := m.middle()
	c, queries := m.filled(b, n).id, m.text.Queries(256)
	first, second := m.gateway(b, m.site), m.gateway(b, m.site)
	m.warm(b, c, first, second)
	either := func(client int) *process {
		if client%2 == 0 {
			return first
		}
		return second
	}
	name := fmt.Sprintf("hybrid search of %d notes, %d clients, ", n, clients)
	m.compare(b,
		way{name: name + "one gateway", clients: clients, do: func(_, i int) error { return m.hybrid(first, c, queries, i) }},
		way{name: name + "two gateways", clients: clients, do: func(client, i int) error { return m.hybrid(either(client), c, queries, i) }},
	)
	own := make([]uuid.UUID, clients)
	for i := range own {
		own[i] = m.newCollection(b)
	}
	name = fmt.Sprintf("add, %d clients with a collection each, ", clients)
	m.compare(b,
		way{name: name + "one gateway", clients: clients, do: func(client, i int) error { return m.addOverHTTP(first, own[client], i) }},
		way{name: name + "two gateways", clients: clients, do: func(client, i int) error { return m.addOverHTTP(either(client), own[client], i) }},
	)
}

// warm loads the index of a collection.
func (m *serversBench) warm(b *testing.B, c uuid.UUID, gateways ...*process) {
	b.Helper()
	for _, g := range gateways {
		m.searchUntilReady(b, g, c, map[string]any{"query": "warm"})
		m.loaded(b, g, c)
	}
}

// redis compares a gateway with Redis and one without: searches with the default cache of versions
// in the process and with one that is too small for the hits, and adds.
func (m *serversBench) redis(b *testing.B) {
	const clients = 4
	n := m.middle()
	c, queries := m.filled(b, n).id, m.text.Queries(256)
	with, small := []string{"REDIS_URL=" + os.Getenv("REDIS_URL"), "SLIPBOX_REDIS_PREFIX=bench-" + uuid.NewString()}, "SLIPBOX_CACHE_BYTES=65536"
	off, on := m.gateway(b, m.site), m.gateway(b, m.site, with...)
	smallOff, smallOn := m.gateway(b, m.site, small), m.gateway(b, m.site, append(with, small)...)
	m.warm(b, c, off, on, smallOff, smallOn)
	search := func(name string, g *process) way {
		return way{name: fmt.Sprintf("hybrid search of %d notes, %d clients, %s", n, clients, name), clients: clients, do: func(_, i int) error { return m.hybrid(g, c, queries, i) }}
	}
	m.compare(b, search("Redis off", off), search("Redis on", on))
	m.compare(b, search("Redis off, 64 KiB of versions in the process", smallOff), search("Redis on, 64 KiB of versions in the process", smallOn))
	own := make([]uuid.UUID, clients)
	for i := range own {
		own[i] = m.newCollection(b)
	}
	add := func(name string, g *process) way {
		return way{name: fmt.Sprintf("add, %d clients with a collection each, %s", clients, name), clients: clients, do: func(client, i int) error { return m.addOverHTTP(g, own[client], i) }}
	}
	m.compare(b, add("Redis off", off), add("Redis on", on))
}

// statements compares calls of the store by the serving role, which row-level security restricts
// to its tenant, by the owner, whom it does not restrict, and without prepared statements.
func (m *serversBench) statements(b *testing.B) {
	n := m.middle()
	c := m.filled(b, n)
	notes, queries := m.notes(b, 1024), m.text.Queries(64)
	vectors := make([][]float32, len(queries))
	for i, q := range queries {
		vectors[i] = m.embed(b, q)
	}
	stores := []struct {
		name  string
		store *postgres.Store
		own   uuid.UUID
	}{
		{"serving role", m.Store, m.newCollection(b)},
		{"owner, no row-level security", m.open(b, postgres.Config{URL: m.database.OwnerURL, AnyRole: true}), m.newCollection(b)},
		{"serving role, exec mode exec", m.open(b, postgres.Config{URL: m.database.URL, ExecMode: "exec"}), m.newCollection(b)},
	}
	ctx := b.Context()
	view := must.Get(m.OpenView(ctx, m.scope, c.id.String(), memory.At{}))(b)
	for _, call := range []struct {
		name string
		do   func(st *postgres.Store, own uuid.UUID, i int) error
	}{
		{"view and five notes", func(st *postgres.Store, _ uuid.UUID, i int) error {
			v, err := st.OpenView(ctx, m.scope, c.id.String(), memory.At{})
			if err != nil {
				return err
			}
			ids := make([]uuid.UUID, 5)
			for k := range ids {
				ids[k] = c.notes[(i*5+k)*7919%len(c.notes)]
			}
			found, err := st.Notes(ctx, m.scope, v, ids, memory.ReadOptions{})
			if err == nil && len(found) != len(ids) {
				err = fmt.Errorf("%d notes of %d", len(found), len(ids))
			}
			return err
		}},
		{"page of 50 notes", func(st *postgres.Store, _ uuid.UUID, i int) error {
			found, err := st.ListNotes(ctx, m.scope, view, memory.NoteQuery{Limit: 50, After: c.notes[i*7919%(len(c.notes)-50)]})
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("an empty page")
			}
			return err
		}},
		{fmt.Sprintf("exact scan of %d notes", n), func(st *postgres.Store, _ uuid.UUID, i int) error {
			_, err := st.Nearest(ctx, m.scope, view, memory.NearestQuery{Vector: vectors[i%len(vectors)], Limit: 10})
			return err
		}},
		{"durable note", func(st *postgres.Store, own uuid.UUID, i int) error { return m.add(st, own, notes[i%len(notes)]) }},
	} {
		ways := make([]way, len(stores))
		for i, s := range stores {
			ways[i] = way{name: call.name + ", " + s.name, do: func(_, i int) error { return call.do(s.store, s.own, i) }}
		}
		m.compare(b, ways...)
	}
}
