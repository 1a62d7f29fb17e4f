package rules

import (
	"slices"
	"strings"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file reads what somebody took in place of what was planned: "I ended up going with the blue one" after "I'm going to
// buy the green bike".

var (
	// chosenOne matches what was chosen of several, without its noun; plannedOne what somebody plans to take, with its noun.
	chosenOne  = regexp.MustCompile(`(?i)\b(?P<act>ended up (?:going with|getting|buying|choosing|taking|picking)|went (?:with|for)|settled on|decided on|chose|picked|bought|got|took) the (?P<v>[\p{Ll}-]+) one\b`)
	plannedOne = regexp.MustCompile(` (?:buy|get|take|order|choose|pick|book|rent|paint|have) (?:the|an?|that) (?P<v>[\p{Ll}-]+) (?P<k>[\p{Ll}-]+)\b`)
	// chosen matches a fact that says what was chosen in the end.
	chosen = regexp.MustCompile(`\b(?:ended up (?:going with|getting|buying|choosing|taking|picking)|went (?:with|for)|settled on|decided on|chose|picked|bought|got|took) (?:the|an?) (?P<v>[\p{Ll}-]+) (?P<k>[\p{Ll}-]+)\b`)

	hanChosenOne  = regexp.MustCompile(`^(?P<before>(?:我们?)?(?:最后|后来|结果|最终)(?:还是|就)?)(?P<act>买|选|订|挑|租|要|刷成|刷|换成|做成|用)了?(?P<v>\p{Han}{1,5}?)的?了?[。！!]*$`)
	hanPlannedOne = regexp.MustCompile(`(?:打算|准备|想|计划|要)(?:买|选|订|挑|租|要|刷成|刷|换成|做成|用)(?:那|一)?[\p{Han}]?(?P<v>\p{Han}{1,5})的(?P<k>\p{Han}{1,6})。?$`)
	hanChosen     = regexp.MustCompile(`(?:最后|后来|结果|最终)(?:还是|就)?(?:买|选|订|挑|租|要|用)了?(?P<v>\p{Han}{1,5})的(?P<k>\p{Han}{1,6}?)。?$`)
)

// chosenInstead returns a sentence that says which one was chosen with the noun of what was planned before; "" if nothing
// of the kind was planned.
func (r *utteranceReader) chosenInstead(s string) string {
	form, plan := chosenOne, plannedOne
	if isHan(s) {
		form, plan = hanChosenOne, hanPlannedOne
	}
	s = strings.TrimSpace(s)
	m := form.FindStringSubmatch(s)
	if m == nil || strings.ContainsAny(s, "?？") || r.depth >= maxRetold {
		return ""
	}
	value := groupNamed(form, m, "v")
	for _, told := range slices.Backward(r.toldBefore()) {
		was := plan.FindStringSubmatch(told)
		if was == nil || groupNamed(plan, was, "v") == value {
			continue
		}
		noun := groupNamed(plan, was, "k")
		if isHan(s) {
			return speakerTopic + strings.TrimLeft(groupNamed(form, m, "before"), "我们") + groupNamed(form, m, "act") + "了" + value + "的" + noun
		}
		return "I " + groupNamed(form, m, "act") + " the " + value + " " + noun
	}
	return ""
}

// choosesInstead reports whether a fact says that something else was taken than an older fact plans.
func (f *factFrame) choosesInstead(old *factFrame) bool {
	form, plan := chosen, plannedOne
	if isHan(f.text) {
		form, plan = hanChosen, hanPlannedOne
	}
	if f.subject != old.subject || f.negated || !isHan(f.text) && !intended.MatchString(old.plain) {
		return false
	}
	m, was := form.FindStringSubmatch(f.text), plan.FindStringSubmatch(old.text)
	return m != nil && was != nil && groupNamed(form, m, "k") == groupNamed(plan, was, "k") && groupNamed(form, m, "v") != groupNamed(plan, was, "v")
}
