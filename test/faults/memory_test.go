package faults_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// holding is the memory of a run of a process at an idle moment.
type holding struct {
	process *process
	since   time.Time // when this run of it began to answer
	kib     int
}

// Bounds of what is said about memory.
const (
	mostGrowth = 0.20
	warmUp     = 10 * time.Second // of load, before which a process is not compared
)

// weigh writes down the memory of each process, while nothing is to be done. calm is
// when the load ended.
//
// What Go holds is what lives and what is garbage and not collected yet, and a
// process that does nothing collects nothing: it would be weighed at a random
// point between two collections. So each is made to allocate, by showing its
// metrics again and again, until it has collected several times; then it is given
// the time to return pages to the kernel, until what it holds stands still.
func (r *run) weigh(calm time.Time) {
	for _, p := range r.processes() {
		for range 60 {
			resp, err := health.Get(p.url + "/metrics")
			if err != nil {
				break // a process that is gone is told of elsewhere
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
			r.held = append(r.held, &holding{p, since, kib})
		}
	}
}

// compare looks at how much the processes that lived through it have grown in the
// last half of the run, or since their restart there.
func (r *run) compare(t *testing.T) {
	t.Helper()
	compared := 0
	t.Logf("memory at idle moments\n%s", table("process\tKiB\tgrowth", func(row func(...any)) {
		for _, p := range r.processes() {
			var all []*holding
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
		r.book.problemf("no process lived through the last quarter")
	}
}

// alarming tells lines that no log may have.
func alarming(line string) bool {
	for _, sign := range []string{"panic", "DATA RACE", "level=ERROR", "fatal error"} {
		if strings.Contains(line, sign) {
			return true
		}
	}
	return false
}
