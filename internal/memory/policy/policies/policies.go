// Package policies lists the memory systems. A new one is added to All; its
// package and its rules (internal/rules) hold the rest.
package policies

import (
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
)

// All builds every policy. models names the further models that a collection
// may choose (policy_config.model).
func All(models ...string) (memory.PolicySet, error) {
	evolving, err := amem.New(models...)
	if err != nil {
		return nil, err
	}
	bank, err := memorybank.New(models...)
	if err != nil {
		return nil, err
	}
	facts, err := mem0.New(models...)
	if err != nil {
		return nil, err
	}
	graph, err := mem0.NewGraph(models...)
	if err != nil {
		return nil, err
	}
	return memory.NewPolicySet(evolving, facts, graph, bank, policy.NewNone()), nil
}
