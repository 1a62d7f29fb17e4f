package policy

import "github.com/slipboxhq/slipbox/internal/memory"

// All makes every policy. models are the names of further models that a
// collection may choose.
func All(models ...string) (memory.PolicySet, error) {
	amem, err := NewAMem(models...)
	if err != nil {
		return nil, err
	}
	bank, err := NewMemoryBank(models...)
	if err != nil {
		return nil, err
	}
	mem0, err := NewMem0(models...)
	if err != nil {
		return nil, err
	}
	mem0g, err := NewMem0g(models...)
	if err != nil {
		return nil, err
	}
	return memory.NewPolicySet(amem, mem0, mem0g, bank, NewNone()), nil
}
