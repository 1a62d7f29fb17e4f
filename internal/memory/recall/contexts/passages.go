package contexts

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
	// wholeTokens is the length up to which a hit is never cut while other hits wait.
	wholeTokens = 2 * passageTokens
	// sentenceTokens bounds a passage when no passage of passageTokens fits.
	sentenceTokens = passageTokens / 4
	// passageBytes bounds a passage that is one very long word.
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

// passages is a text that is split into passages, of which some are shown.
type passages struct {
	content string
	spans   []text.Span
	ranked  []int // indexes of spans, best first; nil before rank
}

func newPassages(content string, maxTokens int) *passages {
	p := &passages{content: content}
	for _, s := range text.Passages(content, maxTokens) {
		for s.End-s.Start > passageBytes {
			at := s.Start + passageBytes
			for !utf8.RuneStart(content[at]) {
				at--
			}
			p.spans = append(p.spans, text.Span{Start: s.Start, End: at})
			s.Start = at
		}
		p.spans = append(p.spans, s)
	}
	return p
}

// rank orders the passages. The first one is the passage that the search found or, without one, the
// passage that shares most terms with the query. The others follow by the terms that they share,
// then by their distance to the first. A term counts the more, the fewer passages have it.
func (p *passages) rank(q queryTerms, best *text.Span) {
	terms := make([]map[string]bool, len(p.spans))
	passagesWith := map[string]float64{}
	for i, s := range p.spans {
		terms[i] = map[string]bool{}
		for _, t := range text.Terms(p.content[s.Start:s.End]) {
			if q[t] && !terms[i][t] {
				terms[i][t] = true
				passagesWith[t]++
			}
		}
	}
	shared := make([]float64, len(p.spans))
	for i := range terms {
		for t := range terms[i] {
			shared[i] += 1 / passagesWith[t]
		}
	}
	first := 0
	for i := range p.spans {
		if shared[i] > shared[first] {
			first = i
		}
	}
	if best != nil {
		if i := slices.IndexFunc(p.spans, func(s text.Span) bool { return s.Start <= best.Start && best.Start < s.End }); i >= 0 {
			first = i
		}
	}
	p.ranked = make([]int, len(p.spans))
	for i := range p.ranked {
		p.ranked[i] = i
	}
	distance := func(i int) int { return max(i-first, first-i) }
	slices.SortFunc(p.ranked, func(a, b int) int {
		if a == first || b == first {
			return cmp.Compare(distance(a), distance(b))
		}
		return cmp.Or(cmp.Compare(shared[b], shared[a]), cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b))
	})
}

// ellipsis marks a gap in a text.
const ellipsis = "…"

// best returns the n best passages in the order of the text, with an ellipsis at each gap.
func (p *passages) best(n int) string {
	if n >= len(p.spans) {
		return p.content
	}
	chosen := slices.Sorted(slices.Values(p.ranked[:n]))
	var b strings.Builder
	next := 0 // the passage that would follow without a gap
	for i := 0; i < len(chosen); {
		run := i
		for run+1 < len(chosen) && chosen[run+1] == chosen[run]+1 {
			run++
		}
		if chosen[i] > next {
			b.WriteString(ellipsis + " ")
		}
		b.WriteString(p.content[p.spans[chosen[i]].Start:p.spans[chosen[run]].End])
		b.WriteString(" ")
		next, i = chosen[run]+1, run+1
	}
	if next < len(p.spans) {
		b.WriteString(ellipsis)
	}
	return strings.TrimSpace(b.String())
}

// truncate returns the start of s: at most n runes and an ellipsis. It cuts between words where
// there are spaces, and never within a character of several runes.
func truncate(s string, n int) string {
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
