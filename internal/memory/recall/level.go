package recall

import (
	"math"

	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/search"
)

// The second of two encoders, which reads languages other than English, puts all its tokens near each other. So every note that it has
// read has a higher late interaction with a question that it has read than any note of the first one, in whose language the answer may
// be. Such a question measures the notes of the first encoder on the scale of those of the second: a note has what a note of the
// second one with the same cosine would have, and as much more or less as it differs from the notes of its own encoder.

// likeSecond is how alike the tokens of a note are that the second encoder has read, at least. Half of the notes of the first have .32, one
// in twenty .47; one in twenty of the second has less than .7 in its own languages.
const likeSecond = 0.6

// leastLeveled is how many notes of each encoder it takes to compare the two.
const leastLeveled = 8

// level converts a measure of notes that the first encoder has read.
type level struct{ from, to line }

// line says what a measure is at a cosine.
type line struct{ base, slope, spread float64 }

func (l line) at(cosine float64) float64 { return l.base + l.slope*cosine }

// lateSignals are the signals that late interaction measures.
var lateSignals = [...]search.Signal{search.Late, search.LateLead, search.LateAround}

// setLate sets the late interaction of candidates, that of both encoders' notes on one scale. The first candidates of a search, which are
// the most, decide how the others are converted.
func (sr *searchRun) setLate(all []*search.Candidate, measured []index.Late) {
	var first, second []*search.Candidate
	for i, c := range all {
		l := &measured[i]
		c.Values[search.Late], c.Values[search.LateLead], c.Values[search.LateAround] = l.Own, l.Lead, l.Around
		switch {
		case !sr.embedded.second || !c.Dense || l.Alike == 0:
		case l.Alike < likeSecond:
			first = append(first, c)
		default:
			second = append(second, c)
		}
	}
	if sr.levels == nil && min(len(first), len(second)) >= leastLeveled {
		for _, s := range lateSignals {
			sr.levels = append(sr.levels, level{from: fitLine(first, s), to: fitLine(second, s)})
		}
	}
	for i, l := range sr.levels {
		for _, c := range first {
			v, cosine := &c.Values[lateSignals[i]], c.Values[search.Vector]
			rest := 0.0
			if l.from.spread > 0 {
				rest = (*v - l.from.at(cosine)) * l.to.spread / l.from.spread
			}
			*v = min(max(l.to.at(cosine)+rest, 0), 1)
		}
	}
}

// fitLine returns the line through a measure of candidates by their cosine, least squares, that does not fall, and how far they are from
// it.
func fitLine(of []*search.Candidate, s search.Signal) (l line) {
	n := float64(len(of))
	var cosine, value, xx, xy float64
	for _, c := range of {
		cosine += c.Values[search.Vector] / n
		value += c.Values[s] / n
	}
	for _, c := range of {
		d := c.Values[search.Vector] - cosine
		xx += d * d
		xy += d * (c.Values[s] - value)
	}
	if xx > 0 {
		l.slope = max(xy/xx, 0)
	}
	l.base = value - l.slope*cosine
	for _, c := range of {
		d := c.Values[s] - l.at(c.Values[search.Vector])
		l.spread += d * d / n
	}
	l.spread = math.Sqrt(l.spread)
	return l
}
