package api

import (
	"testing"

	contract "github.com/slipboxhq/slipbox/api"
)

// The embedded contracts are valid. A start takes that for granted.
func TestContractIsValid(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string][]byte{"openapi.yaml": contract.OpenAPI(), "mem0.yaml": contract.Mem0()} {
		d, err := newDocument(raw, "")
		if err != nil {
			t.Fatal(name, err)
		}
		if err := d.spec.Validate(t.Context()); err != nil {
			t.Error(name, err)
		}
	}
}

// BenchmarkContract is what a start does with the contract before the first request.
func BenchmarkContract(b *testing.B) {
	for b.Loop() {
		if _, err := newDocument(contract.OpenAPI(), ""); err != nil {
			b.Fatal(err)
		}
	}
}
