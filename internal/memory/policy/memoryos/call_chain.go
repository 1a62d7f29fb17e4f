package memoryos

import (
	"encoding/json"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// MetaChars is how many characters the meta info of a chain has at most.
const MetaChars = 400

// ContinuityInput is the input of "continuity".
type ContinuityInput struct {
	Previous CallPage
	Next     CallPage
	// Similarity is the cosine of the pages' vectors; 0: unknown.
	Similarity float64
}

// Continuity is the answer of "continuity".
type Continuity struct {
	Continuous bool `json:"continuous"`
}

// Continuity returns the call that asks whether a page continues the one before it.
func (c *Calls) Continuity(in ContinuityInput) (memory.Call, error) {
	half := c.within(c.chars / 2)
	type material struct {
		Previous []pageMaterial `json:"previous"`
		Next     []pageMaterial `json:"next"`
	}
	m := material{half.pagesMaterial([]CallPage{in.Previous}, false), half.pagesMaterial([]CallPage{in.Next}, false)}
	return c.build(CallContinuity, m, 2, in, lenientContinuity, policy.CheckTypes[Continuity])
}

// readContinuity reads the answer of "continuity".
func readContinuity(raw json.RawMessage) (bool, error) {
	a, err := policy.DecodeAnswer[Continuity](raw, CallContinuity)
	return a.Continuous, err
}

// MetaInput is the input of "meta_info".
type MetaInput struct {
	Old  string // meta info of the chain so far; "": a new chain
	Page CallPage
}

// Meta is the answer of "meta_info".
type Meta struct {
	Meta string `json:"meta"`
}

// Meta returns the call that sums up a chain of pages to which a page was added.
func (c *Calls) Meta(in MetaInput) (memory.Call, error) {
	type material struct {
		Chars int            `json:"chars"`
		Old   string         `json:"old_meta"`
		Page  []pageMaterial `json:"page"`
	}
	return c.build(CallMeta, material{MetaChars, in.Old, c.pagesMaterial([]CallPage{in.Page}, false)}, 1, in, lenientMeta,
		policy.CheckContent(func(m *Meta) bool { return !policy.IsBlank(m.Meta) && !policy.IsEmptyAnswer(m.Meta) }))
}

// readMeta reads the answer of "meta_info" as one line.
func readMeta(raw json.RawMessage) (string, error) {
	a, err := policy.DecodeAnswer[Meta](raw, CallMeta)
	return policy.CleanLine(a.Meta, MetaChars), err
}

// lenientContinuity also accepts a bare yes or no, and such a word as the value.
func lenientContinuity(said string) json.RawMessage {
	v, ok := policy.FindJSON(said)
	if object, is := v.(map[string]any); is {
		v = policy.FirstValue(object, "continuous", "is_continuous", "continuity", "answer", "result")
	} else if !ok {
		v = said
	}
	var answer Continuity
	switch v := v.(type) {
	case bool:
		answer.Continuous = v
	case string:
		word := strings.ToLower(strings.Trim(v, "\"'`.!。 \n"))
		switch word {
		case "true", "yes", "是", "连续":
			answer.Continuous = true
		case "false", "no", "否", "不是", "不连续":
		default:
			return nil
		}
	default:
		return nil
	}
	return policy.EncodeLenient(answer, true)
}

// lenientMeta also accepts other names of the field. A text alone is asked for again: it may be a refusal, in any language.
func lenientMeta(said string) json.RawMessage {
	object, _ := findObject(said)
	answer := Meta{Meta: policy.StringField(object, "meta", "meta_info", "summary", "text")}
	return policy.EncodeLenient(answer, answer.Meta != "" && !policy.IsErrorText(answer.Meta))
}
