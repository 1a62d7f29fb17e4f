package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// Bounds of a schema that a tenant wrote.
const (
	MaxBytes = 8 << 10
	maxDepth = 32
	// maxNodes is how many objects and lists a schema has when each reference is replaced by what it names, which is
	// what a check may visit for each value.
	maxNodes = 2_000
)

// drafts are the values of $schema that are known; none is loaded.
var drafts = []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema"}

// Parse decodes and compiles the schema of an object that a tenant wrote. It returns the decoded schema too. References
// are to the schema itself ("#/$defs/…") and not recursive.
func Parse(raw json.RawMessage) (doc map[string]any, compiled *Schema, err error) {
	if len(raw) > MaxBytes {
		return nil, nil, fmt.Errorf("at most %d bytes; it has %d", MaxBytes, len(raw))
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, errors.New("is no JSON")
	}
	doc, ok := v.(map[string]any)
	if !ok || doc["type"] != "object" {
		return nil, nil, errors.New(`must be a JSON schema with "type": "object"`)
	}
	if p, there := doc["properties"]; there {
		if _, ok := p.(map[string]any); !ok {
			return nil, nil, errors.New("properties must be an object")
		}
	}
	c := &costs{root: doc, open: map[string]bool{}}
	if err := c.visit(doc, 0); err != nil {
		return nil, nil, err
	}
	if compiled, err = Compile(doc); err != nil {
		return nil, nil, fmt.Errorf("is no JSON schema: %s", shorten(err.Error()))
	}
	return doc, compiled, nil
}

// shorten bounds what a compiler says, which quotes the schema.
func shorten(s string) string {
	return clip.Bytes(strings.ReplaceAll(s, "\n", " "), 300)
}

// costs counts what a check visits.
type costs struct {
	root  map[string]any
	open  map[string]bool // references that are being followed
	nodes int
}

func (c *costs) visit(v any, depth int) error {
	switch v := v.(type) {
	case map[string]any:
		if err := c.enter(depth); err != nil {
			return err
		}
		for name, x := range v {
			var err error
			switch {
			case name == "$ref":
				err = c.follow(x, depth)
			case name == "$schema":
				err = checkDraft(x)
			case name == "$id" || name == "$anchor" || strings.HasPrefix(name, "$dynamic") || strings.HasPrefix(name, "$recursive") || name == "$vocabulary":
				err = fmt.Errorf("%s is not supported", name)
			case depth == 0 && (name == "$defs" || name == "definitions"):
				err = c.definitions(x)
			default:
				err = c.visit(x, depth+1)
			}
			if err != nil {
				return err
			}
		}
	case []any:
		if err := c.enter(depth); err != nil {
			return err
		}
		for _, x := range v {
			if err := c.visit(x, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// definitions visits what is only used by reference: it costs nothing where it is, but every part of it is checked.
func (c *costs) definitions(v any) error {
	nodes := c.nodes
	c.nodes = 0
	err := c.visit(v, 1)
	c.nodes = nodes
	return err
}

func (c *costs) enter(depth int) error {
	if c.nodes++; c.nodes > maxNodes {
		return fmt.Errorf("is too large: with its references it has more than %d parts", maxNodes)
	}
	if depth > maxDepth {
		return fmt.Errorf("is nested more than %d levels deep", maxDepth)
	}
	return nil
}

func checkDraft(v any) error {
	for _, d := range drafts {
		if v == d {
			return nil
		}
	}
	return fmt.Errorf("$schema must be %s, or left out", drafts[0])
}

// follow visits what a reference names.
func (c *costs) follow(ref any, depth int) error {
	s, ok := ref.(string)
	if !ok || !strings.HasPrefix(s, "#/") {
		return errors.New(`$ref must begin with "#/": no other document is loaded`)
	}
	if c.open[s] {
		return fmt.Errorf("the reference %s is recursive, which is not supported", shorten(s))
	}
	var at any = c.root
	for part := range strings.SplitSeq(s[2:], "/") {
		name, err := url.PathUnescape(part)
		if err != nil {
			return fmt.Errorf("the reference %s names nothing", shorten(s))
		}
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			at, ok = v[name]
		case []any:
			var i int
			i, err = strconv.Atoi(name)
			if ok = err == nil && i >= 0 && i < len(v); ok {
				at = v[i]
			}
		default:
			ok = false
		}
		if !ok {
			return fmt.Errorf("the reference %s names nothing", shorten(s))
		}
	}
	c.open[s] = true
	defer delete(c.open, s)
	return c.visit(at, depth+1)
}
