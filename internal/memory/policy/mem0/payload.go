package mem0

import (
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// ExtractInput is the input of "extract". Facts are taken from New only; the rest is there
// to resolve references.
type ExtractInput struct {
	Summary string             // background; "": none
	Recent  []memory.Utterance // background, oldest first
	New     []memory.Utterance // the exchange, oldest first; only messages that may be learned from
	Max     int                // number of facts
	Chars   int                // of a fact, at most
	OfAgent bool               // facts about the agent are wanted, from its own messages
}

// Extraction is the answer of "extract".
type Extraction struct {
	Facts []string `json:"facts"` // short, self-contained, with absolute dates; none for small talk

	said       []string   // the words that say each, as the model copied them; "": not given
	categories [][]string // of each
}

// Operation is what is done with a candidate fact.
type Operation string

// The operations, in the order of preference.
const (
	OpNoop   Operation = "NOOP"
	OpDelete Operation = "DELETE"
	OpUpdate Operation = "UPDATE"
	OpAdd    Operation = "ADD"
)

// OpReplace is OpDelete in an outcome where another memory holds what is true instead. No answer has it.
const OpReplace Operation = "REPLACE"

// DecideInput is the input of "decide".
type DecideInput struct {
	Fact    string
	Time    time.Time          // when it was said
	Similar []memory.Described // memories by handle, best first; may be empty
}

// FactDecision is the answer of "decide".
type FactDecision struct {
	Why       string    `json:"why"` // in a few words, before the decision
	Operation Operation `json:"operation"`
	Target    *int      `json:"target"` // handle; nil for ADD
	Text      *string   `json:"text"`   // new text of the memory; nil: the fact's text
}

// SummarizeInput is the input of "summarize" and "procedure": all memories, or the old
// summary and what is new since.
type SummarizeInput struct {
	Old      string
	Memories []string
	Changes  []string // "+ text" or "- text"; only in the incremental mode
	Chars    int      // of the summary, at most
	Language policy.Language
}

// Summary is the answer of "summarize" and "procedure".
type Summary struct {
	Summary string `json:"summary"`
}
