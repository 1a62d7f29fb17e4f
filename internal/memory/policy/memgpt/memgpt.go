package memgpt

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/search"
)

//go:embed prompts schemas tools
var files embed.FS

// The versions of the files in use. A changed text is a new file with a higher version.
const (
	instructionsFile = "prompts/instructions.v1.txt"
	toolsFile        = "tools/tools.v1.json"
	warningFile      = "prompts/warning.v1.txt"
	summaryPrompt    = "memgpt/queue_summary@2"
)

// ArgHeartbeat is the argument that every tool takes: the agent wants to act again after it.
const ArgHeartbeat = "request_heartbeat"

// recentMessages is how many of the newest messages a context for other models ends with.
const recentMessages = 10

// Policy is MemGPT. Its name is "memgpt". About notes and messages it decides as policy none does.
type Policy struct {
	policy.None
	policy.Described

	models       []string
	instructions string
	warning      string
	summary      policy.Prompt
	tools        []memory.Tool
	fixed        int // tokens of instructions and tools, with a margin
}

var (
	_ memory.Policy    = (*Policy)(nil)
	_ memory.Seeder    = (*Policy)(nil)
	_ memory.Pager     = (*Policy)(nil)
	_ memory.Refresher = (*Policy)(nil)
)

// New returns the policy. models are the names that policy_config may choose from.
func New(models ...string) (*Policy, error) {
	p := &Policy{models: models}
	for file, text := range map[string]*string{instructionsFile: &p.instructions, warningFile: &p.warning} {
		raw, err := files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("memgpt: read %s: %w", file, err)
		}
		*text = strings.TrimSpace(string(raw))
	}
	var err error
	if p.summary, err = policy.LoadPrompt(files, summaryPrompt); err != nil {
		return nil, fmt.Errorf("memgpt: %w", err)
	}
	if p.tools, err = readTools(); err != nil {
		return nil, fmt.Errorf("memgpt: %w", err)
	}
	shown, err := json.Marshal(p.tools)
	if err != nil {
		return nil, fmt.Errorf("memgpt: encode the tools: %w", err)
	}
	p.fixed = int(math.Ceil(search.EstimateMargin * float64(search.EstimateTokens(p.instructions)+search.EstimateTokens(string(shown)))))
	p.Described, err = policy.Describe(memory.PolicyDescription{
		Name: memory.PolicyMemGPT, Title: "MemGPT: context as paged memory",
		Description: "For agents with a model of limited context: memory blocks that are always in the prompt, every message in recall storage, " +
			"passages in archival storage, and tools that page between them.",
	}, presetConfig(presetPaper), settings())
	if err != nil {
		return nil, fmt.Errorf("memgpt: %w", err)
	}
	return p, nil
}

// readTools reads the tools and adds to each the argument ArgHeartbeat. No other arguments are allowed.
func readTools() ([]memory.Tool, error) {
	raw, err := files.ReadFile(toolsFile)
	if err != nil {
		return nil, fmt.Errorf("read the tools: %w", err)
	}
	var tools []memory.Tool
	if err := json.Unmarshal(raw, &tools); err != nil {
		return nil, fmt.Errorf("decode the tools: %w", err)
	}
	for i := range tools {
		t := &tools[i]
		var parameters map[string]any
		if err := json.Unmarshal(t.Parameters, &parameters); err != nil {
			return nil, fmt.Errorf("decode the parameters of %s: %w", t.Name, err)
		}
		properties, ok := parameters["properties"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the parameters of %s have no properties", t.Name)
		}
		properties[ArgHeartbeat] = map[string]any{"type": "boolean", "description": "Act again after this tool. Default false."}
		parameters["additionalProperties"] = false
		if t.Parameters, err = json.Marshal(parameters); err != nil {
			return nil, fmt.Errorf("encode the parameters of %s: %w", t.Name, err)
		}
	}
	return tools, nil
}

// CheckConfig validates a collection's overrides. A window that the instructions and tools alone would
// fill is refused.
func (p *Policy) CheckConfig(raw json.RawMessage) error {
	c, err := parseConfig(raw)
	if err != nil {
		return err
	}
	if c.Window <= p.fixed {
		return fault.InvalidField("policy_config.window", "must be more than %d: the instructions and tools alone may take as many tokens, by an estimate with a margin", p.fixed)
	}
	if err := c.checkRules(); err != nil {
		return err
	}
	for _, name := range []string{c.Model, c.SummaryModel} {
		if err := policy.CheckModel(name, p.models); err != nil {
			return err
		}
	}
	return nil
}

// Reading returns what searches and contexts show: messages, passages and notes are searched, blocks are
// pinned.
func (*Policy) Reading(json.RawMessage) memory.Reading {
	return memory.Reading{
		Kinds:  []memory.Kind{memory.KindMessage, memory.KindPassage, memory.KindNote},
		Pinned: []memory.Pin{{Kind: memory.KindBlock}}, Recent: recentMessages, Hidden: memory.ToolTraffic(),
	}
}

// Seed returns the blocks "human" and "persona", empty.
func (*Policy) Seed(json.RawMessage) []memory.Note {
	human, persona := block.New(block.LabelHuman), block.New(block.LabelPersona)
	human.Description = "What is known about the person: name, life, likings, wishes, whatever matters in every conversation."
	persona.Description = "Who the assistant is: its name, its manner, and what it has agreed to be or do."
	first, _ := human.Note(nil)
	second, _ := persona.Note(nil)
	return []memory.Note{first, second}
}

// Decide keeps notes and messages as they are. When the time of a timer has come, it writes the event that
// starts a run.
func (p *Policy) Decide(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
	if e.Kind != memory.EventTask {
		return p.None.Decide(ctx, d, e)
	}
	var timed memory.TimedEvent
	switch {
	case e.Task.Name == memory.TaskHeartbeat:
		return p.heartbeat(ctx, d)
	case e.Task.Name != memory.TaskTimer || json.Unmarshal(e.Task.Args, &timed) != nil:
		return memory.Decision{}, policy.UnknownEvent(p.Name(), &e)
	}
	return begin(d, timed), nil
}

// begin writes an event that starts a run.
func begin(d memory.Desk, timed memory.TimedEvent) memory.Decision {
	id := d.NewID()
	event := memory.Note{
		ID: id, Kind: memory.KindMessage, Content: timed.Content, OccurredAt: d.Now(), Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateRaw,
		Attributes: map[string]any{
			memory.AttrRole: string(memory.RoleUser), memory.AttrEvent: string(timed.Type), memory.AttrRun: id.String(), memory.AttrRecall: true,
		},
	}
	return memory.Decision{Puts: []memory.Note{event}, Runs: []uuid.UUID{id}, Cause: memory.CauseAdd, Outcome: json.RawMessage(`{"decision":"event"}`)}
}

// heartbeat writes the event of a regular heartbeat, when nothing has happened for so long as the setting says and no
// pause is on. Either way the next one follows.
func (p *Policy) heartbeat(ctx context.Context, d memory.Desk) (memory.Decision, error) {
	c, err := parseConfig(d.Config())
	if err != nil {
		return memory.Decision{}, err
	}
	if c.Heartbeat == 0 {
		return memory.Decision{Outcome: json.RawMessage(`{"decision":"off"}`)}, nil
	}
	every := time.Duration(c.Heartbeat) * time.Minute
	due := d.Now()
	newest, err := d.List(ctx, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, Newest: true, Limit: 2})
	if err != nil {
		return memory.Decision{}, err
	}
	for i := range newest {
		if at := newest[i].CreatedAt.Add(every); newest[i].Key != memory.KeyPause && at.After(due) {
			due = at
		}
	}
	pause, ok, err := d.ByKey(ctx, memory.KindMessage, memory.KeyPause)
	if err != nil {
		return memory.Decision{}, err
	}
	if ok {
		text, _ := pause.Attributes[memory.AttrUntil].(string)
		if until, err := time.Parse(time.RFC3339, text); err == nil && until.After(due) {
			due = until
		}
	}
	task := memory.Task{Name: memory.TaskHeartbeat}
	if due.After(d.Now()) {
		return memory.Decision{Follow: []memory.Follow{{Task: task, After: due}}, Outcome: json.RawMessage(`{"decision":"later"}`)}, nil
	}
	out := begin(d, memory.TimedEvent{Type: memory.EventHeartbeat, Content: memory.HeartbeatText})
	out.Idle, out.Follow = true, []memory.Follow{{Task: task, After: d.Now().Add(every)}}
	return out, nil
}

// Paging returns what an agent with this memory works with.
func (p *Policy) Paging(raw json.RawMessage) memory.Paging {
	c, err := parseConfig(raw)
	if err != nil { // it was checked when it was set
		c = presetConfig(presetPaper)
	}
	return memory.Paging{
		Instructions: p.instructions, Tools: slices.Clone(p.tools), Window: c.Window, Warn: c.Warn, Flush: c.Flush, Evict: c.Evict, MaxSteps: c.MaxSteps,
		MaxCalls: c.MaxCalls, MaxTokens: int64(c.MaxTokens), MaxTime: time.Duration(c.MaxSeconds) * time.Second, Heartbeat: time.Duration(c.Heartbeat) * time.Minute, Warning: p.warning,
		Rules: c.ToolRules, Approve: c.Approve, MaxWait: time.Duration(c.MaxWait) * time.Second, SummaryModel: c.SummaryModel, SummaryWindow: c.SummaryWindow,
	}
}
