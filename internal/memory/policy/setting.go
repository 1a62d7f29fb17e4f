package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// The analysts that a collection can ask for.
const (
	AnalystAuto      = "auto"      // the model if one is configured, else the rules
	AnalystHeuristic = "heuristic" // always the rules
)

// CheckModel refuses a model that the gateway's settings do not name.
func CheckModel(name string, models []string) error {
	if name != "" && !slices.Contains(models, name) {
		if len(models) == 0 {
			return fault.InvalidField("policy_config.model", "no model is named %q; the settings of the gateway name none", name)
		}
		return fault.InvalidField("policy_config.model", "no model is named %q; use %s", name, wording.Or(models...))
	}
	return nil
}

// CallTemperature returns a temperature as a call states it: -1 for 0, since 0 in a
// call means that it states none.
func CallTemperature(temperature float64) float64 {
	if temperature == 0 {
		return -1
	}
	return temperature
}

// Setting is one constant of a policy that a collection may override. C is the struct
// of the policy's constants.
type Setting[C any] struct {
	Name     string
	Doc      string
	Min, Max float64         // of a number
	Choices  []string        // of a text; nil: any
	Items    json.RawMessage // JSON schema of the entries of a list; nil: no list
	Field    func(*C) any    // returns a pointer to its field: *int, *float64, *bool, *string, or one to a list
}

// NumberSetting returns a setting that is an int or a float64 in a range.
func NumberSetting[C any](name, doc string, lowest, highest float64, field func(*C) any) Setting[C] {
	return Setting[C]{Name: name, Doc: doc, Min: lowest, Max: highest, Field: field}
}

// ChoiceSetting returns a setting that is one of several texts.
func ChoiceSetting[C any](name, doc string, choices []string, field func(*C) any) Setting[C] {
	return Setting[C]{Name: name, Doc: doc, Choices: choices, Field: field}
}

// PlainSetting returns a setting that is a bool or any text.
func PlainSetting[C any](name, doc string, field func(*C) any) Setting[C] {
	return Setting[C]{Name: name, Doc: doc, Field: field}
}

// AnalystSetting returns the setting by which a collection asks for an analyst.
func AnalystSetting[C any](field func(*C) any) Setting[C] {
	return ChoiceSetting("analyst", "auto: the model if one is configured; heuristic: never a model", []string{AnalystAuto, AnalystHeuristic}, field)
}

// ModelSetting returns the setting by which a collection asks for a model; see CheckModel.
func ModelSetting[C any](field func(*C) any) Setting[C] {
	return PlainSetting("model", "a model that the gateway's settings name, or its handle, such as openai/gpt-4o-mini; empty: the main one", field)
}

// ListSetting returns a setting that is a list. items is the schema of its entries.
func ListSetting[C any](name, doc, items string, field func(*C) any) Setting[C] {
	return Setting[C]{Name: name, Doc: doc, Items: json.RawMessage(items), Field: field}
}

// ParseSettings returns the defaults c with a collection's overrides. An unknown name,
// a wrong type or a value out of range is a fault that names the field.
func ParseSettings[C any](raw json.RawMessage, c C, all []Setting[C]) (C, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return c, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return c, fault.InvalidField("policy_config", "must be an object")
	}
	for _, name := range sortedKeys(given) {
		if name == memory.SettingSecrets {
			if err := secrets.set(new(memory.Secrets), given[name]); err != nil {
				return c, err
			}
			continue
		}
		if name == memory.SettingTimezone {
			if err := checkTimezone(given[name]); err != nil {
				return c, err
			}
			continue
		}
		i := slices.IndexFunc(all, func(s Setting[C]) bool { return s.Name == name })
		if i < 0 {
			return c, fault.InvalidField("policy_config."+name, "unknown setting; the policy has %s", settingNames(all))
		}
		if err := all[i].set(&c, given[name]); err != nil {
			return c, err
		}
	}
	return c, nil
}

// WithoutSettings returns a collection's overrides without settings that a policy no longer has.
func WithoutSettings(raw json.RawMessage, names ...string) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return raw // refused by the caller
	}
	had := len(given)
	for _, name := range names {
		delete(given, name)
	}
	if len(given) == had {
		return raw
	}
	out, err := json.Marshal(given)
	if err != nil {
		return raw
	}
	return out
}

// settingNames lists the settings of a policy, with those that all have.
func settingNames[C any](all []Setting[C]) string {
	names := []string{memory.SettingSecrets, memory.SettingTimezone}
	for _, s := range all {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// secrets is the setting that every policy has. The store and the writers of notes read it from the collection.
var secrets = Setting[memory.Secrets]{
	Name: memory.SettingSecrets,
	Doc: "What happens to keys, card numbers and passwords in what is written: redact replaces them with a mark that names their kind, " +
		"refuse answers 422, keep leaves them.",
	Choices: []string{string(memory.SecretsRedact), string(memory.SecretsRefuse), string(memory.SecretsKeep)},
	Field:   func(s *memory.Secrets) any { return (*string)(s) },
}

// timezone is another setting that every policy has.
var timezone = Setting[memory.Timezone]{
	Name: memory.SettingTimezone,
	Doc: "The zone, by its IANA name such as America/New_York, that decides the days of messages and notes whose time has no offset of its own " +
		"(Z is none), and of questions. A change is for what is written from then on.",
	Field: func(z *memory.Timezone) any { return (*string)(z) },
}

func checkTimezone(raw json.RawMessage) error {
	var zone memory.Timezone
	if err := timezone.set(&zone, raw); err != nil {
		return err
	}
	if zone == "" {
		zone = "Local" // refused like all that is not a name of a zone
	}
	_, err := zone.Location()
	return err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// set decodes a value into the setting's field of c and checks its range.
func (s *Setting[C]) set(c *C, raw json.RawMessage) error {
	field := "policy_config." + s.Name
	target := s.Field(c)
	if string(raw) == "null" || json.Unmarshal(raw, target) != nil {
		return fault.InvalidField(field, "must be %s", s.typeName())
	}
	switch v := target.(type) {
	case *int:
		if float64(*v) < s.Min || float64(*v) > s.Max {
			return fault.InvalidField(field, "must be between %g and %g", s.Min, s.Max)
		}
	case *float64:
		if !(*v >= s.Min && *v <= s.Max) {
			return fault.InvalidField(field, "must be between %g and %g", s.Min, s.Max)
		}
	case *string:
		if s.Choices != nil && !slices.Contains(s.Choices, *v) {
			return fault.InvalidField(field, "must be one of %s", wording.Or(s.Choices...))
		}
	}
	return nil
}

// typeName returns the setting's type as an error message names it.
func (s *Setting[C]) typeName() string {
	if s.Items != nil {
		return "a list"
	}
	switch s.Field(new(C)).(type) {
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

// Described holds the description of a policy.
type Described struct{ about memory.PolicyDescription }

// Name returns the name of the policy.
func (d Described) Name() string { return d.about.Name }

// Describe returns the description for callers of the API.
func (d Described) Describe() memory.PolicyDescription { return d.about }

// Describe adds to a description the defaults c as JSON, and the JSON schema of the overrides.
func Describe[C any](about memory.PolicyDescription, c C, all []Setting[C]) (_ Described, err error) {
	type property struct {
		Type        string          `json:"type"`
		Description string          `json:"description"`
		Default     any             `json:"default"`
		Minimum     *float64        `json:"minimum,omitempty"`
		Maximum     *float64        `json:"maximum,omitempty"`
		Enum        []string        `json:"enum,omitempty"`
		Items       json.RawMessage `json:"items,omitempty"`
	}
	values := map[string]any{secrets.Name: memory.SecretsRedact, timezone.Name: "UTC"}
	properties := map[string]property{
		secrets.Name:  {Type: "string", Description: secrets.Doc, Default: memory.SecretsRedact, Enum: secrets.Choices},
		timezone.Name: {Type: "string", Description: timezone.Doc, Default: "UTC"},
	}
	for _, s := range all {
		p := property{Description: s.Doc, Enum: s.Choices}
		if s.Max > s.Min {
			p.Minimum, p.Maximum = &s.Min, &s.Max
		}
		switch v := s.Field(&c).(type) {
		case *int:
			p.Type, p.Default = "integer", *v
		case *float64:
			p.Type, p.Default = "number", *v
		case *bool:
			p.Type, p.Default = "boolean", *v
		case *string:
			p.Type, p.Default = "string", *v
		}
		if s.Items != nil {
			p.Type, p.Default, p.Items = "array", []any{}, s.Items
		}
		values[s.Name], properties[s.Name] = p.Default, p
	}
	if about.Defaults, err = json.Marshal(values); err != nil {
		return Described{}, fmt.Errorf("encode defaults: %w", err)
	}
	about.Schema, err = json.Marshal(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"properties": properties, "additionalProperties": false,
	})
	if err != nil {
		return Described{}, fmt.Errorf("encode schema: %w", err)
	}
	return Described{about}, nil
}
