// Package memoryos is MemoryOS: a short, a middle and a long tier of memory.
//
// The files call_*.go hold its model calls: the payloads, which internal/analyst answers too, the
// prompts and schemas, and what is read of an answer.
package memoryos

import (
	"embed"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

//go:embed prompts schemas
var callFiles embed.FS

// The names of the calls, and what holds when an answer cannot be used (memory.ErrBadAnswer).
const (
	CallContinuity = "continuity"    // else: the page begins a chain
	CallMeta       = "meta_info"     // else: the old meta info of the chain stays
	CallThemes     = "multi_summary" // else: generalTheme, and the record is pending
	CallProfile    = "profile"       // else: the old profile stays
	CallKnowledge  = "knowledge"     // else: nothing, and the pages stay unanalyzed
)

// defaultMaterialChars is how many characters of what was said a prompt shows.
const defaultMaterialChars = 16_000

// Calls builds the model calls of MemoryOS. The caller sets Temperature and MaxTokens of the calls
// that it returns. It is safe for concurrent use.
type Calls struct {
	prompts map[string]*policy.Prompt
	chars   int
}

// LoadCalls returns the calls with their prompts and schemas.
func LoadCalls() (*Calls, error) {
	c := Calls{prompts: map[string]*policy.Prompt{}, chars: defaultMaterialChars}
	for name, version := range map[string]string{CallContinuity: "@2", CallMeta: "@2", CallThemes: "@3", CallProfile: "@3", CallKnowledge: "@2"} {
		loaded, err := policy.LoadPrompt(callFiles, "memoryos/"+name+version)
		if err != nil {
			return nil, err
		}
		c.prompts[name] = &loaded
	}
	return &c, nil
}

// within returns the calls with prompts that show at most so many characters of what was said.
// The longest messages are shortened first, then the oldest left out.
func (c *Calls) within(chars int) *Calls {
	return &Calls{prompts: c.prompts, chars: chars}
}

// build returns a call about count entries of material.
func (c *Calls) build(name string, material any, count int, input any, lenient func(string) json.RawMessage, check func(json.RawMessage) error) (memory.Call, error) {
	p := c.prompts[name]
	return p.Call(memory.Call{Name: name, Input: input, Lenient: lenient, Check: check}, material, count)
}

// CallPage is a page as the calls get it: what a person said and what was answered. Its handle in
// a prompt is its index in the list of pages.
type CallPage struct {
	// Messages are oldest first. A side that said nothing is absent. What the person says has the
	// role user, everything else another role.
	Messages []memory.Utterance
}

// pageMaterial is a page as prompts show it.
type pageMaterial struct {
	Page     *int              `json:"page,omitempty"` // handle
	Time     string            `json:"time"`
	Messages []messageMaterial `json:"messages"`
}

type messageMaterial struct {
	Role memory.Role `json:"role"`
	Name string      `json:"name,omitempty"`
	Text string      `json:"text"`
}

// pagesMaterial returns pages as prompts show them, within the bound of characters. Pages that do
// not fit are left out, the oldest first.
func (c *Calls) pagesMaterial(pages []CallPage, handles bool) []pageMaterial {
	var texts []string
	for i := range pages {
		for _, m := range pages[i].Messages {
			texts = append(texts, m.Content)
		}
	}
	from, texts := policy.FitChars(texts, c.chars)
	out := []pageMaterial{}
	at := 0
	for i := range pages {
		p := pageMaterial{}
		if handles {
			p.Page = &i
		}
		for _, m := range pages[i].Messages {
			if at >= from {
				if p.Time == "" {
					p.Time = policy.FormatMinute(m.Time)
				}
				p.Messages = append(p.Messages, messageMaterial{Role: m.Role, Name: policy.CleanLine(m.Name, 100), Text: texts[at-from]})
			}
			at++
		}
		if len(p.Messages) > 0 {
			out = append(out, p)
		}
	}
	return out
}
