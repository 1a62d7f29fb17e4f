package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The bounds of days and portraits by rules.
const (
	maxDayEvents = 8
	maxDayTraits = 5
	maxEventLine = 240 // characters
)

// daySummary sums a day up by the most telling statements of the person, or,
// where nothing can be retold, by what was said word for word.
func daySummary(in memorybank.DayInput) memorybank.DaySummary {
	out := memorybank.DaySummary{Events: []string{}}
	facts := dayFacts(in)
	out.Summary = extractive(facts, in.Chars, in.Language)
	for _, f := range facts {
		if len(out.Events) == maxDayEvents {
			break
		}
		if utf8.RuneCountInString(f) <= maxEventLine && happened(f) {
			out.Events = append(out.Events, f)
		}
	}
	if len(out.Events) == 0 {
		out.Events = append(out.Events, facts[:min(len(facts), 3)]...)
	}
	return out
}

// dayFacts gives what the person of a day said, as facts.
func dayFacts(in memorybank.DayInput) []string {
	turns := slices.Clone(in.Turns)
	for i := range turns {
		if turns[i].Name == "" && turns[i].Role == memory.RoleUser {
			turns[i].Name = in.User
		}
	}
	facts := extract(mem0.ExtractInput{New: turns}).Facts
	if len(facts) > 0 {
		return facts
	}
	people := slices.ContainsFunc(turns, func(u memory.Utterance) bool { return u.Role == memory.RoleUser })
	for _, u := range turns {
		if people && u.Role != memory.RoleUser {
			continue
		}
		name := cmp.Or(u.Name, unnamed(u.Role, in.Language))
		said := text.ExtractiveSentence(u.Content)
		switch {
		case said == "" || injected.MatchString(said):
		case isHan(said):
			facts = append(facts, name+"说："+said)
		default:
			facts = append(facts, name+" said: "+said)
		}
		if len(facts) == 3 {
			break
		}
	}
	if len(facts) == 0 && len(turns) > 0 {
		name := cmp.Or(turns[0].Name, unnamed(turns[0].Role, in.Language))
		if in.Language == policy.Chinese {
			return []string{fmt.Sprintf("%s参与了一段有%d条消息的对话。", name, len(turns))}
		}
		return []string{fmt.Sprintf("%s took part in a conversation of %d messages.", name, len(turns))}
	}
	return nonNil(facts)
}

// unnamed stands for a speaker whose name nobody knows.
func unnamed(r memory.Role, l policy.Language) string {
	switch {
	case l == policy.Chinese && r == memory.RoleAssistant:
		return "助手"
	case l == policy.Chinese:
		return "用户"
	case r == memory.RoleAssistant:
		return "The assistant"
	}
	return "The user"
}

// happened tells what was done from what is so.
func happened(f string) bool {
	for _, w := range lowerWords(f) {
		if clippedPast[w] || pastForm(w) {
			return true
		}
	}
	return strings.ContainsAny(f, "了过")
}

// dayPersonality reads traits, mood and how to answer from the words of a day.
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
	for _, name := range frequent(counts, maxDayTraits) {
		out.Traits = append(out.Traits, traitName(name, zh))
	}
	mood := moodOf(words, plain)
	out.Mood = moodName(mood, zh)
	out.ReplyStrategy = strategy(mood, frequent(counts, 2), zh)
	return out
}

// cueText gives the folded words of s with a space around each, and s itself
// for scripts without spaces.
func cueText(s string) (words, plain string) {
	return " " + strings.Join(text.Words(s), "  ") + " ", s
}

// frequent gives up to n keys by count, most first, the alphabet deciding ties.
func frequent(counts map[string]int, n int) []string {
	var keys []string
	for k, c := range counts {
		if c > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return keys[:min(n, len(keys))]
}

// overallHistory strings the days together, each with its date: a sentence of
// each in turn, until the bound is reached.
func overallHistory(in memorybank.OverallInput) memorybank.History {
	chars := in.Chars
	if chars <= 0 {
		chars = defaultChars
	}
	days := slices.Clone(in.Days)
	slices.SortStableFunc(days, func(a, b memorybank.DatedText) int { return cmp.Compare(a.Date, b.Date) })
	// Newer days come first into the space there is; each gets an even share.
	var lines []string
	share := max(60, chars/max(1, len(days)))
	left := chars
	for _, day := range slices.Backward(days) {
		room := min(share, left)
		prefix := day.Date + ": "
		room -= utf8.RuneCountInString(prefix) + 1
		if room < 20 {
			break
		}
		body := extractive([]string{day.Text}, room, in.Language)
		if body == "" {
			body = text.Shorten(text.ExtractiveSentence(day.Text), room)
		}
		if body == "" {
			continue
		}
		line := prefix + body
		left -= utf8.RuneCountInString(line) + 1
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return memorybank.History{Summary: strings.Join(lines, " ")}
}

// portrait gathers the traits that the days name most often.
func portrait(in memorybank.OverallInput) memorybank.Portrait {
	zh := in.Language == policy.Chinese
	traits, moods := map[string]int{}, 0.0
	for _, d := range in.Days {
		words, plain := cueText(d.Text)
		for _, t := range traitCues {
			for _, name := range []string{t.name, t.chinese} {
				if strings.Contains(words, " "+name+" ") || isHan(name) && strings.Contains(plain, name) {
					traits[t.name]++
					break
				}
			}
		}
		moods += notedMood(words, plain)
	}
	user := cmp.Or(in.User, unnamed(memory.RoleUser, in.Language))
	top := frequent(traits, maxDayTraits)
	names := make([]string, len(top))
	for i, t := range top {
		names[i] = traitName(t, zh)
	}
	var parts []string
	mood := 0.0
	if len(in.Days) > 0 {
		mood = moods / float64(len(in.Days))
	}
	if zh {
		if len(names) > 0 {
			parts = append(parts, user+"给人的印象是"+strings.Join(names, "、")+"。")
		}
		if in.Meta["personality"] != "" {
			parts = append(parts, "自述性格："+plainEnd(in.Meta["personality"])+"。")
		}
		if in.Meta["hobbies"] != "" {
			parts = append(parts, "爱好："+plainEnd(in.Meta["hobbies"])+"。")
		}
		if len(in.Days) > 0 {
			parts = append(parts, "情绪总体"+moodName(mood, zh)+"（"+span(in.Days, "至")+"）。")
		}
	} else {
		if len(names) > 0 {
			parts = append(parts, user+" comes across as "+strings.Join(names, ", ")+".")
		}
		if in.Meta["personality"] != "" {
			parts = append(parts, "Personality as stated: "+plainEnd(in.Meta["personality"])+".")
		}
		if in.Meta["hobbies"] != "" {
			parts = append(parts, "Hobbies: "+plainEnd(in.Meta["hobbies"])+".")
		}
		if len(in.Days) > 0 {
			parts = append(parts, "The mood was "+moodName(mood, zh)+" on the whole ("+span(in.Days, " to ")+").")
		}
	}
	if len(parts) == 0 {
		parts = append(parts, map[bool]string{false: "Nothing is known of " + user + " yet.", true: "对" + user + "还一无所知。"}[zh])
	}
	chars := in.Chars
	if chars <= 0 {
		chars = defaultChars
	}
	return memorybank.Portrait{Portrait: text.Shorten(joined(parts, zh), chars), ReplyStrategy: text.Shorten(strategy(mood, top, zh), chars)}
}

func joined(parts []string, zh bool) string {
	if zh {
		return strings.Join(parts, "")
	}
	return strings.Join(parts, " ")
}

// span names the first and the last day.
func span(days []memorybank.DatedText, to string) string {
	first, last := days[0].Date, days[0].Date
	for _, d := range days {
		first, last = min(first, d.Date), max(last, d.Date)
	}
	if first == last {
		return first
	}
	return first + to + last
}
