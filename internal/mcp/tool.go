package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// tool is a tool as it is listed and run.
type tool struct {
	shown           *sdk.Tool
	input           *jsonschema.Schema // of the arguments
	scope           string
	arguments       map[string]json.RawMessage // schemas
	required        []string
	inBody, inQuery map[string]bool // arguments that are fields of its operation
	run             func(*call) (answer, error)
}

// target says what of the path are arguments of a tool.
type target int

const (
	targetNone       target = iota
	targetCollection        // collection or external
	targetName              // collection
	targetNote              // collection or external, and note
)

// definition is a tool as this package defines it.
type definition struct {
	name, title, description string
	// operation is the one whose scope decides who sees the tool, and whose fields the arguments are.
	operation string
	target    target
	fields    []string          // arguments that are fields of the operation
	own       map[string]string // schemas of other arguments, and shorter ones of fields
	required  []string
	kind      effect
	output    string // schema of the answer
	run       func(*call) (answer, error)
}

// effect is what a tool does, for the annotations.
type effect int

const (
	reads    effect = iota // changes nothing
	adds                   // adds, and again when it is repeated
	replaces               // replaces or deletes, and repeating it changes nothing
)

var pathArguments = map[string]string{
	argCollection: `{"type":"string","description":"Id or name of the collection."}`,
	argExternal:   `{"type":"object","description":"Ids of your application, in place of collection.","properties":{"user":{"type":"string","minLength":1},"agent":{"type":"string","minLength":1},"app":{"type":"string","minLength":1},"run":{"type":"string","minLength":1}},"additionalProperties":false,"minProperties":1}`,
	argNote:       `{"type":"string","description":"Id of the note."}`,
}

func newTools(operation func(string) (Operation, error)) ([]*tool, error) {
	var out []*tool
	for _, d := range definitions() {
		op, err := operation(d.operation)
		if err != nil {
			return nil, fmt.Errorf("mcp: tool %s: %w", d.name, err)
		}
		t, err := d.tool(op)
		if err != nil {
			return nil, fmt.Errorf("mcp: tool %s: %w", d.name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// tool fits a definition to its operation.
func (d *definition) tool(op Operation) (*tool, error) {
	t := &tool{scope: op.Scope, arguments: map[string]json.RawMessage{}, inBody: map[string]bool{}, inQuery: map[string]bool{}, required: d.required, run: d.run}
	var order []string
	add := func(name string, schema json.RawMessage) {
		if t.arguments[name] == nil {
			order = append(order, name)
		}
		t.arguments[name] = schema
	}
	for _, name := range map[target][]string{
		targetCollection: {argCollection, argExternal}, targetName: {argCollection}, targetNote: {argCollection, argExternal, argNote},
	}[d.target] {
		add(name, json.RawMessage(pathArguments[name]))
	}
	if d.target == targetNote {
		t.required = append(t.required, argNote)
	}
	if d.target == targetName {
		t.required = append(t.required, argCollection)
	}
	for _, name := range d.fields {
		schema := op.Body[name]
		if t.inBody[name] = schema != nil; schema == nil {
			schema = op.Query[name]
			t.inQuery[name] = true
		}
		if schema == nil {
			return nil, fmt.Errorf("the operation %s has no field %q", d.operation, name)
		}
		add(name, schema)
	}
	for _, name := range slices.Sorted(maps.Keys(d.own)) {
		add(name, json.RawMessage(d.own[name]))
	}
	input, err := objectSchema(t.arguments, order, t.required)
	if err != nil {
		return nil, err
	}
	output := &jsonschema.Schema{}
	if err := json.Unmarshal([]byte(d.output), output); err != nil {
		return nil, fmt.Errorf("schema of the answer: %w", err)
	}
	t.input = input
	t.shown = &sdk.Tool{
		Name: d.name, Title: d.title, Description: d.description, InputSchema: input, OutputSchema: output,
		Annotations: &sdk.ToolAnnotations{
			Title: d.title, ReadOnlyHint: d.kind == reads, IdempotentHint: d.kind != adds,
			DestructiveHint: new(d.kind == replaces), OpenWorldHint: new(false),
		},
	}
	return t, nil
}

// objectSchema returns the schema of an object with these members.
func objectSchema(members map[string]json.RawMessage, order, required []string) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{}, PropertyOrder: order, Required: required,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for name, raw := range members {
		member := &jsonschema.Schema{}
		if err := json.Unmarshal(raw, member); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", name, err)
		}
		s.Properties[name] = member
	}
	return s, nil
}

// call runs the tool. What fails is an answer of its own kind, which the model reads.
func (t *tool) call(ctx context.Context, caller Caller, arguments json.RawMessage) *sdk.CallToolResult {
	c := &call{ctx: ctx, caller: caller, tool: t, args: map[string]json.RawMessage{}}
	if trimmed := bytes.TrimSpace(arguments); len(trimmed) > 0 && string(trimmed) != "null" {
		if err := json.Unmarshal(trimmed, &c.args); err != nil {
			return refuse(problem{Status: 400, Code: "malformed", Detail: "arguments: must be an object", fix: "Send the arguments as a JSON object."})
		}
	}
	c.fitArguments()
	if err := c.checkNames(); err != nil {
		return refuse(err)
	}
	if err := c.setOwn(); err != nil {
		return refuse(err)
	}
	a, err := t.run(c)
	if err != nil {
		return refuse(err)
	}
	return result(a)
}

// fitArguments changes the arguments to the form of the tool's schema.
func (c *call) fitArguments() {
	for name, v := range c.args {
		if c.args[name] = fit(c.tool.input.Properties[name], v); c.args[name] == nil {
			delete(c.args, name)
		}
	}
}

func refuse(err error) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: clip.Runes(errorText(err), maxErrorText)}}}
}

// maxErrorText is the length of an error in characters.
const maxErrorText = 2000
