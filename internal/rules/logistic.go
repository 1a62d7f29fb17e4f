package rules

import "math"

// logistic returns the probability that a logistic regression gives to a weighted sum of features.
func logistic(sum float64) float64 { return 1 / (1 + math.Exp(-sum)) }

// indicator is 1 if something is so, else 0, as a feature.
func indicator(is bool) float64 { return float64(boolInt(is)) }
