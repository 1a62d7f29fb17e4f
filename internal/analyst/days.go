package analyst

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/said"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Bounds of what is said of days, and of what left the window.
const (
	maxDayEvents  = 8
	maxEventChars = 200
	minDayChars   = 60 // that each day has in the history, at least
	queueChars    = 550
	queueWords    = 100 // more are cut from the end, where the newest are
)

// dayCalls are the calls of MemoryBank, and the summary of MemGPT's queue.
func dayCalls() map[string]answerer {
	return map[string]answerer{
		"daily_summary":       reading(summarizeDay),
		"daily_personality":   answer(describeDay),
		"overall_history":     answer(summarizeDays),
		"overall_personality": answer(portray),
		memgpt.CallSummary:    answer(summarizeQueue),
	}
}

// summarizeDay quotes what persons stated on a day: the sentences that say most and are most worth keeping, and the strongest of
// them as events.
func summarizeDay(r *reader, in memorybank.DayInput) memorybank.DaySummary {
	told, worth := r.told(in.Turns)
	if len(told) == 0 {
		told, worth = sentencesOf(spoken(in.Turns)), nil
	}
	return memorybank.DaySummary{Summary: summaryBy(worth, told, in.Chars), Events: firstOfRanked(ranked(worth, told), maxDayEvents, maxEventChars)}
}

// told returns the sentences that persons stated, with the names of their speakers, and the worth of each.
func (r *reader) told(turns []memory.Utterance) (out []string, worth map[string]float64) {
	all := make([]said.Turn, len(turns))
	for i, u := range turns {
		all[i] = said.Turn{Speaker: u.Name, Assistant: u.Role != memory.RoleUser, Text: u.Content}
	}
	worth = map[string]float64{}
	sentences := r.judged(slices.DeleteFunc(said.Sentences(all, 0), func(s said.Sentence) bool {
		return all[s.Turn].Assistant || s.Asks || memory.Redacted(s.Text) || !text.HasWord(s.Text)
	}))
	for i := range sentences {
		line := named(turns[sentences[i].Turn].Name, []string{oneLine(sentences[i].Text)})[0]
		out, worth[line] = append(out, line), max(worth[line], sentences[i].Worth())
	}
	return out, worth
}

// describeDay says nothing: moods and traits are not in the words of a day, and a guess would be wrong.
func describeDay(memorybank.DayInput) memorybank.DayPersonality {
	return memorybank.DayPersonality{Traits: []string{}}
}

// summarizeDays sums up the days in order, each behind its date. Each has an equal share of the room; when
// that is too little, the oldest are left out.
func summarizeDays(in memorybank.OverallInput) memorybank.History {
	left := cmp.Or(in.Chars, defaultChars)
	share := max(minDayChars, left/max(1, len(in.Days)))
	days := slices.Clone(in.Days)
	slices.SortStableFunc(days, func(a, b memorybank.DatedText) int { return cmp.Compare(a.Date, b.Date) })

	var lines []string
	for _, day := range slices.Backward(days) {
		date := day.Date + ": "
		room := min(share, left) - utf8.RuneCountInString(date) - 1
		if room < minDayChars/3 {
			break
		}
		if said := summary([]string{day.Text}, room); said != "" {
			lines = append(lines, date+said)
			left -= utf8.RuneCountInString(date+said) + 1
		}
	}
	slices.Reverse(lines)
	return memorybank.History{Summary: strings.Join(lines, " ")}
}

// portray repeats what is known of the person: what the caller stated, and what a model said of days. It
// invents no strategy.
func portray(in memorybank.OverallInput) memorybank.Portrait {
	var known []string
	for _, name := range slices.Sorted(maps.Keys(in.Meta)) {
		known = append(known, name+": "+in.Meta[name])
	}
	for _, day := range in.Days {
		known = append(known, day.Text)
	}
	return memorybank.Portrait{Portrait: summary(known, in.Chars)}
}

// summarizeQueue sums up the summary so far and what was said since: what persons stated, and what they
// were answered. Questions, results of tools and what the analyst itself replied say nothing new.
func summarizeQueue(in memgpt.SummaryInput) memgpt.Summary {
	texts := []string{in.Old}
	var all []string
	for _, m := range in.Messages {
		role := memory.Role(m.Role)
		if role != memory.RoleUser && role != memory.RoleAssistant || isOwnReply(m.Text) {
			continue
		}
		all = append(all, m.Text)
		u := memory.Utterance{Role: role, Name: m.Name, Content: m.Text}
		if role == memory.RoleAssistant {
			u.Name = replyMark
		}
		texts = append(texts, stated(u)...)
	}
	if len(texts) == 1 && in.Old == "" { // there were only questions
		texts = all
	}
	out := summary(texts, queueChars)
	for chars := queueChars; len(strings.Fields(out)) > queueWords; {
		chars = chars * queueWords / len(strings.Fields(out))
		out = summary(texts, chars)
	}
	return memgpt.Summary{Summary: out}
}

// spoken returns what was said, as sentences with the names of their speakers: what persons stated, else
// what they asked, else what was answered.
func spoken(turns []memory.Utterance) []string {
	var statements, persons, all []string
	for _, u := range turns {
		all = append(all, u.Content)
		if u.Role == memory.RoleUser {
			statements = append(statements, stated(u)...)
			persons = append(persons, named(u.Name, sentencesOf([]string{u.Content}))...)
		}
	}
	for _, list := range [][]string{statements, persons} {
		if len(list) > 0 {
			return list
		}
	}
	return all
}

// stated returns the sentences of a message that are not questions and hold no secret, with the name of who
// says them.
func stated(u memory.Utterance) []string {
	sentences := slices.DeleteFunc(sentencesOf([]string{u.Content}), func(s string) bool {
		return said.Asks(s) || memory.Redacted(s) || !text.HasWord(s)
	})
	return named(u.Name, sentences)
}

// replyMark is before what was answered, in place of a name: "I" is somebody else there.
const replyMark = "→"

// named puts the name of the speaker, if it is known, before each sentence, so that a summary of several
// persons says who said what.
func named(name string, sentences []string) []string {
	switch name {
	case "":
		return sentences
	case replyMark:
		name += " "
	default:
		name += ": "
	}
	for i := range sentences {
		sentences[i] = name + sentences[i]
	}
	return sentences
}
