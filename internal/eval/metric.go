package eval

import (
	"fmt"
	"math"
	"slices"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/eval/reference"
)

// Tokens returns the number of tokens of a text: runs of ASCII letters and digits, and every other
// rune except spaces. For English dialogue that is within 1% of a byte-pair encoding.
func Tokens(text string) int {
	n, in := 0, false
	for _, r := range text {
		alnum := r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
		if (alnum && !in) || (!alnum && !unicode.IsSpace(r)) {
			n++
		}
		in = alnum
	}
	return n
}

// depths are the numbers of hits k of recall@k and cost@k.
var depths = []int{5, 10, 20, 50}

// cutOff is the last rank that counts.
const cutOff = 50

// metrics returns the metrics of one ranked list, in the order of a Score:
//
//   - recall@k: the share of gold turns among the first k; all@k, any@k: 1 if all, or at
//     least one, are among the first k.
//   - MRR: 1 / rank of the first gold turn, 0 if it is not among the first 50.
//   - nDCG@10, with a gain of 1 per gold turn.
//   - tokens@k: tokens of the first k rendered turns; cost@k: the same as a share of the
//     whole conversation.
//   - recall@Bt: recall of the first turns that fit in B tokens, for each budget B.
//   - answer@10: the share of the gold answer's terms that occur in the first ten.
func metrics(budgets []int) []string {
	var out []string
	for _, name := range []string{"recall", "all", "any"} {
		for _, k := range depths {
			out = append(out, fmt.Sprintf("%s@%d", name, k))
		}
	}
	out = append(out, "MRR", "nDCG@10")
	for _, name := range []string{"tokens", "cost"} {
		for _, k := range depths {
			out = append(out, fmt.Sprintf("%s@%d", name, k))
		}
	}
	for _, b := range budgets {
		out = append(out, budgetMetric(b))
	}
	return append(out, answerMetric)
}

const answerMetric = "answer@10"

// sessionMetric is the share of the gold sessions that the first ten turns are of.
const sessionMetric = "sessions@10"

// Metrics returns the metrics of a search in the data set.
func (d *Dataset) Metrics() []string {
	out := metrics(d.Budgets)
	if d.Sessions {
		out = append(out, sessionMetric)
	}
	return out
}

// sessionRecall returns the share of sessions that the first ten turns are of; NaN without sessions.
func (s *Scale) sessionRecall(ranked, sessions []string) float64 {
	if len(sessions) == 0 {
		return math.NaN()
	}
	n := 0
	for _, session := range sessions {
		if slices.ContainsFunc(ranked[:min(10, len(ranked))], func(id string) bool { return s.session[id] == session }) {
			n++
		}
	}
	return float64(n) / float64(len(sessions))
}

func budgetMetric(b int) string { return fmt.Sprintf("recall@%dt", b) }

// A Score holds the metrics of one ranked list, in the order of metrics. It is NaN where a metric
// does not apply: the share of an answer without terms.
type Score []float64

// Scale measures ranked lists of one conversation.
type Scale struct {
	budgets []int
	tokens  map[string]int // by turn
	total   int
	terms   map[string]map[string]bool // by turn
	session map[string]string          // by turn
}

// newScale counts the tokens and terms of a conversation's turns.
func newScale(turns []Turn, budgets []int) *Scale {
	s := &Scale{budgets: budgets, tokens: make(map[string]int, len(turns)), terms: make(map[string]map[string]bool, len(turns)), session: make(map[string]string, len(turns))}
	for _, t := range turns {
		s.tokens[t.ID] = Tokens(t.Rendered)
		s.total += s.tokens[t.ID]
		s.session[t.ID] = t.Session
		s.terms[t.ID] = map[string]bool{}
		for _, term := range reference.Stemmed(t.Rendered) {
			s.terms[t.ID][term] = true
		}
	}
	return s
}

// Measure scores a ranked list of distinct turns against gold turns, which must not be empty, and
// the words of the answer.
func (s *Scale) Measure(ranked, gold []string, answer string) Score {
	rank := rankByTurn(ranked)
	within := func(k int) float64 { return recallAt(rank, gold, k) }
	var recall, all, anyOf, tokens, cost Score
	for _, k := range depths {
		r := within(k)
		recall = append(recall, r)
		all = append(all, float64(count(r == 1)))
		anyOf = append(anyOf, float64(count(r > 0)))
		n := 0
		for _, id := range ranked[:min(k, len(ranked))] {
			n += s.tokens[id]
		}
		tokens = append(tokens, float64(n))
		cost = append(cost, float64(n)/float64(max(s.total, 1)))
	}
	out := append(append(append(Score{}, recall...), all...), anyOf...)
	out = append(out, reciprocalRank(rank, gold), ndcg10(rank, gold))
	out = append(append(out, tokens...), cost...)
	for _, b := range s.budgets {
		out = append(out, within(s.fit(ranked, b)))
	}
	return append(out, s.answered(ranked, answer))
}

// rankByTurn returns the rank of each turn, from 1. A repeated turn has its best rank.
func rankByTurn(ranked []string) map[string]int {
	out := make(map[string]int, len(ranked))
	for i, id := range ranked {
		if _, seen := out[id]; !seen {
			out[id] = i + 1
		}
	}
	return out
}

// recallAt returns the share of gold turns with a rank of at most k.
func recallAt(rank map[string]int, gold []string, k int) float64 {
	n := 0
	for _, g := range gold {
		if p := rank[g]; p > 0 && p <= k {
			n++
		}
	}
	return float64(n) / float64(len(gold))
}

// fit returns how many of the first turns fit a budget of tokens.
func (s *Scale) fit(ranked []string, budget int) int {
	for i, id := range ranked {
		if budget -= s.tokens[id]; budget < 0 {
			return i
		}
	}
	return len(ranked)
}

func reciprocalRank(rank map[string]int, gold []string) float64 {
	best := 0
	for _, g := range gold {
		if p := rank[g]; p > 0 && p <= cutOff && (best == 0 || p < best) {
			best = p
		}
	}
	if best == 0 {
		return 0
	}
	return 1 / float64(best)
}

// ndcg10 returns nDCG@10, normalized by the best possible list.
func ndcg10(rank map[string]int, gold []string) float64 {
	var gain, ideal float64
	for i, g := range gold {
		if i < 10 {
			ideal += 1 / math.Log2(float64(i+2))
		}
		if p := rank[g]; p > 0 && p <= 10 {
			gain += 1 / math.Log2(float64(p+1))
		}
	}
	return gain / ideal
}

// answered returns the share of the answer's distinct terms in the first ten turns; NaN when the
// answer has no terms.
func (s *Scale) answered(ranked []string, answer string) float64 {
	return termShare(answer, func(term string) bool {
		return slices.ContainsFunc(ranked[:min(10, len(ranked))], func(id string) bool { return s.terms[id][term] })
	})
}

// termShare returns the share of the answer's distinct terms for which there returns true; NaN when
// the answer has no terms.
func termShare(answer string, there func(term string) bool) float64 {
	terms := map[string]bool{}
	n := 0
	for _, term := range reference.Stemmed(answer) {
		if !terms[term] && there(term) {
			n++
		}
		terms[term] = true
	}
	if len(terms) == 0 {
		return math.NaN()
	}
	return float64(n) / float64(len(terms))
}
