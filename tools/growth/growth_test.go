package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-gateway", "g", "-sizes", "500, 10000"})
	if err != nil || len(o.sizes) != 2 || o.sizes[1] != 10_000 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range [][]string{{}, {"-gateway", "g", "x"}, {"-gateway", "g", "-sizes", "1000,500"}, {"-gateway", "g", "-sizes", "many"}, {"-gateway", "g", "-calls", "0"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	b := &bench{}
	if err := b.times(Figure{What: whatAdd, Notes: 500, Limit: .5}, 100, func(int) error { time.Sleep(time.Millisecond); return nil }); err != nil {
		t.Fatal(err)
	}
	f := b.result.Figures[0]
	if f.Who != "slipbox" || f.P50 < 1 || f.P99 < f.P50 {
		t.Errorf("%+v", f)
	}
	if err := b.times(Figure{What: whatAdd}, 1, func(int) error { return os.ErrNotExist }); err == nil || !strings.Contains(err.Error(), whatAdd) {
		t.Errorf("%v", err)
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := &bench{options: options{out: dir}, result: Result{Command: "make bench/growth", Figures: []Figure{
		{Who: "machine", What: whatMemory, Value: 12, Unit: "GB/s"},
		{Who: "slipbox", What: whatHybrid, Notes: 1000, P50: 2, P99: 4, Limit: .5},
		{Who: "slipbox", What: whatHybrid, Notes: 10_000, P50: 4},
		{Who: "slipbox", What: whatAdd, Notes: 1000, P50: 1},
		{Who: "Chroma 1", What: whatAdd, Notes: 1000, P50: 2},
	}}}
	if err := b.write(); err != nil {
		t.Fatal(err)
	}
	if got := b.result.markdown(); !strings.Contains(got, "| slipbox | "+whatHybrid+" | 1000 | 2 | 4 | 0.5 | 4.0 |  |") || !strings.Contains(got, "12 GB/s") {
		t.Error(got)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "growth-add.svg"))
	if err != nil || !strings.Contains(string(svg), "Chroma 1, "+whatAdd) {
		t.Errorf("%.200s %v", svg, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "growth-memory.svg")); err == nil {
		t.Error("a plot without a figure was written")
	}
}
