package policy

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// None is the policy that changes nothing: notes stay as the caller wrote them.
type None struct{}

// NewNone returns the policy.
func NewNone() None { return None{} }

// Name returns "none".
func (None) Name() string { return "none" }

// Describe returns the description for callers of the API.
func (None) Describe() memory.PolicyDescription {
	return memory.PolicyDescription{
		Name: "none", Title: "No policy",
		Description: "Notes stay as they are given. They can be searched, linked by hand, forked and merged.",
		Defaults:    json.RawMessage(`{}`),
		Schema:      json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{},"additionalProperties":false}`),
	}
}

// CheckConfig refuses every override: the policy has no settings.
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

// Prepare returns the note unchanged.
func (None) Prepare(_ context.Context, _ memory.Desk, n memory.Note) (memory.Note, error) {
	return n, nil
}

// Reading returns the defaults of every collection.
func (None) Reading(json.RawMessage) memory.Reading { return memory.Reading{} }

// Decide returns the note unchanged. It refuses tasks, since it defers none.
func (p None) Decide(_ context.Context, _ memory.Desk, e memory.Event) (memory.Decision, error) {
	if e.Kind == memory.EventTask {
		return memory.Decision{}, UnknownEvent(p.Name(), &e)
	}
	return memory.Decision{Note: e.Note, Outcome: json.RawMessage(`{"policy":"none","decision":"keep"}`)}, nil
}

var _ memory.Policy = None{}

// DecisionKeep is the decision, in a job's result, to change nothing.
const DecisionKeep = "keep"
