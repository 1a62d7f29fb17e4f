package mem0

import (
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// The effects on an entity or an edge, as the outcome names them.
const (
	effectNew         = "new"
	effectReused      = "reused"
	effectMentioned   = "mentioned"
	effectRevived     = "revived"
	effectInvalidated = "invalidated"
	effectPast        = "past"   // the edge is new and was valid before only
	effectSource      = "source" // the edge comes from fewer facts than before
)

// GraphOutcome is an update of the graph in a job's result: each call, what was done with
// entities and edges, and what was left out.
type GraphOutcome struct {
	Calls   []GraphCall   `json:"calls,omitempty"`
	Nodes   []NodeOutcome `json:"nodes,omitempty"`
	Edges   []EdgeOutcome `json:"edges,omitempty"`
	Dropped GraphDropped  `json:"dropped,omitzero"`
	Skipped string        `json:"skipped,omitempty"` // why the graph was not updated from the facts
}

// GraphCall is one call of the extraction.
type GraphCall struct {
	Call     string         `json:"call"`
	Prompt   string         `json:"prompt"`
	Analyst  memory.Analyst `json:"analyst,omitempty"`
	Model    string         `json:"model,omitempty"`
	Repaired bool           `json:"repaired,omitempty"`
	Failed   string         `json:"failed,omitempty"`
	Found    int            `json:"found"` // entries of the answer
}

// NodeOutcome is what was done with an entity.
type NodeOutcome struct {
	Note   uuid.UUID `json:"note"`
	Effect string    `json:"effect"`
	Score  float64   `json:"score,omitempty"` // similarity to the existing entity, if its name differs
}

// EdgeOutcome is what was done with an edge.
type EdgeOutcome struct {
	Source   uuid.UUID  `json:"source"`
	Relation string     `json:"relation"`
	Target   uuid.UUID  `json:"target"`
	Effect   string     `json:"effect"`
	Triple   *uuid.UUID `json:"triple,omitempty"` // of a valid edge
}

// GraphDropped counts the entries of answers that were left out.
type GraphDropped struct {
	Entities   int `json:"entities,omitempty"`   // empty names
	NotSaid    int `json:"not_said,omitempty"`   // names that are in no fact
	Malformed  int `json:"malformed,omitempty"`  // relations without an end or a name
	Unknown    int `json:"unknown,omitempty"`    // relations of entities that were not extracted
	SelfLoops  int `json:"self_loops,omitempty"` // relations of an entity to itself
	Repeats    int `json:"repeats,omitempty"`
	OverLimit  int `json:"over_limit,omitempty"`
	NotShown   int `json:"not_shown,omitempty"`  // invalidations of edges that the call was not shown
	Reasserted int `json:"reasserted,omitempty"` // invalidations of edges that the same facts state
}
