package memorybank

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Bounds of what an answer may leave on a day.
const (
	maxEvents     = 12
	maxTraits     = 12
	maxEventChars = 200
	maxTraitChars = 40
	maxMoodChars  = 100
	maxReplyChars = 400
)

// dayMaterial is a day as the prompts show it.
type dayMaterial struct {
	Date      string         `json:"date"`
	Person    string         `json:"person"`
	Companion string         `json:"companion"`
	Role      string         `json:"role,omitempty"`
	Chars     int            `json:"chars,omitempty"`
	Earlier   string         `json:"earlier,omitempty"`
	Turns     []turnMaterial `json:"turns"`
}

type turnMaterial struct {
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

// diary is one day on its way into the memory.
type dayRun struct {
	date       string
	messages   []memory.Note // that may be learned from, in the order in which they were said
	summary    memory.Note
	profile    memory.Note
	hasSummary bool // there is a summary
	hasProfile bool // there is a profile
	uncovered  int  // messages that the summary does not cover
	stale      bool // a message that it covers was deleted or reads differently
	forgotten  int  // messages that it covers and that were forgotten

	user, assistant string // names; "" unknown
	language        policy.Language
}

// day sums up one day and describes the person as they were, when there is
// something new. When one of the two answers cannot be had nothing is written,
// and the job is tried again.
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
	case day.hasSummary && day.hasProfile && day.uncovered == 0 && !day.stale:
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
	if len(dec.Puts)+len(dec.Deletes) > 0 {
		o.Decision, dec.Cause = "summarize", memory.CauseSummarize
		dec.Follow = []memory.Follow{{Task: memory.Task{Name: TaskOverall}}}
	} else {
		o.Reason = "the analyst found nothing to say"
	}
	dec.Outcome = o.encode()
	return dec, nil
}

// remove takes back what was derived from a day that is no more.
func (day *dayRun) removeDerived(o *outcome) memory.Decision {
	o.Decision, o.Reason = "remove", "the turns of the day were deleted"
	dec := memory.Decision{Cause: memory.CauseSummarize, Follow: []memory.Follow{{Task: memory.Task{Name: TaskOverall}}}}
	if day.hasSummary {
		dec.Deletes = append(dec.Deletes, day.summary.ID)
	}
	if day.hasProfile {
		dec.Deletes = append(dec.Deletes, day.profile.ID)
	}
	dec.Outcome = o.encode()
	return dec
}

func loadDay(ctx context.Context, d memory.Desk, c *Config, date string) (dayRun, error) {
	day := dayRun{date: date}
	start, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return day, fault.New(fault.Invalid, "the key of the task must be a date such as 2023-05-01")
	}
	if day.messages, err = dayMessages(ctx, d, start); err != nil {
		return day, err
	}
	if day.summary, day.hasSummary, err = d.ByKey(ctx, memory.KindSummary, DayKey(date)); err != nil {
		return day, err
	}
	if day.profile, day.hasProfile, err = d.ByKey(ctx, memory.KindProfile, DayKey(date)); err != nil {
		return day, err
	}
	day.compareCoverage()
	var all strings.Builder
	for i := range day.messages {
		u := memory.UtteranceOf(&day.messages[i])
		all.WriteString(u.Content)
		all.WriteByte('\n')
		switch {
		case u.Name == "":
		case u.Role == memory.RoleAssistant:
			day.assistant = u.Name
		default:
			day.user = u.Name
		}
	}
	day.language = c.language(all.String())
	day.user, day.assistant = cmp.Or(c.UserName, day.user), cmp.Or(c.AssistantName, day.assistant)
	if day.user == "" {
		meta, err := metaProfile(ctx, d)
		if err != nil {
			return day, err
		}
		day.user = meta["name"]
	}
	return day, nil
}

// heldBytes bounds the texts of a day that are held at once. They are shortened
// to it, since a prompt shows far less of them.
const maxDayBytes = 8 << 20

// hold shortens texts, the longest first, until they stay within heldBytes or
// are as short as a prompt may show them. most and held are those of before.
func shortenToBudget(messages []memory.Note, most, held int) (int, int) {
	for held > maxDayBytes && most > policy.MinTextChars {
		most, held = max(most/4, policy.MinTextChars), 0
		for i := range messages {
			messages[i].Content = text.Shorten(messages[i].Content, most)
			held += len(messages[i].Content)
		}
	}
	return most, held
}

// spoken gives the messages of a day that may be learned from, in the order in
// which they were said. Their texts may be shortened, as hold does it.
func dayMessages(ctx context.Context, d memory.Desk, start time.Time) ([]memory.Note, error) {
	at := func(op filter.Op, t time.Time) filter.Expr {
		return &filter.Leaf{Field: filter.OccurredAt, Op: op, Values: []filter.Value{{Type: filter.Time, Time: t}}}
	}
	var out []memory.Note
	most, held := memory.MaxContentBytes, 0
	err := policy.EachNote(ctx, d, memory.NoteQuery{
		Kinds:  []memory.Kind{memory.KindMessage},
		Filter: filter.And{at(filter.Gte, start), at(filter.Lt, start.AddDate(0, 0, 1))},
	}, func(n *memory.Note) {
		if memory.Learnable(n) {
			m := *n
			m.Content = text.Shorten(m.Content, most)
			out = append(out, m)
			most, held = shortenToBudget(out, most, held+len(m.Content))
		}
	})
	slices.SortStableFunc(out, func(a, b memory.Note) int { return a.OccurredAt.Compare(b.OccurredAt) })
	return out, err
}

// compare finds how what is there now stands to what the summary covers. A
// message that is gone was forgotten, unless what comes from it was marked.
func (day *dayRun) compareCoverage() {
	covered := map[uuid.UUID]bool{}
	sources := day.profile.Provenance.Sources
	if day.hasSummary {
		sources = day.summary.Provenance.Sources
	}
	for _, id := range sources {
		covered[id] = true
	}
	for i := range day.messages {
		if id := day.messages[i].ID; covered[id] {
			delete(covered, id)
		} else {
			day.uncovered++
		}
	}
	day.forgotten = len(covered)
	day.stale = day.summary.Provenance.Stale || day.profile.Provenance.Stale
}

// earlier is the summary that stands for turns that were forgotten. What a
// caller deleted must not live on in it.
func (day *dayRun) earlierSummary() string {
	if day.forgotten == 0 || day.stale {
		return ""
	}
	return day.summary.Content
}

// sources are the messages that the notes of the day rest on, forgotten ones included.
func (day *dayRun) sources() []uuid.UUID {
	var out []uuid.UUID
	if day.earlierSummary() != "" {
		out = slices.Clone(day.summary.Provenance.Sources)
	}
	have := make(map[uuid.UUID]bool, len(out))
	for _, id := range out {
		have[id] = true
	}
	for i := range day.messages {
		if id := day.messages[i].ID; !have[id] {
			out = append(out, id)
		}
	}
	return out
}

// material gives the day within so many characters, as a prompt shows it and
// as the heuristic analyst takes it.
func (day *dayRun) material(c *Config, chars int) (dayMaterial, DayInput) {
	m := dayMaterial{Date: day.date, Person: displayName(day.user, day.language, memory.RoleUser), Companion: displayName(day.assistant, day.language, memory.RoleAssistant)}
	in := DayInput{Date: day.date, User: day.user, Assistant: day.assistant, Chars: c.SummaryChars, Language: day.language}
	texts := make([]string, len(day.messages))
	for i := range day.messages {
		texts[i] = day.messages[i].Content
	}
	from, texts := policy.FitChars(texts, chars)
	for i, t := range texts {
		u := memory.UtteranceOf(&day.messages[from+i])
		u.Content = t
		if u.Name == "" {
			u.Name = day.user
			if u.Role == memory.RoleAssistant {
				u.Name = day.assistant
			}
		}
		in.Turns = append(in.Turns, u)
		m.Turns = append(m.Turns, turnMaterial{Time: u.Time.UTC().Format("15:04"), Speaker: displayName(u.Name, day.language, u.Role), Text: t})
	}
	return m, in
}

// nameOr names a speaker whose name nobody knows.
func displayName(name string, l policy.Language, r memory.Role) string {
	switch {
	case name != "":
		return name
	case r == memory.RoleAssistant:
		return "AI"
	case l == policy.Chinese:
		return "用户"
	default:
		return "User"
	}
}

// sum asks for the day's summary; ok is false when there is nothing to say.
func (p *Policy) askSummary(ctx context.Context, d memory.Desk, c *Config, day *dayRun, o *outcome) (n memory.Note, ok bool, err error) {
	raw, analyst, err := p.ask(ctx, d, c, o, day.language, callDay, policy.CheckContent(func(s *DaySummary) bool { return !policy.IsBlank(s.Summary) }),
		func(chars int) (any, any, int) {
			m, in := day.material(c, chars)
			m.Chars, m.Earlier = c.SummaryChars, day.earlierSummary()
			return m, in, len(m.Turns)
		})
	if err != nil {
		return n, false, err
	}
	a, err := policy.DecodeAnswer[DaySummary](raw, callDay)
	if err != nil {
		return n, false, err
	}
	content := policy.CleanLine(a.Summary, c.SummaryChars)
	if content == "" {
		return n, false, nil
	}
	if before := day.earlierSummary(); before != "" && analyst == memory.AnalystHeuristic {
		// Rules see the turns alone; what is known of the forgotten ones stays in front.
		content = policy.CleanLine(text.Shorten(before, c.SummaryChars/2)+" "+content, c.SummaryChars)
	}
	n = day.note(d, day.summary, memory.KindSummary, content, analyst)
	if events := cleanTexts(a.Events, maxEvents, maxEventChars); len(events) > 0 {
		n.Attributes[AttrEvents] = toAnyList(events)
	}
	return n, true, nil
}

// describe asks what the day says of the person; ok is false when it says nothing.
func (p *Policy) askPersonality(ctx context.Context, d memory.Desk, c *Config, day *dayRun, o *outcome) (n memory.Note, ok bool, err error) {
	raw, analyst, err := p.ask(ctx, d, c, o, day.language, callPersonality, policy.CheckTypes[DayPersonality],
		func(chars int) (any, any, int) {
			m, in := day.material(c, chars)
			m.Role = c.role(day.language)
			return m, in, len(m.Turns)
		})
	if err != nil {
		return n, false, err
	}
	a, err := policy.DecodeAnswer[DayPersonality](raw, callPersonality)
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

// note makes the day's note of a kind, or the next version of the one that is there.
func (day *dayRun) note(d memory.Desk, old memory.Note, kind memory.Kind, content string, analyst memory.Analyst) memory.Note {
	n := policy.DerivedNote(d, old, kind, DayKey(day.date), content, analyst, day.sources())
	n.Attributes[AttrPeriod], n.Attributes[AttrDate] = PeriodDay, day.date
	if day.user != "" {
		n.Attributes[AttrPerson] = day.user
	}
	n.OccurredAt = day.messages[len(day.messages)-1].OccurredAt
	return n
}

// characterText renders an analysis of the person as one line of its language.
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

// cleanTexts cleans a list of short texts: one line each, none empty, none twice.
func cleanTexts(list []string, limit, chars int) []string {
	out := []string{}
	for _, s := range list {
		if s = policy.CleanLine(s, chars); s != "" && len(out) < limit && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// anyList is a list as attributes hold it.
func toAnyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
