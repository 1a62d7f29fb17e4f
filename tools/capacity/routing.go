package main

import (
	"container/list"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// What is simulated: tenants of which few ask for most, and gateways that hold the indexes that were used last.
const (
	tenants  = 10_000
	asked    = 200_000
	skew     = 1.1 // of Zipf's law
	gateways = 8
	points   = 160 // of a gateway on the ring, as nginx has for a server of weight 1 (upstream-hash-by, ketama)
)

// gateway holds the indexes that were used last.
type gateway struct {
	room int
	held map[int]*list.Element
	used *list.List // newest first
	got  int        // requests
}

// ask reports whether the index of a tenant was in memory; now it is.
func (g *gateway) ask(tenant int) bool {
	g.got++
	if e, ok := g.held[tenant]; ok {
		g.used.MoveToFront(e)
		return true
	}
	g.held[tenant] = g.used.PushFront(tenant)
	if g.used.Len() > g.room {
		if last, ok := g.used.Remove(g.used.Back()).(int); ok {
			delete(g.held, last)
		}
	}
	return false
}

// point is a place on the ring.
type point struct {
	at uint64
	of int
}

// ring is consistent hashing: a gateway that is added takes its part from all others, and moves no other tenant.
func ring(gateways int) []point {
	var out []point
	for g := range gateways {
		for i := range points {
			out = append(out, point{hash(fmt.Sprintf("gateway %d %d", g, i)), g})
		}
	}
	slices.SortFunc(out, func(a, b point) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	return out
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	x := h.Sum64() // of FNV, short texts differ little in the high bits
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// homes returns the gateway of each tenant.
func homes(gateways int) []int {
	of, out := ring(gateways), make([]int, tenants)
	for tenant := range out {
		out[tenant] = home(of, tenant)
	}
	return out
}

// home returns the gateway of a tenant: that of the next point.
func home(ring []point, tenant int) int {
	at := hash(fmt.Sprint("tenant ", tenant))
	i, _ := slices.BinarySearchFunc(ring, at, func(p point, at uint64) int {
		if p.at < at {
			return -1
		}
		return 1
	})
	return ring[i%len(ring)].of
}

// result is what a simulation found.
type result struct {
	hits    float64 // of requests: an index was in memory
	busiest float64 // requests of the busiest gateway, in the mean
}

// simulate asks gateways that have room for a part of the indexes of all tenants. After half of the requests, which fill the
// memory, it counts; then one gateway may be added.
func simulate(byTenant bool, part float64, grow bool) (r result) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	law := rand.NewZipf(random, skew, 1, tenants-1)
	var all []*gateway
	add := func() {
		all = append(all, &gateway{room: max(1, int(part*tenants/gateways)), held: map[int]*list.Element{}, used: list.New()})
	}
	for range gateways {
		add()
	}
	of := homes(gateways)
	hits, counted := 0, 0
	for i := range asked {
		if i == asked/2 {
			for _, g := range all {
				g.got = 0
			}
			if grow {
				add()
				of = homes(len(all))
			}
		}
		tenant := int(law.Uint64()) //nolint:gosec // below tenants
		to := i % len(all)
		if byTenant {
			to = of[tenant]
		}
		hit := all[to].ask(tenant)
		if i < asked/2 {
			continue
		}
		counted++
		if hit {
			hits++
		}
	}
	most := 0
	for _, g := range all {
		most = max(most, g.got)
	}
	return result{float64(hits) / float64(counted), float64(most) * float64(len(all)) / float64(counted)}
}

// routes returns the table of hit rates.
func routes() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Simulated: %d gateways, %d tenants that are asked by Zipf's law (%g), %d requests of which the second half counts. *Memory* is the part of all indexes that the gateways hold together.\n\n",
		gateways, tenants, skew, asked)
	b.WriteString("| memory | in turn: hits | by tenant: hits | by tenant, a gateway is added: hits | busiest gateway by tenant, ÷ mean |\n|---:|---:|---:|---:|---:|\n")
	for _, part := range []float64{0.05, 0.1, 0.25, 0.5, 1} {
		turn, by, grown := simulate(false, part, false), simulate(true, part, false), simulate(true, part, true)
		fmt.Fprintf(&b, "| %g %% | %.1f %% | %.1f %% | %.1f %% | %.2f |\n", 100*part, 100*turn.hits, 100*by.hits, 100*grown.hits, by.busiest)
	}
	return b.String()
}
