package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// The page shows what the program computes.
func TestPageIsComputed(t *testing.T) {
	t.Parallel()
	text := must.Get(tables(usual))(t)
	old := must.Get(os.ReadFile("../../" + page))(t)
	made := must.Get(shown(old, text))(t)
	if !bytes.Equal(made, old) {
		t.Error(`docs/capacity.md is not what the program prints; run "make capacity DOCS=1"`)
	}
	if _, err := shown([]byte("# Capacity"), text); err == nil {
		t.Error("a page without marks was written")
	}
}

// More notes never need fewer machines, and more use never fewer cores.
func TestNeedsGrow(t *testing.T) {
	t.Parallel()
	var f figures
	must.Do(t, json.Unmarshal(measured, &f))
	if f.Search.Gateway <= 0 || f.Add.Postgres <= 0 || f.Evolve.Gateway <= f.Add.Gateway || f.DiskBytes < 1000 || f.IndexBytes < 1000 || !strings.Contains(f.Command, "make ") {
		t.Fatalf("measured: %+v", f)
	}
	busier := usual
	busier.adds, busier.searches = 10*usual.adds, 10*usual.searches
	var before need
	for _, notes := range []float64{1e3, 1e5, 1e7, 1e9, 1e10} {
		n, more := needs(f, usual, notes), needs(f, busier, notes)
		if n.gateways < before.gateways || n.workers < before.workers || n.databases < before.databases {
			t.Errorf("%g notes need fewer machines: %+v after %+v", notes, n, before)
		}
		if more.databaseCores <= n.databaseCores || more.gateways < n.gateways || more.workers < n.workers {
			t.Errorf("%g notes in more use: %+v, not %+v", notes, more, n)
		}
		before = n
	}
	if n := needs(f, usual, 1e4); !n.one {
		t.Errorf("10,000 notes need %+v", n)
	}
	if n := needs(f, usual, 1e10); n.one || n.databases < 2 {
		t.Errorf("10^10 notes need %+v", n)
	}
}

// A gateway that is added takes its part of the tenants, and nobody else moves.
func TestRingMovesFew(t *testing.T) {
	t.Parallel()
	before, after := ring(gateways), ring(gateways+1)
	moved := 0
	for tenant := range tenants {
		from, to := home(before, tenant), home(after, tenant)
		if from != to {
			moved++
			if to != gateways {
				t.Fatalf("tenant %d moved from %d to %d", tenant, from, to)
			}
		}
	}
	if part := float64(moved) / tenants; part < 0.5/(gateways+1) || part > 2./(gateways+1) {
		t.Errorf("%.2f of the tenants moved", part)
	}
}

// With memory for a part of the indexes, routing by tenant meets more of them than taking turns.
func TestRoutingByTenantHits(t *testing.T) {
	t.Parallel()
	turn, by := simulate(false, 0.1, false), simulate(true, 0.1, false)
	if by.hits < turn.hits+0.1 || by.busiest < 1 || turn.busiest > 1.01 {
		t.Errorf("in turn %+v, by tenant %+v", turn, by)
	}
}
