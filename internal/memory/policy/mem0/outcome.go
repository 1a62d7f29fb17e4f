package mem0

import (
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// The decisions of Mem0 as the outcome names them, besides policy.DecisionKeep.
const (
	decisionNothing   = "nothing"   // there was nothing to learn from, or no fact
	decisionLearned   = "learned"   // something was added, changed or deleted
	decisionUnlearned = "unlearned" // an answer could not be used; nothing was written
	decisionSummary   = "summary"   // a summary or record was written
	decisionForgotten = "forgotten" // expired facts were deleted
)

// Outcome is a decision in a job's result: both phases of an exchange, every candidate
// fact with what was done with it, and what was left out.
type Outcome struct {
	Policy   string          `json:"policy"`
	Decision string          `json:"decision"`
	Extract  *Phase          `json:"extract,omitempty"` // first phase
	Decide   *Phase          `json:"decide,omitempty"`  // second phase
	Facts    []FactOutcome   `json:"facts,omitempty"`   // candidates in the order of the extraction
	Dropped  FactsDropped    `json:"dropped,omitzero"`
	Summary  *SummaryOutcome `json:"summary,omitempty"` // of a task that writes one
	Expired  []uuid.UUID     `json:"expired,omitempty"` // facts that were deleted because they had expired
	Stale    []uuid.UUID     `json:"stale,omitempty"`   // facts that were marked because their message was deleted
	Follow   []string        `json:"follow,omitempty"`  // deferred tasks
	Graph    any             `json:"graph,omitempty"`
	Unguided string          `json:"unguided,omitempty"` // why the guidance of the add was not followed
}

// Phase is one phase of an exchange.
type Phase struct {
	Analyst memory.Analyst `json:"analyst,omitempty"`
	Model   string         `json:"model,omitempty"`
	Prompt  string         `json:"prompt,omitempty"`
	Calls   int            `json:"calls"`
	Repairs int            `json:"repairs,omitempty"` // calls whose answer was valid at the second try
	Facts   int            `json:"facts"`             // extract: in the answer; decide: that were compared
}

// addCall records who answered a call of the phase.
func (p *Phase) addCall(version string, a *memory.Answer) {
	p.Analyst, p.Model, p.Prompt = a.Analyst, a.Model, version
	p.Calls++
	if a.Repaired {
		p.Repairs++
	}
}

// FactOutcome is what was done with a candidate fact.
type FactOutcome struct {
	Fact      string     `json:"fact"` // as extracted
	Operation Operation  `json:"operation"`
	Target    *uuid.UUID `json:"target,omitempty"` // the memory that it was compared with
	Note      *uuid.UUID `json:"note,omitempty"`   // the memory that holds it now
	Reason    string     `json:"reason,omitempty"` // why, if it was not just the answer
	Similar   int        `json:"similar"`          // memories that the decision saw
	// Again is set if the decision was asked for a second time, because an earlier fact of
	// the exchange changed its target.
	Again bool `json:"again,omitempty"`
}

// FactsDropped counts the entries of answers that were left out.
type FactsDropped struct {
	Malformed int `json:"malformed,omitempty"`  // entries without text
	TooLong   int `json:"too_long,omitempty"`   // longer than fact_chars
	Repeats   int `json:"repeats,omitempty"`    // the same text twice
	Secrets   int `json:"secrets,omitempty"`    // about a secret that was redacted
	OverLimit int `json:"over_limit,omitempty"` // beyond max_facts
	NotSaid   int `json:"not_said,omitempty"`   // not from the new messages
	Targets   int `json:"targets,omitempty"`    // operations on a memory that was not shown
	Texts     int `json:"texts,omitempty"`      // texts with few words of the fact, its target or the messages
	Unrelated int `json:"unrelated,omitempty"`  // changes of a memory about something else; the facts were added
	Lossy     int `json:"lossy,omitempty"`      // changes that would lose what else a memory says; the facts were added
	Older     int `json:"older,omitempty"`      // older than the memory that they would change
	Deletes   int `json:"deletes,omitempty"`    // beyond max_deletes
}

// SummaryOutcome is what a task that writes a summary or a record did.
type SummaryOutcome struct {
	Mode      string `json:"mode"`
	Memories  int    `json:"memories"`
	Changes   int    `json:"changes,omitempty"`
	Exchanges int    `json:"exchanges,omitempty"`
	Kept      string `json:"kept,omitempty"` // why the old one was kept
}

// addFollows records deferred tasks, with their times.
func (o *Outcome) addFollows(f ...memory.Follow) {
	for i := range f {
		name := f[i].Task.Name
		if !f[i].After.IsZero() {
			name += " at " + f[i].After.UTC().Format(time.RFC3339)
		}
		o.Follow = append(o.Follow, name)
	}
}
