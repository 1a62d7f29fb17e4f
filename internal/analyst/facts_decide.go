package analyst

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
)

// decide adds every fact, unless a memory has the same words of the same person to the same question. Nothing that is
// known changes: what ends what cannot be told without a model, and what was said later comes first where it is read.
func decide(in mem0.DecideInput) mem0.FactDecision {
	said := undated(in.Fact)
	for i := range in.Similar {
		same := &in.Similar[i]
		if undated(same.Content) == said && !saidOtherwiseSince(same, in.Similar) {
			return mem0.FactDecision{Operation: mem0.OpNoop, Target: &same.Handle}
		}
	}
	return mem0.FactDecision{Operation: mem0.OpAdd}
}

// leastRelated is the cosine from which two memories may be about one thing.
const leastRelated = 0.7

// saidOtherwiseSince reports whether a memory about the same things is newer than one that is stated again: who lived in
// Berlin, then in Bern, and lives in Berlin again, must have it said last.
func saidOtherwiseSince(same *memory.Described, all []memory.Described) bool {
	known := map[string]bool{}
	for _, t := range termSet(quoted(same.Content)) {
		known[t] = true
	}
	for i := range all {
		other := &all[i]
		if !other.Time.After(same.Time) || undated(other.Content) == undated(same.Content) {
			continue
		}
		if other.Score >= leastRelated {
			return true
		}
		shared := 0
		for _, t := range termSet(quoted(other.Content)) {
			if known[t] {
				shared++
			}
		}
		if shared > 0 && 2*shared >= len(known) {
			return true
		}
	}
	return false
}

// undated returns the form in which facts are compared: folded, without the date of a quotation, with single spaces
// and without marks at the end of the words. Signs stay, since they may be the verb.
func undated(fact string) string {
	words, frame := quoted(fact), ""
	if len(words) < len(fact) {
		frame = strings.TrimSuffix(fact, saidMark+words+closeMark)
		frame = frame[:max(0, len(frame)-len("2006-01-02"))] + saidMark
	}
	words = strings.TrimRightFunc(words, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) })
	return text.Fold(oneLine(frame + words))
}

// summarize chooses the memories or the steps that say most, as they are, in their order.
func summarize(in mem0.SummarizeInput) mem0.Summary {
	return mem0.Summary{Summary: strongestWhole(memoriesOf(&in), in.Chars)}
}

// memoriesOf returns what a summary chooses from: the memories, or the old summary without what was removed and with
// what was added.
func memoriesOf(in *mem0.SummarizeInput) []string {
	old := in.Old
	var added []string
	for _, c := range in.Changes {
		if removed, ok := strings.CutPrefix(c, "- "); ok {
			old = strings.ReplaceAll(old, oneLine(removed), "")
		} else {
			added = append(added, strings.TrimPrefix(c, "+ "))
		}
	}
	var out []string
	for _, s := range strings.SplitAfter(oneLine(old), closeMark+" ") {
		out = append(out, strings.TrimSpace(s))
	}
	return append(append(out, in.Memories...), added...)
}

// strongestWhole joins the texts that say most within so many characters, each whole, in their order. A text says the
// more the rarer its terms are among the texts, for its length; of equal ones the later.
func strongestWhole(texts []string, chars int) string {
	if chars <= 0 {
		chars = defaultChars
	}
	terms := make([][]string, len(texts))
	seenIn := map[string]float64{}
	for i, t := range texts {
		terms[i] = termSet(quoted(t))
		for _, w := range terms[i] {
			seenIn[w]++
		}
	}
	score := func(i int) float64 {
		sum := 0.0
		for _, w := range terms[i] {
			sum += math.Log(1 + float64(len(texts))/seenIn[w])
		}
		return sum / math.Sqrt(float64(utf8.RuneCountInString(texts[i]))+20)
	}
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(score(b), score(a)), b-a) })
	taken := map[int]bool{}
	covered := map[string]bool{}
	for _, i := range order {
		size := utf8.RuneCountInString(texts[i]) + 1
		if texts[i] == "" || size > chars+1 || repeats(terms[i], covered) {
			continue
		}
		taken[i], chars = true, chars-size
		for _, w := range terms[i] {
			covered[w] = true
		}
	}
	var out []string
	for i, t := range texts {
		if taken[i] {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return summary(texts, chars)
	}
	return strings.Join(out, " ")
}
