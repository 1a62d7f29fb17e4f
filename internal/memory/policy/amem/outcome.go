package amem

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// The decisions of A-MEM as the outcome names them.
const (
	DecisionAlone     = "alone"     // no neighbours: nobody was asked
	DecisionEvolve    = "evolve"    // something was linked or changed
	DecisionReview    = "review"    // everything proposed waits for a person
	DecisionUnevolved = "unevolved" // the answer could not be used
	DecisionSplit     = "split"     // the note was divided
)

// Outcome is what a job's result says about a decision: what was considered,
// what became of each note, and what was left out. It names notes and holds no
// memory content.
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
	Fields  []string  `json:"fields,omitempty"`  // which change
	// Stands is how the new note stands to it, where the analyst says so:
	// "conflict" or "complement", with the reason in a word.
	Relation string `json:"stands,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Dropped counts what an answer asked for and did not get.
type Dropped struct {
	Handles   int `json:"handles,omitempty"`    // handles that name nothing
	Repeats   int `json:"repeats,omitempty"`    // the same connection twice
	Surplus   int `json:"surplus,omitempty"`    // entries beyond the last neighbour
	OverLimit int `json:"over_limit,omitempty"` // links or changes beyond the limits
}

func consideredNotes(near []memory.Neighbor) []Considered {
	out := make([]Considered, len(near))
	for i := range near {
		out[i] = Considered{Note: near[i].Note.ID, Score: near[i].Score}
	}
	return out
}

// reflect takes over what an answer says beyond its schema of how the new note
// stands to its neighbours. Whatever does not fit is passed over.
func (o *Outcome) addReflections(answer json.RawMessage) {
	var said struct {
		Reflections []struct {
			Handle int    `json:"handle"`
			Kind   string `json:"kind"`
			Reason string `json:"reason"`
		} `json:"reflections"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return
	}
	for _, r := range said.Reflections {
		if r.Handle >= 0 && r.Handle < len(o.Considered) && (r.Kind == "conflict" || r.Kind == "complement") {
			o.Considered[r.Handle].Relation, o.Considered[r.Handle].Reason = r.Kind, policy.CleanLine(r.Reason, 40)
		}
	}
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

// encode cannot fail: an Outcome holds nothing that JSON lacks.
func encodeOutcome(o *Outcome) json.RawMessage {
	raw, err := json.Marshal(o)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}
