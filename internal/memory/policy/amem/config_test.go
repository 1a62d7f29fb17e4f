package amem

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestCheckConfig: overrides are checked strictly, and a fault names the field (C032,
// C038, C078: the limits are settings).
func TestCheckConfig(t *testing.T) {
	t.Parallel()
	none := policy.NewNone()
	rows := []struct {
		policy memory.Policy
		config string
		field  string // "": accepted
	}{
		{newAMem(t), ``, ""},
		{newAMem(t), `null`, ""},
		{newAMem(t), `{}`, ""},
		{newAMem(t), `{"k_neighbours":10,"max_links":0,"confidence_gate":1,"evo_threshold":5,"split":true,"analyst":"heuristic"}`, ""},
		{newAMem(t), `{"k_neighbors":5}`, "policy_config.k_neighbors"},
		{newAMem(t), `{"K_neighbours":5}`, "policy_config.K_neighbours"},
		{newAMem(t), `{"k_neighbours":0}`, "policy_config.k_neighbours"},
		{newAMem(t), `{"k_neighbours":51}`, "policy_config.k_neighbours"},
		{newAMem(t), `{"k_neighbours":2.5}`, "policy_config.k_neighbours"},
		{newAMem(t), `{"k_neighbours":null}`, "policy_config.k_neighbours"},
		{newAMem(t), `{"k_neighbours":"5"}`, "policy_config.k_neighbours"},
		{newAMem(t), `{"confidence_gate":1.1}`, "policy_config.confidence_gate"},
		{newAMem(t), `{"confidence_gate":-0.1}`, "policy_config.confidence_gate"},
		{newAMem(t), `{"split":1}`, "policy_config.split"},
		{newAMem(t), `{"analyst":"oracle"}`, "policy_config.analyst"},
		{newAMem(t), `[]`, "policy_config"},
		{newAMem(t), `5`, "policy_config"},
		{none, `{}`, ""},
		{none, ``, ""},
		{none, `{"k_neighbours":5}`, "policy_config.k_neighbours"},
		{none, `[]`, "policy_config"},
	}
	for _, r := range rows {
		err := r.policy.CheckConfig(json.RawMessage(r.config))
		if r.field == "" {
			if err != nil {
				t.Errorf("%s %s: %v", r.policy.Name(), r.config, err)
			}
			continue
		}
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Field != r.field {
			t.Errorf("%s %s: %v, want the field %s", r.policy.Name(), r.config, err, r.field)
		}
	}
}

// TestDescribe: the described defaults are those in use, and the schema has every setting.
func TestDescribe(t *testing.T) {
	t.Parallel()
	d := newAMem(t).Describe()
	c := must.Get(parseConfig(d.Defaults))(t)
	if diff := cmp.Diff(DefaultConfig(), c); diff != "" {
		t.Errorf("defaults (-used +shown):\n%s", diff)
	}
	var schema struct {
		Properties map[string]struct {
			Default any `json:"default"`
		} `json:"properties"`
		AdditionalProperties *bool `json:"additionalProperties"`
	}
	must.Do(t, json.Unmarshal(d.Schema, &schema))
	if len(schema.Properties) != len(settings())+2 || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
		t.Errorf("the schema is not strict or not whole: %s", d.Schema)
	}
	// A collection may have a setting that is gone.
	if old, err := parseConfig(json.RawMessage(`{"append_context_chars":50,"max_links":2}`)); err != nil || old.MaxLinks != 2 {
		t.Errorf("an older collection's settings: %+v, %v", old, err)
	}
	for name, want := range map[string]any{
		"k_neighbours": 5.0, "max_links": 3.0, "max_neighbour_changes": 3.0, "confidence_gate": 0.9, "evo_threshold": 100.0,
		"split": false, "temperature": 0.7, "max_tokens": 1000.0,
	} {
		if schema.Properties[name].Default != want {
			t.Errorf("default of %s is %v, want %v", name, schema.Properties[name].Default, want)
		}
	}
}
