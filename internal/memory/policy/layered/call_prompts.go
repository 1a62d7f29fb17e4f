// Package layered is memory in three layers: working, episodic and semantic.
//
// An item is a message or a note that is in a layer by an attribute; knowledge is edges of package graph. layered.go
// says how the layers are read, remember.go how an item is stored, facts.go how statements become edges and contest one
// another, consolidate.go how items move, decay and leave, scores.go by which formulas.
//
// The files call_*.go hold its model calls: the payloads, which internal/analyst answers too, the
// prompts and schemas, and what is read of an answer. The files importance.go, intent.go and
// relations.go hold its published rules, in English and Chinese.
package layered

import (
	"embed"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

//go:embed prompts schemas
var callFiles embed.FS

// The names of the calls, and what holds when an answer cannot be used (memory.ErrBadAnswer).
const (
	CallTriples  = "triples"  // else: RuleTriples
	CallAbstract = "abstract" // else: the items stay as they are
)

// triplesTemperature is the published temperature of "triples".
const triplesTemperature = 0.1

// maxMessageChars is how much of a message or an item a prompt shows.
const maxMessageChars = 8000

// Calls builds the model calls of the layers. The caller sets MaxTokens of the calls that it
// returns, and the Temperature of "abstract". It is safe for concurrent use.
type Calls struct{ triples, abstract policy.Prompt }

// LoadCalls returns the calls with their prompts and schemas.
func LoadCalls() (*Calls, error) {
	triples, err := policy.LoadPrompt(callFiles, "layered/"+CallTriples+"@3")
	if err != nil {
		return nil, err
	}
	abstract, err := policy.LoadPrompt(callFiles, "layered/"+CallAbstract+"@2")
	if err != nil {
		return nil, err
	}
	return &Calls{triples, abstract}, nil
}
