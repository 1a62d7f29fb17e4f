package tools

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/schema"
)

// Bounds of tools.
const (
	maxTools       = 1_000 // of a tenant
	maxAttached    = 100   // to a collection
	maxDescription = 1_024 // characters, as model APIs take them
	maxArguments   = 64 << 10
)

// argHeartbeat is the argument that every tool of an agent takes. The caller does not get it.
const argHeartbeat = "request_heartbeat"

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) // as model APIs take them

// Change sets what a tool is; nil keeps a part, or is its default in a new tool.
type Change struct {
	Description *string
	Parameters  json.RawMessage
}

// apply changes a tool, and returns everything that is wrong with the result.
func (c *Change) apply(spec *memory.OwnToolSpec) error {
	var r memory.Validation
	if c.Description != nil {
		spec.Description = *c.Description
	}
	if c.Parameters != nil {
		spec.Parameters = c.Parameters
	}

	if strings.TrimSpace(spec.Description) == "" {
		r.Addf("description", "is required: a model chooses the tool by it")
	} else if n := utf8.RuneCountInString(spec.Description); n > maxDescription {
		r.Addf("description", "at most %d characters; it has %d", maxDescription, n)
	}
	if !utf8.ValidString(spec.Description) || strings.ContainsRune(spec.Description, 0) {
		r.Addf("description", "must be UTF-8 without the character U+0000")
	}

	if doc, _, err := schema.Parse(spec.Parameters); err != nil {
		r.Addf("parameters", "%s", err)
	} else if p, _ := doc["properties"].(map[string]any); p[argHeartbeat] != nil {
		r.Addf("parameters", "must not have the property %s, which every tool takes", argHeartbeat)
	}
	return r.Err()
}

// Arguments returns the arguments of a call as the caller gets them, as JSON, without what every tool takes. Invalid with
// everything that does not fit the tool's schema.
func Arguments(t *memory.OwnTool, arguments map[string]any) (json.RawMessage, error) {
	given := maps.Clone(arguments)
	delete(given, argHeartbeat)
	raw, err := json.Marshal(given)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "encode the arguments of a tool")
	}
	if len(raw) > maxArguments {
		return nil, fault.New(fault.TooLarge, "the arguments have %d bytes; at most %d are possible", len(raw), maxArguments)
	}

	_, compiled, err := schema.Parse(t.Spec.Parameters)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the parameters of the tool %s cannot be read", t.Name)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "decode the arguments of a tool")
	}
	if err := compiled.Validate(doc); err != nil {
		return nil, fault.New(fault.Invalid, "the arguments do not fit the tool's schema: %s", schema.Explain(err))
	}
	return raw, nil
}
