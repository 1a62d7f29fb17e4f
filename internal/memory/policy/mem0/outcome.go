package mem0

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// The decisions of Mem0 as the outcome names them, beside DecisionKeep.
const (
	DecisionNothing   = "nothing"   // nothing was said that may be learned from, or nothing worth it: no decision was asked for
	DecisionLearned   = "learned"   // something was added, changed or deleted
	DecisionUnlearned = "unlearned" // an answer could not be used; nothing was written
	DecisionSummary   = "summary"   // a summary or record was written
	DecisionForgotten = "forgotten" // facts that had expired were deleted
)

// Outcome is what a job's result says about an exchange: both phases,
// every candidate fact with what became of it, and what was left out.
type Outcome struct {
	Policy   string          `json:"policy"`
	Decision string          `json:"decision"`
	Extract  *Phase          `json:"extract,omitempty"` // first phase
	Decide   *Phase          `json:"decide,omitempty"`  // second phase
	Facts    []FactOutcome   `json:"facts,omitempty"`   // candidates in the order of the extraction
	Dropped  FactsDropped    `json:"dropped,omitzero"`
	Summary  *SummaryOutcome `json:"summary,omitempty"` // of a task that writes one
	Expired  []uuid.UUID     `json:"expired,omitempty"` // facts that were deleted because their time was over
	Stale    []uuid.UUID     `json:"stale,omitempty"`   // facts that were marked because what they come from was deleted
	Follow   []string        `json:"follow,omitempty"`  // tasks that were put off
	Graph    any             `json:"graph,omitempty"`
}

// Phase is one phase of an exchange.
type Phase struct {
	Analyst memory.Analyst `json:"analyst,omitempty"`
	Model   string         `json:"model,omitempty"`
	Prompt  string         `json:"prompt,omitempty"`
	Calls   int            `json:"calls"`             // that were asked
	Repairs int            `json:"repairs,omitempty"` // that were answered at the second try
	Facts   int            `json:"facts"`             // extract: that the answer names; decide: that were compared
}

func (p *Phase) addCall(version string, a *memory.Answer) {
	p.Analyst, p.Model, p.Prompt = a.Analyst, a.Model, version
	p.Calls++
	if a.Repaired {
		p.Repairs++
	}
}

// FactOutcome is what became of a candidate fact.
type FactOutcome struct {
	Fact      string     `json:"fact"` // as extracted
	Operation Operation  `json:"operation"`
	Target    *uuid.UUID `json:"target,omitempty"` // the memory that it was compared with
	Note      *uuid.UUID `json:"note,omitempty"`   // the memory that says it now
	Reason    string     `json:"reason,omitempty"` // why, where it was not simply the answer
	Similar   int        `json:"similar"`          // memories that the decision saw
	Again     bool       `json:"again,omitempty"`  // decided a second time, after an earlier fact of the exchange changed its target
}

// FactsDropped counts what answers gave and nobody got.
type FactsDropped struct {
	Malformed int `json:"malformed,omitempty"`  // entries without text
	TooLong   int `json:"too_long,omitempty"`   // longer than fact_chars
	Repeats   int `json:"repeats,omitempty"`    // the same text twice
	OverLimit int `json:"over_limit,omitempty"` // beyond max_facts
	NotSaid   int `json:"not_said,omitempty"`   // no word of them in the new messages
	Targets   int `json:"targets,omitempty"`    // UPDATE or DELETE of no memory that was shown
	Texts     int `json:"texts,omitempty"`      // wordings that neither the fact nor its target bears out
	Older     int `json:"older,omitempty"`      // older than the memory that they would change
	Deletes   int `json:"deletes,omitempty"`    // beyond max_deletes
}

// SummaryDone is a summary that was written, or why it was not.
type SummaryOutcome struct {
	Mode      string `json:"mode"`
	Memories  int    `json:"memories"`
	Changes   int    `json:"changes,omitempty"`
	Exchanges int    `json:"exchanges,omitempty"`
	Kept      string `json:"kept,omitempty"` // why the old one was kept
}

func (o *Outcome) encode() json.RawMessage {
	raw, err := json.Marshal(o)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}

func (o *Outcome) addFollows(f ...memory.Follow) {
	for i := range f {
		name := f[i].Task.Name
		if !f[i].After.IsZero() {
			name += " at " + f[i].After.UTC().Format(time.RFC3339)
		}
		o.Follow = append(o.Follow, name)
	}
}
