package eval

import "math"

// Score holds the metrics of one ranked list against its gold set.
type Score struct {
	Recall5, Recall10, Recall20, Recall50 float64
	All10, Any10                          float64
	MRR, NDCG10                           float64
}

// Measure scores a ranked list of distinct ids. Gold must not be empty.
// Ranks count from 1; nDCG is normalised by the best list for min(|gold|, 10).
func Measure(ranked, gold []string) Score {
	rank := map[string]int{}
	for i, id := range ranked {
		if _, seen := rank[id]; !seen {
			rank[id] = i + 1
		}
	}
	within := func(k int) float64 {
		n := 0
		for _, g := range gold {
			if p := rank[g]; p > 0 && p <= k {
				n++
			}
		}
		return float64(n) / float64(len(gold))
	}
	s := Score{Recall5: within(5), Recall10: within(10), Recall20: within(20), Recall50: within(50)}
	if s.Recall10 == 1 {
		s.All10 = 1
	}
	if s.Recall10 > 0 {
		s.Any10 = 1
	}
	best := 0
	var gain, ideal float64
	for i, g := range gold {
		if i < 10 {
			ideal += 1 / math.Log2(float64(i+2))
		}
		p := rank[g]
		if p == 0 || p > 50 {
			continue
		}
		if best == 0 || p < best {
			best = p
		}
		if p <= 10 {
			gain += 1 / math.Log2(float64(p+1))
		}
	}
	if best > 0 {
		s.MRR = 1 / float64(best)
	}
	s.NDCG10 = gain / ideal
	return s
}

// Mean averages scores over questions; no scores give the zero Score.
func Mean(scores []Score) Score {
	var m Score
	if len(scores) == 0 {
		return m
	}
	for _, s := range scores {
		m.Recall5 += s.Recall5
		m.Recall10 += s.Recall10
		m.Recall20 += s.Recall20
		m.Recall50 += s.Recall50
		m.All10 += s.All10
		m.Any10 += s.Any10
		m.MRR += s.MRR
		m.NDCG10 += s.NDCG10
	}
	n := float64(len(scores))
	for _, p := range []*float64{&m.Recall5, &m.Recall10, &m.Recall20, &m.Recall50, &m.All10, &m.Any10, &m.MRR, &m.NDCG10} {
		*p /= n
	}
	return m
}
