package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// enough is the number of requests of a kind for which a p99 says something.
const enough = 100

// quantile returns the value that a part of the sorted times does not exceed.
func quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(part*float64(len(sorted))))-1)]
}

// times returns the sorted times of the requests of a kind; with "" of all.
func times(all []sample, k kind) (out []time.Duration, failed int) {
	for _, s := range all {
		if s.kind != k && (k != "" || s.kind == sync4k || s.kind == empty) {
			continue
		}
		if s.status == 0 || s.status >= http.StatusBadRequest {
			failed++
		}
		out = append(out, s.took)
	}
	slices.Sort(out)
	return out, failed
}

// growth returns the p99 of a kind with the flood, in p99 without it.
func growth(calm, loud []sample, k kind) float64 {
	a, _ := times(calm, k)
	b, _ := times(loud, k)
	return float64(max(1, quantile(b, .99))) / float64(max(1, quantile(a, .99)))
}

// report prints a table, and returns an error when a p99 of the agents grew by more than allowed, or
// a request of theirs failed.
func report(w io.Writer, s *settings, calm, loud []sample, f *flood) error {
	var bad, lines []string
	row := func(cells ...any) {
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = fmt.Sprint(c)
		}
		lines = append(lines, strings.Join(texts, "\t"))
	}
	machine := growth(calm, loud, empty)
	row("kind", "requests", "p50", "p95", "p99", "with flood", "p50", "p95", "p99", "p99 ratio", "÷ empty request's", "failed")
	for _, k := range []kind{add, search, contexts, messages, "", sync4k, empty} {
		a, failedCalm := times(calm, k)
		b, failedLoud := times(loud, k)
		p, q := quantile(a, .99), quantile(b, .99)
		ratio := growth(calm, loud, k)
		name := string(k)
		if k == "" {
			name = "all"
		}
		row(name, len(a), round(quantile(a, .5)), round(quantile(a, .95)), round(p),
			len(b), round(quantile(b, .5)), round(quantile(b, .95)), round(q), fmt.Sprintf("%.2f", ratio), fmt.Sprintf("%.2f", ratio/machine), failedCalm+failedLoud)
		switch {
		case failedCalm+failedLoud > 0:
			bad = append(bad, fmt.Sprintf("%s: %d requests failed", name, failedCalm+failedLoud))
		case k == sync4k || k == empty: // of the machine
		case s.most > 0 && min(len(a), len(b)) >= enough && ratio > s.most:
			bad = append(bad, fmt.Sprintf("%s: the p99 with the flood is %.2f of the p99 without it, at most %g is allowed", name, ratio, s.most))
		}
	}
	lines = append(lines, fmt.Sprintf("engine %s, %d tenants with %d agents, mean pause %s, %s each run", s.engine, s.tenants, s.agents, s.pause, s.length),
		fmt.Sprintf("flood: %d at once, sent %v, answers by status %v", s.flood, f.sent.Sent, f.sent.Codes))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, err := io.WriteString(table, strings.Join(lines, "\n")+"\n")
	if err := errors.Join(err, table.Flush()); err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("the other tenants were hurt:\n  %s", strings.Join(bad, "\n  "))
	}
	return nil
}

// verify reports a short run. It returns an error when a request of an agent failed, an agent got no
// answer, or the flood was not served at all.
func verify(w io.Writer, s *settings, e *crowd, loud []sample, f *flood) error {
	answered := map[string]int{}
	for _, x := range loud {
		answered[x.agent]++
	}
	var bad []string
	for _, c := range e.callers {
		if answered[c.Name] == 0 {
			bad = append(bad, c.Name+" got no answer")
		}
	}
	sent, failed := times(loud, "")
	if failed > 0 {
		bad = append(bad, fmt.Sprintf("%d requests of the agents failed", failed))
	}
	served := 0
	for status, n := range f.sent.Codes {
		switch {
		case status >= http.StatusOK && status < http.StatusMultipleChoices:
			served += n
		case status != http.StatusTooManyRequests:
			bad = append(bad, fmt.Sprintf("%d requests of the flood were answered %d", n, status))
		}
	}
	if served == 0 {
		bad = append(bad, "no request of the flood was served")
	}
	if _, err := fmt.Fprintf(w, "engine %s, %d tenants with %d agents, %s: %d requests of the agents, and %d of a flood of %d at once\n",
		s.engine, s.tenants, s.agents, s.length, len(sent), served, s.flood); err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("not all were served:\n  %s", strings.Join(bad, "\n  "))
	}
	return nil
}

func round(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }
