package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// The tasks of MemoryBank. The key of "day" is its date; that of a scheduled
// pass of forgetting is "scheduled".
const (
	TaskDay     = "day"
	TaskOverall = "overall"
	TaskForget  = "forget"

	forgetScheduled = "scheduled"
)

// Keys and attributes of the notes of MemoryBank. A day's summary and profile
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

// MemoryBank keeps a conversation as it was, sums up each day and the whole,
// draws a portrait of the person, and forgets what nobody recalls along
// Ebbinghaus's curve (Zhong et al., MemoryBank, AAAI 2024).
type MemoryBank struct {
	prompts     map[memory.Language]map[string]prompt // by call
	description memory.PolicyDescription
	models      []string
}

// The calls of MemoryBank.
const (
	callDay         = "daily_summary"
	callPersonality = "daily_personality"
	callHistory     = "overall_history"
	callPortrait    = "overall_personality"
)

// NewMemoryBank loads the prompts and schemas. models are the names of further
// models that a collection may choose.
func NewMemoryBank(models ...string) (*MemoryBank, error) {
	p := MemoryBank{models: models, prompts: map[memory.Language]map[string]prompt{}}
	for _, l := range []memory.Language{memory.English, memory.Chinese} {
		p.prompts[l] = map[string]prompt{}
		for _, name := range []string{callDay, callPersonality, callHistory, callPortrait} {
			loaded, err := loadPrompt("memorybank/" + name + "." + string(l) + "@1")
			if err != nil {
				return nil, err
			}
			p.prompts[l][name] = loaded
		}
	}
	defaults, schema, err := describeKnobs(DefaultMemoryBankConfig(), bankKnobs())
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
func (*MemoryBank) Name() string { return "memorybank" }

// Describe says what callers are shown.
func (p *MemoryBank) Describe() memory.PolicyDescription { return p.description }

// CheckConfig refuses unknown names, wrong types and values out of range.
func (p *MemoryBank) CheckConfig(config json.RawMessage) error {
	c, err := parseBankConfig(config)
	if err != nil {
		return err
	}
	return checkModel(c.Model, p.models)
}

// Reading looks at turns and daily summaries, and shows the portrait and the
// shared history always.
func (p *MemoryBank) Reading(config json.RawMessage) memory.Reading {
	c, err := parseBankConfig(config)
	if err != nil { // it was checked when it was set
		c = DefaultMemoryBankConfig()
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

// Prepare returns the note: MemoryBank describes days, not single notes.
func (*MemoryBank) Prepare(_ context.Context, _ memory.Desk, n memory.Note) (memory.Note, error) {
	return n, nil
}

// bankOutcome is what a job's result says. It names notes and holds no memory content.
type bankOutcome struct {
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
	Items     []Fading       `json:"items,omitzero"`
}

func (o *bankOutcome) encode() json.RawMessage {
	o.Policy = "memorybank"
	raw, err := json.Marshal(o)
	if err != nil { // it holds nothing that JSON lacks
		return json.RawMessage(`{}`)
	}
	return raw
}

// answered takes down who answered.
func (o *bankOutcome) answered(version string, a *memory.Answer) {
	o.Analyst, o.Model, o.Repaired = a.Analyst, a.Model, o.Repaired || a.Repaired
	o.Prompts = append(o.Prompts, version)
}

// Decide puts off what an exchange calls for, and does what was put off.
func (p *MemoryBank) Decide(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
	c, err := parseBankConfig(d.Config())
	if err != nil {
		return memory.Decision{}, err
	}
	switch {
	case e.Kind == memory.EventNote:
		return memory.Decision{Note: e.Note, Outcome: (&bankOutcome{Decision: "keep"}).encode()}, nil
	case e.Kind == memory.EventExchange:
		return exchanged(d, &c, e.Messages), nil
	case e.Kind == memory.EventTask && e.Task.Name == TaskDay:
		return p.day(ctx, d, &c, e.Task.Key)
	case e.Kind == memory.EventTask && e.Task.Name == TaskOverall:
		return p.overall(ctx, d, &c)
	case e.Kind == memory.EventTask && e.Task.Name == TaskForget:
		return forget(ctx, d, &c, e.Task)
	}
	return memory.Decision{}, notMine(p.Name(), &e)
}

// exchanged asks for the summaries of the days of messages; the messages
// themselves are the log. Turns within the delay are summed up together.
func exchanged(d memory.Desk, c *MemoryBankConfig, messages []memory.Note) memory.Decision {
	var days []string
	for i := range messages {
		if day := DayOf(messages[i].OccurredAt); memory.Learnable(&messages[i]) && !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	out := memory.Decision{Outcome: (&bankOutcome{Decision: "keep", Days: days, Messages: len(messages)}).encode()}
	for _, day := range days {
		out.Follow = append(out.Follow, memory.Follow{Task: memory.Task{Name: TaskDay, Key: day}, After: d.Now().Add(c.delay())})
	}
	if c.Forgetting != ForgetOff {
		out.Follow = append(out.Follow, forgetLater(d, c))
	}
	return out
}

// Refresh asks for the days of a message, and for the whole when a caller
// touched the note of a day. What days change asks for the whole itself.
func (*MemoryBank) Refresh(was, is *memory.Note, _ []memory.Note) []memory.Follow {
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

func forgetLater(d memory.Desk, c *MemoryBankConfig) memory.Follow {
	return memory.Follow{Task: memory.Task{Name: TaskForget, Key: forgetScheduled}, After: d.Now().Add(c.between())}
}

// bankTries is how often a call is asked with ever less material before it fails.
const bankTries = 5

// ask asks a call about as much of the material as its endpoint takes. The
// material is made anew for each budget of characters: half of it is left out
// when an endpoint refuses the request.
func (p *MemoryBank) ask(
	ctx context.Context, d memory.Desk, c *MemoryBankConfig, o *bankOutcome, l memory.Language, name string,
	check func(json.RawMessage) error, material func(chars int) (prompt, input any, count int),
) (json.RawMessage, memory.Analyst, error) {
	pr := p.prompts[l][name]
	chars := c.MaterialChars
	for try := 1; ; try++ {
		data, input, count := material(chars)
		body, err := pr.render(data, count)
		if err != nil {
			return nil, "", err
		}
		a, err := d.Ask(ctx, memory.Call{
			Name: name, Version: pr.version, System: pr.system, Prompt: body, Schema: pr.schema, Input: input,
			Temperature: stated(c.Temperature), MaxTokens: c.MaxTokens, Check: check,
		})
		switch {
		case err == nil:
			o.answered(pr.version, &a)
			return a.JSON, a.Analyst, nil
		case try == bankTries || !fault.Is(err, fault.ModelFailed) || errors.Is(err, memory.ErrBadAnswer):
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
		chars /= 2
	}
}

// read decodes a checked answer.
func read[T any](raw json.RawMessage, name string) (T, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s: %w: %w", name, memory.ErrBadAnswer, err)
	}
	return v, nil
}

// says demands that an answer has the types of T and says something.
func says[T any](something func(*T) bool) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if err := fits[T](raw); err != nil {
			return err
		}
		v, err := read[T](raw, "answer")
		if err == nil && !something(&v) {
			return errors.New("the answer is empty")
		}
		return err
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// pageNotes is how many notes are listed at once.
const pageNotes = 500

// listed gives every note of a query, oldest id first.
func listed(ctx context.Context, d memory.Desk, q memory.NoteQuery, each func(*memory.Note)) error {
	q.Limit = pageNotes
	for {
		page, err := d.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page {
			each(&page[i])
		}
		if len(page) < q.Limit {
			return nil
		}
		q.After = page[len(page)-1].ID
	}
}

var (
	_ memory.Policy    = (*MemoryBank)(nil)
	_ memory.Refresher = (*MemoryBank)(nil)
)
