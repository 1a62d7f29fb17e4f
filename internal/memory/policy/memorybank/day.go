package memorybank

import (
	"context"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Bounds of what is kept of the answers about a day.
const (
	maxEvents     = 12
	maxTraits     = 12
	maxEventChars = 200
	maxTraitChars = 40
	maxMoodChars  = 100
	maxReplyChars = 400
)

// summarizeDay writes the summary of one day and what it shows of the person, if there
// is something new. When one of the two calls fails nothing is written, and the job is
// retried.
func (p *Policy) summarizeDay(ctx context.Context, d memory.Desk, c *Config, date string) (memory.Decision, error) {
	day, err := loadDay(ctx, d, c, date)
	if err != nil {
		return memory.Decision{}, err
	}
	o := outcome{Decision: "keep", Days: []string{date}, Messages: len(day.messages)}
	switch {
	case len(day.messages) == 0 && day.stale:
		return day.removeDerived(&o), nil
	case len(day.messages) == 0:
		o.Reason = "the day has no turns"
		return memory.Decision{Outcome: o.encode()}, nil
	case day.hasSummary && (day.hasProfile || c.Persons == personsSeveral) && day.uncovered == 0 && !day.stale:
		o.Reason = "nothing was said since"
		return memory.Decision{Outcome: o.encode()}, nil
	}
	var dec memory.Decision
	if !day.hasSummary || day.uncovered > 0 || day.stale {
		n, ok, err := p.askSummary(ctx, d, c, &day, &o)
		if err != nil {
			return memory.Decision{}, err
		}
		switch {
		case ok:
			dec.Puts = append(dec.Puts, n)
		case day.hasSummary && day.stale:
			dec.Deletes = append(dec.Deletes, day.summary.ID)
		}
	}
	if c.Persons == personsOne {
		n, ok, err := p.askPersonality(ctx, d, c, &day, &o)
		if err != nil {
			return memory.Decision{}, err
		}
		switch {
		case ok:
			dec.Puts = append(dec.Puts, n)
		case day.hasProfile && day.stale:
			dec.Deletes = append(dec.Deletes, day.profile.ID)
		}
	}
	if len(dec.Puts)+len(dec.Deletes) > 0 {
		o.Decision, dec.Cause = "summarize", memory.CauseSummarize
		dec.Follow = []memory.Follow{{Task: memory.Task{Name: taskOverall}}}
	} else {
		o.Reason = "the analyst found nothing to say"
	}
	dec.Outcome = o.encode()
	return dec, nil
}

// removeDerived deletes the summary and the profile of a day whose messages were deleted.
func (day *dayRun) removeDerived(o *outcome) memory.Decision {
	o.Decision, o.Reason = "remove", "the turns of the day were deleted"
	dec := memory.Decision{Cause: memory.CauseSummarize, Follow: []memory.Follow{{Task: memory.Task{Name: taskOverall}}}}
	if day.hasSummary {
		dec.Deletes = append(dec.Deletes, day.summary.ID)
	}
	if day.hasProfile {
		dec.Deletes = append(dec.Deletes, day.profile.ID)
	}
	dec.Outcome = o.encode()
	return dec
}

// askSummary asks for the day's summary; ok is false when the answer is empty.
func (p *Policy) askSummary(ctx context.Context, d memory.Desk, c *Config, day *dayRun, o *outcome) (n memory.Note, ok bool, err error) {
	a, analyst, err := askFor[DaySummary](ctx, p, d, c, o, question{
		name: callDay, language: day.language,
		check: policy.CheckContent(func(s *DaySummary) bool { return !policy.IsBlank(s.Summary) }),
		material: func(chars int) (any, any, int) {
			m, in := day.material(c, chars)
			m.Chars, m.Earlier = c.SummaryChars, day.earlierSummary()
			return m, in, len(m.Turns)
		},
	})
	if err != nil {
		return n, false, err
	}
	content := policy.CleanLine(a.Summary, c.SummaryChars)
	if content == "" {
		return n, false, nil
	}
	if before := day.earlierSummary(); before != "" && analyst == memory.AnalystHeuristic {
		// The rules see only the turns. What is known of forgotten ones stays in front.
		content = policy.CleanLine(text.Shorten(before, c.SummaryChars/2)+" "+content, c.SummaryChars)
	}
	n = day.note(d, day.summary, memory.KindSummary, content, analyst)
	if events := cleanTexts(a.Events, maxEvents, maxEventChars); len(events) > 0 {
		n.Attributes[AttrEvents] = toAnyList(events)
	}
	return n, true, nil
}

// askPersonality asks what the day shows of the person; ok is false when the answer is empty.
func (p *Policy) askPersonality(ctx context.Context, d memory.Desk, c *Config, day *dayRun, o *outcome) (n memory.Note, ok bool, err error) {
	a, analyst, err := askFor[DayPersonality](ctx, p, d, c, o, question{
		name: callPersonality, language: day.language, check: policy.CheckTypes[DayPersonality],
		material: func(chars int) (any, any, int) {
			m, in := day.material(c, chars)
			m.Role = c.role(day.language)
			return m, in, len(m.Turns)
		},
	})
	if err != nil {
		return n, false, err
	}
	traits := cleanTexts(a.Traits, maxTraits, maxTraitChars)
	mood, reply := policy.CleanLine(a.Mood, maxMoodChars), policy.CleanLine(a.ReplyStrategy, maxReplyChars)
	content := personalityText(day.language, traits, mood, reply)
	if content == "" {
		return n, false, nil
	}
	n = day.note(d, day.profile, memory.KindProfile, content, analyst)
	n.Attributes[AttrTraits], n.Attributes[AttrMood], n.Attributes[AttrReplyStrategy] = toAnyList(traits), mood, reply
	return n, true, nil
}

// note returns the day's note of a kind: a new note, or the next version if there is one.
func (day *dayRun) note(d memory.Desk, old memory.Note, kind memory.Kind, content string, analyst memory.Analyst) memory.Note {
	n := policy.DerivedNote(d, old, kind, dayKey(day.date), content, analyst, day.sources())
	n.Attributes[AttrPeriod], n.Attributes[AttrDate] = PeriodDay, day.date
	if day.user != "" {
		n.Attributes[AttrPerson] = day.user
	}
	n.OccurredAt = day.messages[len(day.messages)-1].OccurredAt
	return n
}

// personalityText returns an analysis of the person as one line in its language.
func personalityText(l policy.Language, traits []string, mood, reply string) string {
	label, list, end := [3]string{"Traits: ", "Mood: ", "Reply strategy: "}, ", ", ". "
	if l == policy.Chinese {
		label, list, end = [3]string{"性格：", "心情：", "回复策略："}, "、", "。"
	}
	var parts []string
	for i, s := range []string{strings.Join(traits, list), mood, reply} {
		if s = strings.TrimRight(s, " .。"); s != "" {
			parts = append(parts, label[i]+s)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.TrimSpace(strings.Join(parts, end) + end)
}

// cleanTexts cleans a list of short texts: one line each, at most limit, without empty
// ones and repeats.
func cleanTexts(list []string, limit, chars int) []string {
	out := []string{}
	for _, s := range list {
		if s = policy.CleanLine(s, chars); s != "" && len(out) < limit && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// toAnyList returns a list in the type that attributes have.
func toAnyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
