package mcp

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// fit returns an argument in the form that its schema has. Many clients send every value as a text, and null for one
// that is absent. Where the schema has no text, a text is read as what the schema has; what cannot be read stays, and is
// refused with its name. It returns nil for a value that is absent: models fill in all arguments of a tool, those that they do not use
// with null, or with an empty text, list or object where that is refused.
func fit(schema *jsonschema.Schema, raw json.RawMessage) json.RawMessage {
	types := typesOf(schema)
	if len(types) == 0 {
		return raw // anything
	}
	raw = bytes.TrimSpace(raw)
	text, ok := asText(raw)
	if ok && strings.TrimSpace(text) == "" && refusesEmpty(schema, types) {
		return nil
	}
	if ok && (!slices.Contains(types, "string") || !matches(schema.Pattern, text)) {
		raw = fromText(schema, types, text, raw)
	}
	raw = inType(schema, types, raw)
	switch jsonType(raw) {
	case "null":
		if !slices.Contains(types, "null") {
			return nil
		}
	case "object":
		if raw = fitMembers(schema, raw); string(raw) == "{}" && schema.MinProperties != nil && *schema.MinProperties > 0 {
			return nil
		}
	case "array":
		if raw = fitItems(schema, raw); string(raw) == "[]" && schema.MinItems != nil && *schema.MinItems > 0 {
			return nil
		}
	}
	return raw
}

// refusesEmpty reports whether an empty text is not a value of a schema. None of ours names it among its values.
func refusesEmpty(schema *jsonschema.Schema, types []string) bool {
	return !slices.Contains(types, "string") || len(schema.Enum) > 0 || schema.MinLength != nil && *schema.MinLength > 0 || !matches(schema.Pattern, "")
}

// fromText returns what a text says in one of the types, or the value as it is.
func fromText(schema *jsonschema.Schema, types []string, text string, raw json.RawMessage) json.RawMessage {
	said := []byte(strings.TrimSpace(text))
	if word := bytes.ToLower(said); slices.Contains([]string{"true", "false", "none"}, string(word)) {
		said = bytes.Replace(word, []byte("none"), []byte("null"), 1) // as Python writes them
	}
	if json.Valid(said) {
		is := jsonType(said)
		if is == "null" || slices.Contains(types, is) || is == "number" && slices.Contains(types, "integer") || is == "object" && isItem(schema, types, is) {
			return said
		}
	}
	if text != "" && isItem(schema, types, "string") {
		if one, err := json.Marshal([]string{text}); err == nil {
			return one
		}
	}
	return raw
}

// inType returns a value in the only type that it can have: models write the one item of a list without the list, an id of digits as
// a number, and a whole number with a fraction of zero.
func inType(schema *jsonschema.Schema, types []string, raw json.RawMessage) json.RawMessage {
	is := jsonType(raw)
	switch {
	case slices.Contains(types, is):
	case is == "object" && isItem(schema, types, is):
		return slices.Concat([]byte("["), raw, []byte("]"))
	case is == "number" && slices.Contains(types, "integer"):
		if whole, fraction, _ := bytes.Cut(raw, []byte(".")); len(bytes.Trim(fraction, "0")) == 0 {
			return whole
		}
	case is == "number" && slices.Contains(types, "string"):
		return slices.Concat([]byte(`"`), raw, []byte(`"`))
	}
	return raw
}

// isItem reports whether a list has values of a type.
func isItem(schema *jsonschema.Schema, types []string, is string) bool {
	return slices.Contains(types, "array") && slices.Contains(typesOf(schema.Items), is)
}

func fitMembers(schema *jsonschema.Schema, raw json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if len(schema.Properties) == 0 || json.Unmarshal(raw, &members) != nil {
		return raw
	}
	for name, v := range members {
		if field := schema.Properties[name]; field == nil {
			continue
		} else if v = fit(field, v); v == nil {
			delete(members, name)
		} else {
			members[name] = v
		}
	}
	return encoded(members, raw)
}

func fitItems(schema *jsonschema.Schema, raw json.RawMessage) json.RawMessage {
	var items []json.RawMessage
	if schema.Items == nil || json.Unmarshal(raw, &items) != nil {
		return raw
	}
	for i, v := range items {
		if v = fit(schema.Items, v); v != nil { // a null in a list is refused, because its position may mean something
			items[i] = v
		}
	}
	return encoded(items, raw)
}

// encoded returns v as JSON, or raw if it cannot be encoded.
func encoded(v any, raw json.RawMessage) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

// typesOf returns the types of a schema; none when it has anything.
func typesOf(schema *jsonschema.Schema) []string {
	switch {
	case schema == nil:
		return nil
	case schema.Type != "":
		return []string{schema.Type}
	}
	return schema.Types
}

// matches reports whether a text has a pattern of the contract; "": any. "auto" may be the only text beside a number.
func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	ok, err := regexp.MatchString(pattern, text)
	return ok || err != nil
}

func asText(raw json.RawMessage) (text string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// jsonType returns the type of a valid JSON value, as schemas name it.
func jsonType(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
