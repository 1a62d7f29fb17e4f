package rules

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
)

// defaultChars is the number of characters of a summary if the call sets no bound.
const defaultChars = 1200

// summarize joins the most informative sentences of the memories. If there is an old summary, it
// removes and adds sentences as the changes say.
func summarize(in mem0.SummarizeInput) mem0.Summary {
	list := withoutExcerpts(in.Memories)
	if in.Old != "" || len(in.Changes) > 0 {
		list = append(text.Sentences(in.Old), list...)
		for _, c := range in.Changes {
			sign, body, _ := strings.Cut(c, " ")
			switch {
			case isExcerpt(body):
			case sign == "+":
				list = append(list, body)
			case sign == "-":
				list = removeSentences(list, body)
			}
		}
	}
	return mem0.Summary{Summary: extractiveSummary(list, in.Chars, in.Language)}
}

// removeSentences removes the sentences of a text from a list.
func removeSentences(list []string, body string) []string {
	removed := map[string]bool{text.Fold(trimSentenceEnd(body)): true}
	for _, s := range text.Sentences(body) {
		removed[text.Fold(trimSentenceEnd(s))] = true
	}
	return slices.DeleteFunc(list, func(s string) bool { return removed[text.Fold(trimSentenceEnd(s))] })
}

func trimSentenceEnd(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".。!！ ") }

// extractiveSummary chooses sentences of a list, each once, up to a number of characters, and
// keeps their order. A sentence scores by the weight of its terms for its length; later ones
// score a little higher. The highest scores are taken first. A sentence is skipped if fewer than
// a third of its terms are new, so that the summary does not repeat itself.
func extractiveSummary(list []string, chars int, lang policy.Language) string {
	if chars <= 0 {
		chars = defaultChars
	}
	type candidate struct {
		place int
		text  string
		terms []string
		score float64
	}
	var all []candidate
	weight := map[string]float64{}
	seen := map[string]int{}
	for _, item := range list {
		for _, s := range text.Sentences(item) {
			s = strings.Join(strings.Fields(s), " ")
			if s == "" || utf8.RuneCountInString(s) > chars {
				continue
			}
			key := text.Fold(trimSentenceEnd(s))
			if at, ok := seen[key]; ok {
				all[at].place = len(all) + 1 // a repeat makes it as recent as the newest sentence
				continue
			}
			c := candidate{place: len(all), text: s, terms: dedupeFold(text.Terms(s))}
			for _, t := range c.terms {
				weight[t]++
			}
			seen[key] = len(all)
			all = append(all, c)
		}
	}
	for i := range all {
		for _, t := range all[i].terms {
			all[i].score += 1 + math.Log(weight[t])
		}
		all[i].score /= math.Sqrt(float64(utf8.RuneCountInString(all[i].text)) + 20)
		all[i].score *= 1 + 0.25*float64(all[i].place)/float64(len(all))
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.place, a.place)) })
	covered := map[string]bool{}
	var chosen []candidate
	left := chars
	for _, c := range ranked {
		newTerms := 0
		for _, t := range c.terms {
			if !covered[t] {
				newTerms++
			}
		}
		n := utf8.RuneCountInString(c.text) + 1
		if n > left+1 || len(c.terms) > 0 && 3*newTerms < len(c.terms) {
			continue
		}
		for _, t := range c.terms {
			covered[t] = true
		}
		chosen = append(chosen, c)
		left -= n
	}
	if len(chosen) == 0 {
		return text.Shorten(text.ExtractiveSentence(strings.Join(list, "\n")), chars) // every sentence is too long
	}
	slices.SortStableFunc(chosen, func(a, b candidate) int { return cmp.Compare(a.place, b.place) })
	parts := make([]string, len(chosen))
	for i, c := range chosen {
		parts[i] = c.text
	}
	if lang == policy.Chinese {
		return strings.Join(parts, "")
	}
	return strings.Join(parts, " ")
}
