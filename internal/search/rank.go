package search

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// ID is a note id. It is an alias, so any named 16-byte id can be assigned to it.
type ID = [16]byte

// minDepth is the least number of candidates asked of each signal.
const minDepth = 200

// LateDepth is the number of best candidates that late interaction measures.
const LateDepth = 200

// reservedPlace is where a note that only words found is ranked at the latest: the best by words of those
// without a vector, or the best by words of all, if it is not among the [Depth] nearest. A note that alone has
// every word of the query is first. The place does not depend on k, so k never changes an order.
const reservedPlace = 5

// Depth returns how many candidates to ask of each signal for k hits.
func Depth(k int) int { return max(k, minDepth) }

// Mode selects the signals of a search.
type Mode string

// The modes.
const (
	ModeHybrid  Mode = "hybrid"
	ModeVector  Mode = "vector"
	ModeLexical Mode = "lexical"
)

// Config holds the constants of ranking; see the package comment.
type Config struct {
	Weights   Values
	HalfLife  time.Duration
	LinkShare float64 // 0..1
	Mem0      bool    // candidates and measures of [Mem0]
}

// DefaultConfig returns the documented defaults of a profile.
func DefaultConfig(p Profile) Config {
	return Config{Weights: p.Weights(), HalfLife: 30 * 24 * time.Hour, LinkShare: 0.5, Mem0: p == Mem0}
}

// Ranker ranks candidates by one configuration.
type Ranker struct{ config Config }

// New returns a ranker. It fails when a weight is not finite or a constant is out of range.
func New(c Config) (*Ranker, error) {
	for i, w := range c.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("search: the weight of %s is %v", Signal(i), w)
		}
	}
	if !(c.LinkShare >= 0 && c.LinkShare <= 1) || c.HalfLife <= 0 {
		return nil, fmt.Errorf("search: link share %v or half-life %v out of range", c.LinkShare, c.HalfLife)
	}
	return &Ranker{config: c}, nil
}

// Candidate is a note with its measures, found by any signal.
type Candidate struct {
	Note     ID
	Values   Values // Recency is computed from At
	Dense    bool   // it has a cosine
	ByVector bool   // it is among the best by vector
	At       time.Time
	Session  int32 // number of its session; 0 without one
}

// Options are the options of one search.
type Options struct {
	Mode     Mode
	K        int
	MinScore *float64  // hits below are dropped; nil: no minimum
	Now      time.Time // the time that recency counts from; used only when Recency has a weight
	Terms    int       // words of the query that are not stop words; used only by Mem0
}

// Source is what found a hit.
type Source string

// The sources.
const (
	SourceVector  Source = "vector"
	SourceLexical Source = "lexical"
	SourceLink    Source = "link"
	SourceGraph   Source = "graph" // an edge of an entity that the query names, or of an adjacent entity
)

// Part explains one part of a score: its signal, the raw measure, the normalized measure, and its
// weight. A hit's score is the sum of normalized × weight.
type Part struct {
	Name       string  `json:"signal"`
	Raw        float64 `json:"raw"`
	Normalized float64 `json:"normalized"`
	Weight     float64 `json:"weight"`
}

const partLink = "link"

// Hit is a ranked note.
type Hit struct {
	Candidate
	Score      float64
	Sources    []Source
	IsNeighbor bool    // among the hits only because of a link
	Via        *Linked // the link that raised its score or led to it
	About      ID      // the best hit that is about the same thing; zero: no other is
	Explain    []Part
}

// scale makes the measures of one search comparable.
type scale struct {
	weights Values // of the signals that count in this search, divided by their sum
	highest Values // largest measures of the candidates, at least 0
}

// Result is a ranked search that linked notes can be added to.
type Result struct {
	Hits    []Hit // best first, at most K
	ranker  *Ranker
	options Options
	ranked  ranking
}

// Rank scores the candidates together and returns the best K. It drops candidates that the mode
// cannot find: in lexical mode those without a word, in vector mode those without a vector. Each
// note may occur once.
func (r *Ranker) Rank(candidates []Candidate, o Options) Result {
	ranked := r.order(candidates, o, max(o.K, LinkedFrom))
	if o.Mode == ModeHybrid && !r.config.Mem0 {
		ranked.reserveLexical()
	}
	res := Result{ranker: r, options: o, ranked: ranked}
	best := ranked.places[:min(max(o.K, 0), len(ranked.places))]
	res.Hits = make([]Hit, 0, len(best))
	for _, p := range best {
		if o.MinScore == nil || ranked.scores[p] >= *o.MinScore {
			res.Hits = append(res.Hits, r.newHit(ranked.found[p], o, &res.ranked.scale))
		}
	}
	return res
}

// Best returns up to n notes that are ranked first, for any K, best first.
func (r *Result) Best(n int) []ID {
	out := make([]ID, 0, n)
	for _, p := range r.ranked.places[:min(n, len(r.ranked.places))] {
		if r.options.MinScore == nil || r.ranked.scores[p] >= *r.options.MinScore {
			out = append(out, r.ranked.found[p].Note)
		}
	}
	return out
}

// Best returns up to n notes that would be ranked first, best first. It selects the notes for
// measures that are too expensive to take of all candidates.
func (r *Ranker) Best(candidates []Candidate, o Options, n int) []ID {
	ranked := r.order(candidates, o, n)
	out := make([]ID, min(n, len(ranked.places)))
	for i := range out {
		out[i] = ranked.found[ranked.places[i]].Note
	}
	return out
}

// ranking is a list of candidates and their order.
type ranking struct {
	found  []Candidate
	scale  scale
	scores []float64 // of found
	places []int     // indexes into found: the best that were asked for, best first, then the others

	reserved int // index into found of the note with a reserved place; -1: none has one
	place    int // of that note at the latest, from 1
}

// order ranks the candidates that the mode can find, the n best of them in their order.
func (r *Ranker) order(candidates []Candidate, o Options, n int) ranking {
	found := candidates
	if r.Weighs(Recency) || !r.areCandidates(candidates, o.Mode) {
		found = make([]Candidate, 0, len(candidates))
		for i := range candidates {
			if r.isCandidate(&candidates[i], o.Mode) {
				found = append(found, candidates[i])
				c := &found[len(found)-1]
				c.Values[Recency] = r.recency(c, o)
			}
		}
	}
	out := ranking{found: found, scale: r.newScale(found, o.Mode), scores: make([]float64, len(found)), places: make([]int, len(found)), reserved: -1}
	for i := range found {
		out.scores[i] = r.score(&found[i], &o, &out.scale, nil)
		out.places[i] = i
	}
	compare := func(a, b int) int {
		return cmp.Or(cmp.Compare(out.scores[b], out.scores[a]), bytes.Compare(found[a].Note[:], found[b].Note[:]))
	}
	n = min(max(n, 0), len(found))
	Select(out.places, n, compare)
	slices.SortFunc(out.places[:n], compare)
	return out
}

// reserveLexical reserves a place for the note that alone has every word of the query, else for the best note by words, if
// only words found it.
func (r *ranking) reserveLexical() {
	if r.reserved, r.place = r.onlyCovering(), 1; r.reserved < 0 {
		r.reserved, r.place = r.bestByWords(), reservedPlace
	}
	if best := r.reserved; best >= 0 {
		moveReserved(r.places, r.place, func(i int) bool { return i == best })
	}
}

// allWords is the least share of the query's words that counts as all of them: sums of weights are not exact.
const allWords = 0.999

// onlyCovering returns the index of the only note that has every word of the query; -1: none has, or several.
func (r *ranking) onlyCovering() int {
	only := -1
	for i := range r.found {
		if r.found[i].Values[Covered] >= allWords {
			if only >= 0 {
				return -1
			}
			only = i
		}
	}
	return only
}

// bestByWords returns the index of the best note by words, if only words found it; else -1.
func (r *ranking) bestByWords() int {
	best := -1 // of the notes without a vector, and of those with one that are the best of all
	for i := range r.found {
		c := &r.found[i]
		if c.Values[Lexical] <= 0 || c.ByVector {
			continue
		}
		if best < 0 || cmp.Or(cmp.Compare(c.Values[Lexical], r.found[best].Values[Lexical]), bytes.Compare(r.found[best].Note[:], c.Note[:])) > 0 {
			if !c.Dense || c.Values[Lexical] >= r.scale.highest[Lexical] {
				best = i
			}
		}
	}
	return best
}

// Weighs reports whether a signal has a weight.
func (r *Ranker) Weighs(s Signal) bool { return r.config.Weights[s] != 0 }

// isCandidate reports whether the mode can find a candidate.
func (r *Ranker) isCandidate(c *Candidate, mode Mode) bool {
	switch mode {
	case ModeLexical:
		return c.Values[Lexical] > 0
	case ModeVector:
		return c.Dense
	case ModeHybrid:
		if r.config.Mem0 {
			return c.Dense && c.ByVector && c.Values[Vector] >= Mem0Threshold
		}
	}
	return c.Dense || c.Values[Lexical] > 0
}

func (r *Ranker) areCandidates(all []Candidate, mode Mode) bool {
	for i := range all { // each is too large to be copied
		if !r.isCandidate(&all[i], mode) {
			return false
		}
	}
	return true
}

func (r *Ranker) recency(c *Candidate, o Options) float64 {
	if r.config.Weights[Recency] == 0 {
		return 0
	}
	return math.Exp2(-max(o.Now.Sub(c.At).Hours(), 0) / r.config.HalfLife.Hours())
}

// newScale returns the largest value of each measure, and the weights of the signals that the mode
// uses and some candidate has, scaled to the sum 1.
func (r *Ranker) newScale(found []Candidate, mode Mode) scale {
	var s scale
	var has [signals]bool
	for i := range found {
		for j, x := range found[i].Values {
			s.highest[j] = max(s.highest[j], x)
			has[j] = has[j] || x != 0
		}
	}
	sum := 0.0
	for j, w := range r.config.Weights {
		if !has[j] || mode == ModeLexical && !table[j].words || mode == ModeVector && Signal(j) != Vector {
			continue
		}
		s.weights[j] = w
		sum += max(w, 0)
	}
	if sum > 0 {
		for j := range s.weights {
			s.weights[j] /= sum
		}
	}
	return s
}

// score returns the score of a candidate. Unless parts is nil, it appends the parts
// of the score. A search by vector alone is not fused: its score is the cosine.
func (r *Ranker) score(c *Candidate, o *Options, s *scale, parts *[]Part) (score float64) {
	if o.Mode == ModeVector {
		if parts != nil {
			*parts = []Part{{table[Vector].name, c.Values[Vector], c.Values[Vector], 1}}
		}
		return c.Values[Vector]
	}
	for j, w := range s.weights {
		if w == 0 {
			continue
		}
		x := c.Values[j]
		switch {
		case r.config.Mem0:
			x = mem0Measure(Signal(j), x, o.Terms)
		case table[j].norm == byMaximum:
			x = share(x, s.highest[j])
		}
		if parts != nil {
			*parts = append(*parts, Part{table[j].name, c.Values[j], x, w})
		}
		score += w * x
	}
	return score
}

// newHit returns the hit of a candidate.
func (r *Ranker) newHit(c Candidate, o Options, s *scale) Hit {
	h := Hit{Candidate: c}
	if c.ByVector && c.Dense && o.Mode != ModeLexical {
		h.Sources = append(h.Sources, SourceVector)
	}
	if c.Values[Lexical] > 0 && o.Mode != ModeVector {
		h.Sources = append(h.Sources, SourceLexical)
	}
	h.Score = r.score(&c, &o, s, &h.Explain)
	return h
}

// moveReserved moves the note with the reserved place there, if it is ranked behind it. Without it,
// mediocre cosines would displace the one note that has the rare word.
func moveReserved[H any](ranked []H, place int, reserved func(H) bool) {
	for i := place; i < len(ranked); i++ {
		if reserved(ranked[i]) {
			h := ranked[i]
			copy(ranked[place:i+1], ranked[place-1:i])
			ranked[place-1] = h
		}
	}
}
