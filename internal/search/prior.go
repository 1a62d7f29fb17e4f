package search

import (
	"fmt"
	"math"
)

// Prior says how likely a note is to be asked for, whatever the query is:
// answers of an assistant less than what people say, long notes less than
// short ones. Its factor is Role^(assistant) · max(1, terms/From)^-Exponent.
// On conversations with an assistant most evidence is the user's, while most
// of the text is the assistant's, and words alone prefer text.
type Prior struct {
	Assistant float64 // factor of an assistant's messages, above 0, at most 1
	From      float64 // terms up to which length does not count, at least 1
	Exponent  float64 // at least 0
}

// DefaultPrior is one for short turns and for messages of pages; docs/recall.md
// says how it was chosen.
var DefaultPrior = Prior{Assistant: 0.5, From: 60, Exponent: 0.2}

// NoPrior takes every note for as likely as every other.
var NoPrior = Prior{Assistant: 1, From: 1, Exponent: 0}

func (p Prior) check() error {
	if !(p.Assistant > 0 && p.Assistant <= 1) || !(p.From >= 1) || !(p.Exponent >= 0) || math.IsInf(p.From+p.Exponent, 0) {
		return fmt.Errorf("search: prior %+v out of range", p)
	}
	return nil
}

func (p Prior) of(assistant bool, terms int) float64 {
	f := math.Pow(max(1, float64(terms)/p.From), -p.Exponent)
	if assistant {
		f *= p.Assistant
	}
	return f
}
