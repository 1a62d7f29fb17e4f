package eval

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// dataDir returns the folder of published data. Without it the test is skipped: the license of the
// data keeps it out of this repository.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("EVAL_DATA")
	if dir == "" {
		t.Skip("EVAL_DATA is not set: the published conversations are not part of this repository")
	}
	return dir
}

// published are the known figures of one scorer over all questions of a data set, from another
// implementation.
type published struct {
	scorer  string
	within  float64 // tolerance: the last bit of a sum orders nearly equal scores
	metrics []string
	want    []float64
}

func TestReferencesLoCoMo(t *testing.T) {
	t.Parallel()
	d := must.Get(ReadLoCoMo(dataDir(t)))(t)
	ms := []string{"recall@5", "recall@10", "recall@20", "recall@50", "all@10", "MRR", "nDCG@10", "recall@500t", "recall@1000t", "recall@2000t", "cost@10", "answer@10"}
	checkPublished(t, d, []published{
		{"BM25, A", 0.5001e-4, ms, []float64{0.4497, 0.5242, 0.5944, 0.6949, 0.4765, 0.3841, 0.3957, 0.5246, 0.5969, 0.6732, 0.0187, 0.6252}},
		{"TF-IDF cosine, B", 0.6e-3, ms, []float64{0.517, 0.597, 0.675, 0.760, 0.544, 0.424, 0.443, 0.597, 0.682, 0.749, 0.018, 0.658}},
		{"BM25, B", 0.6e-3, ms, []float64{0.543, 0.626, 0.688, 0.771, 0.569, 0.475, 0.489, 0.616, 0.691, 0.757, 0.019, 0.678}},
		{"BM25, B, date", 0.6e-3, ms, []float64{0.570, 0.639, 0.710, 0.786, 0.581, 0.497, 0.508, 0.630, 0.707, 0.769, 0.020, 0.694}},
		{"BM25, B, window 1", 0.6e-3, ms, []float64{0.597, 0.691, 0.757, 0.839, 0.626, 0.433, 0.473, 0.694, 0.764, 0.823, 0.019, 0.718}},
		{"Blend L", 0.6e-3, ms, []float64{0.644, 0.735, 0.810, 0.886, 0.672, 0.545, 0.567, 0.724, 0.803, 0.861, 0.020, 0.743}},
	})
	pooled := []string{"recall@10"}
	checkPublished(t, Pooled(d), []published{
		{"BM25, A", 0.5001e-4, pooled, []float64{0.4872}}, {"BM25, B", 0.6e-3, pooled, []float64{0.580}},
		{"BM25, B, date", 0.6e-3, pooled, []float64{0.613}}, {"Blend L", 0.6e-3, pooled, []float64{0.712}},
	})
}

func TestReferencesBEAM(t *testing.T) {
	t.Parallel()
	d := must.Get(ReadBEAM(dataDir(t)))(t)
	ms := []string{"recall@5", "recall@10", "recall@20", "recall@50", "MRR", "nDCG@10", "cost@10", "recall@2000t", "recall@8000t"}
	checkPublished(t, d, []published{
		{"BM25, A", 0.5001e-4, ms, []float64{0.3444, 0.4191, 0.4778, 0.5962, 0.3905, 0.3352, 0.0522, 0.2972, 0.4304}},
		{"BM25, B", 0.6e-3, ms, []float64{0.317, 0.418, 0.491, 0.636, 0.356, 0.313, 0.060, 0.270, 0.431}},
		{"TF-IDF cosine, B", 0.6e-3, ms, []float64{0.484, 0.543, 0.632, 0.727, 0.541, 0.475, 0.035, 0.503, 0.614}},
	})
}

func checkPublished(t *testing.T, d *Dataset, table []published) {
	t.Helper()
	names := metrics(d.Budgets)
	for _, p := range table {
		i := slices.IndexFunc(References(), func(r Reference) bool { return r.Name == p.scorer })
		rows := must.Get(References()[i].Ask(d))(t)
		for j, m := range p.metrics {
			got := mean(column(rows, slices.Index(names, m), func(r *Row) bool { return r.Question.Category != d.Apart }))
			if math.Abs(got-p.want[j]) > p.within {
				t.Errorf("%s: %s of %s is %.5f, want %v", d.Name, m, p.scorer, got, p.want[j])
			}
		}
	}
}
