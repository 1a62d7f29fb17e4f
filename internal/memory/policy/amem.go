package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// AMem is A-MEM: every note is described, linked to its nearest neighbours,
// and may change how those are described.
type AMem struct {
	analyze, evolve, split prompt
	description            memory.PolicyDescription
	models                 []string // names that policy_config.model may have
}

// NewAMem loads the prompts and schemas. models are the names of further
// models that a collection may choose.
func NewAMem(models ...string) (*AMem, error) {
	p := AMem{models: models}
	for name, into := range map[string]*prompt{"analyze": &p.analyze, "evolve": &p.evolve, "split": &p.split} {
		loaded, err := loadPrompt("amem/" + name + "@1")
		if err != nil {
			return nil, err
		}
		*into = loaded
	}
	defaults, schema, err := describeKnobs(DefaultAMemConfig(), knobs())
	if err != nil {
		return nil, err
	}
	p.description = memory.PolicyDescription{
		Name: "amem", Title: "A-MEM: linked, evolving notes",
		Description: "Each note gets keywords, a context and tags, is linked to related notes, and may change how those are described. " +
			"Changes that the analyst is not sure of wait for review.",
		Defaults: defaults, Schema: schema,
	}
	return &p, nil
}

// Name is "amem".
func (*AMem) Name() string { return "amem" }

// Describe says what callers are shown.
func (p *AMem) Describe() memory.PolicyDescription { return p.description }

// CheckConfig refuses unknown names, wrong types and values out of range.
func (p *AMem) CheckConfig(config json.RawMessage) error {
	c, err := parseAMemConfig(config)
	if err != nil {
		return err
	}
	return checkModel(c.Model, p.models)
}

// Reading is as usual.
func (*AMem) Reading(json.RawMessage) memory.Reading { return memory.Reading{} }

// notMine refuses an event that a policy knows nothing of, such as a task that
// another version of it put off.
func notMine(policy string, e *memory.Event) error {
	if e.Kind == memory.EventTask {
		return fault.New(fault.Invalid, "the policy %s has no task %q", policy, e.Task.Name)
	}
	return fault.New(fault.Invalid, "the policy %s does not decide about an event of the kind %q", policy, e.Kind)
}

// analyzeMaterial is the note as the prompt of "analyze" shows it.
type analyzeMaterial struct {
	Time    string   `json:"time"`
	Speaker string   `json:"speaker,omitempty"`
	Wanted  []string `json:"wanted"`
	Content string   `json:"content"`
}

// Prepare fills whichever of keywords, context and tags the caller left out.
// Without anything left out no model is asked.
func (p *AMem) Prepare(ctx context.Context, d memory.Desk, n memory.Note) (memory.Note, error) {
	c, err := parseAMemConfig(d.Config())
	if err != nil {
		return n, err
	}
	want := wanted(&n)
	if len(want) == 0 {
		return n, nil
	}
	speaker := speakerOf(&n)
	body, err := p.analyze.render(analyzeMaterial{
		Time: stamp(n.OccurredAt), Speaker: speaker, Wanted: want, Content: text.Shorten(n.Content, c.PromptChars),
	}, 1)
	if err != nil {
		return n, err
	}
	answer, err := d.Ask(ctx, memory.Call{
		Name: "analyze", Version: p.analyze.version, System: p.analyze.system, Prompt: body, Schema: p.analyze.schema,
		Input:       memory.AnalyzeInput{Content: n.Content, Time: n.OccurredAt, Speaker: speaker, Want: want},
		Temperature: c.temperature(), MaxTokens: c.MaxTokens, Check: fits[memory.Analysis], Collection: n.Collection,
	})
	if err != nil {
		return n, fmt.Errorf("analyze: %w", err)
	}
	var a memory.Analysis
	if err := json.Unmarshal(answer.JSON, &a); err != nil {
		return n, fmt.Errorf("analyze: %w: %w", memory.ErrBadAnswer, err)
	}
	for _, field := range want {
		switch field {
		case "keywords":
			n.Keywords = cleanKeywords(a.Keywords, c.MaxKeywords, speaker)
		case "tags":
			n.Tags = cleanTerms(a.Tags, c.MaxTags)
		case "context":
			n.Context = cleanSentence(a.Context, c.MaxContextChars)
			if n.Context == "" {
				n.Context = memory.DefaultContext
			}
		}
	}
	n.Analyst = answer.Analyst
	return n, nil
}

// wanted lists the described fields that the caller did not give. A default
// ("General", an empty list) does not count as given.
func wanted(n *memory.Note) []string {
	var want []string
	if !gave(n, "keywords") {
		want = append(want, "keywords")
	}
	if !gave(n, "context") {
		want = append(want, "context")
	}
	if !gave(n, "tags") {
		want = append(want, "tags")
	}
	return want
}

// gave tells that the caller supplied a field with something in it.
func gave(n *memory.Note, field string) bool {
	if !slices.Contains(n.Supplied, field) {
		return false
	}
	switch field {
	case "keywords":
		return len(n.Keywords) > 0
	case "tags":
		return len(n.Tags) > 0
	default:
		return n.Context != "" && n.Context != memory.DefaultContext
	}
}

// fits checks that an answer has the types of T; what is absent or in excess
// does not matter.
func fits[T any](answer json.RawMessage) error {
	var v T
	if err := json.Unmarshal(answer, &v); err != nil {
		return fmt.Errorf("the answer does not have the types of its schema: %w", err)
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

var _ memory.Policy = (*AMem)(nil)
