// Package policies lists the memory systems. A new one is added to All; the rest is
// in its own package and in internal/analyst, which answers its calls without a model.
// The app builds the list; no policy is imported elsewhere, except by its rules and by what reads its records.
package policies

import (
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
)

// All returns every policy. models are the names of further models that a collection
// may choose (policy_config.model).
func All(models ...string) (memory.PolicySet, error) {
	amemPolicy, err := amem.New(models...)
	if err != nil {
		return nil, err
	}
	memorybankPolicy, err := memorybank.New(models...)
	if err != nil {
		return nil, err
	}
	memgptPolicy, err := memgpt.New(models...)
	if err != nil {
		return nil, err
	}
	mem0Policy, err := mem0.New(models...)
	if err != nil {
		return nil, err
	}
	mem0gPolicy, err := mem0.NewGraph(models...)
	if err != nil {
		return nil, err
	}
	layeredPolicy, err := layered.New(models...)
	if err != nil {
		return nil, err
	}
	memoryosPolicy, err := memoryos.New(models...)
	if err != nil {
		return nil, err
	}
	return memory.NewPolicySet(amemPolicy, layeredPolicy, mem0Policy, mem0gPolicy, memgptPolicy, memorybankPolicy, memoryosPolicy, policy.NewNone()), nil
}
