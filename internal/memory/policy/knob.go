package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// The analysts that a collection can ask for.
const (
	AnalystAuto      = "auto"
	AnalystHeuristic = "heuristic"
)

// checkModel refuses a model that the settings do not name.
func checkModel(name string, models []string) error {
	if name != "" && !slices.Contains(models, name) {
		return fault.InvalidField("policy_config.model", "no model is named %q; named are [%s]", name, strings.Join(models, ", "))
	}
	return nil
}

// stated is a temperature as a call states it: a zero there would mean that it states none.
func stated(temperature float64) float64 {
	if temperature == 0 {
		return -1
	}
	return temperature
}

// knob is one constant of a policy as a caller may override it. C is the
// policy's settings.
type knob[C any] struct {
	name   string
	doc    string
	lo, hi float64
	choice []string
	at     func(*C) any // pointer to its field: *int, *float64, *bool or *string
}

// parseKnobs applies a collection's overrides to the defaults. An unknown
// name, a wrong type or a value out of range is a fault that names the field.
func parseKnobs[C any](raw json.RawMessage, c C, all []knob[C]) (C, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return c, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return c, fault.InvalidField("policy_config", "must be an object")
	}
	for _, name := range sortedKeys(given) {
		i := slices.IndexFunc(all, func(k knob[C]) bool { return k.name == name })
		if i < 0 {
			return c, unknownKnob(name, all)
		}
		if err := all[i].set(&c, given[name]); err != nil {
			return c, err
		}
	}
	return c, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func unknownKnob[C any](name string, all []knob[C]) error {
	valid := make([]string, len(all))
	for i, k := range all {
		valid[i] = k.name
	}
	return fault.InvalidField("policy_config."+name, "unknown; valid are %s", strings.Join(valid, ", "))
}

func (k *knob[C]) set(c *C, raw json.RawMessage) error {
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

func (k *knob[C]) kind() string {
	switch k.at(new(C)).(type) {
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
func describeKnobs[C any](c C, all []knob[C]) (defaults, schema json.RawMessage, err error) {
	type property struct {
		Type        string   `json:"type"`
		Description string   `json:"description"`
		Default     any      `json:"default"`
		Minimum     *float64 `json:"minimum,omitempty"`
		Maximum     *float64 `json:"maximum,omitempty"`
		Enum        []string `json:"enum,omitempty"`
	}
	values, properties := map[string]any{}, map[string]property{}
	for _, k := range all {
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
