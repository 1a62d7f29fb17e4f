package memory

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// Policy is a memory system: it decides on changes and does nothing else. It
// never writes, opens no transaction, sees no other scope.
type Policy interface {
	Name() string
	Describe() PolicyDescription
	// CheckConfig validates a collection's overrides of the constants; a fault
	// names the field as "policy_config.<name>".
	CheckConfig(config json.RawMessage) error
	// Prepare describes one note by itself: keywords, context, tags. It returns
	// the note as it should be; embedding is the engine's work.
	Prepare(ctx context.Context, d Desk, n Note) (Note, error)
	// Decide looks at the note among others and says what should change.
	Decide(ctx context.Context, d Desk, n Note) (Decision, error)
}

// PolicyDescription is what callers are shown.
type PolicyDescription struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Defaults    json.RawMessage `json:"defaults"`
	Schema      json.RawMessage `json:"schema"`
}

// Desk is what a policy works with: a view whose reads are recorded, a clock,
// chance, and a model within a budget.
type Desk interface {
	Config() json.RawMessage // of the collection; may be empty
	Now() time.Time
	Rand() *rand.Rand
	Analyst() Analyst
	Ask(ctx context.Context, c Call) (Answer, error)
	// Nearest gives the k notes most similar to n by cosine, best first, never n
	// itself, among notes of its kind (notes and messages count as one). They are recorded as read.
	Nearest(ctx context.Context, n Note, k int) ([]Neighbour, error)
	// Notes reads notes by id and records them as read.
	Notes(ctx context.Context, ids []uuid.UUID) ([]Note, error)
	// Linked gives up to limit notes linked from or to each note; not recorded as read.
	Linked(ctx context.Context, ids []uuid.UUID, limit int) (map[uuid.UUID][]Note, error)
	// Absent declares that no live note of the kind and key exists; part of the conflict rule.
	Absent(kind Kind, key string)
}

// Neighbour is a note and its similarity to another, cosine, higher is better.
type Neighbour struct {
	Note  Note
	Score float64
}

// Decision is what a policy wants changed, and what it would only do with a
// person's consent.
type Decision struct {
	Note    Note   // the note itself as it should be
	Puts    []Note // changed or new other notes
	Links   []Link
	Unlinks []LinkID
	Deletes []uuid.UUID
	Evolved bool            // counts towards consolidation
	Review  *ReviewProposal // what waits for a person
	Applied *ReviewProposal // risky changes among the above, listed for periodic review
	Outcome json.RawMessage // kept as the job's result: what was decided and why
	Pending string          // a call fell back: the note is marked pending with this reason and tried again
}

// ReviewProposal is the part of a decision that waits, or that should be
// looked at later.
type ReviewProposal struct {
	Confidence float64
	Changes    []ReviewChange
	Reason     string
}
