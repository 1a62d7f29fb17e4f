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

// dayRun is one run over a day: its messages, and its notes as they are so far.
type dayRun struct {
	date       string
	messages   []memory.Note // those that may be learned from, by time
	summary    memory.Note
	profile    memory.Note
	hasSummary bool // the day has a summary
	hasProfile bool // the day has a profile
	uncovered  int  // number of messages that the summary does not cover
	stale      bool // a covered message was deleted or changed by a caller
	forgotten  int  // number of covered messages that no longer exist

	user, assistant string // names; "": unknown
	language        policy.Language
}

// dayMaterial is a day as the prompts show it. Earlier is the summary of messages that
// were forgotten.
type dayMaterial struct {
	Date      string         `json:"date"`
	Person    string         `json:"person"`
	Companion string         `json:"companion"`
	Role      string         `json:"role,omitempty"`
	Language  string         `json:"language,omitempty"` // that the setting asks for
	Chars     int            `json:"chars,omitempty"`
	Earlier   string         `json:"earlier,omitempty"`
	Turns     []turnMaterial `json:"turns"`
}

type turnMaterial struct {
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

// loadDay reads a day, given as 2006-01-02, and determines names and language.
func loadDay(ctx context.Context, d memory.Desk, c *Config, date string) (dayRun, error) {
	day := dayRun{date: date}
	start, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return day, fault.New(fault.Invalid, "the key of the task must be a date such as 2023-05-01")
	}
	if day.messages, err = dayMessages(ctx, d, start); err != nil {
		return day, err
	}
	if day.summary, day.hasSummary, err = d.ByKey(ctx, memory.KindSummary, dayKey(date)); err != nil {
		return day, err
	}
	if day.profile, day.hasProfile, err = d.ByKey(ctx, memory.KindProfile, dayKey(date)); err != nil {
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

// maxDayBytes bounds the texts of a day in memory. Longer texts are shortened; a prompt
// shows far less of them.
const maxDayBytes = 8 << 20

// shortenToBudget shortens messages until their size is at most maxDayBytes or each has
// policy.MinTextChars characters. limit is the longest text so far in characters, size
// the sum in bytes; it returns both as they are afterwards.
func shortenToBudget(messages []memory.Note, limit, size int) (newLimit, newSize int) {
	for size > maxDayBytes && limit > policy.MinTextChars {
		limit, size = max(limit/4, policy.MinTextChars), 0
		for i := range messages {
			messages[i].Content = text.Shorten(messages[i].Content, limit)
			size += len(messages[i].Content)
		}
	}
	return limit, size
}

// widestOffset is more than any zone is ahead of UTC or behind it, and what RFC 3339 can write.
const widestOffset = 24 * time.Hour

// firstID is before the id of each note.
var firstID = uuid.UUID{15: 1}

// dayMessages returns the messages of a day, each in the zone of its writer, that may be learned from, by time. Their
// texts may be shortened; see shortenToBudget.
func dayMessages(ctx context.Context, d memory.Desk, start time.Time) ([]memory.Note, error) {
	var out []memory.Note
	limit, size := memory.MaxContentBytes, 0
	end := filter.Value{Type: filter.Time, Time: start.AddDate(0, 0, 1).Add(widestOffset)}
	q := memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindMessage}, Filter: &filter.Leaf{Field: filter.OccurredAt, Op: filter.Lt, Values: []filter.Value{end}},
		ByTime: true, AfterTime: start.Add(-widestOffset), After: firstID, // from there on: messages have an index by time
	}
	for n, err := range policy.EachNote(ctx, d, q) {
		if err != nil {
			return nil, err
		}
		if DayOf(n.OccurredAt) == DayOf(start) && memory.Learnable(n) {
			m := *n
			m.Content = text.Shorten(m.Content, limit)
			out = append(out, m)
			limit, size = shortenToBudget(out, limit, size+len(m.Content))
		}
	}
	slices.SortStableFunc(out, func(a, b memory.Note) int { return a.OccurredAt.Compare(b.OccurredAt) })
	return out, nil
}

// compareCoverage compares the day's messages with those that its summary covers. A
// covered message that no longer exists was forgotten, unless a note of the day is
// marked as stale: then a caller deleted or changed it.
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

// earlierSummary returns the summary if it covers messages that were forgotten, so that
// the next summary includes it; else "". A stale summary is not used, since it may say
// what a caller deleted.
func (day *dayRun) earlierSummary() string {
	if day.forgotten == 0 || day.stale {
		return ""
	}
	return day.summary.Content
}

// sources returns the messages that the notes of the day come from, forgotten ones included.
func (day *dayRun) sources() []uuid.UUID {
	var out []uuid.UUID
	if day.earlierSummary() != "" {
		out = slices.Clone(day.summary.Provenance.Sources)
	}
	seen := make(map[uuid.UUID]bool, len(out))
	for _, id := range out {
		seen[id] = true
	}
	for i := range day.messages {
		if id := day.messages[i].ID; !seen[id] {
			out = append(out, id)
		}
	}
	return out
}

// material returns the day within so many characters, as a prompt shows it and as the
// input of the call.
func (day *dayRun) material(c *Config, chars int) (dayMaterial, DayInput) {
	m := dayMaterial{Date: day.date, Person: displayName(day.user, day.language, memory.RoleUser), Companion: displayName(day.assistant, day.language, memory.RoleAssistant), Language: c.askedLanguage()}
	in := DayInput{Date: day.date, User: day.user, Assistant: day.assistant, Chars: c.SummaryChars, Language: day.language}
	said := day.said()
	texts := make([]string, len(said))
	for i := range said {
		texts[i] = said[i].Content
	}
	from, texts := policy.FitChars(texts, chars)
	for i, t := range texts {
		u := memory.UtteranceOf(&said[from+i])
		u.Content = t
		if u.Name == "" {
			u.Name = day.user
			if u.Role == memory.RoleAssistant {
				u.Name = day.assistant
			}
		}
		in.Turns = append(in.Turns, u)
		m.Turns = append(m.Turns, turnMaterial{Time: u.Time.Format("15:04 ") + memory.ZoneOf(u.Time), Speaker: displayName(u.Name, day.language, u.Role), Text: t})
	}
	return m, in
}

// said returns the messages without the sentences in which a secret was redacted. Those that say nothing else are left out, unless all do.
func (day *dayRun) said() []memory.Note {
	var out []memory.Note
	for i := range day.messages {
		n := day.messages[i]
		if n.Content = policy.WithoutRedacted(n.Content); n.Content != "" {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return day.messages
	}
	return out
}

// displayName returns a speaker's name for a prompt, or a word for the role when the
// name is unknown.
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
