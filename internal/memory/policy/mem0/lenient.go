package mem0

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Models give what they were asked for in many forms: facts as objects, lists
// in lists, "none" for nothing. What is meant is read here; what cannot be
// read goes the usual way of an answer that does not fit.

// nothings are the ways of saying that there is nothing.
var emptyAnswers = []string{"", "none", "<none>", "[none]", "(none)", "null", "nil", "n/a", "na", "no facts", "no new facts", "nothing", "无", "没有"}

func isEmptyAnswer(s string) bool {
	return slices.Contains(emptyAnswers, strings.ToLower(strings.Trim(strings.TrimSpace(s), "\"'`.。 ")))
}

// jsonIn finds the longest JSON object or list in what a model said.
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

// lenientFacts reads the answer of "extract". An entry that holds no text is
// given as an empty one, so that it can be counted.
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

// mostEntries bounds what is read of one answer; far fewer are ever kept.
const maxEntries = 2000

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

// factIn reads a fact that is given as an object; "" when it holds none.
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

// memoryBlock is what stands around recalled memories where a chat puts them
// before what a person says.
const blockOpen, blockClose = "<slipbox-memory>", "</slipbox-memory>"

// withoutRecalled takes recalled memories out of what was said. A block that
// does not end goes to the end.
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

// indexFold is the place of an ASCII mark in s, letter case apart.
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
