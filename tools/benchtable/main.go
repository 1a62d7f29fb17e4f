// Command benchtable reads what "go test -bench" prints and writes one line per
// benchmark: its name, how often it ran, and its figures, medians first. Lines
// that are no result (failures, logs) are passed through to stderr.
//
// With -markdown it writes a table for documentation, with columns for the
// figures of BenchmarkServers, below a list of the "key: value" lines of the input.
//
// It exits with 1 when the input holds a failure or no result.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	asMarkdown := flag.Bool("markdown", false, "write a markdown table")
	flag.Parse()
	var out writer = &aligned{w: tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)}
	if *asMarkdown {
		out = &markdown{w: os.Stdout}
	}
	ok, err := table(os.Stdin, out, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// row is the result of one benchmark.
type row struct {
	name, runs string
	figures    []figure
}

type figure struct{ value, unit string }

// writer is a form of table.
type writer interface {
	// setting is a line "key: value"; it tells whether the form shows it.
	setting(line string) bool
	row(row)
	end() error
}

// setting lines are those of the format of benchmarks.
var setting = regexp.MustCompile(`^[a-z][^ :]*: `)

// table writes the table; ok is false when a test failed or none had a result.
func table(in io.Reader, out writer, rest io.Writer) (ok bool, err error) {
	rows, failed := 0, false
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := scan.Text()
		if r, is := result(line); is {
			rows++
			out.row(r)
			continue
		}
		switch {
		case strings.HasPrefix(line, "goos: "), strings.HasPrefix(line, "goarch: "), strings.HasPrefix(line, "pkg: "),
			strings.HasPrefix(line, "ok "), strings.HasPrefix(line, "? "), line == "PASS",
			setting.MatchString(line) && out.setting(line):
		default:
			failed = failed || strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL")
			_, _ = fmt.Fprintln(rest, line)
		}
	}
	if err := scan.Err(); err != nil {
		return false, err
	}
	return rows > 0 && !failed, out.end()
}

// processors is what "go test" appends to a name.
var processors = regexp.MustCompile(`-[0-9]+$`)

// result takes a line such as "BenchmarkX/y-2  10  1.5 p50-ms  24 B/op" apart.
func result(line string) (r row, ok bool) {
	f := strings.Fields(line)
	if len(f) < 4 || len(f)%2 != 0 || !strings.HasPrefix(f[0], "Benchmark") {
		return row{}, false
	}
	r = row{name: processors.ReplaceAllString(strings.TrimPrefix(f[0], "Benchmark"), ""), runs: f[1]}
	for i := 2; i < len(f); i += 2 {
		r.figures = append(r.figures, figure{f[i], f[i+1]})
	}
	return r, true
}

// aligned is the form for a terminal.
type aligned struct {
	w     *tabwriter.Writer
	begun bool
}

func (a *aligned) setting(string) bool { return false }

func (a *aligned) row(r row) {
	if !a.begun {
		_, _ = fmt.Fprintln(a.w, "benchmark\truns\tfigures\t\t\t\t\t")
		a.begun = true
	}
	// Medians stand first, whatever the order of the alphabet.
	slices.SortStableFunc(r.figures, func(x, y figure) int { return place(x.unit) - place(y.unit) })
	_, _ = fmt.Fprintf(a.w, "%s\t%s\t", r.name, r.runs)
	for _, f := range r.figures {
		_, _ = fmt.Fprintf(a.w, "%s %s\t", f.value, f.unit)
	}
	_, _ = fmt.Fprintln(a.w)
}

func (a *aligned) end() error { return a.w.Flush() }

// place orders units: percentiles, rates and times, then memory.
func place(unit string) int {
	switch {
	case strings.HasPrefix(unit, "p50"):
		return 0
	case strings.HasPrefix(unit, "p99"):
		return 1
	case strings.HasSuffix(unit, "/op") && unit != "ns/op":
		return 3
	default:
		return 2
	}
}
