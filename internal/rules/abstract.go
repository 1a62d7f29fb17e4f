package rules

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
	"github.com/slipboxhq/slipbox/internal/text"
)

// takeTriples returns the triples of what a person says.
func takeTriples(in layered.TriplesInput) layered.TriplesAnswer {
	return layered.TriplesAnswer{Triples: layered.RuleTriples(in)}
}

// abstract joins the most informative sentences of items of one topic. An item that shares no term with
// another is no source.
func abstract(in layered.AbstractInput) layered.Abstract {
	out := layered.Abstract{Sources: []int{}}
	terms := make([]map[string]bool, len(in.Items))
	for i := range in.Items {
		terms[i] = stringSet(text.Terms(in.Items[i].Content))
	}
	var list []string
	for i := range in.Items {
		for j := range in.Items {
			if i != j && sharesTerm(terms[i], terms[j]) {
				out.Sources = append(out.Sources, i)
				list = append(list, in.Items[i].Content)
				break
			}
		}
	}
	chars := in.Chars
	if chars <= 0 {
		chars = layered.MaxAbstractChars
	}
	out.Summary = extractiveSummary(list, chars, languageOf(strings.Join(list, "\n")))
	return out
}

func sharesTerm(a, b map[string]bool) bool {
	for t := range a {
		if b[t] {
			return true
		}
	}
	return false
}
