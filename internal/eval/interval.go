package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is the number of resamples of a bootstrap.
const resamples = 10_000

// Interval is a mean with its 95% bootstrap interval over questions. In JSON it is [mean, low, high].
type Interval struct{ Mean, Low, High float64 }

// MarshalJSON rounds to six decimals.
func (i Interval) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%.6f, %.6f, %.6f]", i.Mean, i.Low, i.High), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (i *Interval) UnmarshalJSON(raw []byte) error {
	var v [3]float64
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("interval: %w", err)
	}
	i.Mean, i.Low, i.High = v[0], v[1], v[2]
	return nil
}

// bootstrap returns the mean of values and the 95% percentile interval of 10,000 resamples (Efron
// and Tibshirani, 1993). The draws depend only on the number of values, so figures are
// reproducible. NaN is left out. Without values the result is zero.
//
// For a difference of two runs, pass the differences by question (paired bootstrap).
func bootstrap(values []float64) Interval {
	vs := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(vs) == 0 {
		return Interval{}
	}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not a secret; the draws must be reproducible
	means := make([]float64, resamples)
	n := uint32(len(vs)) //nolint:gosec // a number of questions
	for i := range means {
		sum := 0.0
		for range vs {
			sum += vs[rng.Uint32N(n)]
		}
		means[i] = sum / float64(len(vs))
	}
	slices.Sort(means)
	return Interval{Mean: mean(vs), Low: means[resamples*25/1000], High: means[resamples*975/1000-1]}
}

func mean(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range vs {
		sum += v
	}
	return sum / float64(len(vs))
}

// AUROC returns the probability that a positive has a higher value than a negative; equal values
// count half. It returns NaN when one of the samples is empty.
func AUROC(positive, negative []float64) float64 {
	if len(positive) == 0 || len(negative) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(negative))
	sum := 0.0
	for _, p := range positive {
		below, _ := slices.BinarySearch(sorted, p)
		upTo, _ := slices.BinarySearchFunc(sorted, p, func(v, p float64) int {
			if v <= p {
				return -1
			}
			return 1
		})
		sum += float64(below) + float64(upTo-below)/2
	}
	return sum / float64(len(positive)) / float64(len(negative))
}
