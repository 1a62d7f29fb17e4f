package mem0

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// Models answer in many forms: facts as objects, lists in lists, "none" for nothing. The
// functions in this file accept them. They return nil for an answer that they cannot
// read, which is then repaired or refused like any answer that does not fit its schema.

// lenientFacts reads the answer of "extract". An entry without a fact becomes an empty one,
// so that it is counted as malformed, and one that is a text has no quotation.
func lenientFacts(said string) json.RawMessage {
	if policy.IsEmptyAnswer(said) {
		return json.RawMessage(`{"facts":[]}`)
	}
	v, ok := policy.FindJSON(said)
	if !ok {
		return nil
	}
	object, isObject := v.(map[string]any)
	switch {
	case isObject && len(object) == 0:
		v = nil
	case isObject:
		facts, named := object["facts"]
		if !named && factFromObject(object) == "" {
			return nil
		}
		if named {
			v = facts
		}
	}
	facts := []quotedFact{}
	collectFacts(v, 0, &facts)
	raw, err := json.Marshal(map[string]any{"facts": facts})
	if err != nil {
		return nil
	}
	return raw
}

// collectFacts appends the facts in a JSON value, which may be nested lists.
func collectFacts(v any, depth int, into *[]quotedFact) {
	if len(*into) >= policy.MaxEntries {
		return
	}
	switch v := v.(type) {
	case nil, bool:
	case string:
		if !policy.IsEmptyAnswer(v) {
			*into = append(*into, quotedFact{Fact: v})
		}
	case float64:
		*into = append(*into, quotedFact{}) // a number is not a fact
	case []any:
		if depth > 4 {
			*into = append(*into, quotedFact{})
			return
		}
		for _, x := range v {
			collectFacts(x, depth+1, into)
		}
	case map[string]any:
		said, _ := v["said"].(string)
		*into = append(*into, quotedFact{Said: said, Fact: factFromObject(v), Categories: textsIn(v["categories"])})
	}
}

// textsIn returns the texts of a list, or a text alone.
func textsIn(v any) (out []string) {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	list, _ := v.([]any)
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// factFromObject returns the fact in an object; "" when there is none.
func factFromObject(v map[string]any) string {
	for _, name := range []string{"fact", "text", "content", "memory", "statement", "description", "value"} {
		if s, ok := v[name].(string); ok && !policy.IsEmptyAnswer(s) {
			return s
		}
	}
	subject, _ := v["subject"].(string)
	relation, _ := policy.FirstValue(v, "predicate", "relation", "relationship", "verb").(string)
	object, _ := policy.FirstValue(v, "object", "destination", "target").(string)
	if subject != "" && relation != "" && object != "" {
		return subject + " " + strings.ReplaceAll(relation, "_", " ") + " " + object
	}
	if len(v) == 1 {
		for _, x := range v {
			if s, ok := x.(string); ok {
				return s
			}
		}
	}
	return ""
}

// lenientDecision reads the answer of "decide".
func lenientDecision(said string) json.RawMessage {
	v, ok := policy.FindJSON(said)
	if list, isList := v.([]any); isList && len(list) == 1 {
		v = list[0]
	}
	object, isObject := v.(map[string]any)
	if !ok || !isObject {
		return nil
	}
	named, _ := policy.FirstValue(object, "operation", "event", "action").(string)
	var out FactDecision
	switch op := Operation(strings.ToUpper(strings.TrimSpace(named))); op {
	case OpAdd, OpUpdate, OpDelete, OpNoop:
		out.Operation = op
	case "NONE", "NO-OP", "NO_OP", "NOCHANGE", "NO_CHANGE":
		out.Operation = OpNoop
	default:
		return nil
	}
	switch t := policy.FirstValue(object, "target", "target_memory_id", "handle", "id").(type) {
	case float64:
		if t == math.Trunc(t) && math.Abs(t) < 1<<31 {
			out.Target = new(int(t))
		}
	case string:
		if n, err := strconv.Atoi(strings.TrimSpace(t)); err == nil {
			out.Target = &n
		}
	}
	out.Why, _ = object["why"].(string)
	if s, isText := policy.FirstValue(object, "text", "new_memory", "memory").(string); isText && !policy.IsEmptyAnswer(s) {
		out.Text = &s
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return raw
}
