package search

import (
	"fmt"
	"math"
)

// Prior is how likely a note is to be asked for, independent of the query: answers of an assistant
// are less likely than what people say, long notes less likely than short ones. The factor is
// max(1, terms/From)^-Exponent, times Assistant for an assistant's message. In conversations with
// an assistant most evidence is in the user's messages, while most of the text is the assistant's,
// and a ranking by words prefers text. The query can say otherwise: a note that has it word for word
// is what is asked for, on either side and of any length. So the factor is raised to the power
// 1 - Verbatim.
type Prior struct {
	Assistant float64 // factor for an assistant's messages, above 0, at most 1
	From      float64 // number of terms up to which length does not count, at least 1
	Exponent  float64 // at least 0
}

// defaultPrior fits both short turns and messages of several pages, and both who asks for what they said
// and who asks for what they were told. docs/recall.md describes how it was chosen.
var defaultPrior = Prior{Assistant: 0.8, From: 60, Exponent: 0.1}

// noPrior considers all notes equally likely.
var noPrior = Prior{Assistant: 1, From: 1, Exponent: 0}

func (p Prior) check() error {
	if !(p.Assistant > 0 && p.Assistant <= 1) || !(p.From >= 1) || !(p.Exponent >= 0) || math.IsInf(p.From+p.Exponent, 0) {
		return fmt.Errorf("search: prior %+v out of range", p)
	}
	return nil
}

func (p Prior) factor(c *Candidate) float64 {
	f := math.Pow(max(1, float64(c.Terms)/p.From), -p.Exponent)
	if c.Assistant {
		f *= p.Assistant
	}
	if v := c.Values[Verbatim]; v > 0 && f < 1 {
		f = math.Pow(f, 1-v)
	}
	return f
}
