package main

import (
	"strings"
	"testing"
	"text/tabwriter"
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
		{"BenchmarkAdd/own-disk\t1\t2 ns/op\n", " Add/own-disk ", "", true},
		{passed + "--- FAIL: BenchmarkB\n", "Add/none", "cpu: fast\n--- FAIL: BenchmarkB\n", false},
		{"PASS\nok  \tpkg\t1.2s\n", "", "", false},
	} {
		var out, rest strings.Builder
		ok, err := table(strings.NewReader(c.in), &aligned{w: tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)}, &rest)
		if err != nil {
			t.Fatal(err)
		}
		if ok != c.ok || !strings.Contains(out.String(), c.out) || rest.String() != c.rest {
			t.Errorf("ok is %v, table\n%s\nrest %q; want %v, %q, %q", ok, &out, rest.String(), c.ok, c.out, c.rest)
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	const in = `cpu: fast
redis: 7.0
 12.5 s  progress
BenchmarkServers/add_a_note/store,_1/2_clients-2   1   2.5 MiB-index   1234.56 calls   0.5000 p50-ms
BenchmarkServers/add_a_note/HTTP-2   1   2.0 p50-ms   4.000 p50-ratio
BenchmarkServers/fork-2   1   3.0 p50-ms
ok  	pkg	1.2s
`
	const want = `- cpu: fast
- redis: 7.0

| what | calls | p50 ms | p99 ms | calls/s | p50 ÷ first | calls/s ÷ first | more |
|---|---:|---:|---:|---:|---:|---:|---|
| **add a note** |  |  |  |  |  |  |  |
| store, 1/2 clients | 1235 | 0.5 |  |  |  |  | 2.5 MiB index |
| HTTP |  | 2 |  |  | 4 |  |  |
| fork |  | 3 |  |  |  |  |  |
`
	var out, rest strings.Builder
	ok, err := table(strings.NewReader(in), &markdown{w: &out}, &rest)
	if err != nil || !ok || out.String() != want || rest.String() != " 12.5 s  progress\n" {
		t.Errorf("ok is %v, %v, rest %q, table\n%s\nwant\n%s", ok, err, rest.String(), &out, want)
	}
}
