// Command benchtable reads what "go test -bench" prints and writes one aligned
// line per benchmark: its name, how often it ran, and its figures, medians
// first. Lines that are no result (failures, logs) are passed through to stderr.
//
// It exits with 1 when the input holds a failure or no result.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	ok, err := table(os.Stdin, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// table writes the table; ok is false when a test failed or none had a result.
func table(in io.Reader, out, rest io.Writer) (ok bool, err error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	lines, failed := 0, false
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := scan.Text()
		name, runs, figures, isResult := result(line)
		switch {
		case isResult:
			if lines == 0 {
				_, _ = fmt.Fprintln(w, "benchmark\truns\tfigures\t\t\t\t\t")
			}
			lines++
			_, _ = fmt.Fprintln(w, name+"\t"+runs+"\t"+strings.Join(figures, "\t")+"\t")
		case strings.HasPrefix(line, "cpu: "):
			_, _ = fmt.Fprintln(rest, line)
		case strings.HasPrefix(line, "goos: "), strings.HasPrefix(line, "goarch: "), strings.HasPrefix(line, "pkg: "),
			strings.HasPrefix(line, "ok "), strings.HasPrefix(line, "? "), line == "PASS":
		default:
			failed = failed || strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL")
			_, _ = fmt.Fprintln(rest, line)
		}
	}
	if err := scan.Err(); err != nil {
		return false, err
	}
	return lines > 0 && !failed, w.Flush()
}

// result takes a line such as "BenchmarkX/y-2  10  1.5 p50-ms  24 B/op" apart.
func result(line string) (name, runs string, figures []string, ok bool) {
	f := strings.Fields(line)
	if len(f) < 4 || len(f)%2 != 0 || !strings.HasPrefix(f[0], "Benchmark") {
		return "", "", nil, false
	}
	name = strings.TrimPrefix(f[0], "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		name = name[:i] // the number of processors
	}
	for i := 2; i < len(f); i += 2 {
		figures = append(figures, f[i]+" "+f[i+1])
	}
	// Medians stand first, whatever the order of the alphabet.
	slices.SortStableFunc(figures, func(a, b string) int { return place(a) - place(b) })
	return name, f[1], figures, true
}

// place orders units: percentiles, rates and times, then memory.
func place(figure string) int {
	switch {
	case strings.Contains(figure, "p50"):
		return 0
	case strings.Contains(figure, "p99"):
		return 1
	case strings.HasSuffix(figure, "/op") && !strings.HasSuffix(figure, "ns/op"):
		return 3
	default:
		return 2
	}
}
