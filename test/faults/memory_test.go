package faults_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// memorySample is the memory of a process at an idle moment.
type memorySample struct {
	process *process
	since   time.Time // start of the process
	kib     int
}

// The limits for memory.
const (
	mostGrowth = 0.20
	warmUp     = 10 * time.Second // of load; before, the memory is not compared
)

// sampleMemory records the memory of each idle process. calm is when the load ended.
//
// The memory of a Go process includes garbage, and an idle process does not collect it. So the
// metrics of each process are read until it has allocated enough to collect several times. Then it
// gets time to return pages to the kernel, until its memory no longer shrinks.
func (r *run) sampleMemory(calm time.Time) {
	for _, p := range r.processes() {
		for range 60 {
			resp, err := health.Get(p.url + "/metrics")
			if err != nil {
				break // reported elsewhere
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}
	last := map[*process]int{}
	for range 20 {
		still := true
		for _, p := range r.processes() {
			kib, _ := p.resident()
			still = still && kib >= last[p]*99/100
			last[p] = kib
		}
		if still {
			break
		}
		<-time.After(500 * time.Millisecond)
	}
	for _, p := range r.processes() {
		kib, since := p.resident()
		if kib > 0 && calm.Sub(since) > warmUp {
			r.held = append(r.held, &memorySample{p, since, kib})
		}
	}
}

// compareMemory checks the growth of the surviving processes in the last half of the run, or since
// their last start.
func (r *run) compareMemory(t *testing.T) {
	t.Helper()
	compared := 0
	t.Logf("memory at idle moments\n%s", table("process\tKiB\tgrowth", func(row func(...any)) {
		for _, p := range r.processes() {
			var all []*memorySample
			_, since := p.resident()
			for _, h := range r.held {
				if h.process == p && h.since.Equal(since) {
					all = append(all, h)
				}
			}
			if len(all) < 2 {
				continue
			}
			compared++
			var kibs []string
			for _, h := range all {
				kibs = append(kibs, fmt.Sprint(h.kib))
			}
			growth := float64(all[len(all)-1].kib)/float64(all[0].kib) - 1
			row(p.name, strings.Join(kibs, ", "), fmt.Sprintf("%+.1f %%", 100*growth))
			if growth >= mostGrowth {
				r.book.problemf("%s grew from %s KiB, by %.1f %%", p.name, strings.Join(kibs, " to "), 100*growth)
			}
		}
	}))
	if len(r.held) > len(r.processes()) && compared == 0 {
		r.book.problemf("no process survived the last quarter")
	}
}

// isAlarming reports whether a line must not be in a log.
func isAlarming(line string) bool {
	for _, sign := range []string{"panic", "DATA RACE", "level=ERROR", "fatal error"} {
		if strings.Contains(line, sign) {
			return true
		}
	}
	return false
}
