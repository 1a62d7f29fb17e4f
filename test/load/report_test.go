package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The report compares what the flood does to a request with what it does to one that does nothing.
func TestReportComparesWithEmptyRequest(t *testing.T) {
	t.Parallel()
	run := func(ofSearch, ofEmpty time.Duration) (all []sample) {
		for range enough {
			all = append(all, sample{kind: search, took: ofSearch, status: http.StatusOK}, sample{kind: empty, took: ofEmpty, status: http.StatusOK})
		}
		return all
	}
	var out bytes.Buffer
	err := report(&out, &settings{most: 2}, run(2*time.Millisecond, time.Millisecond), run(18*time.Millisecond, 3*time.Millisecond), &flood{})
	if err == nil || !strings.Contains(err.Error(), "search: the p99 with the flood is 9.00") {
		t.Errorf("the report of a search that takes 9 times as long ends with %v", err)
	}
	for line := range strings.Lines(out.String()) {
		cells := strings.Fields(line)
		if len(cells) > 3 && cells[0] == string(search) && strings.Join(cells[len(cells)-3:], " ") != "9.00 3.00 0" {
			t.Errorf("ratios in %q", line)
		}
	}
}
