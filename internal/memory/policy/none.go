package policy

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// None is the policy that changes nothing: notes stay as the caller wrote them.
type None struct{ Described }

// NewNone returns the policy.
func NewNone() None {
	d, err := Describe(memory.PolicyDescription{
		Name: "none", Title: "No policy",
		Description: "Notes stay as they are given. They can be searched, linked by hand and forked.",
	}, struct{}{}, nil)
	if err != nil {
		panic("policy: " + err.Error()) // texts always encode
	}
	return None{d}
}

// CheckConfig refuses every override but of the settings that all policies have.
func (None) CheckConfig(config json.RawMessage) error {
	_, err := ParseSettings(config, struct{}{}, nil)
	return err
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
