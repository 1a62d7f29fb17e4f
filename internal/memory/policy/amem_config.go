package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// AMemConfig holds the constants of A-MEM. A collection overrides single ones
// with its policy_config; the JSON names are those of the knobs table.
type AMemConfig struct {
	KNeighbours         int     // how many nearest notes the evolution sees; 5
	MaxLinks            int     // links that one add may make; 3
	MaxNeighbourChanges int     // old notes that one add may change; 3
	ConfidenceGate      float64 // changes of old notes are applied only above it, else they wait for review; 0.9
	StrengthenGate      float64 // links and tags of the new note are applied only above it, else they wait for review; 0.5
	EvoThreshold        int     // evolving adds between two consolidations; 100
	Split               bool    // divide an input with two unrelated concepts into two notes; false
	Temperature         float64 // of the model; 0.7
	MaxTokens           int     // of one answer; 1000
	Analyst             string  // "auto": the model if there is one; "heuristic": never a model
	Model               string  // one of the models that the settings name; "": the main one
	AppendContextChars  int     // characters of the new context that rules append to a neighbour's; 50
	MaxContextChars     int     // of a context, whoever wrote it; 1000
	MaxKeywords         int     // kept from one answer; 12
	MaxTags             int     // kept from one answer; 12
	PromptChars         int     // of the new note's content in a prompt; 16000
	NeighbourChars      int     // of a neighbour's content in a prompt; 4000
	LinkedChars         int     // of a linked note's content in a prompt; 200
}

// temperature is what a call states: a zero there would mean that it states none.
func (c *AMemConfig) temperature() float64 {
	if c.Temperature == 0 {
		return -1
	}
	return c.Temperature
}

// The analysts that a collection can ask for.
const (
	AnalystAuto      = "auto"
	AnalystHeuristic = "heuristic"
)

// DefaultAMemConfig gives the documented defaults.
func DefaultAMemConfig() AMemConfig {
	return AMemConfig{
		KNeighbours: 5, MaxLinks: 3, MaxNeighbourChanges: 3, ConfidenceGate: 0.9, StrengthenGate: 0.5, EvoThreshold: 100,
		Temperature: 0.7, MaxTokens: 1000, Analyst: AnalystAuto, AppendContextChars: 50, MaxContextChars: 1000,
		MaxKeywords: 12, MaxTags: 12, PromptChars: 16000, NeighbourChars: 4000, LinkedChars: 200,
	}
}

// knob is one constant as a caller may override it.
type knob struct {
	name   string
	doc    string
	lo, hi float64
	choice []string
	at     func(*AMemConfig) any // pointer to its field
}

// knobs lists the constants in the order in which they are shown.
func knobs() []knob {
	return []knob{
		{"k_neighbours", "nearest notes that the evolution sees", 1, 50, nil, func(c *AMemConfig) any { return &c.KNeighbours }},
		{"max_links", "links that one add may make", 0, 50, nil, func(c *AMemConfig) any { return &c.MaxLinks }},
		{"max_neighbour_changes", "old notes that one add may change", 0, 50, nil, func(c *AMemConfig) any { return &c.MaxNeighbourChanges }},
		{"confidence_gate", "changes of old notes are applied only above it; else they wait for review", 0, 1, nil, func(c *AMemConfig) any { return &c.ConfidenceGate }},
		{"strengthen_gate", "links and tags of the new note are applied only above it; else they wait for review", 0, 1, nil, func(c *AMemConfig) any { return &c.StrengthenGate }},
		{"evo_threshold", "evolving adds between two consolidations", 1, 1e6, nil, func(c *AMemConfig) any { return &c.EvoThreshold }},
		{"split", "divide an input with two unrelated concepts into two notes", 0, 0, nil, func(c *AMemConfig) any { return &c.Split }},
		{"temperature", "of the model", 0, 2, nil, func(c *AMemConfig) any { return &c.Temperature }},
		{"max_tokens", "of one answer", 64, 32768, nil, func(c *AMemConfig) any { return &c.MaxTokens }},
		{"analyst", "auto: the model if one is configured; heuristic: never a model", 0, 0, []string{AnalystAuto, AnalystHeuristic}, func(c *AMemConfig) any { return &c.Analyst }},
		{"model", "a model that the gateway's settings name; empty: the main one", 0, 0, nil, func(c *AMemConfig) any { return &c.Model }},
		{"append_context_chars", "characters of the new context that rules append to a neighbour's", 0, 1000, nil, func(c *AMemConfig) any { return &c.AppendContextChars }},
		{"max_context_chars", "of a context, whoever wrote it", 50, 4000, nil, func(c *AMemConfig) any { return &c.MaxContextChars }},
		{"max_keywords", "keywords kept from one answer", 3, memory.MaxKeywords, nil, func(c *AMemConfig) any { return &c.MaxKeywords }},
		{"max_tags", "tags kept from one answer", 3, memory.MaxTags, nil, func(c *AMemConfig) any { return &c.MaxTags }},
		{"prompt_chars", "of the new note's content in a prompt", 200, memory.MaxContentBytes, nil, func(c *AMemConfig) any { return &c.PromptChars }},
		{"neighbour_chars", "of a neighbour's content in a prompt", 100, memory.MaxContentBytes, nil, func(c *AMemConfig) any { return &c.NeighbourChars }},
		{"linked_chars", "of a linked note's content in a prompt", 0, 4000, nil, func(c *AMemConfig) any { return &c.LinkedChars }},
	}
}

// parseAMemConfig applies a collection's overrides to the defaults. An unknown
// name, a wrong type or a value out of range is a fault that names the field.
func parseAMemConfig(raw json.RawMessage) (AMemConfig, error) {
	c := DefaultAMemConfig()
	if len(raw) == 0 || string(raw) == "null" {
		return c, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return c, fault.InvalidField("policy_config", "must be an object")
	}
	all := knobs()
	for _, name := range sortedKeys(given) {
		i := slices.IndexFunc(all, func(k knob) bool { return k.name == name })
		if i < 0 {
			return c, unknownKnob(name, all)
		}
		if err := all[i].set(&c, given[name]); err != nil {
			return c, err
		}
	}
	return c, nil
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func unknownKnob(name string, all []knob) error {
	valid := make([]string, len(all))
	for i, k := range all {
		valid[i] = k.name
	}
	return fault.InvalidField("policy_config."+name, "unknown; valid are %s", strings.Join(valid, ", "))
}

func (k *knob) set(c *AMemConfig, raw json.RawMessage) error {
	field := "policy_config." + k.name
	target := k.at(c)
	if string(raw) == "null" || json.Unmarshal(raw, target) != nil {
		return fault.InvalidField(field, "must be %s", k.kind())
	}
	switch v := target.(type) {
	case *int:
		if float64(*v) < k.lo || float64(*v) > k.hi {
			return fault.InvalidField(field, "must be between %g and %g", k.lo, k.hi)
		}
	case *float64:
		if !(*v >= k.lo && *v <= k.hi) {
			return fault.InvalidField(field, "must be between %g and %g", k.lo, k.hi)
		}
	case *string:
		if k.choice != nil && !slices.Contains(k.choice, *v) {
			return fault.InvalidField(field, "must be one of %s", strings.Join(k.choice, ", "))
		}
	}
	return nil
}

func (k *knob) kind() string {
	switch k.at(&AMemConfig{}).(type) {
	case *int:
		return "an integer"
	case *float64:
		return "a number"
	case *bool:
		return "true or false"
	default:
		return "a text"
	}
}

// describeKnobs gives the defaults and the JSON schema of the overrides.
func describeKnobs() (defaults, schema json.RawMessage, err error) {
	type property struct {
		Type        string   `json:"type"`
		Description string   `json:"description"`
		Default     any      `json:"default"`
		Minimum     *float64 `json:"minimum,omitempty"`
		Maximum     *float64 `json:"maximum,omitempty"`
		Enum        []string `json:"enum,omitempty"`
	}
	c := DefaultAMemConfig()
	values, properties := map[string]any{}, map[string]property{}
	for _, k := range knobs() {
		p := property{Description: k.doc, Enum: k.choice}
		if k.hi > k.lo {
			p.Minimum, p.Maximum = &k.lo, &k.hi
		}
		switch v := k.at(&c).(type) {
		case *int:
			p.Type, p.Default = "integer", *v
		case *float64:
			p.Type, p.Default = "number", *v
		case *bool:
			p.Type, p.Default = "boolean", *v
		case *string:
			p.Type, p.Default = "string", *v
		}
		values[k.name], properties[k.name] = p.Default, p
	}
	if defaults, err = json.Marshal(values); err != nil {
		return nil, nil, fmt.Errorf("encode defaults: %w", err)
	}
	schema, err = json.Marshal(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"properties": properties, "additionalProperties": false,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("encode schema: %w", err)
	}
	return defaults, schema, nil
}
