package analyst

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
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

// sameTopic is the share of the terms of the shorter of two items that the other has, if both are about one thing.
const sameTopic = 0.25

// abstract quotes of each item the sentence that says most. An item that shares few terms with each other one, or states
// nothing, is not a source.
func abstract(in layered.AbstractInput) layered.Abstract {
	out := layered.Abstract{Sources: []int{}}
	terms := make([][]string, len(in.Items))
	for i := range in.Items {
		terms[i] = termSet(in.Items[i].Content)
	}
	said := map[int]string{}
	for i := range in.Items {
		shares := func(other []string) bool { return sharedShare(terms[i], other) >= sameTopic }
		if !slices.ContainsFunc(terms[:i], shares) && !slices.ContainsFunc(terms[i+1:], shares) {
			continue
		}
		if most := strongest(stated(memory.Utterance{Content: in.Items[i].Content}), 1, maxEventChars); len(most) > 0 {
			out.Sources = append(out.Sources, i)
			said[i] = most[0]
		}
	}

	room := cmp.Or(in.Chars, layered.MaxAbstractChars)/max(1, len(out.Sources)) - 1
	lines := make([]string, len(out.Sources))
	for i, source := range out.Sources {
		item := &in.Items[source]
		q := quotation{words: said[source]}
		lines[i] = q.frame(&memory.Utterance{Role: item.Role, Name: item.Name, Time: item.Time}, room)
	}
	out.Summary = strings.Join(lines, " ")
	return out
}
