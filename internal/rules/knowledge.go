package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/text"
)

// knowledge takes facts about the person from what the person says, and what the assistant did or
// recommended from what the assistant says.
func knowledge(in memoryos.KnowledgeInput) memoryos.Knowledge {
	limit := cmp.Or(in.Max, memoryos.MaxKnowledge)
	said := pagesSaid(in.Pages)
	for i := range said {
		if said[i].Role == memory.RoleUser && said[i].Name == "" {
			said[i].Name = in.Person
		}
	}
	out := memoryos.Knowledge{User: []string{}, Assistant: []string{}}
	if slices.ContainsFunc(said, func(u memory.Utterance) bool { return u.Role == memory.RoleUser }) {
		out.User = extract(mem0.ExtractInput{New: said, Max: limit}).Facts
	}
	seen := map[string]bool{}
	for _, u := range said {
		if u.Role != memory.RoleAssistant {
			continue
		}
		person := cmp.Or(in.Person, "the user")
		for _, s := range utteredSentences(u.Content) {
			fact := assistantFact(s, cmp.Or(u.Name, "Assistant"), person, u)
			if key := text.Fold(fact); fact != "" && !seen[key] && len(out.Assistant) < limit {
				seen[key] = true
				out.Assistant = append(out.Assistant, fact)
			}
		}
	}
	return out
}

// assistantFact returns what an assistant did, promised or recommended, in the third person; "" if the
// sentence says nothing of that kind.
func assistantFact(s, name, person string, u memory.Utterance) string {
	s = strings.TrimSpace(strings.Trim(markup.ReplaceAllString(s, "$1"), "-*•# "))
	if s == "" || strings.ContainsAny(s, "?？") || utf8.RuneCountInString(s) > maxFactRunes || injectedInstructions.MatchString(s) {
		return ""
	}
	if isHan(s) {
		return hanAssistantFact(s, name, person, u)
	}
	if m := recommendation.FindStringIndex(s); m != nil {
		s = "I recommend " + s[m[1]:]
	}
	if strings.HasSuffix(s, ":") || assistantOffers.MatchString(s) {
		return ""
	}
	fact := promisedFact(s, name, u.Time)
	if person != "the user" {
		fact = strings.NewReplacer("the user's", person+"'s", "the user", person).Replace(fact)
	}
	return fact
}

var (
	// markup matches emphasis of Markdown.
	markup = regexp.MustCompile(`\*\*([^*]*)\*\*`)
	// recommendation matches forms of "I recommend" before what is recommended.
	recommendation = regexp.MustCompile(`(?i)^(?:(?:so|then|well|also|in that case|for you)[, ]+)?(?:i(?:'d| would)(?: also| really| definitely| highly)? (?:recommend|suggest)|(?:my (?:recommendation|suggestion) (?:is|would be)))(?: that)?:? `)
	// assistantOffers matches offers and conditions, which say nothing about what was done.
	assistantOffers = regexp.MustCompile(`(?i)\b(?:if you|let me know|feel free|would you like|i can |i'll be|happy to|i hope|i have to say|as an ai)\b`)

	hanDid = regexp.MustCompile(`^(?:好的?[，,！!。]*|那么?|所以|其实|另外|首先|当然[，,]?)*(?:我(?:已经?|刚刚?|为您?你?|帮您?你?|给您?你?|会|将|还)?(?:为你|帮你|给你|为您|帮您|给您|向你|向您)?(?:推荐|建议|预订|预定|安排|整理|准备|设置|添加|更新|发送|记录|制定|创建|生成|列出?|查到|找到|提醒|完成|写)|(?:推荐|建议)(?:你|您)|我的建议是)`)
)

// hanAssistantFact is assistantFact for Chinese.
func hanAssistantFact(s, name, person string, u memory.Utterance) string {
	if !hanDid.MatchString(s) || strings.HasSuffix(s, "：") || strings.Contains(s, "如果") || hanQuestion.MatchString(s) {
		return ""
	}
	if person == "the user" {
		person = "用户"
	}
	if name == "Assistant" {
		name = "助手"
	}
	s = hanLeadIns.ReplaceAllString(s, "")
	if !strings.HasPrefix(s, "我") {
		s = "我" + s
	}
	return strings.NewReplacer("您", person, "你", person, "我", name).Replace(resolveDates(s, u.Time))
}
