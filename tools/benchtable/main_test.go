package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	const passed = "goos: linux\ncpu: fast\nBenchmarkAdd/none-2 \t 343\t 15.7 p99-ms\t 1.012 p50-ms\t 40 B/op\nPASS\nok  \tpkg\t1.2s\n"
	for _, c := range []struct {
		in, out, rest string
		ok            bool
	}{
		{passed, "benchmark  runs       figures", "cpu: fast\n", true},
		{passed, " Add/none   343  1.012 p50-ms  15.7 p99-ms  40 B/op", "cpu: fast\n", true},
		{passed + "--- FAIL: BenchmarkB\n", "Add/none", "cpu: fast\n--- FAIL: BenchmarkB\n", false},
		{"PASS\nok  \tpkg\t1.2s\n", "", "", false},
	} {
		var out, rest strings.Builder
		ok, err := table(strings.NewReader(c.in), &out, &rest)
		if err != nil {
			t.Fatal(err)
		}
		if ok != c.ok || !strings.Contains(out.String(), c.out) || rest.String() != c.rest {
			t.Errorf("ok is %v, table\n%s\nrest %q; want %v, %q, %q", ok, &out, rest.String(), c.ok, c.out, c.rest)
		}
	}
}
