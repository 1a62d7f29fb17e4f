// Command indexbench compares internal/index with brute force over float32, Go libraries and
// pgvector, with equal vectors and queries in one run. "make bench/index" runs it;
// docs/benchmarks.md explains its output.
//
// It is a module of its own, so that the other libraries are not dependencies of the product. It
// measures the code of this checkout.
//
// Progress goes to stderr, a Markdown table to stdout. Figures as JSON and two plots go to the
// folder -out. With -docs it also writes them there, and the table into benchmarks.md.
package main

import (
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

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/llm"
)

// Result is the result of a run.
type Result struct {
	Command string   `json:"command"`
	Machine string   `json:"machine"`
	Others  []string `json:"others"` // the other libraries with their versions
	Queries int      `json:"queries"`
	Seconds float64  `json:"seconds_per_figure"`
	Sizes   []Size   `json:"sizes"`
	Figures []Figure `json:"figures"`
}

// run is a run in progress.
type run struct {
	corpus    *corpus
	libraries []library
	graphs    int           // the largest size at which graphs are built
	length    time.Duration // measuring time of each figure
	logf      logger
	result    Result
}

type options struct {
	sizes                    []int
	encode, graphs, queries  int
	length                   time.Duration
	postgres                 bool
	cache, out, docs, redraw string
	command                  string
}

func main() {
	o, err := flags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = o.run(ctx)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "indexbench:", err)
		os.Exit(1)
	}
}

func flags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("indexbench", flag.ContinueOnError)
	sizes := f.String("sizes", "1000,10000,100000", "numbers of notes")
	f.IntVar(&o.encode, "encode", 40_000, "notes that are encoded; the vectors of others are mixed from theirs")
	f.IntVar(&o.graphs, "graphs", 100_000, "most notes that HNSW graphs are built of")
	f.IntVar(&o.queries, "queries", 200, "queries")
	f.DurationVar(&o.length, "time", 3*time.Second, "for each figure")
	f.BoolVar(&o.postgres, "postgres", true, "measure pgvector, at DATABASE_URL")
	f.StringVar(&o.cache, "cache", ".cache/indexbench", "folder that keeps what was encoded")
	f.StringVar(&o.out, "out", ".cache/indexbench", "folder for figures and plots")
	f.StringVar(&o.docs, "docs", "", "folder with benchmarks.md, to be brought up to date")
	f.StringVar(&o.redraw, "redraw", "", "file of figures to draw again, instead of a run")
	f.StringVar(&o.command, "command", "indexbench "+strings.Join(args, " "), "to be named in the table")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for s := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 100 {
			return o, fmt.Errorf("-sizes: %q is no number of at least 100", s)
		}
		o.sizes = append(o.sizes, n)
	}
	slices.Sort(o.sizes)
	o.sizes = slices.Compact(o.sizes)
	if o.queries < 1 || o.length <= 0 {
		return o, errors.New("-queries and -time must be above 0")
	}
	return o, nil
}

func (o *options) run(ctx context.Context) error {
	result := &Result{}
	if o.redraw != "" {
		text, err := os.ReadFile(o.redraw)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, result); err != nil {
			return fmt.Errorf("%s: %w", o.redraw, err)
		}
	} else {
		var err error
		if result, err = o.measure(ctx); err != nil {
			return err
		}
	}
	if _, err := os.Stdout.WriteString(result.markdown()); err != nil {
		return err
	}
	for _, dir := range []string{o.out, o.docs} {
		if dir == "" {
			continue
		}
		if err := result.write(dir); err != nil {
			return err
		}
	}
	if o.docs == "" {
		return nil
	}
	return replace(filepath.Join(o.docs, "benchmarks.md"), result.markdown())
}

func (o *options) measure(ctx context.Context) (*Result, error) {
	start := time.Now()
	r := &run{
		graphs: o.graphs, length: o.length,
		libraries: []library{vectors, hybrid, brute, chromemGo, sqliteVec, coderHNSW},
		result: Result{
			Command: o.command, Machine: machine(), Others: versions(), Queries: o.queries, Seconds: o.length.Seconds(),
		},
		logf: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "%6.1f s  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
		},
	}
	if o.postgres {
		about, err := aboutPostgres(ctx)
		if err != nil {
			return nil, err
		}
		r.libraries, r.result.Others = append(r.libraries, pgVector), append(r.result.Others, about)
	}
	largest := o.sizes[len(o.sizes)-1]
	r.logf("%d notes, by the %s kernel", largest, encoder.Kernel())
	encoders, err := openEncoders()
	if err != nil {
		return nil, err
	}
	r.corpus, err = newCorpus(ctx, encoders, o.cache, largest, o.encode, o.queries, r.logf)
	for _, e := range encoders {
		err = errors.Join(err, e.Close()) // its memory must not count
	}
	if err != nil {
		return nil, err
	}
	for _, n := range o.sizes {
		if err := r.size(ctx, n); err != nil {
			return nil, err
		}
	}
	r.logf("done")
	return &r.result, nil
}

// openEncoders opens an encoder for each processor. A single one would leave processors idle.
func openEncoders() ([]*llm.Local, error) {
	var out []*llm.Local
	for range runtime.GOMAXPROCS(0) {
		e := llm.NewLocal(llm.Deps{}, llm.Config{EncoderDir: os.Getenv("SLIPBOX_ENCODER_DIR")})
		if err := e.Open(); err != nil {
			return nil, fmt.Errorf("%w; \"make encoder\" installs the weights", err)
		}
		out = append(out, e)
	}
	return out, nil
}

// write writes figures and plots into a folder.
func (r *Result) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "index-figures.json"), append(text, '\n'), 0o644); err != nil { //nolint:gosec // documentation
		return err
	}
	return r.writePlots(dir)
}

// machine describes the machine.
func machine() string {
	cpu := ""
	text, _ := os.ReadFile("/proc/cpuinfo") // only on Linux
	if _, rest, ok := strings.Cut(string(text), "model name"); ok {
		line, _, _ := strings.Cut(rest, "\n")
		cpu = ", " + strings.Trim(line, "\t :")
	}
	return fmt.Sprintf("%d cores%s, %s/%s, %s", runtime.GOMAXPROCS(0), cpu, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
