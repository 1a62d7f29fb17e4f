package amem

import (
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// The decisions of A-MEM as the outcome names them.
const (
	decisionAlone     = "alone"     // no neighbors: no model was asked
	decisionEvolve    = "evolve"    // something was linked or changed
	decisionReview    = "review"    // everything that is proposed waits for review
	decisionUnevolved = "unevolved" // the answer could not be used
	decisionSplit     = "split"     // the note was divided
)

// Outcome is a decision in a job's result: the notes that were considered, what was
// done with each, and what was left out. It has ids of notes and no memory content.
type Outcome struct {
	Policy     string         `json:"policy"`
	Decision   string         `json:"decision"`
	Analyst    memory.Analyst `json:"analyst,omitempty"`
	Model      string         `json:"model,omitempty"`
	Prompt     string         `json:"prompt,omitempty"`
	Repaired   bool           `json:"repaired,omitempty"`
	Confidence *float64       `json:"confidence,omitempty"`
	Tags       []string       `json:"tags,omitempty"` // the new note's, when they were replaced
	Considered []Considered   `json:"considered,omitempty"`
	Dropped    Dropped        `json:"dropped,omitzero"`
}

// Considered is an older note that the decision looked at.
type Considered struct {
	Note    uuid.UUID `json:"note"`
	Score   float64   `json:"score"`
	Effects []string  `json:"effects,omitempty"` // "linked", "changed", "proposed", "link proposed"
	Fields  []string  `json:"fields,omitempty"`  // that change
}

// Dropped counts what an answer asked for and was not done.
type Dropped struct {
	Handles   int `json:"handles,omitempty"`    // unknown handles
	Repeats   int `json:"repeats,omitempty"`    // the same connection twice
	Surplus   int `json:"surplus,omitempty"`    // entries beyond the last neighbor
	OverLimit int `json:"over_limit,omitempty"` // links or changes beyond the limits
}

func consideredNotes(near []memory.Neighbor) []Considered {
	out := make([]Considered, len(near))
	for i := range near {
		out[i] = Considered{Note: near[i].Note.ID, Score: near[i].Score}
	}
	return out
}

func (o *Outcome) addEffect(note uuid.UUID, what string) {
	for i := range o.Considered {
		if o.Considered[i].Note == note {
			o.Considered[i].Effects = append(o.Considered[i].Effects, what)
		}
	}
}

func (o *Outcome) setFields(note uuid.UUID, fields []string) {
	for i := range o.Considered {
		if o.Considered[i].Note == note {
			o.Considered[i].Fields = fields
		}
	}
}
