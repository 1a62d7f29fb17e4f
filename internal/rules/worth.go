package rules

import (
	_ "embed" // the weights
	"strconv"
	"strings"
	"sync"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file decides whether a fact that the rules found is worth keeping. Rules say what a sentence says; whether it
// lasts, and whether it is understood without the conversation, is a matter of many small signs. A logistic
// regression weighs them (worth_features.go). Its weights are learned from facts that were judged by hand:
// docs/reviews/facts-filter.md says how, and how well.

// candidate is a fact that rules took from an utterance.
type candidate struct {
	fact    string
	speaker string // how the fact names the speaker
	said    *saidTraits
	promise bool // of the assistant
	answer  bool // to a question
	excerpt bool // of what no rule understands
}

//go:embed worth.tsv
var worthTable string

// excerptThreshold is the least probability with which an excerpt is kept: it is longer to read than a fact.
const excerptThreshold = 0.5

// worthModel holds the weight of each feature, and from which value on a fact is kept.
type worthModel struct {
	weights   map[string]float64
	threshold float64
}

var loadWorth = sync.OnceValue(func() *worthModel {
	m, err := parseWorth(worthTable)
	if err != nil {
		panic("rules: the embedded weights cannot be read: " + err.Error())
	}
	return m
})

// parseWorth reads a table of weights: a feature and its weight in thousandths on each line.
func parseWorth(table string) (*worthModel, error) {
	m := &worthModel{weights: map[string]float64{}}
	for line := range strings.Lines(table) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			return nil, err
		}
		if name == "threshold" {
			m.threshold = float64(n) / 1000
			continue
		}
		m.weights[name] = float64(n) / 1000
	}
	return m, nil
}

// probability returns how likely a candidate is worth keeping.
func (m *worthModel) probability(c *candidate) float64 {
	sum := 0.0
	c.features(func(name string, value float64) { sum += m.weights[name] * value })
	return logistic(sum)
}

// keeps reports whether a candidate is worth keeping.
func (m *worthModel) keeps(c *candidate) bool {
	if keep, decided := c.byRule(); decided {
		return keep
	}
	if c.excerpt {
		return m.probability(c) >= excerptThreshold
	}
	return m.probability(c) >= m.threshold
}

// byRule decides about the candidates that need no weights. What answers a question, what the assistant promised or was
// told to do from now on, what ends something that may be known, and what somebody is in plain words, is kept. Of a text
// that is not the speaker's own, nothing is.
func (c *candidate) byRule() (keep, decided bool) {
	switch {
	case c.answer || c.promise || standing.MatchString(c.fact):
		return true, true
	case c.said.foreign:
		return false, true
	case !c.said.pasted && !c.excerpt && (endsSomething.MatchString(c.fact) || plainState.MatchString(c.fact)):
		return true, true
	}
	return false, false
}

var (
	// plainState matches what somebody is, in words that are used for little else.
	plainState = regexp.MustCompile(`(?i)\b(?:lives? (?:in|at|on|with|near)|was born|(?:is|are) allergic|works (?:as|at|for)|teaches|name is|is (?:called|named)|(?:is|got|gets|getting|been) (?:married|engaged|pregnant|vegan|vegetarian)|diabetes|asthma|grew up|graduated)\b|出生|住在|过敏|糖尿病|毕业|名字叫|结婚|怀孕`)
	// standing matches an instruction to the assistant that holds from now on.
	standing = regexp.MustCompile(`asks the assistant (?:to|not to|never to) |要求助手|希望别人叫`)
	// endsSomething matches what may end something that another fact says.
	endsSomething = regexp.MustCompile(`(?i)\b(?:no longer|any ?more|gave up|given up|quit|quits|stopped|cancel\p{L}*|sold|resigned|retired|divorced|separated|broke up|split up|moved|dropped|postponed|rescheduled|unsubscribed)\b|不再|戒|辞职|取消|放弃|分手|离婚|搬|改到|推迟|退出|卖掉|卖了`)
)
