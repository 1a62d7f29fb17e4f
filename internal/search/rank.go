package search

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// ID is a note id. It is an alias, so that any named 16-byte id converts by
// assignment.
type ID = [16]byte

// MinDepth is how many candidates each signal is asked for at least.
const MinDepth = 200

// ReservedLexical is how many places among the first k are kept for notes
// that only words found. A search for one hit keeps none.
const ReservedLexical = 1

// Depth is how many candidates to ask of each signal for k hits.
func Depth(k int) int { return max(k, MinDepth) }

// Mode says which signals a search uses.
type Mode string

// The modes.
const (
	Hybrid  Mode = "hybrid"
	Vector  Mode = "vector"
	Lexical Mode = "lexical"
)

// Fusion is a way to make one score of several signals.
type Fusion string

// The fusions.
const (
	MinMax         Fusion = "minmax"
	ReciprocalRank Fusion = "rrf"
)

// Config holds the constants of ranking; see the package comment.
type Config struct {
	Fusion       Fusion
	Vector       float64
	Lexical      float64
	Recency      float64
	Importance   float64
	HalfLife     time.Duration
	RankConstant float64
	LinkShare    float64 // 0..1
}

// DefaultConfig gives the documented defaults.
func DefaultConfig() Config {
	return Config{
		Fusion: MinMax, Vector: 0.5, Lexical: 0.5,
		HalfLife: 30 * 24 * time.Hour, RankConstant: 60, LinkShare: 0.5,
	}
}

// SpellingVector is Config.Vector where the embedder matches spellings, not
// meanings. Of 0.1, 0.2, 0.3 and 0.5, recall@10 was .621, .618, .613 and .597 on
// short turns (LoCoMo; words alone .626) and .438, .454, .474 and .485 on long
// messages (BEAM; words alone .418): what costs one little helps the other.
const SpellingVector = 0.2

// Ranker ranks candidates by one configuration.
type Ranker struct{ config Config }

// New makes a ranker; it refuses weights that are negative or not finite.
func New(c Config) (*Ranker, error) {
	if c.Fusion != MinMax && c.Fusion != ReciprocalRank {
		return nil, fmt.Errorf("search: unknown fusion %q", c.Fusion)
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"vector", c.Vector}, {"lexical", c.Lexical}, {"recency", c.Recency}, {"importance", c.Importance}, {"rank constant", c.RankConstant}, {"link share", c.LinkShare}} {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			return nil, fmt.Errorf("search: %s is %v, want a number of at least 0", f.name, f.value)
		}
	}
	if c.LinkShare > 1 || c.Vector+c.Lexical == 0 || c.HalfLife <= 0 {
		return nil, fmt.Errorf("search: link share %v, vector and lexical %v, half-life %v out of range", c.LinkShare, c.Vector+c.Lexical, c.HalfLife)
	}
	return &Ranker{config: c}, nil
}

// Candidate is a note with its scores in every signal, whichever found it.
type Candidate struct {
	Note       ID
	Lexical    float64 // BM25; 0: no word of the query
	Vector     float64 // cosine
	Dense      bool    // whether Vector was computed
	ByVector   bool    // among the best by vector
	At         time.Time
	Importance float64
}

// Options of one search.
type Options struct {
	Mode     Mode
	K        int
	MinScore *float64  // hits below are dropped; nil: none
	Now      time.Time // what recency counts from; used only where Recency weighs
}

// Source says what found a hit.
type Source string

// The sources.
const (
	SourceVector  Source = "vector"
	SourceLexical Source = "lexical"
	SourceLink    Source = "link"
)

// Signal explains one part of a score: its name, its value as measured, that
// value on 0..1 (under rrf: the reciprocal rank, 1 for the first), and the
// weight it counts with; the weights of a hit's fused signals sum to 1.
type Signal struct {
	Name       string  `json:"signal"`
	Raw        float64 `json:"raw"`
	Normalized float64 `json:"normalized"`
	Weight     float64 `json:"weight"`
}

// The names of signals.
const (
	signalVector     = "vector"
	signalLexical    = "lexical"
	signalRecency    = "recency"
	signalImportance = "importance"
	signalLink       = "link"
)

// Hit is a ranked note.
type Hit struct {
	Candidate
	Score      float64
	Sources    []Source
	IsNeighbor bool // found by a link, not by the query
	Explain    []Signal
}

// before is the order of hits.
func before(a, b Hit) int {
	neighbor := func(h Hit) int {
		if h.IsNeighbor {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(neighbor(a), neighbor(b)), bytes.Compare(a.Note[:], b.Note[:]))
}

// scale is how raw scores of one search become 0..1.
type scale struct {
	lowVector, highVector float64
	highLexical           float64
	dense                 bool // some candidate has a vector score
	byVector, byLexical   []float64
}

// Result is a ranked search that linked notes may still join.
type Result struct {
	Hits     []Hit // best first, at most K
	ranker   *Ranker
	options  Options
	scale    scale
	reserved map[ID]bool // hits whose place among the first K is kept
}

// Rank scores the candidates together and gives the best K. Candidates that
// the mode cannot have found are dropped: by words, those without a word; by
// vector, those without one. A note may be given once.
func (r *Ranker) Rank(candidates []Candidate, o Options) Result {
	res := Result{ranker: r, options: o}
	var found []Candidate
	for _, c := range candidates {
		if o.Mode == Lexical && c.Lexical <= 0 || o.Mode == Vector && !c.Dense || c.Lexical <= 0 && !c.Dense {
			continue
		}
		found = append(found, c)
	}
	res.scale = scaleOf(found)
	hits := make([]Hit, len(found))
	for i, c := range found {
		hits[i] = r.hit(c, o, &res.scale)
	}
	slices.SortFunc(hits, before)
	if o.Mode == Hybrid && o.K > ReservedLexical {
		res.reserved = wordsOnly(hits, o.K)
		reserve(hits, o.K, res.reserved)
	}
	res.Hits = finish(hits, o)
	return res
}

// scaleOf finds the ranges of the candidates.
func scaleOf(found []Candidate) scale {
	var s scale
	for _, c := range found {
		s.highLexical = max(s.highLexical, c.Lexical)
		if c.Lexical > 0 {
			s.byLexical = append(s.byLexical, c.Lexical)
		}
		if !c.Dense {
			continue
		}
		if !s.dense {
			s.lowVector, s.highVector, s.dense = c.Vector, c.Vector, true
		}
		s.lowVector, s.highVector = min(s.lowVector, c.Vector), max(s.highVector, c.Vector)
		s.byVector = append(s.byVector, c.Vector)
	}
	slices.Sort(s.byVector)
	slices.Sort(s.byLexical)
	return s
}

// hit scores one candidate.
func (r *Ranker) hit(c Candidate, o Options, s *scale) Hit {
	h := Hit{Candidate: c}
	if c.ByVector && c.Dense && o.Mode != Lexical {
		h.Sources = append(h.Sources, SourceVector)
	}
	if c.Lexical > 0 && o.Mode != Vector {
		h.Sources = append(h.Sources, SourceLexical)
	}
	w := r.config
	if s.dense && o.Mode != Lexical && w.Vector > 0 {
		h.Explain = append(h.Explain, Signal{signalVector, c.Vector, r.vector(c, s), w.Vector})
	}
	if s.highLexical > 0 && o.Mode != Vector && w.Lexical > 0 {
		h.Explain = append(h.Explain, Signal{signalLexical, c.Lexical, r.lexical(c, s), w.Lexical})
	}
	if w.Recency > 0 {
		age := o.Now.Sub(c.At).Hours()
		h.Explain = append(h.Explain, Signal{signalRecency, age, math.Exp2(-max(age, 0) / w.HalfLife.Hours()), w.Recency})
	}
	if w.Importance > 0 {
		h.Explain = append(h.Explain, Signal{signalImportance, c.Importance, min(max(c.Importance, 0), 1), w.Importance})
	}
	if len(h.Explain) == 1 && o.Mode != Hybrid {
		h.Explain[0].Weight = 1
		h.Score = h.Explain[0].Raw
		return h
	}
	sum := 0.0
	for _, e := range h.Explain {
		sum += e.Weight
	}
	for i := range h.Explain {
		e := &h.Explain[i]
		e.Weight /= sum
		h.Score += e.Weight * e.Normalized
	}
	return h
}

func (r *Ranker) vector(c Candidate, s *scale) float64 {
	switch {
	case !c.Dense:
		return 0
	case r.config.Fusion == ReciprocalRank:
		return r.reciprocal(c.Vector, s.byVector)
	case s.highVector == s.lowVector:
		return 1
	}
	return min(max((c.Vector-s.lowVector)/(s.highVector-s.lowVector), 0), 1)
}

func (r *Ranker) lexical(c Candidate, s *scale) float64 {
	switch {
	case c.Lexical <= 0:
		return 0
	case r.config.Fusion == ReciprocalRank:
		return r.reciprocal(c.Lexical, s.byLexical)
	}
	return min(c.Lexical/s.highLexical, 1)
}

// reciprocal is 1/(k+rank) by the rank among ascending scores, scaled so that
// the first has 1. Equal scores share the better rank.
func (r *Ranker) reciprocal(score float64, ascending []float64) float64 {
	above := len(ascending) - upper(ascending, score)
	return (r.config.RankConstant + 1) / (r.config.RankConstant + 1 + float64(above))
}

// upper gives how many of the ascending scores are at most score.
func upper(ascending []float64, score float64) int {
	at, _ := slices.BinarySearchFunc(ascending, score, func(x, target float64) int {
		if x <= target {
			return -1
		}
		return 1
	})
	return at
}

// wordsOnly names the best notes that only words found: those that have a
// word of the query and are not among the k nearest by vector.
func wordsOnly(hits []Hit, k int) map[ID]bool {
	dense := slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool { return !h.Dense })
	slices.SortFunc(dense, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Vector, a.Vector), bytes.Compare(a.Note[:], b.Note[:]))
	})
	near := map[ID]bool{}
	for _, h := range dense[:min(k, len(dense))] {
		near[h.Note] = true
	}
	words := slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool { return h.Lexical <= 0 || near[h.Note] })
	slices.SortFunc(words, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Lexical, a.Lexical), bytes.Compare(a.Note[:], b.Note[:]))
	})
	best := map[ID]bool{}
	for _, h := range words[:min(ReservedLexical, len(words))] {
		best[h.Note] = true
	}
	return best
}

// reserve moves the reserved hits that fell behind the first k to its end.
// Without it, k middling cosines would crowd out the one note that has the
// rare word.
func reserve(hits []Hit, k int, reserved map[ID]bool) {
	for i := k; i < len(hits); i++ {
		if reserved[hits[i].Note] {
			h := hits[i]
			copy(hits[k:i+1], hits[k-1:i])
			hits[k-1] = h
		}
	}
}

// finish drops what is below the minimum score and cuts to k.
func finish(hits []Hit, o Options) []Hit {
	if o.MinScore != nil {
		hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Score < *o.MinScore })
	}
	return hits[:min(max(o.K, 0), len(hits))]
}
