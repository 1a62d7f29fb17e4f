package analyst

import (
	"slices"

	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
)

// layerCalls are the calls of the three layers.
func layerCalls() map[string]answerer {
	return map[string]answerer{
		layered.CallTriples:  answer(findTriples),
		layered.CallAbstract: answer(abstract),
	}
}

// findTriples finds what the published phrases state.
func findTriples(in layered.TriplesInput) layered.TriplesAnswer {
	return layered.TriplesAnswer{Triples: layered.RuleTriples(in)}
}

// abstract quotes the sentences of items of one topic that say most. An item that shares no term with another is
// no source.
func abstract(in layered.AbstractInput) layered.Abstract {
	out := layered.Abstract{Sources: []int{}}
	terms := make([][]string, len(in.Items))
	for i := range in.Items {
		terms[i] = termSet(in.Items[i].Content)
	}
	var texts []string
	for i := range in.Items {
		shares := func(other []string) bool { return sharedShare(terms[i], other) > 0 }
		if slices.ContainsFunc(terms[:i], shares) || slices.ContainsFunc(terms[i+1:], shares) {
			out.Sources = append(out.Sources, i)
			texts = append(texts, in.Items[i].Content)
		}
	}
	chars := in.Chars
	if chars <= 0 {
		chars = layered.MaxAbstractChars
	}
	out.Summary = summary(texts, chars)
	return out
}
