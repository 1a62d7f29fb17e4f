package mem0

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

//go:embed prompts schemas
var files embed.FS

// The natural keys and tasks of Mem0.
const (
	KeySummary      = "mem0/summary"    // of the summary of all facts, S of the paper
	KeyProcedure    = "mem0/procedure/" // and the session: of the record of a session
	TaskSummary     = "summary"
	TaskProcedure   = "procedure" // its key is the session
	TaskExpire      = "expire"
	TaskMarkOrphans = "mark_orphans" // its key is the id of a deleted message
)

// nothingKnown is the summary of a memory without facts.
const nothingKnown = "No key facts are known yet."

// Policy is Mem0, or Mem0g if Graph is set in its defaults.
type Policy struct {
	policy.Described

	prompts  prompts
	graph    *graphPart
	defaults Config
	models   []string // names that policy_config.model may have
}

// prompts are those of the facts; the graph has its own.
type prompts struct{ extract, guidance, decide, summarize, procedure policy.Prompt }

// New returns the policy "mem0": facts. models are the names of further models that a
// collection may choose.
func New(models ...string) (*Policy, error) {
	return newMem0(memory.PolicyDescription{
		Name: "mem0", Title: "Mem0: facts",
		Description: "Short facts are taken from each exchange of a conversation. A fact that is new is added, one that adds detail is merged, " +
			"one that contradicts an older one replaces it, one that is known changes nothing. A summary of all facts is kept.",
	}, DefaultConfig(), models)
}

// NewGraph returns the policy "mem0g": facts with a graph of entities and relations.
func NewGraph(models ...string) (*Policy, error) {
	c := DefaultConfig()
	c.Graph = true
	return newMem0(memory.PolicyDescription{
		Name: "mem0g", Title: "Mem0g: facts and a graph",
		Description: "Mem0, and beside the facts a graph of the entities that they are about and of the relations between these, " +
			"each with the time in which it is valid.",
	}, c, models)
}

func newMem0(d memory.PolicyDescription, c Config, models []string) (*Policy, error) {
	p := Policy{defaults: c, models: models}
	for version, into := range map[string]*policy.Prompt{
		"extract@2": &p.prompts.extract, "guidance@1": &p.prompts.guidance, "decide@4": &p.prompts.decide, "summarize@2": &p.prompts.summarize, "procedure@2": &p.prompts.procedure,
	} {
		loaded, err := policy.LoadPrompt(files, "mem0/"+version)
		if err != nil {
			return nil, err
		}
		*into = loaded
	}
	var err error
	if p.graph, err = newGraphPart(); err != nil {
		return nil, err
	}
	d.Exchanges, d.Guided = true, true
	p.Described, err = policy.Describe(d, c, settings())
	return &p, err
}

// CheckConfig refuses overrides with unknown names, wrong types or values out of range.
func (p *Policy) CheckConfig(config json.RawMessage) error {
	c, err := p.config(config)
	return cmp.Or(err, policy.CheckModel(c.Model, p.models))
}

// Reading returns that facts and notes are searched, and that a context shows the summary
// first and the recent messages. Of procedural memory the records are searched.
func (p *Policy) Reading(config json.RawMessage) memory.Reading {
	c, err := p.config(config)
	if err != nil {
		c = p.defaults
	}
	if c.MemoryType == memoryProcedural {
		return memory.Reading{Kinds: []memory.Kind{memory.KindSummary, memory.KindFact, memory.KindNote}, Recent: c.RecentMessages}
	}
	r := memory.Reading{
		Kinds:  []memory.Kind{memory.KindFact, memory.KindNote},
		Pinned: []memory.Pin{{Kind: memory.KindSummary, Key: KeySummary}},
		Recent: c.RecentMessages, Graph: c.Graph, Messages: true,
	}
	if c.Graph {
		r.Kinds = append(r.Kinds, memory.KindKnowledge)
	}
	return r
}

// Prepare returns the note unchanged. Facts are extracted from it when it is decided about.
func (*Policy) Prepare(_ context.Context, _ memory.Desk, n memory.Note) (memory.Note, error) {
	return n, nil
}

// Decide learns from an exchange, or from a note as from a user's message, and runs the
// deferred tasks.
func (p *Policy) Decide(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
	c, err := p.config(d.Config())
	if err != nil {
		return memory.Decision{}, err
	}
	switch e.Kind {
	case memory.EventExchange:
		return p.learn(ctx, d, &c, e.Messages, e.Guidance)
	case memory.EventNote:
		return p.decideNote(ctx, d, &c, e.Note)
	case memory.EventTask:
		return p.runTask(ctx, d, &c, &e)
	}
	return memory.Decision{}, policy.UnknownEvent(p.Name(), &e)
}

// decideNote learns from a note that a caller wrote. A fact that a caller wrote is taken
// as it is.
func (p *Policy) decideNote(ctx context.Context, d memory.Desk, c *Config, n memory.Note) (dec memory.Decision, err error) {
	switch n.Kind {
	case memory.KindNote, memory.KindMessage:
		dec, err = p.learn(ctx, d, c, []memory.Note{n}, nil)
	case memory.KindFact:
		out := Outcome{Policy: p.Name(), Decision: policy.DecisionKeep}
		dec.Follow = expiryTasks(d.Now(), n)
		if c.Graph {
			err = p.graph.update(ctx, d, c, factChange{added: []memory.Note{n}}, &dec, &out)
		}
		dec.Outcome = policy.Encode(&out)
	default:
		dec.Outcome = policy.Encode(&Outcome{Policy: p.Name(), Decision: policy.DecisionKeep})
	}
	dec.Note = n
	return dec, err
}

// runTask runs a deferred task.
func (p *Policy) runTask(ctx context.Context, d memory.Desk, c *Config, e *memory.Event) (memory.Decision, error) {
	switch e.Task.Name {
	case TaskSummary:
		return p.summarize(ctx, d, c, e.Task)
	case TaskProcedure:
		return p.writeRecord(ctx, d, c, e.Task.Key)
	case TaskExpire:
		return p.expire(ctx, d, c)
	case TaskMarkOrphans:
		return p.markOrphans(ctx, d, e.Task.Key)
	}
	dec, ok, err := p.graph.runTask(ctx, d, c, e.Task)
	if err == nil && !ok {
		err = policy.UnknownEvent(p.Name(), e)
	}
	return dec, err
}

// question is one call of Mem0 with its material.
type question struct {
	name     string // of the call
	prompt   *policy.Prompt
	material any // as the prompt shows it
	count    int // entries of the material
	input    any // of the call
	analyst  memory.Analyst
	lenient  func(string) json.RawMessage
	check    func(json.RawMessage) error
}

// ask makes a call with the temperature and the length of the settings.
func (c *Config) ask(ctx context.Context, d memory.Desk, q question) (memory.Answer, error) {
	a, err := q.prompt.Ask(ctx, d, memory.Call{
		Name: q.name, Input: q.input, Analyst: q.analyst,
		Temperature: policy.CallTemperature(c.Temperature), MaxTokens: c.MaxTokens, Lenient: q.lenient, Check: q.check,
	}, q.material, q.count)
	if err != nil {
		return a, fmt.Errorf("%s: %w", q.name, err)
	}
	return a, nil
}

// askFor is [Config.ask] for an answer with the types of T.
func askFor[T any](ctx context.Context, c *Config, d memory.Desk, q question) (out T, a memory.Answer, err error) {
	if a, err = c.ask(ctx, d, q); err == nil {
		out, err = policy.DecodeAnswer[T](a.JSON, q.name)
	}
	return out, a, err
}

// requireKey refuses a task without a key.
func requireKey(t, key string) error {
	if key == "" {
		return fault.InvalidField("key", "the task %q needs one", t)
	}
	return nil
}

var _ memory.Policy = (*Policy)(nil)
