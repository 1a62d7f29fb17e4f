package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Result is the result of one run: a data set asked in one way.
type Result struct {
	Track    string             `json:"track"`
	Variant  string             `json:"variant"`
	Data     map[string]string  `json:"data"`     // SHA-256 by file
	Revision string             `json:"revision"` // of the gateway
	Engine   string             `json:"engine"`
	Embedder string             `json:"embedder"`
	Settings Settings           `json:"settings"`
	Wall     float64            `json:"wall_seconds"` // for the questions, without loading
	Loading  float64            `json:"loading_seconds"`
	Latency  map[string]Latency `json:"latency_ms"` // took: as the gateway reports; wall: as the client measures
	// AUROC of the best hit's score and of the gateway's own estimate, for answerable questions
	// against the category Apart.
	AUROC      *float64         `json:"auroc,omitempty"`
	Answerable *float64         `json:"auroc_answerable,omitempty"`
	Profiles   map[string]int   `json:"profiles,omitempty"` // number of questions by ranking profile
	Stored     *Stored          `json:"stored,omitempty"`   // what a memory system derived
	Overall    Group            `json:"overall"`            // without the category Apart
	Groups     map[string]Group `json:"categories"`
	metrics    []string
	order      []string
	apart      string
}

// Settings are the settings of the queries.
type Settings struct {
	Variant

	K           int            `json:"k"`
	ExpandLinks int            `json:"expand_links"`
	Rerank      string         `json:"rerank"`
	Policy      string         `json:"policy"`
	Config      map[string]any `json:"policy_config,omitempty"` // when it differs from the default
}

// Latency holds quantiles, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// Group is the result over the questions of one category, or over all.
type Group struct {
	N       int                 `json:"n"`
	Metrics map[string]Interval `json:"metrics"`           // mean and 95% interval
	Audited map[string]Interval `json:"audited,omitempty"` // against the audited labels, if they differ
}

// Summarize builds the result of a run from its rows.
func Summarize(d *Dataset, rows []Row, metrics []string) *Result {
	r := &Result{
		Track: d.Name, Data: d.Files, Groups: map[string]Group{}, Latency: map[string]Latency{},
		metrics: metrics, order: d.Categories, apart: d.Apart,
	}
	r.Overall = group(rows, metrics, func(r *Row) bool { return r.Question.Category != d.Apart })
	for _, c := range d.Categories {
		if g := group(rows, metrics, func(r *Row) bool { return r.Question.Category == c }); g.N > 0 {
			r.Groups[c] = g
		}
	}
	var took, wall []float64
	var best, answerable [2][]float64 // of answerable questions, and of the category Apart
	for i := range rows {
		took = append(took, milliseconds(rows[i].Ranking.Took))
		wall = append(wall, milliseconds(rows[i].Ranking.Wall))
		kind := 0
		if rows[i].Question.Category == d.Apart {
			kind = 1
		}
		if b := rows[i].Ranking.Best; !math.IsNaN(b) {
			best[kind] = append(best[kind], b)
		}
		if a := rows[i].Ranking.Answerable; !math.IsNaN(a) {
			answerable[kind] = append(answerable[kind], a)
		}
		if p := rows[i].Ranking.Profile; p != "" {
			if r.Profiles == nil {
				r.Profiles = map[string]int{}
			}
			r.Profiles[p]++
		}
	}
	r.Latency["took"], r.Latency["wall"] = latency(took), latency(wall)
	r.AUROC, r.Answerable = auroc(best), auroc(answerable)
	return r
}

// auroc returns the AUROC of two samples; nil when one is empty.
func auroc(of [2][]float64) *float64 {
	if v := AUROC(of[0], of[1]); !math.IsNaN(v) {
		return &v
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func latency(ms []float64) Latency {
	return Latency{P50: quantile(ms, 0.5), P95: quantile(ms, 0.95)}
}

// quantile returns the quantile by nearest rank; 0 without values.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func group(rows []Row, metrics []string, keep func(*Row) bool) Group {
	g := Group{Metrics: map[string]Interval{}}
	differs := false
	for i := range rows {
		if keep(&rows[i]) {
			g.N++
			differs = differs || rows[i].Audited != nil && !slices.Equal(rows[i].Question.Gold, rows[i].Question.Audited)
		}
	}
	if g.N == 0 {
		return g
	}
	if differs {
		g.Audited = map[string]Interval{}
	}
	for m, name := range metrics {
		g.Metrics[name] = bootstrap(column(rows, m, keep))
		if differs {
			var values []float64
			for i := range rows {
				if keep(&rows[i]) {
					values = append(values, rows[i].Audited[m])
				}
			}
			g.Audited[name] = bootstrap(values)
		}
	}
	return g
}

// indentedTriple matches an interval in indented JSON.
var indentedTriple = regexp.MustCompile(`\[\s+([-\d.]+),\s+([-\d.]+),\s+([-\d.]+)\s+\]`)

// Write writes the result into a folder as <track>-<variant>-<embedder>.json and returns the name of
// the file.
func (r *Result) Write(dir string) (string, error) {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode result: %w", err)
	}
	raw = append(indentedTriple.ReplaceAll(raw, []byte("[$1, $2, $3]")), '\n')
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("create the folder of results: %w", err)
	}
	name := filepath.Join(dir, r.Name()+".json")
	if err := os.WriteFile(name, raw, 0o644); err != nil { //nolint:gosec // results are public
		return "", fmt.Errorf("write result: %w", err)
	}
	return name, nil
}

var unsafeInNames = regexp.MustCompile(`[^a-z0-9.]+`)

// Name returns the name of the run. A later run of the same name is compared with it.
func (r *Result) Name() string {
	return unsafeInNames.ReplaceAllString(strings.ToLower(r.Track+"-"+r.Variant+"-"+r.Embedder), "-")
}

// ReadResult reads the result that Write wrote under this name. The error is fs.ErrNotExist when
// there is none.
func ReadResult(dir, name string) (*Result, error) {
	raw, err := os.ReadFile(filepath.Join(dir, name+".json"))
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	r := &Result{}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("%s: not a result: %w", name, err)
	}
	return r, nil
}

// allowedDrop is how far a metric may fall before it is a regression.
const allowedDrop = 0.01

// Regressions compares a run with an earlier one over the same data. It returns a line for every
// metric that fell by more than 0.01. Metrics that only count tokens are not compared.
func Regressions(earlier, later *Result) ([]string, error) {
	if !maps.Equal(earlier.Data, later.Data) {
		return nil, fmt.Errorf("%s: the data of the two runs differ", later.Name())
	}
	var out []string
	check := func(name string, was, is Group) {
		for _, m := range slices.Sorted(maps.Keys(was.Metrics)) {
			if strings.HasPrefix(m, "tokens@") || strings.HasPrefix(m, "cost@") {
				continue
			}
			if now, ok := is.Metrics[m]; !ok || was.Metrics[m].Mean-now.Mean > allowedDrop {
				out = append(out, fmt.Sprintf("%s: %s of %s fell from %.4f to %.4f", later.Name(), m, name, was.Metrics[m].Mean, now.Mean))
			}
		}
	}
	check("overall", earlier.Overall, later.Overall)
	for _, c := range slices.Sorted(maps.Keys(earlier.Groups)) {
		check(c, earlier.Groups[c], later.Groups[c])
	}
	return out, nil
}

// RegressionsSince compares a run with the run of its name in a folder, if there is one.
func RegressionsSince(dir string, later *Result) ([]string, error) {
	earlier, err := ReadResult(dir, later.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Regressions(earlier, later)
}

// shownMetrics are the columns of the printed table. It leaves out those that a run lacks.
var shownMetrics = []string{"recall@5", "recall@10", "recall@20", "recall@50", "all@10", "MRR", "nDCG@10", "recall@500t", "recall@1000t", "recall@2000t", "recall@8000t", "cost@10", "tokens@10", answerMetric,
	"answer@500t", "answer@1000t", "answer@2000t", "tokens@500t", "tokens@1000t", "tokens@2000t"}

// PrintTables writes the results of one data set. Results with equal metrics share a table.
func PrintTables(w io.Writer, results []*Result) error {
	for len(results) > 0 {
		n := 1
		for n < len(results) && slices.Equal(results[n].metrics, results[0].metrics) {
			n++
		}
		if err := printTable(w, results[:n]); err != nil {
			return err
		}
		results = results[n:]
	}
	return nil
}

// printTable writes results as a Markdown table with a row for each category. The interval is that
// of recall@10, or of the first metric without it.
func printTable(w io.Writer, results []*Result) error {
	var b strings.Builder
	first := results[0]
	columns := slices.DeleteFunc(slices.Clone(shownMetrics), func(m string) bool { _, ok := first.Overall.Metrics[m]; return !ok })
	wide := "recall@10"
	if !slices.Contains(columns, wide) && len(columns) > 0 {
		wide = columns[0]
	}
	fmt.Fprintf(&b, "\n%s, %s, embedder %s\n\n| variant | category | n |", first.Track, first.Engine, first.Embedder)
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c)
	}
	fmt.Fprintf(&b, " 95%% of %s | audited %s | p50 ms | p95 ms |\n|---|---|---|%s\n", wide, wide, strings.Repeat("---|", len(columns)+4))
	for _, r := range results {
		row := func(name string, g Group) {
			if g.N == 0 {
				return
			}
			fmt.Fprintf(&b, "| %s | %s | %d |", r.Variant, name, g.N)
			for _, c := range columns {
				fmt.Fprintf(&b, " %.4f |", g.Metrics[c].Mean)
			}
			audited := ""
			if v, ok := g.Audited[wide]; ok {
				audited = fmt.Sprintf("%.4f", v.Mean)
			}
			fmt.Fprintf(&b, " %.3f to %.3f | %s | %.2f | %.2f |\n", g.Metrics[wide].Low, g.Metrics[wide].High, audited, r.Latency["took"].P50, r.Latency["took"].P95)
		}
		row("overall", r.Overall)
		for _, c := range r.order {
			row(c, r.Groups[c])
		}
	}
	for _, r := range results {
		if r.AUROC != nil {
			fmt.Fprintf(&b, "\n%s: answerable against %s, AUROC of the best score %.3f", r.Variant, r.apart, *r.AUROC)
		}
		if r.Answerable != nil {
			fmt.Fprintf(&b, ", of answerable %.3f", *r.Answerable)
		}
	}
	b.WriteByte('\n')
	return printed(io.WriteString(w, b.String()))
}

// printed returns the error of a print.
func printed(_ int, err error) error {
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
