package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	contract "github.com/slipboxhq/slipbox/api"
	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/test/must"
)

// The contracts are valid. A start takes that for granted.
func TestContractIsValid(t *testing.T) {
	t.Parallel()
	specs := contracttest.Documents(t)
	for base, spec := range specs {
		if err := spec.Validate(t.Context()); err != nil {
			t.Error(base, err)
		}
	}
}

// What requests are checked against is what is written, though it is read from tables, and in parts.
func TestContractInParts(t *testing.T) {
	t.Parallel()
	specs := contracttest.Documents(t)
	for base, read := range map[string]func() (*contract.Table, error){"": contract.OpenAPITable, mem0Base: contract.Mem0Table} {
		d := must.Get(newDocument(read, base))(t)
		seen := 0
		for _, item := range specs[base].Paths.Map() {
			for _, op := range item.Operations() {
				seen++
				o := d.operations[op.OperationID]
				if o == nil {
					t.Errorf("%s is in no table: run make generate", op.OperationID)
					continue
				}
				c := o.checks()
				for _, p := range op.Parameters {
					of := c.query[p.Value.Name]
					if i := slices.IndexFunc(c.headers, func(h *openapi3.Parameter) bool { return h.Name == p.Value.Name }); i >= 0 {
						of = c.headers[i]
					}
					if p.Value.In != openapi3.ParameterInPath {
						sameJSON(t, o.id+" "+p.Value.Name, of, p.Value)
					}
				}
				if op.RequestBody != nil && op.RequestBody.Value.Content[mediaJSON] != nil {
					sameSchema(t, o.id, c.body, op.RequestBody.Value.Content[mediaJSON].Schema.Value, 0)
				} else if c.body != nil {
					t.Errorf("%s has no body", o.id)
				}
			}
		}
		if len(d.operations) != seen {
			t.Errorf("%d operations in the table, %d written", len(d.operations), seen)
		}
		for name, ref := range specs[base].Components.Schemas {
			got := must.Get(d.schema(name))(t)
			sameSchema(t, name, got, ref.Value, 0)
		}
	}
}

// sameSchema compares schemas with those that they refer to.
func sameSchema(t *testing.T, at string, got, want *openapi3.Schema, depth int) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Errorf("%s: %v, not %v", at, got, want)
		return
	}
	if got == nil || depth > 8 {
		return
	}
	sameJSON(t, at, got, want)
	parts := func(s *openapi3.Schema) map[string]*openapi3.SchemaRef {
		out := maps.Clone(map[string]*openapi3.SchemaRef(s.Properties))
		if out == nil {
			out = map[string]*openapi3.SchemaRef{}
		}
		out["[items]"], out["[not]"], out["[additional]"] = s.Items, s.Not, s.AdditionalProperties.Schema
		for name, list := range map[string]openapi3.SchemaRefs{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf} {
			for i, ref := range list {
				out["["+name+" "+string(rune('0'+i))+"]"] = ref
			}
		}
		return out
	}
	theirs := parts(want)
	for name, ref := range parts(got) {
		if other := theirs[name]; ref != nil && other != nil {
			sameSchema(t, at+"."+name, ref.Value, other.Value, depth+1)
		} else if ref != other {
			t.Errorf("%s.%s: %v, not %v", at, name, ref, other)
		}
	}
}

func sameJSON(t *testing.T, at string, got, want any) {
	t.Helper()
	a := must.Get(json.Marshal(got))(t)
	b := must.Get(json.Marshal(want))(t)
	if !bytes.Equal(a, b) {
		t.Errorf("%s:\n%s\nnot\n%s", at, a, b)
	}
}
