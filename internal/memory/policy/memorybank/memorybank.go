package memorybank

import (
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

// The tasks of Policy. The key of "day" is its date; that of a scheduled
// pass of forgetting is "scheduled".
const (
	TaskDay     = "day"
	TaskOverall = "overall"
	TaskForget  = "forget"

	forgetScheduled = "scheduled"
)

// Keys and attributes of the notes of Policy. A day's summary and profile
// have the key DayKey, the global ones KeyOverall; the profile KeyMeta is the
// caller's (name, personality, hobbies, speaking_style).
const (
	KeyOverall = "overall"
	KeyMeta    = "meta"

	AttrPeriod        = "period" // PeriodDay or PeriodGlobal
	AttrDate          = "date"   // of a day, 2006-01-02
	AttrEvents        = "events"
	AttrTraits        = "traits"
	AttrMood          = "mood"
	AttrReplyStrategy = "reply_strategy"
	AttrPerson        = "person" // whom a day's note is about, when the name is known

	PeriodDay    = "day"
	PeriodGlobal = "global"
)

// DayKey is the natural key of a day's summary and profile.
func DayKey(date string) string { return "day/" + date }

// DayOf is the day that a time belongs to, in UTC.
func DayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Policy keeps a conversation as it was, sums up each day and the whole,
// draws a portrait of the person, and forgets what nobody recalls along
// Ebbinghaus's curve (Zhong et al., Policy, AAAI 2024).
type Policy struct {
	prompts     map[policy.Language]map[string]policy.Prompt // by call
	description memory.PolicyDescription
	models      []string
}

// The calls of Policy.
const (
	callDay         = "daily_summary"
	callPersonality = "daily_personality"
	callHistory     = "overall_history"
	callPortrait    = "overall_personality"
)

// New loads the prompts and schemas. models are the names of further
// models that a collection may choose.
func New(models ...string) (*Policy, error) {
	p := Policy{models: models, prompts: map[policy.Language]map[string]policy.Prompt{}}
	for _, l := range []policy.Language{policy.English, policy.Chinese} {
		p.prompts[l] = map[string]policy.Prompt{}
		for _, name := range []string{callDay, callPersonality, callHistory, callPortrait} {
			loaded, err := policy.LoadPrompt(files, "memorybank/"+name+"."+string(l)+"@1")
			if err != nil {
				return nil, err
			}
			p.prompts[l][name] = loaded
		}
	}
	defaults, schema, err := policy.DescribeSettings(DefaultConfig(), settings())
	if err != nil {
		return nil, err
	}
	p.description = memory.PolicyDescription{
		Name: "memorybank", Title: "MemoryBank: dialogue log, summaries, forgetting",
		Description: "Messages stay as they were said. Each day is summed up and says something of the person; from the days come a " +
			"shared history and a portrait with a way to answer. What is not recalled fades, and can be forgotten.",
		Defaults: defaults, Schema: schema, Exchanges: true,
	}
	return &p, nil
}

// Name is "memorybank".
func (*Policy) Name() string { return "memorybank" }

// Describe says what callers are shown.
func (p *Policy) Describe() memory.PolicyDescription { return p.description }

// CheckConfig refuses unknown names, wrong types and values out of range.
func (p *Policy) CheckConfig(config json.RawMessage) error {
	c, err := parseConfig(config)
	if err != nil {
		return err
	}
	return policy.CheckModel(c.Model, p.models)
}

// Reading looks at turns and daily summaries, and shows the portrait and the
// shared history always.
func (p *Policy) Reading(config json.RawMessage) memory.Reading {
	c, err := parseConfig(config)
	if err != nil { // it was checked when it was set
		c = DefaultConfig()
	}
	r := memory.Reading{
		Kinds: []memory.Kind{memory.KindMessage, memory.KindSummary, memory.KindNote},
		// The pieces are turns and days; the history of all days stands in every context.
		Filter: filter.Not{Term: &filter.Leaf{Field: filter.Attributes, Path: []string{AttrPeriod}, Op: filter.Eq, Values: []filter.Value{{Type: filter.Text, Text: PeriodGlobal}}}},
		Pinned: []memory.Pin{
			{Kind: memory.KindProfile, Key: KeyOverall}, {Kind: memory.KindProfile, Key: KeyMeta}, {Kind: memory.KindSummary, Key: KeyOverall},
		},
		Recent: 2 * c.RecentTurns, K: 3, ByDate: true,
	}
	if c.Forgetting != ForgetOff {
		r.K = 6
	}
	return r
}

// Prepare returns the note: Policy describes days, not single notes.
func (*Policy) Prepare(_ context.Context, _ memory.Desk, n memory.Note) (memory.Note, error) {
	return n, nil
}

// outcome is what a job's result says. It names notes and holds no memory content.
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
	Items     []FadedNote    `json:"items,omitzero"`
}

func (o *outcome) encode() json.RawMessage {
	o.Policy = "memorybank"
	raw, err := json.Marshal(o)
	if err != nil { // it holds nothing that JSON lacks
		return json.RawMessage(`{}`)
	}
	return raw
}

// answered takes down who answered.
func (o *outcome) addCall(version string, a *memory.Answer) {
	o.Analyst, o.Model, o.Repaired = a.Analyst, a.Model, o.Repaired || a.Repaired
	o.Prompts = append(o.Prompts, version)
}

// Decide puts off what an exchange calls for, and does what was put off.
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
	case e.Kind == memory.EventTask && e.Task.Name == TaskDay:
		return p.summarizeDay(ctx, d, &c, e.Task.Key)
	case e.Kind == memory.EventTask && e.Task.Name == TaskOverall:
		return p.summarizeOverall(ctx, d, &c)
	case e.Kind == memory.EventTask && e.Task.Name == TaskForget:
		return forget(ctx, d, &c, e.Task)
	}
	return memory.Decision{}, policy.UnknownEvent(p.Name(), &e)
}

// exchanged asks for the summaries of the days of messages; the messages
// themselves are the log. Turns within the delay are summed up together.
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
		out.Follow = append(out.Follow, memory.Follow{Task: memory.Task{Name: TaskDay, Key: day}, After: d.Now().Add(c.summaryDelay())})
	}
	if c.Forgetting != ForgetOff {
		out.Follow = append(out.Follow, nextForget(d, c))
	}
	return out
}

// Refresh asks for the days of a message, and for the whole when a caller
// touched the note of a day. What days change asks for the whole itself.
func (*Policy) Refresh(was, is *memory.Note, _ []memory.Note) []memory.Follow {
	var out []memory.Follow
	for _, n := range []*memory.Note{was, is} {
		switch {
		case n == nil:
		case n.Kind == memory.KindMessage:
			out = append(out, memory.Follow{Task: memory.Task{Name: TaskDay, Key: DayOf(n.OccurredAt)}})
		case (n.Kind == memory.KindSummary || n.Kind == memory.KindProfile) && dateOf(n) != "":
			out = append(out, memory.Follow{Task: memory.Task{Name: TaskOverall}})
		}
	}
	return out
}

func nextForget(d memory.Desk, c *Config) memory.Follow {
	return memory.Follow{Task: memory.Task{Name: TaskForget, Key: forgetScheduled}, After: d.Now().Add(c.forgetInterval())}
}

// maxTries is how often a call is asked with ever less material before it fails.
const maxTries = 5

// ask asks a call about as much of the material as its endpoint takes. The
// material is made anew for each budget of characters: half of it is left out
// when an endpoint refuses the request.
func (p *Policy) ask(
	ctx context.Context, d memory.Desk, c *Config, o *outcome, l policy.Language, name string,
	check func(json.RawMessage) error, material func(chars int) (prompt, input any, count int),
) (json.RawMessage, memory.Analyst, error) {
	pr := p.prompts[l][name]
	chars := c.MaterialChars
	for try := 1; ; try++ {
		data, input, count := material(chars)
		body, err := pr.Render(data, count)
		if err != nil {
			return nil, "", err
		}
		a, err := d.Ask(ctx, memory.Call{
			Name: name, Version: pr.Version, System: pr.System, Prompt: body, Schema: pr.Schema, Input: input,
			Temperature: policy.CallTemperature(c.Temperature), MaxTokens: c.MaxTokens, Check: check,
		})
		switch {
		case err == nil:
			o.addCall(pr.Version, &a)
			return a.JSON, a.Analyst, nil
		case try == maxTries || !fault.Is(err, fault.ModelFailed) || errors.Is(err, memory.ErrBadAnswer):
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
		chars /= 2
	}
}

var (
	_ memory.Policy    = (*Policy)(nil)
	_ memory.Refresher = (*Policy)(nil)
)
