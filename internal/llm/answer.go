package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipboxhq/slipbox/internal/schema"
	"github.com/slipboxhq/slipbox/internal/text/unsaid"
)

// maxAnswer bounds an answer, in bytes. The longest useful one, new keywords for five neighbors,
// has a few thousand.
const maxAnswer = 1 << 20

// answerObject returns the JSON object of an answer: what the call's lenient reader finds, else the
// outermost object.
func answerObject(s string, lenient func(string) json.RawMessage) (json.RawMessage, error) {
	if lenient != nil && len(s) <= maxAnswer {
		if object := lenient(withoutThinking(s)); object != nil {
			return object, nil
		}
	}
	return outermostObject(s)
}

// withoutThinking returns what of an answer is not marked reasoning.
func withoutThinking(s string) string {
	s = strings.TrimSpace(strings.TrimPrefix(s, "\ufeff"))
	if json.Valid([]byte(unfenced(s))) {
		return s // its texts may be about the marks
	}
	return strings.TrimSpace(stripThinking(s))
}

// unfenced returns what is in the code fence around a text.
func unfenced(s string) string {
	if inner, ok := strings.CutPrefix(s, fence); ok {
		s = strings.TrimPrefix(inner, "json")
	}
	return strings.TrimSpace(strings.TrimSuffix(s, fence))
}

// isPartial reports whether an answer that ended at its limit may lack what counts: no JSON begins it, and no object ends it. An
// object in the midst of prose may be one that the model thinks about.
func isPartial(s string) bool {
	s = unfenced(withoutThinking(s))
	var first json.RawMessage
	if json.NewDecoder(strings.NewReader(s)).Decode(&first) == nil && (first[0] == '{' || first[0] == '[') {
		return false
	}
	object, err := outermostObject(s)
	return err != nil || !strings.HasSuffix(s, string(object))
}

// stripThinking removes the marked reasoning of a model.
func stripThinking(s string) string {
	said, _ := unsaid.Split(s)
	return said
}

// outermostObject finds the JSON object of an answer. It removes reasoning, also where only its end
// is marked, as some chat templates leave it, and takes the longest balanced object, so that code
// fences, prose around the object, and objects inside one that is cut off are not taken for the
// answer.
func outermostObject(s string) (json.RawMessage, error) {
	if len(s) > maxAnswer {
		return nil, problem{short: "too long", full: "the answer is too long"}
	}
	s = withoutThinking(s)
	if json.Valid([]byte(s)) && strings.HasPrefix(s, "{") {
		return json.RawMessage(s), nil
	}
	best := ""
	for at := strings.IndexByte(s, '{'); at >= 0; {
		end := objectEnd(s[at:])
		if end < 0 {
			if best != "" {
				break
			}
			return nil, problem{short: "no complete JSON object", full: "the JSON object is not complete: it ends before its last closing brace"}
		}
		if part := s[at : at+end]; len(part) > len(best) && json.Valid([]byte(part)) {
			best = part
		}
		next := strings.IndexByte(s[at+end:], '{')
		if next < 0 {
			break
		}
		at += end + next
	}
	if best == "" {
		return nil, problem{short: "no JSON object", full: "there is no valid JSON object in the answer"}
	}
	return json.RawMessage(best), nil
}

// objectEnd returns the length of the balanced object at the start of s, or -1 if it does not end.
// Braces inside strings do not count.
func objectEnd(s string) int {
	depth, inString, escaped := 0, false, false
	for i := range len(s) {
		switch c := s[i]; {
		case escaped:
			escaped = false
		case inString:
			switch c {
			case '\\':
				escaped = true
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// schemas caches compiled schemas. There are a handful, one for each prompt version.
type schemas struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]*answerSchema
}

// answerSchema is the form of a schema that validates answers. The schema that is sent requires
// every property. In an answer, a missing array or number means none, and extra properties are
// ignored.
type answerSchema struct {
	raw      map[string]any
	compiled *schema.Schema
}

func (s *schemas) compile(raw json.RawMessage) (*answerSchema, error) {
	if len(raw) == 0 {
		return &answerSchema{}, nil
	}
	key := sha256.Sum256(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.seen[key]; a != nil {
		return a, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("the schema is not an object")
	}
	relax(object, true)
	compiled, err := schema.Compile(doc)
	if err != nil {
		return nil, err
	}
	if s.seen == nil {
		s.seen = map[[sha256.Size]byte]*answerSchema{}
	}
	a := &answerSchema{raw: object, compiled: compiled}
	s.seen[key] = a
	return a, nil
}

// relax turns the schema that is sent into the one that validates answers. Which top-level
// properties are required depends on the call, see requiredBy; entries of a list must be complete. Bounds keep a small
// model from writing without an end; what is longer is cut by the policy.
func relax(schema map[string]any, top bool) {
	for _, name := range []string{"additionalProperties", "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"} {
		delete(schema, name)
	}
	properties, _ := schema["properties"].(map[string]any)
	if top {
		delete(schema, "required")
	}
	for _, p := range properties {
		if p, ok := p.(map[string]any); ok {
			relax(p, false)
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		relax(items, false)
	}
}

// requiredBy returns the sorted names of the properties that an answer must have: those that the
// call names, or every string and boolean when it names none.
func (a *answerSchema) requiredBy(named []string) []string {
	properties, _ := a.raw["properties"].(map[string]any)
	var out []string
	for name, p := range properties {
		p, _ := p.(map[string]any)
		if slices.Contains(named, name) || named == nil && (p["type"] == "string" || p["type"] == "boolean") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// check validates an answer and returns it in normal form: nulls are removed where the schema
// allows no null, and integers are written without a fraction.
func (a *answerSchema) check(raw json.RawMessage, required []string) (json.RawMessage, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, problem{short: "no JSON object", full: "the answer is not JSON: " + err.Error()}
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return nil, problem{short: "no JSON object", full: "the answer must be a JSON object"}
	}
	if a.compiled == nil {
		return raw, nil
	}
	normalize(object, a.raw)
	properties, _ := a.raw["properties"].(map[string]any)
	hasKnown := false
	for name := range object {
		_, ok := properties[name]
		hasKnown = hasKnown || ok
	}
	if !hasKnown && len(properties) > 0 {
		return nil, problem{
			short: "none of the properties",
			full:  fmt.Sprintf("the object has none of the properties %s", strings.Join(slices.Sorted(maps.Keys(properties)), ", ")),
		}
	}
	for _, name := range required {
		if _, ok := object[name]; !ok {
			return nil, problem{short: "lacks a property", full: fmt.Sprintf("the object lacks %q", name)}
		}
	}
	if err := a.compiled.Validate(object); err != nil {
		return nil, problem{short: "does not fit the schema", full: "the object does not fit the schema: " + schema.Explain(err)}
	}
	out, err := json.Marshal(object)
	if err != nil {
		return nil, problem{short: "cannot be encoded again", full: err.Error()}
	}
	return out, nil
}

// normalize removes nulls that mean "absent" and writes 1.0 as 1 where the schema says integer, so
// that the answer unmarshals into Go types.
func normalize(v any, schema map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, x := range v {
			p, _ := properties[name].(map[string]any)
			if x == nil && p != nil && !isNullable(p) {
				delete(v, name)
				continue
			}
			if n, ok := wholeNumber(x, p); ok {
				v[name] = n
			}
			normalize(x, p)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, x := range v {
			if n, ok := wholeNumber(x, items); ok {
				v[i] = n
			}
			normalize(x, items)
		}
	}
}

func isNullable(schema map[string]any) bool {
	switch t := schema["type"].(type) {
	case string:
		return t == "null"
	case []any:
		return slices.Contains(t, any("null"))
	}
	return true // no type stated: leave it to the validator
}

// wholeNumber rewrites a number whose schema says integer. A number that is too large to be exact
// becomes a string, which the validator refuses.
func wholeNumber(v any, schema map[string]any) (any, bool) {
	n, ok := v.(json.Number)
	if !ok || schema["type"] != "integer" {
		return nil, false
	}
	f, err := n.Float64()
	if err != nil || math.Abs(f) > 1<<53 {
		return n.String(), true
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || !r.IsInt() {
		return nil, false
	}
	return json.Number(r.Num().String()), true
}
