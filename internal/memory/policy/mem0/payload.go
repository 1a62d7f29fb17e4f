package mem0

import (
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// ExtractInput is the material of "extract" (Mem0): facts come from New alone,
// the rest resolves references.
type ExtractInput struct {
	Summary string             // background; "" none
	Recent  []memory.Utterance // background, oldest first
	New     []memory.Utterance // the exchange, oldest first; only what may be learned from
	Max     int                // facts
}

// Extraction is the answer of "extract".
type Extraction struct {
	Facts []string `json:"facts"` // short, self-contained, with absolute dates; none for small talk
}

// Operation is what becomes of a candidate fact.
type Operation string

// The operations, the preferred first.
const (
	OpNoop   Operation = "NOOP"
	OpDelete Operation = "DELETE"
	OpUpdate Operation = "UPDATE"
	OpAdd    Operation = "ADD"
)

// DecideInput is the material of "decide" (Mem0).
type DecideInput struct {
	Fact    string
	Time    time.Time          // when it was said
	Similar []memory.Described // memories by handle, best first; may be empty
}

// FactDecision is the answer of "decide".
type FactDecision struct {
	Operation Operation `json:"operation"`
	Target    *int      `json:"target"` // handle; nil for ADD
	Text      *string   `json:"text"`   // of the memory as it should read; nil: the fact as it is
}

// SummarizeInput is the material of "summarize" (Mem0): all memories, or the
// old summary and what changed since.
type SummarizeInput struct {
	Old      string
	Memories []string
	Changes  []string // "+ text" or "- text"; only in the incremental mode
	Chars    int      // most of the summary
	Language policy.Language
}

// Summary is the answer of "summarize".
type Summary struct {
	Summary string `json:"summary"`
}
