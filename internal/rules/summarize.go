package rules

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// defaultChars bounds a summary whose call sets no bound.
const defaultChars = 1200

// summarize puts the most telling sentences of the memories together. With an
// old summary it takes out what was removed and adds what is new.
func summarize(in mem0.SummarizeInput) mem0.Summary {
	list := slices.Clone(in.Memories)
	if in.Old != "" || len(in.Changes) > 0 {
		list = append(text.Sentences(in.Old), list...)
		for _, c := range in.Changes {
			sign, body, _ := strings.Cut(c, " ")
			switch sign {
			case "+":
				list = append(list, body)
			case "-":
				list = removeSentences(list, body)
			}
		}
	}
	return mem0.Summary{Summary: extractiveSummary(list, in.Chars, in.Language)}
}

// removeSentences drops the sentences of a text from a list.
func removeSentences(list []string, body string) []string {
	gone := map[string]bool{text.Fold(trimSentenceEnd(body)): true}
	for _, s := range text.Sentences(body) {
		gone[text.Fold(trimSentenceEnd(s))] = true
	}
	return slices.DeleteFunc(list, func(s string) bool { return gone[text.Fold(trimSentenceEnd(s))] })
}

func trimSentenceEnd(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".。!！ ") }

// extractiveSummary chooses sentences of a list, each once, until chars are full, and
// leaves them in their order. A sentence counts by the weight of what it says
// that those chosen before it do not say, so that the text is dense; of two
// alike the later one is taken.
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
				all[at].place = len(all) + 1 // said again: it is as new as the last
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
	said := map[string]bool{}
	var chosen []candidate
	left := chars
	for _, c := range ranked {
		news := 0
		for _, t := range c.terms {
			if !said[t] {
				news++
			}
		}
		n := utf8.RuneCountInString(c.text) + 1
		if n > left+1 || len(c.terms) > 0 && 3*news < len(c.terms) {
			continue
		}
		for _, t := range c.terms {
			said[t] = true
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
