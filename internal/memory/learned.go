package memory

import (
	"encoding/json"

	"github.com/google/uuid"
)

// LearnedEvent is what happened to a derived memory.
type LearnedEvent string

// The events. Replace: a memory that is no longer true was deleted, and another one holds what is true instead.
const (
	LearnedAdd     LearnedEvent = "ADD"
	LearnedUpdate  LearnedEvent = "UPDATE"
	LearnedDelete  LearnedEvent = "DELETE"
	LearnedReplace LearnedEvent = "REPLACE"
)

// Learned is one change of what is known, as a policy derived it from messages. A memory that another one
// replaced has one entry, not two.
type Learned struct {
	Memory   string       `json:"memory"` // its text now; of a deleted one, its last text
	Event    LearnedEvent `json:"event"`
	Note     uuid.UUID    `json:"note"`               // that holds Memory; of a deleted one, the deleted note
	Previous string       `json:"previous,omitempty"` // update and replace: the text before
	Replaced uuid.UUID    `json:"-"`                  // replace: the deleted note
}

// LearnedOf returns what the result of a job says was learned; nil when it says nothing.
func LearnedOf(j *Job) []Learned {
	var r struct {
		Learned []Learned `json:"learned"`
	}
	if len(j.Result) == 0 || json.Unmarshal(j.Result, &r) != nil {
		return nil
	}
	return r.Learned
}
