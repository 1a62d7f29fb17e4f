package memgpt

import (
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// The presets.
const (
	presetPaper = "paper"
	presetLetta = "letta"
)

// Config holds the constants of MemGPT. A collection overrides some of them with its policy_config, by
// the names in settings. The values after each are those of the presets: paper, then letta.
type Config struct {
	Preset   string  // the defaults of the others; "paper"
	Window   int     // tokens of the model's context window; 8,192
	Warn     float64 // share of the window at which the agent is warned, once until the next flush; 0.7, 0.75
	Flush    float64 // share of the window at which the oldest messages are evicted; 1, 0.9
	Evict    float64 // share of the tokens of messages that a flush evicts; 0.5, 0.7
	MaxSteps int     // steps of one run; 50

	MaxCalls   int // tool calls of one run; 200
	MaxTokens  int // prompts and turns of one run; 2,000,000
	MaxSeconds int // of one run, from its first step on; 3,600
	Heartbeat  int // minutes after which an idle agent gets a heartbeat; 0: never

	ToolRules []memory.ToolRule // none
	Approve   []string          // tools that wait for approval; none
	MaxWait   int               // seconds that a run waits for answers to its calls; 604,800

	SummaryModel  string // named by the gateway's settings; "": the agent's
	SummaryWindow int    // tokens; 0: Window

	Analyst string // policy.AnalystAuto
	Model   string // named by the gateway's settings; "": the main one
}

// presetConfig returns the values of a preset.
func presetConfig(name string) Config {
	c := Config{Preset: name, Window: 8_192, Warn: 0.7, Flush: 1, Evict: 0.5, MaxSteps: 50, MaxCalls: 200, MaxTokens: 2_000_000, MaxSeconds: 3_600, MaxWait: maxWait, Analyst: policy.AnalystAuto}
	if name == presetLetta {
		c.Warn, c.Flush, c.Evict = 0.75, 0.9, 0.7
	}
	return c
}

// maxWait is a week, in seconds.
const maxWait = 7 * 24 * 3_600

// maxHeartbeat is a week, in minutes.
const maxHeartbeat = 7 * 24 * 60

// settings returns the constants that a collection may override, in the order in which they are shown.
func settings() []policy.Setting[Config] {
	return []policy.Setting[Config]{
		policy.ChoiceSetting("preset", "the defaults of warn, flush and evict: as the paper has them (0.7, 1, 0.5), or as Letta has them (0.75, 0.9, 0.7)",
			[]string{presetPaper, presetLetta}, func(c *Config) any { return &c.Preset }),
		policy.NumberSetting("window", "tokens of the model's context window; one that the instructions and tools fill is refused",
			1, 10_000_000, func(c *Config) any { return &c.Window }),
		policy.NumberSetting("warn", "share of the window at which the agent is warned, once until the next flush; at flush or above: never",
			0, 1, func(c *Config) any { return &c.Warn }),
		policy.NumberSetting("flush", "share of the window at which the oldest messages are evicted and summarized", 0.1, 1, func(c *Config) any { return &c.Flush }),
		policy.NumberSetting("evict", "share of the tokens of messages that a flush evicts", 0.1, 1, func(c *Config) any { return &c.Evict }),
		policy.NumberSetting("max_steps", "steps of one run, which are turns of the model", 1, 1_000, func(c *Config) any { return &c.MaxSteps }),
		policy.NumberSetting("max_calls", "tool calls of one run", 1, 10_000, func(c *Config) any { return &c.MaxCalls }),
		policy.NumberSetting("max_tokens", "tokens of one run, prompts included", 1, 1_000_000_000, func(c *Config) any { return &c.MaxTokens }),
		policy.NumberSetting("max_seconds", "time of one run, from its first step on", 1, 86_400, func(c *Config) any { return &c.MaxSeconds }),
		policy.NumberSetting("heartbeat_minutes", "how long nothing has happened when the agent gets a heartbeat, from its first event on; 0: never",
			0, maxHeartbeat, func(c *Config) any { return &c.Heartbeat }),
		policy.ListSetting("tool_rules", "when tools may be called: first (the first call is one of these), last (the run ends with it, and not before), after (only after one of others), most (so often in a run)",
			ruleSchema, func(c *Config) any { return &c.ToolRules }),
		policy.ListSetting("approve", "tools whose calls wait for approval", `{"type":"string"}`, func(c *Config) any { return &c.Approve }),
		policy.NumberSetting("max_wait_seconds", "how long a run waits for approvals and for results of tools that the caller runs; then it is expired",
			1, 10*maxWait, func(c *Config) any { return &c.MaxWait }),
		policy.PlainSetting("summary_model", "the model that sums up evicted messages, as the gateway's settings name it; empty: the agent's", func(c *Config) any { return &c.SummaryModel }),
		policy.NumberSetting("summary_window", "tokens of that model's window; 0: as window", 0, 10_000_000, func(c *Config) any { return &c.SummaryWindow }),
		policy.AnalystSetting(func(c *Config) any { return &c.Analyst }),
		policy.ModelSetting(func(c *Config) any { return &c.Model }),
	}
}

const ruleSchema = `{"type":"object","properties":{"tool":{"type":"string"},"rule":{"type":"string","enum":["first","last","after","most"]},` +
	`"after":{"type":"array","items":{"type":"string"}},"most":{"type":"integer","minimum":1}},"required":["tool","rule"],"additionalProperties":false}`

// checkRules returns a fault for a rule that can never be kept, or that says too little.
func (c *Config) checkRules() error {
	for i, r := range c.ToolRules {
		at := memory.ElementField("policy_config.tool_rules", i)
		switch {
		case r.Tool == "":
			return fault.InvalidField(at+".tool", "is required")
		case r.Rule == memory.RuleAfter && len(r.After) == 0:
			return fault.InvalidField(at+".after", "must name the tools before it")
		case r.Rule == memory.RuleMost && r.Most < 1:
			return fault.InvalidField(at+".most", "must be 1 or more")
		case r.Rule != memory.RuleFirst && r.Rule != memory.RuleLast && r.Rule != memory.RuleAfter && r.Rule != memory.RuleMost:
			return fault.InvalidField(at+".rule", "must be one of first, last, after or most")
		}
	}
	return nil
}

// parseConfig returns the values of the preset with a collection's overrides.
func parseConfig(raw json.RawMessage) (Config, error) {
	named, err := policy.ParseSettings(raw, presetConfig(presetPaper), settings())
	if err != nil {
		return named, err
	}
	return policy.ParseSettings(raw, presetConfig(named.Preset), settings())
}
