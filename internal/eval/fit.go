package eval

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/search"
)

// ReadMeasures reads what WriteMeasures wrote.
func ReadMeasures(r io.Reader) ([]Measured, error) {
	var out []Measured
	dec := json.NewDecoder(bufio.NewReader(r))
	for {
		var m Measured
		switch err := dec.Decode(&m); err {
		case nil:
			out = append(out, m)
		case io.EOF:
			return out, nil
		default:
			return nil, fmt.Errorf("read measures: %w", err)
		}
	}
}

// fitHits is how many hits count.
const fitHits = 10

// fitQuestion is a question with its candidates as rows of numbers.
type fitQuestion struct {
	features search.Features
	values   []search.Values // comparable, as the ranking makes them
	gold     []bool
	golds    int     // also those that are not candidates
	asIs     float64 // recall@10 of the gateway
}

// fitSet is a data set: its questions, or only those by dialogue, or of a category of the corpus.
type fitSet struct {
	name, data string // data is alike for sets that are of the same conversations
	believed   bool   // it only measures
	questions  []fitQuestion
}

// Fitting are measured questions, from which the weights of the ranking are learned.
type Fitting struct {
	sets []fitSet
	used []search.Signal
}

// NewFitting prepares what the gateway measured, to give weights to the named signals. believed names the set of a question
// that only measures, and is empty for others.
func NewFitting(all []Measured, believed func(m *Measured) string, signals []string) (*Fitting, error) {
	used, err := search.SignalsNamed(signals)
	if err != nil {
		return nil, fmt.Errorf("signals: %w", err)
	}
	f := &Fitting{sets: fitSets(all, believed), used: used}
	if n := len(f.learned("")); n < 2 {
		return nil, fmt.Errorf("leaving one set out needs two; there are %d", n)
	}
	return f, nil
}

// learned returns the sets that weights are learned from, but those of some data.
func (f *Fitting) learned(without string) (out []fitSet) {
	for i := range f.sets {
		if s := &f.sets[i]; !s.believed && s.data != without {
			out = append(out, *s)
		}
	}
	return out
}

// Table returns the weights that are learned from all sets: the numbers by which weights depend on the query and the view.
func (f *Fitting) Table() search.Table { return fitTable(f.learned(""), f.used) }

// LeftOut prints what a table finds in each set, beside what the gateway found, and what weights find that are learned from
// other data. What is only believed is measured with the table.
func (f *Fitting) LeftOut(w io.Writer, fitted *search.Table) error {
	var out strings.Builder
	out.WriteString("| recall@10 | questions | as it is | weights of all sets | weights of other data | openings, hits and gold | assistant's |\n|---|---|---|---|---|---|---|\n")
	var means [3]float64
	for i := range f.sets {
		s := &f.sets[i]
		left := *fitted
		if others := f.learned(s.data); !s.believed && len(others) > 0 {
			left = fitTable(others, f.used)
		}
		row := [3]float64{s.asIs(), s.recall(fitted), s.recall(&left)}
		opens, golden := s.shares(fitted, search.Opening)
		spoken, goldenSpoken := s.shares(fitted, search.Spoken)
		fmt.Fprintf(&out, "| %s | %d | %.3f | %.3f | %.3f | %.2f, %.2f | %.2f, %.2f |\n",
			s.name, len(s.questions), row[0], row[1], row[2], opens, golden, spoken, goldenSpoken)
		for j := range row {
			means[j] += row[j] / float64(len(f.sets))
		}
	}
	fmt.Fprintf(&out, "| mean, each once | | %.3f | %.3f | %.3f | | |\n", means[0], means[1], means[2])
	return printed(io.WriteString(w, out.String()))
}

func fitSets(all []Measured, believed func(m *Measured) string) []fitSet {
	by := map[string]*fitSet{}
	for i := range all {
		m := &all[i]
		if len(m.Notes) == 0 {
			continue
		}
		name := m.Track
		if m.Dialogue {
			name += " by dialogue"
		}
		if strings.HasSuffix(m.Track, "corpus") {
			name += ", " + m.Category
		}
		only := believed(m)
		if only != "" {
			name += ", " + only
		}
		data, _, _ := strings.Cut(strings.TrimPrefix(m.Track, "talk-"), "-")
		if by[name] == nil {
			by[name] = &fitSet{name: name, data: data, believed: only != ""}
		}
		by[name].questions = append(by[name].questions, newFitQuestion(m))
	}
	var out []fitSet
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[name])
	}
	return out
}

func newFitQuestion(m *Measured) fitQuestion {
	q := fitQuestion{golds: len(m.Gold), features: search.FeaturesOf(m.Features)}
	q.values = make([]search.Values, len(m.Notes))
	q.gold = make([]bool, len(m.Notes))
	for i := range m.Notes {
		q.values[i] = search.ValuesOf(m.Notes[i].Values)
		q.gold[i] = slices.Contains(m.Gold, m.Notes[i].Turn)
	}
	search.Comparable(q.values)
	for _, turn := range m.Found[:min(len(m.Found), fitHits)] {
		if slices.Contains(m.Gold, turn) {
			q.asIs += 1 / float64(q.golds)
		}
	}
	return q
}

func (s *fitSet) asIs() (sum float64) {
	for i := range s.questions {
		sum += s.questions[i].asIs / float64(len(s.questions))
	}
	return sum
}

// recall returns the mean recall@10 with a table.
func (s *fitSet) recall(t *search.Table) (sum float64) {
	for i := range s.questions {
		sum += s.questions[i].recall(t) / float64(len(s.questions))
	}
	return sum
}

func (q *fitQuestion) recall(t *search.Table) float64 {
	found := 0
	for _, n := range q.hits(t) {
		if q.gold[n] {
			found++
		}
	}
	return float64(found) / float64(q.golds)
}

// hits returns the positions of the first candidates by a table.
func (q *fitQuestion) hits(t *search.Table) []int {
	scores := q.scores(t)
	places := make([]int, len(scores))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return places[:min(fitHits, len(places))]
}

// shares returns the mean of a signal that is 0 or 1 over the hits of a table, and over the gold among the candidates. A ranking
// that prefers a form shows here.
func (s *fitSet) shares(t *search.Table, of search.Signal) (hits, gold float64) {
	var nHits, nGold float64
	for i := range s.questions {
		q := &s.questions[i]
		for _, n := range q.hits(t) {
			hits, nHits = hits+q.values[n][of], nHits+1
		}
		for n, is := range q.gold {
			if is {
				gold, nGold = gold+q.values[n][of], nGold+1
			}
		}
	}
	return hits / max(nHits, 1), gold / max(nGold, 1)
}

func (q *fitQuestion) scores(t *search.Table) []float64 {
	weights := t.Weights(&q.features)
	out := make([]float64, len(q.values))
	for n := range q.values {
		for s, w := range weights {
			out[n] += w * q.values[n][s]
		}
	}
	return out
}

// How the table is learned.
const (
	fitSteps   = 400
	fitRate    = 0.05  // of Adam
	fitRidge   = 0.003 // weight of the squared distance from where it begins
	fitMost    = 600   // questions of a set that are learned from, spread over it
	fitFirst   = 0.9   // of Adam: decay of the mean of gradients
	fitSecond  = 0.999 // of Adam: decay of the mean of their squares
	fitEpsilon = 1e-8
)

// fitTable minimizes the cross entropy of the gold among the candidates of each question, which all sets count alike in
// (listwise: Z. Cao et al., "Learning to rank", ICML 2007), by gradients (Adam: D. Kingma and J. Ba, ICLR 2015).
// It begins with the weights of the default profile, doubled, and stays near them where the data say little.
func fitTable(sets []fitSet, used []search.Signal) search.Table {
	begin := search.Table{}
	for _, s := range used {
		begin[s][search.Always] = 2 * search.General.Weights()[s]
	}
	t := begin
	var first, second search.Table
	for step := 1; step <= fitSteps; step++ {
		gradient := fitGradient(sets, &t)
		rate := fitRate * math.Sqrt(1-math.Pow(fitSecond, float64(step))) / (1 - math.Pow(fitFirst, float64(step)))
		for _, s := range used {
			for f := range t[s] {
				g := gradient[s][f] + 2*fitRidge*(t[s][f]-begin[s][f])
				first[s][f] = fitFirst*first[s][f] + (1-fitFirst)*g
				second[s][f] = fitSecond*second[s][f] + (1-fitSecond)*g*g
				t[s][f] -= rate * first[s][f] / (math.Sqrt(second[s][f]) + fitEpsilon)
			}
		}
	}
	return t
}

// fitGradient returns the gradient of the loss.
func fitGradient(sets []fitSet, t *search.Table) (out search.Table) {
	for i := range sets {
		s := &sets[i]
		stride := max(1, len(s.questions)/fitMost)
		share := float64(stride) / float64(len(s.questions)*len(sets))
		for j := 0; j < len(s.questions); j += stride {
			s.questions[j].addGradient(t, share, &out)
		}
	}
	return out
}

func (q *fitQuestion) addGradient(t *search.Table, share float64, out *search.Table) {
	golds := 0.0
	for _, gold := range q.gold {
		if gold {
			golds++
		}
	}
	if golds == 0 {
		return
	}
	scores := q.scores(t)
	top, sum := slices.Max(scores), 0.0
	for n := range scores {
		scores[n] = math.Exp(scores[n] - top)
		sum += scores[n]
	}
	var by search.Values // gradient by weight
	for n := range scores {
		d := scores[n] / sum
		if q.gold[n] {
			d -= 1 / golds
		}
		for s, x := range q.values[n] {
			by[s] += d * x
		}
	}
	for s := range by {
		for f, x := range q.features {
			out[s][f] += share * by[s] * x
		}
	}
}

// BelievedMeasure names the set of a question of a dialogue of the corpus that only measures: dialogues of writers from whom
// nothing was learned are apart. It is empty for others.
func BelievedMeasure(m *Measured) string {
	d := Labeled{ID: m.Conversation}
	switch {
	case !strings.HasSuffix(m.Track, "corpus") || !d.Believed():
		return ""
	case slices.Contains(believedWriters, d.Writer()):
		return d.Writer()
	}
	return "believed"
}
