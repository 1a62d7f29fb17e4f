// Command growth measures a built gateway over HTTP while a collection grows: adds, searches, the
// first search after a start, memory, disk, forks and copies. Each figure is beside the limit of
// the machine, measured in the same run: an fsync, a read of memory, an empty request.
// "make bench/growth" runs it, "make bench/peers" also measures Chroma with the same vectors;
// docs/benchmarks.md explains the output.
//
// Progress goes to stderr, a Markdown table to stdout. With -out it writes the figures as JSON and
// the curves as SVG files.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	gateway, embedder, dir, out, python, command string
	sizes                                        []int
	calls, tenants, each                         int
}

// Result is the result of a run.
type Result struct {
	Command string   `json:"command"`
	Machine string   `json:"machine"`
	Figures []Figure `json:"figures"`
}

// Figure is one measured figure. Times are in milliseconds.
type Figure struct {
	Who   string  `json:"who"`   // slipbox, chroma, or machine
	What  string  `json:"what"`  // a name of names.go
	Notes int     `json:"notes"` // in the collection; 0: of no size
	P50   float64 `json:"p50_ms,omitempty"`
	P99   float64 `json:"p99_ms,omitempty"`
	Value float64 `json:"value,omitempty"` // of figures that are not times
	Unit  string  `json:"unit,omitempty"`
	Limit float64 `json:"limit_ms,omitempty"` // what the machine needs for the part that cannot be avoided
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, o)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	var sizes string
	f := flag.NewFlagSet("growth", flag.ContinueOnError)
	f.StringVar(&o.gateway, "gateway", "", "the gateway's binary (required)")
	f.StringVar(&o.embedder, "embedder", "hash", "the embedder: hash or local")
	f.StringVar(&sizes, "sizes", "1000,10000,100000", "numbers of notes, ascending; 0: only many tenants")
	f.IntVar(&o.calls, "calls", 300, "calls for each figure")
	f.IntVar(&o.tenants, "tenants", 200, "tenants of the part with many tenants; 0: leave it out")
	f.IntVar(&o.each, "each", 500, "notes of each of them")
	f.StringVar(&o.dir, "dir", "", "directory for data, on the disk to measure; default: a temporary one")
	f.StringVar(&o.out, "out", "", "directory for figures and plots; default: none are written")
	f.StringVar(&o.python, "python", "", "a Python with chromadb: measure Chroma, too")
	f.StringVar(&o.command, "command", "growth", "the command that the output names")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.gateway == "" || o.calls < 1 || f.NArg() > 0 {
		return o, errors.New("-gateway is required, -calls must be positive, and there are no arguments")
	}
	for text := range strings.SplitSeq(sizes, ",") {
		if sizes == "0" {
			break
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 100 || len(o.sizes) > 0 && n <= o.sizes[len(o.sizes)-1] {
			return o, fmt.Errorf("-sizes: %q: numbers from 100, ascending", sizes)
		}
		o.sizes = append(o.sizes, n)
	}
	return o, nil
}

func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp(o.dir, "slipbox-growth-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{options: o, dir: dir, result: Result{Command: o.command, Machine: fmt.Sprintf("%d processors, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)}}
	for _, part := range []func(context.Context) error{b.machine, b.grow, b.manyTenants, b.chroma} {
		if err := part(ctx); err != nil {
			return errors.Join(err, b.stop())
		}
	}
	if err := b.stop(); err != nil {
		return err
	}
	fmt.Print(b.result.markdown())
	return b.write()
}

// write writes the figures and the plots.
func (b *bench) write() error {
	if b.out == "" {
		return nil
	}
	raw, err := json.MarshalIndent(b.result, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil { //nolint:gosec // documentation
		return err
	}
	if err := os.WriteFile(filepath.Join(b.out, "growth-figures.json"), append(raw, '\n'), 0o644); err != nil { //nolint:gosec // documentation
		return err
	}
	return b.result.plots(b.out)
}

// percentile returns the p-th part of sorted times, in milliseconds.
func percentile(sorted []time.Duration, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := min(len(sorted)-1, int(p*float64(len(sorted))))
	return float64(sorted[i]) / float64(time.Millisecond)
}

// times calls fn n times and adds the figure of its times.
func (b *bench) times(f Figure, n int, fn func(i int) error) error {
	all := make([]time.Duration, n)
	for i := range all {
		start := time.Now()
		if err := fn(i); err != nil {
			return fmt.Errorf("%s: %w", f.What, err)
		}
		all[i] = time.Since(start)
	}
	slices.Sort(all)
	f.P50 = percentile(all, .5)
	if n >= 100 {
		f.P99 = percentile(all, .99)
	}
	b.add(f)
	return nil
}

func (b *bench) add(f Figure) {
	f.Who = cmp.Or(f.Who, "slipbox")
	b.result.Figures = append(b.result.Figures, f)
	if f.Unit != "" {
		logf("%s: %s, %d notes: %.4g %s", f.Who, f.What, f.Notes, f.Value, f.Unit)
		return
	}
	logf("%s: %s, %d notes: p50 %.3g ms, p99 %.3g ms", f.Who, f.What, f.Notes, f.P50, f.P99)
}
