package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outbound"
	"github.com/slipboxhq/slipbox/internal/schema"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// Bounds and defaults of tools.
const (
	maxTools       = 1_000 // of a tenant
	maxAttached    = 100   // to a collection
	maxDescription = 1_024 // characters, as model APIs take them
	maxHeaders     = 16
	minSecret      = 8 // bytes; a shorter text would be found in every answer
	maxValue       = 4 << 10

	minTimeout     = 100    // ms
	defaultTimeout = 10_000 // ms
	maxTimeout     = 60_000 // ms
	defaultBytes   = 256 << 10
	maxBytes       = 1 << 20
)

// argHeartbeat is the argument that every tool of an agent takes. It is not sent.
const argHeartbeat = "request_heartbeat"

// methods are the methods that a tool may have.
func methods() []string { return []string{"GET", "POST", "PUT", "PATCH", "DELETE"} }

// inQuery are the methods that send arguments in the query.
var inQuery = []string{"GET", "DELETE"}

var (
	toolName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) // as model APIs take them
	secretName = toolName
	reference  = regexp.MustCompile(`\{\{([A-Za-z0-9_-]{1,64})\}\}`)
)

// Change sets what a tool is; nil keeps a part, or is its default in a new tool.
type Change struct {
	Description *string
	Parameters  json.RawMessage
	URL         *string
	Method      *string
	// Headers replace all headers. A value names secrets as {{name}}. One of minSecret bytes or more that names none is
	// itself kept as a secret, under the name of the header.
	Headers map[string]string
	// Secrets sets secrets by name; nil removes one.
	Secrets   map[string]*string
	TimeoutMS *int
	MaxBytes  *int
	Approval  *memory.ToolApproval
}

// first returns the defaults of a tool.
func first() memory.HTTPToolSpec {
	return memory.HTTPToolSpec{
		Parameters: json.RawMessage(`{"type":"object","properties":{}}`), Method: "POST", TimeoutMS: defaultTimeout, MaxBytes: defaultBytes, Approval: memory.ApproveNever,
	}
}

// apply changes a tool and its secrets, and returns everything that is wrong with the result.
func (c *Change) apply(spec *memory.HTTPToolSpec, secrets map[string]string) error {
	var r memory.Validation
	old := spec.URL
	set(&spec.Description, c.Description)
	set(&spec.URL, c.URL)
	set(&spec.Method, c.Method)
	set(&spec.TimeoutMS, c.TimeoutMS)
	set(&spec.MaxBytes, c.MaxBytes)
	set(&spec.Approval, c.Approval)
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
	if !slices.Contains(methods(), spec.Method) {
		r.Addf("method", "must be one of %s", wording.Or(methods()...))
	}
	if spec.TimeoutMS < minTimeout || spec.TimeoutMS > maxTimeout {
		r.Addf("timeout_ms", "must be %d to %d", minTimeout, maxTimeout)
	}
	if spec.MaxBytes < 1 || spec.MaxBytes > maxBytes {
		r.Addf("max_bytes", "must be 1 to %d", maxBytes)
	}
	if spec.Approval != memory.ApproveNever && spec.Approval != memory.ApproveAlways {
		r.Addf("approval", "must be %s or %s", memory.ApproveNever, memory.ApproveAlways)
	}
	if old != "" && outbound.Origin(old) != outbound.Origin(spec.URL) {
		// What was entrusted to one host is not sent to another.
		clear(secrets)
	}
	c.applySecrets(spec, secrets, &r)
	return r.Err()
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (c *Change) applySecrets(spec *memory.HTTPToolSpec, secrets map[string]string, r *memory.Validation) {
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		at, value := "secrets."+name, c.Secrets[name]
		switch {
		case !secretName.MatchString(name):
			r.Addf(at, "has no name of letters, digits, _ and -, at most 64")
		case value == nil:
			delete(secrets, name)
		case len(*value) < minSecret || len(*value) > maxValue:
			r.Addf(at, "must have %d to %d bytes", minSecret, maxValue)
		case outbound.CheckHeader("X", *value) != "":
			r.Addf(at, "has a value that a header cannot have")
		default:
			secrets[name] = *value
		}
	}
	if c.Headers != nil {
		spec.Headers = map[string]string{}
	}
	if len(c.Headers) > maxHeaders {
		r.Addf("headers", "at most %d", maxHeaders)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		value := c.Headers[name]
		if why := outbound.CheckHeader(name, value); why != "" || len(value) > maxValue {
			if why == "" {
				why = fmt.Sprintf("has more than %d bytes", maxValue)
			}
			r.Addf("headers."+name, "%s", why)
			continue
		}
		if len(value) >= minSecret && !reference.MatchString(value) {
			if !secretName.MatchString(name) {
				r.Addf("headers."+name, "must have a name of letters, digits, _ and -, because its value is a secret")
				continue
			}
			secrets[name], value = value, "{{"+name+"}}"
		}
		spec.Headers[name] = value
	}
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(spec.Headers)) {
		for _, m := range reference.FindAllStringSubmatch(spec.Headers[name], -1) {
			used[m[1]] = true
			if _, ok := secrets[m[1]]; !ok {
				r.Addf("secrets."+m[1], "has no value, and the header %s names it; secrets of one host are not kept for another", name)
			}
		}
	}
	for name := range c.Secrets {
		if c.Secrets[name] != nil && !used[name] {
			r.Addf("secrets."+name, "is named by no header; write {{%s}} in the value of one", name)
		}
	}
	maps.DeleteFunc(secrets, func(name, _ string) bool { return !used[name] })
	spec.Secrets = slices.Sorted(maps.Keys(secrets))
	if len(spec.Headers) == 0 {
		spec.Headers = nil
	}
}

// Function returns a tool as models see it: with the argument that every tool of an agent takes.
func Function(t *memory.HTTPTool) (memory.Tool, error) {
	out := memory.Tool{Name: t.Name, Description: t.Spec.Description}
	doc, _, err := schema.Parse(t.Spec.Parameters)
	if err != nil {
		return out, fault.Wrap(err, fault.Internal, "the parameters of the tool %s cannot be read", t.Name)
	}
	properties, ok := doc["properties"].(map[string]any)
	if !ok {
		properties = map[string]any{}
		doc["properties"] = properties
	}
	properties[argHeartbeat] = map[string]any{"type": "boolean", "description": "Act again after this tool. Default false."}
	out.Parameters, err = json.Marshal(doc)
	return out, fault.Wrap(err, fault.Internal, "encode the parameters of the tool %s", t.Name)
}
