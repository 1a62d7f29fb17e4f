package amem

import (
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// Config holds the constants of A-MEM. A collection overrides some of them with its
// policy_config, by the names in settings. The number after each is its default.
type Config struct {
	KNeighbors         int     // how many nearest notes the evolution sees; 5
	MaxLinks           int     // links that one add may make; 3
	MaxNeighborChanges int     // old notes that one add may change; 3
	ConfidenceGate     float64 // changes of old notes are applied only above it, else they wait for review; 0.9
	StrengthenGate     float64 // links and tags of the new note are applied only above it, else they wait for review; 0.5
	EvoThreshold       int     // evolving adds between two consolidations; 100
	Split              bool    // divide an input with two unrelated concepts into two notes; false
	Temperature        float64 // of the model; 0.7
	MaxTokens          int     // of one answer; 1000
	Analyst            string  // "auto": the model if there is one; "heuristic": never a model
	Model              string  // one of the models that the settings name; "": the main one
	MaxContextChars    int     // of a context, from a caller or an answer; 1000
	MaxKeywords        int     // kept from one answer; 12
	MaxTags            int     // kept from one answer; 12
	PromptChars        int     // of the new note's content in a prompt; 16000
	NeighborChars      int     // of a neighbor's content in a prompt; 4000
	LinkedChars        int     // of the content of a note linked to a neighbor in a prompt; 0: none is shown
}

// temperature returns the temperature as a call states it.
func (c *Config) temperature() float64 { return policy.CallTemperature(c.Temperature) }

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		KNeighbors: 5, MaxLinks: 3, MaxNeighborChanges: 3, ConfidenceGate: 0.9, StrengthenGate: 0.5, EvoThreshold: 100,
		Temperature: 0.7, MaxTokens: 1000, Analyst: policy.AnalystAuto, MaxContextChars: 1000,
		MaxKeywords: 12, MaxTags: 12, PromptChars: 16000, NeighborChars: 4000,
	}
}

// settings returns the constants that a collection may override, in the order in which
// they are shown.
func settings() []policy.Setting[Config] {
	return []policy.Setting[Config]{
		policy.NumberSetting("k_neighbours", "nearest notes that the evolution sees", 1, 50, func(c *Config) any { return &c.KNeighbors }),
		policy.NumberSetting("max_links", "links that one add may make", 0, 50, func(c *Config) any { return &c.MaxLinks }),
		policy.NumberSetting("max_neighbour_changes", "old notes that one add may change",
			0, 50, func(c *Config) any { return &c.MaxNeighborChanges }),
		policy.NumberSetting("confidence_gate", "changes of old notes are applied only above it; else they wait for review",
			0, 1, func(c *Config) any { return &c.ConfidenceGate }),
		policy.NumberSetting("strengthen_gate", "links and tags of the new note are applied only above it; else they wait for review",
			0, 1, func(c *Config) any { return &c.StrengthenGate }),
		policy.NumberSetting("evo_threshold", "evolving adds between two consolidations", 1, 1e6, func(c *Config) any { return &c.EvoThreshold }),
		policy.PlainSetting("split", "divide an input with two unrelated concepts into two notes", func(c *Config) any { return &c.Split }),
		policy.NumberSetting("temperature", "of the model", 0, 2, func(c *Config) any { return &c.Temperature }),
		policy.NumberSetting("max_tokens", "of one answer", 64, 32768, func(c *Config) any { return &c.MaxTokens }),
		policy.AnalystSetting(func(c *Config) any { return &c.Analyst }),
		policy.ModelSetting(func(c *Config) any { return &c.Model }),
		policy.NumberSetting("max_context_chars", "of a context, from a caller or an answer",
			50, 4000, func(c *Config) any { return &c.MaxContextChars }),
		policy.NumberSetting("max_keywords", "keywords kept from one answer",
			3, memory.MaxKeywords, func(c *Config) any { return &c.MaxKeywords }),
		policy.NumberSetting("max_tags", "tags kept from one answer", 3, memory.MaxTags, func(c *Config) any { return &c.MaxTags }),
		policy.NumberSetting("prompt_chars", "of the new note's content in a prompt",
			200, memory.MaxContentBytes, func(c *Config) any { return &c.PromptChars }),
		policy.NumberSetting("neighbour_chars", "of a neighbor's content in a prompt",
			100, memory.MaxContentBytes, func(c *Config) any { return &c.NeighborChars }),
		policy.NumberSetting("linked_chars", "of the content of a note linked to a neighbor in a prompt; 0 shows none", 0, 4000, func(c *Config) any { return &c.LinkedChars }),
	}
}

// parseConfig returns the defaults with a collection's overrides. append_context_chars, which older collections may have,
// has no effect any more: without a model no neighbor is changed.
func parseConfig(raw json.RawMessage) (Config, error) {
	return policy.ParseSettings(policy.WithoutSettings(raw, "append_context_chars"), DefaultConfig(), settings())
}
