package memgpt

import (
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// The presets.
const (
	PresetPaper = "paper"
	PresetLetta = "letta"
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
}

// presetConfig returns the values of a preset.
func presetConfig(name string) Config {
	c := Config{Preset: name, Window: 8_192, Warn: 0.7, Flush: 1, Evict: 0.5, MaxSteps: 50}
	if name == PresetLetta {
		c.Warn, c.Flush, c.Evict = 0.75, 0.9, 0.7
	}
	return c
}

// settings returns the constants that a collection may override, in the order in which they are shown.
func settings() []policy.Setting[Config] {
	return []policy.Setting[Config]{
		policy.ChoiceSetting("preset", "the defaults of warn, flush and evict: as the paper has them (0.7, 1, 0.5), or as Letta has them (0.75, 0.9, 0.7)",
			[]string{PresetPaper, PresetLetta}, func(c *Config) any { return &c.Preset }),
		policy.NumberSetting("window", "tokens of the model's context window; one that the instructions and tools fill is refused",
			1, 10_000_000, func(c *Config) any { return &c.Window }),
		policy.NumberSetting("warn", "share of the window at which the agent is warned, once until the next flush; at flush or above: never",
			0, 1, func(c *Config) any { return &c.Warn }),
		policy.NumberSetting("flush", "share of the window at which the oldest messages are evicted and summarized", 0.1, 1, func(c *Config) any { return &c.Flush }),
		policy.NumberSetting("evict", "share of the tokens of messages that a flush evicts", 0.1, 1, func(c *Config) any { return &c.Evict }),
		policy.NumberSetting("max_steps", "steps of one run", 1, 1_000, func(c *Config) any { return &c.MaxSteps }),
	}
}

// parseConfig returns the values of the preset with a collection's overrides.
func parseConfig(raw json.RawMessage) (Config, error) {
	named, err := policy.ParseSettings(raw, presetConfig(PresetPaper), settings())
	if err != nil {
		return named, err
	}
	return policy.ParseSettings(raw, presetConfig(named.Preset), settings())
}
