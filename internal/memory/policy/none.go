package policy

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// None keeps notes as they were given: it describes, links and changes nothing.
type None struct{}

// NewNone makes the policy.
func NewNone() None { return None{} }

// Name is "none".
func (None) Name() string { return "none" }

// Describe says what callers are shown.
func (None) Describe() memory.PolicyDescription {
	return memory.PolicyDescription{
		Name: "none", Title: "No policy",
		Description: "Notes stay as they are given. They can be searched, linked by hand, forked and merged.",
		Defaults:    json.RawMessage(`{}`),
		Schema:      json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{},"additionalProperties":false}`),
	}
}

// CheckConfig refuses every override: there is nothing to set.
func (None) CheckConfig(config json.RawMessage) error {
	if len(config) == 0 || string(config) == "null" {
		return nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(config, &given); err != nil {
		return fault.InvalidField("policy_config", "must be an object")
	}
	for _, name := range sortedKeys(given) {
		return fault.InvalidField("policy_config."+name, "unknown; the policy none has no settings")
	}
	return nil
}

// Prepare returns the note.
func (None) Prepare(_ context.Context, _ memory.Desk, n memory.Note) (memory.Note, error) {
	return n, nil
}

// Reading is as usual.
func (None) Reading(json.RawMessage) memory.Reading { return memory.Reading{} }

// Decide returns the note. There is nothing that was put off.
func (p None) Decide(_ context.Context, _ memory.Desk, e memory.Event) (memory.Decision, error) {
	if e.Kind == memory.EventTask {
		return memory.Decision{}, UnknownEvent(p.Name(), &e)
	}
	return memory.Decision{Note: e.Note, Outcome: json.RawMessage(`{"policy":"none","decision":"keep"}`)}, nil
}

var _ memory.Policy = None{}

// DecisionKeep is the decision of an outcome that changes nothing.
const DecisionKeep = "keep"
