package faults_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// book records a run.
type book struct {
	began time.Time // when clients and faults began

	mu       sync.Mutex
	events   []string
	took     map[string][]time.Duration // by kind of request
	failed   map[failure]int
	problems []string
	more     int // number of problems that were not recorded
	outages  map[string][]span
	counts   map[string]int // of other events
}

// failure is the kind of a failed request and how it failed.
type failure struct{ kind, what string }

func newBook() *book {
	return &book{
		began: time.Now(), took: map[string][]time.Duration{}, failed: map[failure]int{},
		outages: map[string][]span{}, counts: map[string]int{},
	}
}

// maxProblems is the number of problems that are recorded.
const maxProblems = 30

// problemf records a violated guarantee.
func (b *book) problemf(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) == maxProblems {
		b.more++
		return
	}
	b.problems = append(b.problems, fmt.Sprintf("%7.2f s  ", time.Since(b.began).Seconds())+fmt.Sprintf(format, args...))
}

// eventf records a fault.
func (b *book) eventf(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, fmt.Sprintf("%7.2f s  ", time.Since(b.began).Seconds())+fmt.Sprintf(format, args...))
}

func (b *book) count(what string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[what] += n
}

// recordOutage runs do, and records an outage of the server for that time.
func (b *book) recordOutage(server string, do func()) {
	b.mu.Lock()
	i := len(b.outages[server])
	b.outages[server] = append(b.outages[server], span{from: time.Now()})
	b.mu.Unlock()
	do()
	b.mu.Lock()
	b.outages[server][i].to = time.Now()
	b.mu.Unlock()
}

// outage reports whether a server was away at some moment between from and to.
func (b *book) outage(server string, from, to time.Time) bool {
	return b.outageIndex(server, from, to) >= 0
}

// outageIndex returns the index of the first such outage, or -1.
func (b *book) outageIndex(server string, from, to time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.IndexFunc(b.outages[server], func(s span) bool { return s.meets(from, to) })
}

func (b *book) request(kind string, took time.Duration, failedWith string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if failedWith != "" {
		b.failed[failure{kind, failedWith}]++
		return
	}
	b.took[kind] = append(b.took[kind], took)
}

// write logs everything, and fails the test for each problem.
func (b *book) write(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Logf("events\n%s", strings.Join(b.events, "\n"))
	t.Logf("requests that were answered\n%s", table("kind\tnumber\tp50\tp99\tlongest", func(row func(...any)) {
		for _, kind := range slices.Sorted(maps.Keys(b.took)) {
			all := slices.Sorted(slices.Values(b.took[kind]))
			at := func(q float64) time.Duration { return all[int(q*float64(len(all)-1))].Round(100 * time.Microsecond) }
			row(kind, len(all), at(0.5), at(0.99), at(1))
		}
	}))
	t.Logf("requests that failed\n%s", table("kind\twith\tnumber", func(row func(...any)) {
		for _, f := range slices.SortedFunc(maps.Keys(b.failed), func(x, y failure) int { return strings.Compare(x.kind+x.what, y.kind+y.what) }) {
			row(f.kind, f.what, b.failed[f])
		}
	}))
	t.Logf("besides\n%s", table("what\tnumber", func(row func(...any)) {
		for _, what := range slices.Sorted(maps.Keys(b.counts)) {
			row(what, b.counts[what])
		}
	}))
	for _, p := range b.problems {
		t.Error(p)
	}
	if b.more > 0 {
		t.Errorf("and %d more problems", b.more)
	}
}

func table(heading string, fill func(row func(...any))) string {
	var out strings.Builder
	tw := tabwriter.NewWriter(&out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, heading)
	fill(func(cells ...any) {
		text := make([]string, len(cells))
		for i, c := range cells {
			text[i] = fmt.Sprint(c)
		}
		_, _ = fmt.Fprintln(tw, strings.Join(text, "\t"))
	})
	_ = tw.Flush()
	return out.String()
}
