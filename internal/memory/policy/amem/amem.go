package amem

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

//go:embed prompts schemas
var files embed.FS

// Policy is A-MEM. Its name is "amem".
type Policy struct {
	policy.Described

	analyze, evolve, split policy.Prompt
	models                 []string // names that policy_config.model may have
}

// New returns the policy with its prompts and schemas. models are the names of
// further models that a collection may choose.
func New(models ...string) (*Policy, error) {
	p := Policy{models: models}
	for name, target := range map[string]*policy.Prompt{"analyze@3": &p.analyze, "evolve@4": &p.evolve, "split@2": &p.split} {
		loaded, err := policy.LoadPrompt(files, "amem/"+name)
		if err != nil {
			return nil, err
		}
		*target = loaded
	}
	var err error
	p.Described, err = policy.Describe(memory.PolicyDescription{
		Name: "amem", Title: "A-MEM: linked, evolving notes",
		Description: "Each note gets keywords, a context and tags, is linked to related notes, and may change how those are described. " +
			"Changes that the analyst is not sure of wait for review.",
	}, DefaultConfig(), settings())
	return &p, err
}

// CheckConfig refuses overrides with unknown names, wrong types or values out of range.
func (p *Policy) CheckConfig(config json.RawMessage) error {
	c, err := parseConfig(config)
	return cmp.Or(err, policy.CheckModel(c.Model, p.models))
}

// Reading returns the defaults of every collection.
func (*Policy) Reading(json.RawMessage) memory.Reading { return memory.Reading{} }

// analyzeMaterial is the note as the prompts of "analyze" and "split" show it; Wanted is for "split" alone.
type analyzeMaterial struct {
	Time    string   `json:"time"`
	Speaker string   `json:"speaker,omitempty"`
	Wanted  []string `json:"wanted,omitempty"`
	Content string   `json:"content"`
}

// Prepare fills those of keywords, context and tags that the caller left out. When
// there are none, no model is asked.
func (p *Policy) Prepare(ctx context.Context, d memory.Desk, n memory.Note) (memory.Note, error) {
	c, err := parseConfig(d.Config())
	if err != nil {
		return n, err
	}
	missing := missingFields(&n)
	if len(missing) == 0 {
		return n, nil
	}
	speaker := policy.SpeakerOf(&n)
	answer, err := p.analyze.Ask(ctx, d, memory.Call{
		Name: "analyze", Input: AnalyzeInput{Content: n.Content, Time: n.OccurredAt, Speaker: speaker, Want: missing}, Needs: missing,
		Temperature: c.temperature(), MaxTokens: c.MaxTokens, Check: policy.CheckTypes[Analysis], Collection: n.Collection,
	}, analyzeMaterial{Time: policy.FormatMinute(n.OccurredAt), Speaker: speaker, Content: text.Shorten(n.Content, c.PromptChars)}, 1)
	if err != nil {
		return n, fmt.Errorf("analyze: %w", err)
	}
	var a Analysis
	if err := json.Unmarshal(answer.JSON, &a); err != nil {
		return n, fmt.Errorf("analyze: %w: %w", memory.ErrBadAnswer, err)
	}
	for _, field := range missing {
		switch field {
		case "keywords":
			n.Keywords = completeKeywords(policy.CleanKeywords(a.Keywords, c.MaxKeywords, speaker), &n, c.MaxKeywords, speaker)
		case "tags":
			n.Tags = policy.CleanTerms(a.Tags, c.MaxTags)
		case "context":
			n.Context = policy.CleanSentence(a.Context, c.MaxContextChars)
			if n.Context == "" {
				n.Context = memory.DefaultContext
			}
		}
	}
	n.Analyst = answer.Analyst
	return n, nil
}

// minKeywords is how many keywords a note has, as the prompt demands.
const minKeywords = 3

// completeKeywords adds key phrases of the content when the analyst named fewer than
// minKeywords. A short note may have no more.
func completeKeywords(have []string, n *memory.Note, limit int, speaker string) []string {
	if len(have) >= minKeywords {
		return have
	}
	more := text.Keyphrases(memory.WithoutMarks(n.Content), 2*minKeywords, speaker)
	return policy.CleanKeywords(append(have, more...), min(limit, minKeywords), speaker)
}

// missingFields returns the names of the described fields that the caller did not
// supply. A default ("General", an empty list) does not count as supplied.
func missingFields(n *memory.Note) []string {
	var missing []string
	for _, field := range []string{"keywords", "context", "tags"} {
		if !isSupplied(n, field) {
			missing = append(missing, field)
		}
	}
	return missing
}

// isSupplied reports whether the caller supplied a field, and not its default.
func isSupplied(n *memory.Note, field string) bool {
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

var _ memory.Policy = (*Policy)(nil)
