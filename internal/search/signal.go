package search

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Signal is one measure of how well a note answers a query.
type Signal int

// The signals.
const (
	Lexical    Signal = iota // BM25 of the note's best passage
	Window                   // BM25 of the turns within two of it in its session, itself included
	Session                  // BM25 of its session
	Vector                   // cosine with the note's vector
	Late                     // late interaction with its tokens, 0..1
	LateLead                 // the same with its tokens and those of the two turns before it
	LateAround               // the same with those of two turns on either side
	Attribute                // 1 when the query names a value of one of its attributes; less when it has the name of who asks
	Time                     // 1 when it happened at a time that the query names
	Recency                  // exp(-ln 2 · age / HalfLife)
	Importance               // 0..1
	Question                 // 1 when it ends with a question mark
	Reply                    // 1 when the turn before it has one
	Opening                  // 1 when it is the first of its session
	Names                    // capitalized words inside its sentences, up to 3
	Verbatim                 // how far it has the query word for word, 0..1; see [Wording]
	Covered                  // share of the query's words that its best passage has, by their weights
	Spoken                   // 1 when an assistant said it
	Length                   // ln(1 + its terms) / 5
	Entity                   // link to an entity that the query names, 0..1; see [EntityBoost]
	signals
)

// Values holds one number for each signal.
type Values [signals]float64

// norm is how a measure becomes comparable.
type norm int

const (
	byMaximum norm = iota // divided by the largest of the candidates; negatives are 0
	asIs
)

type property struct {
	name  string
	norm  norm
	words bool // counts in a search by words alone

	general, mem0 float64
}

// table defines the name of each signal, how it is normalized, and its weight in each profile.
var table = [signals]property{
	Lexical:    {"lexical", byMaximum, true, .5, 1},
	Window:     {"window", byMaximum, true, .5, 0},
	Session:    {"session", byMaximum, true, .5, 0},
	Vector:     {"vector", byMaximum, false, 2, 1},
	Late:       {"late", asIs, false, 2, 0},
	LateLead:   {"late_lead", asIs, false, 4, 0},
	LateAround: {"late_around", asIs, false, 2, 0},
	Attribute:  {"attribute", asIs, true, 1, 0},
	Time:       {"time", asIs, true, 1, 0},
	Recency:    {"recency", asIs, true, 0, 0},
	Importance: {"importance", asIs, true, 0, 0},
	Question:   {"question", asIs, false, 0, 0},
	Reply:      {"reply", asIs, false, 0, 0},
	Opening:    {"opening", asIs, false, .5, 0},
	Names:      {"names", asIs, false, 0, 0},
	Verbatim:   {"verbatim", asIs, true, .5, 0},
	Covered:    {"covered", asIs, true, 0, 0},
	Spoken:     {"spoken", asIs, true, -.4, 0},
	Length:     {"length", asIs, false, 0, 0},
	Entity:     {"entity", asIs, false, 0, .5},
}

// String returns the name that explanations and requests use.
func (s Signal) String() string { return table[s].name }

// signalNames returns the names of all signals, in the order of the table.
func signalNames() []string {
	out := make([]string, signals)
	for i := range table {
		out[i] = table[i].name
	}
	return out
}

// Profile is a set of weights.
type Profile string

// The profiles. Auto has weights that depend on the query and the view, see [FittedConfig], and those of General where no
// meaning is compared.
const (
	Auto    Profile = "auto"
	General Profile = "default"
	Mem0    Profile = "mem0" // as Mem0 ranks; see mem0.go
)

// Weights returns the weights of a profile; Auto has those of General.
func (p Profile) Weights() Values {
	var w Values
	for i := range table {
		if w[i] = table[i].general; p == Mem0 {
			w[i] = table[i].mem0
		}
	}
	return w
}

// SpellingVector is the weight of Vector where the embedder compares spellings, not meanings: its
// vectors mostly repeat what the words say. internal/eval/reviews/ranking.md has the values that were tried.
const SpellingVector = 0.1

// maxWeight and minWeight bound what a caller may set. A smaller weight than minWeight is 0,
// because scores are divided by the sum of the weights.
const (
	maxWeight = 100
	minWeight = 1e-6
)

// Override sets weights by name. It fails when a name is unknown or a weight is not a number
// between -100 and 100.
func (v *Values) Override(weights map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		i := slices.IndexFunc(table[:], func(p property) bool { return p.name == name })
		if i < 0 {
			return fmt.Errorf("%s: no such signal; the signals are %s", name, strings.Join(signalNames(), ", "))
		}
		w := weights[name]
		if math.IsNaN(w) || math.Abs(w) > maxWeight {
			return fmt.Errorf("%s: a weight is a number between -%d and %d", name, maxWeight, maxWeight)
		}
		if math.Abs(w) < minWeight {
			w = 0
		}
		v[i] = w
	}
	return nil
}

// Wording returns the value of [Verbatim] for a passage that has a share of the query's words, by their
// weights. Common questions share half of their words with what answers them, and get little. It grows
// to 1 for a text that is asked for in its own words.
func Wording(share float64) float64 {
	share *= share
	return share * share
}
