package rules

// The training of learned decisions.
const (
	trainSteps = 800
	trainRate  = 0.5
	trainDecay = 0.004 // pulls weights to 0; not the bias, which is the first of the weights
)

// fitLogistic returns the weights of a logistic regression, the bias first: those under which the answers are most likely,
// if large weights are unlikely. Every row has the same number of features, each about 0 to 1.
func fitLogistic(rows [][]float64, answers []bool) []float64 {
	w := make([]float64, len(rows[0])+1)
	for range trainSteps {
		slope := make([]float64, len(w))
		for i, row := range rows {
			miss := probability(w[0], w[1:], row)
			if answers[i] {
				miss--
			}
			slope[0] += miss
			for j, x := range row {
				slope[j+1] += miss * x
			}
		}
		for j := range w {
			step := slope[j] / float64(len(rows))
			if j > 0 {
				step += trainDecay * w[j]
			}
			w[j] -= trainRate * step
		}
	}
	return w
}

// probability is what a logistic regression says of a row.
func probability(bias float64, weights, row []float64) float64 {
	sum := bias
	for i, x := range row {
		sum += weights[i] * x
	}
	return logistic(sum)
}
