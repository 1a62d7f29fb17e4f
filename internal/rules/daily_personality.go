package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/text"
)

// dayPersonality derives traits, mood and reply strategy from the user's words of one day.
func dayPersonality(in memorybank.DayInput) memorybank.DayPersonality {
	var said []string
	questions, sentences := 0, 0
	for _, u := range in.Turns {
		if u.Role == memory.RoleUser {
			said = append(said, u.Content)
			for _, s := range text.Sentences(u.Content) {
				sentences++
				if strings.ContainsAny(s, "?？") {
					questions++
				}
			}
		}
	}
	body := strings.Join(said, "\n")
	counts := map[string]int{}
	words, plain := cueText(body)
	for _, t := range traitCues {
		for _, c := range t.cues {
			counts[t.name] += strings.Count(words, c)
			if isHan(c) {
				counts[t.name] += strings.Count(plain, c)
			}
		}
	}
	if sentences > 0 && 3*questions >= sentences && questions > 1 {
		counts["curious"] += questions
	}
	zh := in.Language == policy.Chinese
	out := memorybank.DayPersonality{Traits: []string{}}
	for _, name := range mostFrequent(counts, maxDayTraits) {
		out.Traits = append(out.Traits, traitName(name, zh))
	}
	mood := moodScore(words, plain)
	out.Mood = moodName(mood, zh)
	out.ReplyStrategy = replyStrategy(mood, mostFrequent(counts, 2), zh)
	return out
}

// cueText returns the folded words of s with a space on both sides of each, and s itself for
// scripts without spaces.
func cueText(s string) (words, plain string) {
	return " " + strings.Join(text.Words(s), "  ") + " ", s
}

// mostFrequent returns up to n keys, the highest count first. Ties are in alphabetical order.
func mostFrequent(counts map[string]int, n int) []string {
	var keys []string
	for k, c := range counts {
		if c > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return keys[:min(n, len(keys))]
}
