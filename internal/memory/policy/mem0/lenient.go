package mem0

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Models answer in many forms: facts as objects, lists in lists, "none" for nothing. The
// functions in this file accept them. They return nil for an answer that they cannot
// read, which is then repaired or refused like any answer that does not fit its schema.

// emptyAnswers are texts that mean that there is nothing.
var emptyAnswers = []string{"", "none", "<none>", "[none]", "(none)", "null", "nil", "n/a", "na", "no facts", "no new facts", "nothing", "无", "没有"}

// isEmptyAnswer reports whether a text means that there is nothing.
func isEmptyAnswer(s string) bool {
	return slices.Contains(emptyAnswers, strings.ToLower(strings.Trim(strings.TrimSpace(s), "\"'`.。 ")))
}

// findJSON returns the longest JSON object or list in a model's text.
func findJSON(said string) (v any, ok bool) {
	if json.Unmarshal([]byte(said), &v) == nil {
		return v, true
	}
	best := 0
	for at := strings.IndexAny(said, "{["); at >= 0; {
		var raw json.RawMessage
		step := 1
		if json.NewDecoder(strings.NewReader(said[at:])).Decode(&raw) == nil {
			step = len(raw)
			if len(raw) > best && json.Unmarshal(raw, &v) == nil {
				best, ok = len(raw), true
			}
		}
		next := strings.IndexAny(said[at+step:], "{[")
		if next < 0 {
			break
		}
		at += step + next
	}
	return v, ok
}

// lenientFacts reads the answer of "extract". An entry without text becomes an empty one,
// so that it is counted as malformed.
func lenientFacts(said string) json.RawMessage {
	if isEmptyAnswer(said) {
		return json.RawMessage(`{"facts":[]}`)
	}
	v, ok := findJSON(said)
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
	facts := []string{}
	collectFacts(v, 0, &facts)
	raw, err := json.Marshal(Extraction{Facts: facts})
	if err != nil {
		return nil
	}
	return raw
}

// maxEntries bounds what is read of one answer. Far fewer are kept.
const maxEntries = 2000

// collectFacts appends the facts in a JSON value, which may be nested lists.
func collectFacts(v any, depth int, into *[]string) {
	if len(*into) >= maxEntries {
		return
	}
	switch v := v.(type) {
	case nil, bool:
	case string:
		if !isEmptyAnswer(v) {
			*into = append(*into, v)
		}
	case float64:
		*into = append(*into, "") // a number is no fact
	case []any:
		if depth > 4 {
			*into = append(*into, "")
			return
		}
		for _, x := range v {
			collectFacts(x, depth+1, into)
		}
	case map[string]any:
		*into = append(*into, factFromObject(v))
	}
}

// factFromObject returns the fact in an object; "" when there is none.
func factFromObject(v map[string]any) string {
	for _, name := range []string{"fact", "text", "content", "memory", "statement", "description", "value"} {
		if s, ok := v[name].(string); ok && !isEmptyAnswer(s) {
			return s
		}
	}
	subject, _ := v["subject"].(string)
	relation, _ := firstValue(v, "predicate", "relation", "relationship", "verb").(string)
	object, _ := firstValue(v, "object", "destination", "target").(string)
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

// firstValue returns the value under the first of the names that exists; nil without one.
func firstValue(v map[string]any, names ...string) any {
	for _, name := range names {
		if x, ok := v[name]; ok {
			return x
		}
	}
	return nil
}

// lenientDecision reads the answer of "decide".
func lenientDecision(said string) json.RawMessage {
	v, ok := findJSON(said)
	if list, isList := v.([]any); isList && len(list) == 1 {
		v = list[0]
	}
	object, isObject := v.(map[string]any)
	if !ok || !isObject {
		return nil
	}
	named, _ := firstValue(object, "operation", "event", "action").(string)
	var out FactDecision
	switch op := Operation(strings.ToUpper(strings.TrimSpace(named))); op {
	case OpAdd, OpUpdate, OpDelete, OpNoop:
		out.Operation = op
	case "NONE", "NO-OP", "NO_OP", "NOCHANGE", "NO_CHANGE":
		out.Operation = OpNoop
	default:
		return nil
	}
	switch t := firstValue(object, "target", "target_memory_id", "handle", "id").(type) {
	case float64:
		if t == math.Trunc(t) && math.Abs(t) < 1<<31 {
			out.Target = new(int(t))
		}
	case string:
		if n, err := strconv.Atoi(strings.TrimSpace(t)); err == nil {
			out.Target = &n
		}
	}
	if s, isText := firstValue(object, "text", "new_memory", "memory").(string); isText && !isEmptyAnswer(s) {
		out.Text = &s
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return raw
}

// The marks around recalled memories, which a chat puts before a person's message.
const blockOpen, blockClose = "<slipbox-memory>", "</slipbox-memory>"

// stripRecalled removes recalled memories from a message. A block without an end mark is
// removed up to the end of the message.
func stripRecalled(s string) string {
	for {
		i := indexFold(s, blockOpen)
		if i < 0 {
			return strings.TrimSpace(s)
		}
		rest := s[i+len(blockOpen):]
		j := indexFold(rest, blockClose)
		if j < 0 {
			return strings.TrimSpace(s[:i])
		}
		s = s[:i] + rest[j+len(blockClose):]
	}
}

// indexFold returns the index of an ASCII mark in s, in any letter case; -1: not there.
func indexFold(s, mark string) int {
	for i := 0; i+len(mark) <= len(s); i++ {
		j := strings.IndexByte(s[i:], mark[0])
		if j < 0 || i+j+len(mark) > len(s) {
			return -1
		}
		i += j
		if strings.EqualFold(s[i:i+len(mark)], mark) {
			return i
		}
	}
	return -1
}
