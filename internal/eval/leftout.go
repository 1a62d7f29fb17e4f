package eval

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
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

// byLargest are the signals that are divided by the largest of the candidates, as the gateway does.
var byLargest = []string{"lexical", "window", "session", "vector"}

// leftOutWeights are what a weight may be, and leftOutPasses how often each is chosen again. They begin at 1.
var leftOutWeights = []float64{-0.5, 0, 0.25, 0.5, 1, 2, 4}

const leftOutPasses = 3

// measuredQuestion is a question with its candidates as rows of numbers.
type measuredQuestion struct {
	values [][]float64 // by note, by signal
	prior  []float64
	gold   []bool
	golds  int     // also those that are no candidates
	asIs   float64 // recall@10 of the gateway
}

// measuredSet is a data set: its questions, or only those by dialogue.
type measuredSet struct {
	name      string
	questions []measuredQuestion
}

// LeftOut chooses weights for all signals by the mean recall@10 over data sets, each set once: for each set on all
// others, and on all together. It prints what the weights find in the set that took no part, what those of all sets find
// in it, and what the gateway found. So it shows what a choice is worth on data that it did not see.
func LeftOut(w io.Writer, all []Measured) error {
	signals := signalsOf(all)
	sets := measuredSets(all, signals)
	if len(sets) < 2 {
		return fmt.Errorf("leaving one out needs two data sets; there are %d", len(sets))
	}
	tuned := chooseWeights(sets, len(signals))
	var out strings.Builder
	out.WriteString("| recall@10 | questions | as it is | weights of all sets | weights of the others | loss |\n|---|---|---|---|---|---|\n")
	var means [3]float64
	for _, s := range sets {
		base, _, _ := strings.Cut(s.name, " ")
		others := slices.DeleteFunc(slices.Clone(sets), func(o measuredSet) bool {
			name, _, _ := strings.Cut(o.name, " ")
			return name == base // a dialogue and its last message are one data set
		})
		var asIs float64
		for _, q := range s.questions {
			asIs += q.asIs / float64(len(s.questions))
		}
		row := [3]float64{asIs, s.recall(tuned), s.recall(chooseWeights(others, len(signals)))}
		fmt.Fprintf(&out, "| %s | %d | %.3f | %.3f | %.3f | %+.3f |\n", s.name, len(s.questions), row[0], row[1], row[2], row[2]-row[1])
		for j := range row {
			means[j] += row[j] / float64(len(sets))
		}
	}
	fmt.Fprintf(&out, "| mean, each set once | | %.3f | %.3f | %.3f | %+.3f |\n\nweights of all sets:", means[0], means[1], means[2], means[2]-means[1])
	for i, name := range signals {
		fmt.Fprintf(&out, " %s %g", name, tuned[i])
	}
	out.WriteByte('\n')
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func signalsOf(all []Measured) []string {
	names := map[string]bool{}
	for i := range all {
		for _, n := range all[i].Notes {
			for name := range n.Values {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func measuredSets(all []Measured, signals []string) []measuredSet {
	by := map[string]*measuredSet{}
	for i := range all {
		m := &all[i]
		name := m.Track
		if m.Dialogue {
			name += " by dialogue"
		}
		if by[name] == nil {
			by[name] = &measuredSet{name: name}
		}
		by[name].questions = append(by[name].questions, newMeasuredQuestion(m, signals))
	}
	var out []measuredSet
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[name])
	}
	return out
}

func newMeasuredQuestion(m *Measured, signals []string) measuredQuestion {
	q := measuredQuestion{golds: len(m.Gold)}
	largest := map[string]float64{}
	for _, n := range m.Notes {
		for _, name := range byLargest {
			largest[name] = max(largest[name], n.Values[name])
		}
	}
	for _, n := range m.Notes {
		row := make([]float64, len(signals))
		for i, name := range signals {
			row[i] = n.Values[name]
			if top, ok := largest[name]; ok {
				row[i] = max(row[i], 0) / cmp.Or(top, 1)
			}
		}
		q.values = append(q.values, row)
		q.prior = append(q.prior, n.Prior)
		q.gold = append(q.gold, slices.Contains(m.Gold, n.Turn))
	}
	for _, turn := range m.Found[:min(len(m.Found), leftOutHits)] {
		if slices.Contains(m.Gold, turn) {
			q.asIs += 1 / float64(q.golds)
		}
	}
	return q
}

// leftOutHits is how many hits count.
const leftOutHits = 10

// recall returns the mean recall@10 with some weights.
func (s *measuredSet) recall(weights []float64) float64 {
	var sum float64
	var scores []float64
	for i := range s.questions {
		q := &s.questions[i]
		scores = scores[:0]
		for n, row := range q.values {
			score := 0.0
			for j, x := range row {
				score += weights[j] * x
			}
			scores = append(scores, score*q.prior[n])
		}
		found := 0
		for n, gold := range q.gold {
			if !gold {
				continue
			}
			before := 0
			for o, score := range scores {
				if score > scores[n] || score == scores[n] && o < n {
					before++
				}
			}
			if before < leftOutHits {
				found++
			}
		}
		sum += float64(found) / float64(q.golds)
	}
	return sum / float64(len(s.questions))
}

// chooseWeights returns the weights with the best mean over the sets, one signal after the other.
func chooseWeights(sets []measuredSet, signals int) []float64 {
	weights := slices.Repeat([]float64{1}, signals)
	mean := func() (sum float64) {
		for i := range sets {
			sum += sets[i].recall(weights)
		}
		return sum
	}
	best := mean()
	for range leftOutPasses {
		before := best
		for i := range weights {
			chosen := weights[i]
			for _, w := range leftOutWeights {
				weights[i] = w
				if m := mean(); m > best {
					best, chosen = m, w
				}
			}
			weights[i] = chosen
		}
		if best == before {
			break
		}
	}
	return weights
}
