package memorybank

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

//go:embed prompts schemas
var files embed.FS

// The tasks of MemoryBank. The key of "day" is its date; the key of a scheduled
// forgetting pass is "scheduled".
const (
	taskDay     = "day"
	taskOverall = "overall"
	taskForget  = "forget"

	forgetScheduled = "scheduled"
)

// Keys and attributes of MemoryBank's notes. A day's summary and profile have the key
// dayKey, the global ones KeyOverall. The profile KeyMeta is written by callers (name,
// personality, hobbies, speaking_style).
const (
	KeyOverall = "overall"
	KeyMeta    = "meta"

	AttrPeriod        = "period" // PeriodDay or PeriodGlobal
	AttrDate          = "date"   // of a day, 2006-01-02
	AttrEvents        = "events"
	AttrTraits        = "traits"
	AttrMood          = "mood"
	AttrReplyStrategy = "reply_strategy"
	AttrPerson        = "person" // the name of the person that a day's note is about, if known

	PeriodDay    = "day"
	PeriodGlobal = "global"
)

// dayKey returns the natural key of a day's summary and profile.
func dayKey(date string) string { return "day/" + date }

// DayOf returns the date of a time in its zone, such as 2023-05-01.
func DayOf(t time.Time) string { return memory.Day(t) }

// Policy is MemoryBank. Its name is "memorybank".
type Policy struct {
	policy.Described

	prompts map[policy.Language]map[string]policy.Prompt // by language and call
	models  []string                                     // names that policy_config.model may have
}

// The names of the calls.
const (
	callDay         = "daily_summary"
	callPersonality = "daily_personality"
	callHistory     = "overall_history"
	callPortrait    = "overall_personality"
)

// promptVersions are the versions of the prompts in use, by call.
var promptVersions = map[string]string{callDay: "3", callPersonality: "3", callHistory: "3", callPortrait: "3"}

// New returns the policy with its prompts and schemas. models are the names of
// further models that a collection may choose.
func New(models ...string) (*Policy, error) {
	p := Policy{models: models, prompts: map[policy.Language]map[string]policy.Prompt{}}
	for _, l := range []policy.Language{policy.English, policy.Chinese} {
		p.prompts[l] = map[string]policy.Prompt{}
		for _, name := range []string{callDay, callPersonality, callHistory, callPortrait} {
			loaded, err := policy.LoadPrompt(files, "memorybank/"+name+"."+string(l)+"@"+promptVersions[name])
			if err != nil {
				return nil, err
			}
			p.prompts[l][name] = loaded
		}
	}
	var err error
	p.Described, err = policy.Describe(memory.PolicyDescription{
		Name: "memorybank", Title: "MemoryBank: dialogue log, summaries, forgetting",
		Description: "Messages stay as they were said. Each day is summarized and shows something of the person; from the days come a " +
			"shared history and a portrait with a way to answer. What is not recalled fades, and can be forgotten.",
		Exchanges: true,
	}, DefaultConfig(), settings())
	return &p, err
}

// CheckConfig refuses overrides with unknown names, wrong types or values out of range.
func (p *Policy) CheckConfig(config json.RawMessage) error {
	c, err := parseConfig(config)
	return cmp.Or(err, policy.CheckModel(c.Model, p.models))
}

// pieceChars is the length up to which turns beside one that was found are shown with it.
const pieceChars = 200

// Reading returns that turns, daily summaries and notes are searched, and that a context
// always shows the portrait and the shared history.
func (p *Policy) Reading(config json.RawMessage) memory.Reading {
	c, err := parseConfig(config)
	if err != nil { // it was checked when it was set
		c = DefaultConfig()
	}
	r := memory.Reading{
		Kinds: []memory.Kind{memory.KindMessage, memory.KindSummary, memory.KindNote},
		// The history of all days is in every context already.
		Filter: filter.Not{Term: filter.AttributeIs(AttrPeriod, PeriodGlobal)},
		Pinned: []memory.Pin{
			{Kind: memory.KindProfile, Key: KeyOverall}, {Kind: memory.KindProfile, Key: KeyMeta}, {Kind: memory.KindSummary, Key: KeyOverall},
		},
		Recent: 2 * c.RecentTurns, K: 3, ByDate: true, PieceChars: pieceChars, OnePerson: c.Persons == personsOne,
	}
	if c.Forgetting != forgetOff {
		r.K = 6
	}
	return r
}

// Prepare returns the note unchanged: MemoryBank describes days, not single notes.
func (*Policy) Prepare(_ context.Context, _ memory.Desk, n memory.Note) (memory.Note, error) {
	return n, nil
}

// outcome is a decision in a job's result. It has ids of notes and no memory content.
type outcome struct {
	Policy    string         `json:"policy"`
	Decision  string         `json:"decision"` // "keep", "summarize", "remove", "forget"
	Reason    string         `json:"reason,omitempty"`
	Days      []string       `json:"days,omitempty"`
	Messages  int            `json:"messages,omitempty"`
	Analyst   memory.Analyst `json:"analyst,omitempty"`
	Model     string         `json:"model,omitempty"`
	Prompts   []string       `json:"prompts,omitempty"`
	Repaired  bool           `json:"repaired,omitempty"`
	Mode      string         `json:"mode,omitempty"`
	Floor     float64        `json:"floor,omitempty"`
	Tau       float64        `json:"tau,omitempty"`
	Pieces    *int           `json:"pieces,omitempty"`    // turns and summaries that were looked at
	Forgotten *int           `json:"forgotten,omitempty"` // notes
	Left      int            `json:"left,omitempty"`      // notes that are due and wait for the next pass
	Items     []fadedNote    `json:"items,omitzero"`
}

func (o *outcome) encode() json.RawMessage {
	o.Policy = "memorybank"
	return policy.Encode(o)
}

// addCall records who answered a call.
func (o *outcome) addCall(version string, a *memory.Answer) {
	o.Analyst, o.Model, o.Repaired = a.Analyst, a.Model, o.Repaired || a.Repaired
	o.Prompts = append(o.Prompts, version)
}

// Decide defers the summaries of an exchange's days as tasks, and runs the tasks. Notes
// stay as they are.
func (p *Policy) Decide(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
	c, err := parseConfig(d.Config())
	if err != nil {
		return memory.Decision{}, err
	}
	switch {
	case e.Kind == memory.EventNote:
		return memory.Decision{Note: e.Note, Outcome: (&outcome{Decision: "keep"}).encode()}, nil
	case e.Kind == memory.EventExchange:
		return decideExchange(d, &c, e.Messages), nil
	case e.Kind == memory.EventTask && e.Task.Name == taskDay:
		return p.summarizeDay(ctx, d, &c, e.Task.Key)
	case e.Kind == memory.EventTask && e.Task.Name == taskOverall:
		return p.summarizeOverall(ctx, d, &c)
	case e.Kind == memory.EventTask && e.Task.Name == taskForget:
		return forget(ctx, d, &c, e.Task)
	}
	return memory.Decision{}, policy.UnknownEvent(p.Name(), &e)
}

// decideExchange defers the summaries of the days of messages. Turns within the delay
// are summarized together. The messages themselves do not change.
func decideExchange(d memory.Desk, c *Config, messages []memory.Note) memory.Decision {
	var days []string
	for i := range messages {
		if day := DayOf(messages[i].OccurredAt); memory.Learnable(&messages[i]) && !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	out := memory.Decision{Outcome: (&outcome{Decision: "keep", Days: days, Messages: len(messages)}).encode()}
	for _, day := range days {
		out.Follow = append(out.Follow, memory.Follow{Task: memory.Task{Name: taskDay, Key: day}, After: d.Now().Add(c.summaryDelay())})
	}
	if c.Forgetting != forgetOff {
		out.Follow = append(out.Follow, nextForget(d, c))
	}
	return out
}

// Refresh asks for the summary of a changed message's day, and for the overall summary
// when a caller changed the note of a day. The summary of a day asks for the overall one
// itself.
func (*Policy) Refresh(was, is *memory.Note, stale []memory.Note) []memory.Follow {
	var out []memory.Follow
	for _, n := range []*memory.Note{was, is} {
		switch {
		case n == nil:
		case n.Kind == memory.KindMessage:
			out = append(out, memory.Follow{Task: memory.Task{Name: taskDay, Key: DayOf(n.OccurredAt)}})
		case (n.Kind == memory.KindSummary || n.Kind == memory.KindProfile) && dateOf(n) != "":
			out = append(out, memory.Follow{Task: memory.Task{Name: taskOverall}})
		}
	}
	if ofDay := func(n memory.Note) bool { return dateOf(&n) != "" }; len(stale) > 0 && !slices.ContainsFunc(stale, ofDay) {
		out = append(out, memory.Follow{Task: memory.Task{Name: taskOverall}}) // the notes of the day were forgotten
	}
	return out
}

// nextForget returns the next scheduled forgetting pass.
func nextForget(d memory.Desk, c *Config) memory.Follow {
	return memory.Follow{Task: memory.Task{Name: taskForget, Key: forgetScheduled}, After: d.Now().Add(c.forgetInterval())}
}

// maxTries is how often a call is made, each time with half the material, before it fails.
const maxTries = 5

// question is a call about material that can be cut to a size.
type question struct {
	name     string // of the call
	language policy.Language
	check    func(json.RawMessage) error
	// material returns at most so many characters, for the prompt and as the call's
	// input, and the number of entries.
	material func(chars int) (prompt, input any, count int)
}

// ask makes a call about as much of the material as its endpoint accepts. When the
// endpoint refuses the request it is asked again with half of the material.
func (p *Policy) ask(ctx context.Context, d memory.Desk, c *Config, o *outcome, q question) (json.RawMessage, memory.Analyst, error) {
	prompt := p.prompts[q.language][q.name]
	chars := c.MaterialChars
	for try := 1; ; try++ {
		data, input, count := q.material(chars)
		a, err := prompt.Ask(ctx, d, memory.Call{
			Name: q.name, Input: input, Temperature: policy.CallTemperature(c.Temperature), MaxTokens: c.MaxTokens, Check: q.check,
		}, data, count)
		switch {
		case err == nil:
			o.addCall(prompt.Version, &a)
			return a.JSON, a.Analyst, nil
		case try == maxTries || !fault.Is(err, fault.ModelFailed) || errors.Is(err, memory.ErrBadAnswer):
			return nil, "", fmt.Errorf("%s: %w", q.name, err)
		}
		chars /= 2
	}
}

// askFor is [Policy.ask] for an answer with the types of T.
func askFor[T any](ctx context.Context, p *Policy, d memory.Desk, c *Config, o *outcome, q question) (out T, by memory.Analyst, err error) {
	raw, by, err := p.ask(ctx, d, c, o, q)
	if err == nil {
		out, err = policy.DecodeAnswer[T](raw, q.name)
	}
	return out, by, err
}

var (
	_ memory.Policy    = (*Policy)(nil)
	_ memory.Refresher = (*Policy)(nil)
)
