package recall

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/text"
)

const (
	// passageTokens bounds a passage, as the ranking of long texts does.
	passageTokens = 100
	// wholeTokens is the length up to which a text is never cut while others
	// wait for a place.
	wholeTokens = 2 * passageTokens
	// sentenceTokens bounds a passage where not even one of the others fits.
	sentenceTokens = passageTokens / 4
	// passageBytes bounds a passage where it is one endless word.
	passageBytes = 2048
)

// queryTerms are the index terms of a query.
type queryTerms map[string]bool

func newQueryTerms(words string) queryTerms {
	out := queryTerms{}
	for _, t := range text.Terms(words) {
		out[t] = true
	}
	return out
}

// cutting is a text in passages, of which some are shown.
type cutting struct {
	content string
	spans   []text.Span
	order   []int // places in spans, the best first; nil until the text is cut
}

func newCutting(content string, limit int) *cutting {
	c := &cutting{content: content}
	for _, s := range text.Passages(content, limit) {
		for s.End-s.Start > passageBytes {
			at := s.Start + passageBytes
			for !utf8.RuneStart(content[at]) {
				at--
			}
			c.spans = append(c.spans, text.Span{Start: s.Start, End: at})
			s.Start = at
		}
		c.spans = append(c.spans, s)
	}
	return c
}

// rank orders the passages: first the one that the search found, or else the
// one that shares most with the query, then by what they share and by how far
// they are from the first. A term that few passages have counts for more.
func (c *cutting) rank(q queryTerms, best *text.Span) {
	terms := make([]map[string]bool, len(c.spans))
	having := map[string]float64{}
	for i, s := range c.spans {
		terms[i] = map[string]bool{}
		for _, t := range text.Terms(c.content[s.Start:s.End]) {
			if q[t] && !terms[i][t] {
				terms[i][t] = true
				having[t]++
			}
		}
	}
	shared := make([]float64, len(c.spans))
	for i := range terms {
		for t := range terms[i] {
			shared[i] += 1 / having[t]
		}
	}
	first := 0
	for i := range c.spans {
		if shared[i] > shared[first] {
			first = i
		}
	}
	if best != nil {
		if i := slices.IndexFunc(c.spans, func(s text.Span) bool { return s.Start <= best.Start && best.Start < s.End }); i >= 0 {
			first = i
		}
	}
	c.order = make([]int, len(c.spans))
	for i := range c.order {
		c.order[i] = i
	}
	distance := func(i int) int { return max(i-first, first-i) }
	slices.SortFunc(c.order, func(a, b int) int {
		if a == first || b == first {
			return cmp.Compare(distance(a), distance(b))
		}
		return cmp.Or(cmp.Compare(shared[b], shared[a]), cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b))
	})
}

// ellipsis stands where something was left out.
const ellipsis = "…"

// best gives the n best passages in the order of the text, with an ellipsis at
// each gap.
func (c *cutting) best(n int) string {
	if n >= len(c.spans) {
		return c.content
	}
	chosen := slices.Sorted(slices.Values(c.order[:n]))
	var b strings.Builder
	next := 0 // the passage that would go on without a gap
	for i := 0; i < len(chosen); {
		run := i
		for run+1 < len(chosen) && chosen[run+1] == chosen[run]+1 {
			run++
		}
		if chosen[i] > next {
			b.WriteString(ellipsis + " ")
		}
		b.WriteString(c.content[c.spans[chosen[i]].Start:c.spans[chosen[run]].End])
		b.WriteString(" ")
		next, i = chosen[run]+1, run+1
	}
	if next < len(c.spans) {
		b.WriteString(ellipsis)
	}
	return strings.TrimSpace(b.String())
}

// beginning gives the start of s, at most n runes and an ellipsis, ending
// between words where there are spaces and never within a character.
func beginning(s string, n int) string {
	end, space := 0, 0
	var before rune
	for i, r := range s {
		joined := unicode.IsMark(r) || r == zeroWidthJoiner || before == zeroWidthJoiner
		if !joined {
			end = i
			if unicode.IsSpace(r) {
				space = i
			}
		}
		if n == 0 {
			break
		}
		n--
		before = r
	}
	if space*2 > end {
		end = space
	}
	return strings.TrimSpace(s[:end]) + ellipsis
}

const zeroWidthJoiner = '\u200d'
