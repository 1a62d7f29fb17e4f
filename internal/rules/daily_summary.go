package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The bounds of daily summaries and personalities by rules.
const (
	maxDayEvents = 8
	maxDayTraits = 5
	maxEventLine = 240 // characters
)

// daySummary summarizes a day by the most informative facts that the user stated. Where there are
// none, it quotes what was said.
func daySummary(in memorybank.DayInput) memorybank.DaySummary {
	out := memorybank.DaySummary{Events: []string{}}
	facts := dayFacts(in)
	out.Summary = extractiveSummary(facts, in.Chars, in.Language)
	for _, f := range facts {
		if len(out.Events) == maxDayEvents {
			break
		}
		if utf8.RuneCountInString(f) <= maxEventLine && isEvent(f) {
			out.Events = append(out.Events, f)
		}
	}
	if len(out.Events) == 0 {
		out.Events = append(out.Events, facts[:min(len(facts), 3)]...)
	}
	return out
}

// dayFacts returns what the user said on a day, as facts. If no fact can be extracted it quotes
// up to three utterances, and if there is nothing to quote it counts the messages.
func dayFacts(in memorybank.DayInput) []string {
	turns := slices.Clone(in.Turns)
	for i := range turns {
		if turns[i].Name == "" && turns[i].Role == memory.RoleUser {
			turns[i].Name = in.User
		}
	}
	facts := slices.DeleteFunc(extract(mem0.ExtractInput{New: turns}).Facts, memory.Redacted)
	if len(facts) > 0 {
		return facts
	}
	personSpeaks := slices.ContainsFunc(turns, func(u memory.Utterance) bool { return u.Role == memory.RoleUser })
	for _, u := range turns {
		if personSpeaks && u.Role != memory.RoleUser {
			continue
		}
		name := cmp.Or(u.Name, roleName(u.Role, in.Language))
		said := text.ExtractiveSentence(u.Content)
		switch {
		case said == "" || memory.Redacted(said) || injectedInstructions.MatchString(said):
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
		name := cmp.Or(turns[0].Name, roleName(turns[0].Role, in.Language))
		if in.Language == policy.Chinese {
			return []string{fmt.Sprintf("%s参与了一段有%d条消息的对话。", name, len(turns))}
		}
		return []string{fmt.Sprintf("%s took part in a conversation of %d messages.", name, len(turns))}
	}
	return nonNil(facts)
}

// roleName returns how a speaker without a name is called.
func roleName(r memory.Role, l policy.Language) string {
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

// isEvent reports whether a fact is an event and not a lasting state, by a past form.
func isEvent(f string) bool {
	for _, w := range lowerWords(f) {
		if clippedPast[w] || isPastForm(w) {
			return true
		}
	}
	return strings.ContainsAny(f, "了过")
}
