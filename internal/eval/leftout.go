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

// leftOutGroups are the measures whose weights are chosen: signals that measure alike have one weight, because data
// of one kind alone would choose among them, and data of another kind would pay for it. Of the signals of a group
// that some candidate has, the mean counts.
var leftOutGroups = []struct {
	name    string
	signals []string
}{
	{"words", []string{"lexical"}},
	{"words around", []string{"window", "session"}},
	{"vector", []string{"vector"}},
	{"late", []string{"late"}},
	{"late around", []string{"late_lead", "late_around"}},
}

// leftOutMarks have the weight 1. A set without them says nothing about it.
var leftOutMarks = []string{"attribute", "time", "opening", "verbatim"}

// leftOutWeights are what a weight may be. Of all combinations, the geometric mean of the leftOutBest best is chosen: a
// single best one is often best by chance.
var leftOutWeights = []float64{0.5, 1, 2}

const leftOutBest = 20

// leftOutLoss is how much recall@10 a set may lose when it does not take part in the choice.
const leftOutLoss = 0.015

// measuredQuestion is a question with its candidates as rows of numbers.
type measuredQuestion struct {
	values [][]float64 // by note, by group, then the sum of the marks
	prior  []float64
	gold   []bool
	golds  int     // also those that are no candidates
	asIs   float64 // recall@10 of the gateway
}

// measuredSet is a data set: its questions, or only those by dialogue.
type measuredSet struct {
	name      string
	questions []measuredQuestion
	tried     []float64 // recall@10 by combination
}

// of reports whether a set is of the same data as another: a dialogue and its last message are.
func (s *measuredSet) of(o *measuredSet) bool {
	a, _, _ := strings.Cut(s.name, " ")
	b, _, _ := strings.Cut(o.name, " ")
	return a == b
}

// LeftOut chooses one table of weights for all data sets, by the worst share of what is the best for each set alone: for
// each set on all others, and on all together. It prints what the weights find in the set that took no part, what
// those of all sets find in it, and what the gateway found. So it shows what a choice is worth on data that it did not see.
// It is an error when a set loses more than leftOutLoss by that.
func LeftOut(w io.Writer, all []Measured) error {
	sets := measuredSets(all)
	if len(sets) < 2 {
		return fmt.Errorf("leaving one out needs two data sets; there are %d", len(sets))
	}
	tried := combinations(len(leftOutGroups))
	for i := range sets {
		for _, weights := range tried {
			sets[i].tried = append(sets[i].tried, sets[i].recall(weights))
		}
	}
	tuned := chooseWeights(sets, tried)
	var out strings.Builder
	out.WriteString("| recall@10 | questions | as it is | weights of all sets | weights of the others | loss |\n|---|---|---|---|---|---|\n")
	var means [3]float64
	var lost []string
	for i := range sets {
		s := &sets[i]
		var others []measuredSet
		for j := range sets {
			if !s.of(&sets[j]) {
				others = append(others, sets[j])
			}
		}
		if len(others) == 0 {
			return fmt.Errorf("leaving one out needs two data sets; there is only %s", s.name)
		}
		var asIs float64
		for _, q := range s.questions {
			asIs += q.asIs / float64(len(s.questions))
		}
		row := [3]float64{asIs, s.recall(tuned), s.recall(chooseWeights(others, tried))}
		fmt.Fprintf(&out, "| %s | %d | %.3f | %.3f | %.3f | %+.3f |\n", s.name, len(s.questions), row[0], row[1], row[2], row[2]-row[1])
		if row[1]-row[2] > leftOutLoss {
			lost = append(lost, s.name)
		}
		for j := range row {
			means[j] += row[j] / float64(len(sets))
		}
	}
	fmt.Fprintf(&out, "| mean, each once | | %.3f | %.3f | %.3f | %+.3f |\n\nweights of all sets:", means[0], means[1], means[2], means[2]-means[1])
	for i, g := range leftOutGroups {
		fmt.Fprintf(&out, " %s %.2f", g.name, tuned[i])
	}
	out.WriteByte('\n')
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if len(lost) > 0 {
		return fmt.Errorf("more than %g is lost when these are left out: %s", leftOutLoss, strings.Join(lost, ", "))
	}
	return nil
}

// combinations returns all lists of n weights.
func combinations(n int) [][]float64 {
	if n == 0 {
		return [][]float64{nil}
	}
	var out [][]float64
	for _, first := range leftOutWeights {
		for _, rest := range combinations(n - 1) {
			out = append(out, append([]float64{first}, rest...))
		}
	}
	return out
}

func measuredSets(all []Measured) []measuredSet {
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
		by[name].questions = append(by[name].questions, newMeasuredQuestion(m))
	}
	var out []measuredSet
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[name])
	}
	return out
}

func newMeasuredQuestion(m *Measured) measuredQuestion {
	q := measuredQuestion{golds: len(m.Gold)}
	largest, has := map[string]float64{}, map[string]bool{}
	for _, n := range m.Notes {
		for _, name := range byLargest {
			largest[name] = max(largest[name], n.Values[name])
		}
		for name, x := range n.Values {
			has[name] = has[name] || x != 0
		}
	}
	for _, n := range m.Notes {
		value := func(name string) float64 {
			if top, ok := largest[name]; ok {
				return max(n.Values[name], 0) / cmp.Or(top, 1)
			}
			return n.Values[name]
		}
		row := make([]float64, len(leftOutGroups)+1)
		for i, g := range leftOutGroups {
			known := 0
			for _, name := range g.signals {
				if has[name] {
					row[i] += value(name)
					known++
				}
			}
			row[i] /= float64(max(known, 1))
		}
		for _, name := range leftOutMarks {
			row[len(leftOutGroups)] += value(name)
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
			score := row[len(weights)]
			for j, weight := range weights {
				score += weight * row[j]
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

// chooseWeights returns the mean of the combinations of which the worst share of a set's own best is highest.
func chooseWeights(sets []measuredSet, tried [][]float64) []float64 {
	worst := make([]float64, len(tried))
	order := make([]int, len(tried))
	for i := range tried {
		order[i], worst[i] = i, math.Inf(1)
		for j := range sets {
			if best := slices.Max(sets[j].tried); best > 0 {
				worst[i] = min(worst[i], sets[j].tried[i]/best)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(worst[b], worst[a]) })
	out := make([]float64, len(tried[0]))
	for _, i := range order[:leftOutBest] {
		for j, w := range tried[i] {
			out[j] += math.Log(w) / leftOutBest
		}
	}
	for j := range out {
		out[j] = math.Exp(out[j])
	}
	return out
}
