package analyst

import (
	"slices"
	"strings"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/quote"
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
	for _, t := range termSet(quote.Words(same.Content)) {
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
		for _, t := range termSet(quote.Words(other.Content)) {
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
	q, ok := quote.Parse(fact)
	if !ok {
		q.Words = fact
	}
	words := strings.TrimRightFunc(q.Words, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) })
	if !ok {
		return text.Fold(oneLine(words))
	}
	q.Day, q.Words = "", words
	return text.Fold(oneLine(q.String()))
}

// summarize chooses the memories or the steps that say most, as they are: steps in their order, dated quotations by the day, the newest
// first. Nothing is retired without a model, so the later of two that contradict each other is read first, and cut last.
func summarize(in mem0.SummarizeInput) mem0.Summary {
	all := memoriesOf(&in)
	slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(dayOf(a), dayOf(b)) })
	chosen := wholeOf(all, in.Chars)
	slices.SortStableFunc(chosen, func(a, b string) int { return strings.Compare(dayOf(b), dayOf(a)) })
	return mem0.Summary{Summary: strings.Join(chosen, " ")}
}

// dayOf returns the day of a quotation; "" without one.
func dayOf(memory string) string {
	q, _ := quote.Parse(memory)
	return q.Day
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
	for _, s := range strings.SplitAfter(oneLine(old), quote.End+" ") {
		out = append(out, strings.TrimSpace(s))
	}
	return append(append(out, in.Memories...), added...)
}
