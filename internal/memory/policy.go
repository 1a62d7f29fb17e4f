package memory

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
)

// Policy is a memory system: it decides on changes and does nothing else. It
// never writes, opens no transaction, sees no other scope.
type Policy interface {
	Name() string
	Describe() PolicyDescription
	// CheckConfig validates a collection's overrides of the constants; a fault
	// names the field as "policy_config.<name>".
	CheckConfig(config json.RawMessage) error
	// Reading says how the memory of a collection with this config is read.
	Reading(config json.RawMessage) Reading
	// Prepare describes one note by itself: keywords, context, tags. It returns
	// the note as it should be; embedding is the engine's work.
	Prepare(ctx context.Context, d Desk, n Note) (Note, error)
	// Decide looks at what happened among other notes and says what should change.
	Decide(ctx context.Context, d Desk, e Event) (Decision, error)
}

// PolicyDescription is what callers are shown.
type PolicyDescription struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Defaults    json.RawMessage `json:"defaults"`
	Schema      json.RawMessage `json:"schema"`
	// Exchanges tells that messages are decided about by exchanges (what a person
	// says and what is answered) rather than one by one, each as a note.
	Exchanges bool `json:"exchanges"`
}

// EventKind says what a policy is asked to look at.
type EventKind string

// The events.
const (
	EventNote     EventKind = "note"     // a note was added or changed
	EventExchange EventKind = "exchange" // messages were added
	EventTask     EventKind = "task"     // work that a decision put off, or that a caller asks for
)

// Event is what happened.
type Event struct {
	Kind     EventKind
	Note     Note   // EventNote: as it stands, with its vector
	Messages []Note // EventExchange: what was said now, oldest first; often one-sided
	Task     Task   // EventTask
}

// Task is work that a policy does beside exchanges: a summary, a forgetting.
type Task struct {
	Name string          `json:"name"`           // the policy's
	Key  string          `json:"key,omitempty"`  // what it is about, such as a day
	Args json.RawMessage `json:"args,omitempty"` // the policy's
}

// Follow is a task to be done later, as a job of its own beside the decisions.
// It is not enqueued while one of the same name and key waits.
type Follow struct {
	Task  Task
	After time.Time // zero: now
}

// Reading says how a collection is read where its caller does not say it.
type Reading struct {
	// Kinds are what searches and contexts look at, unless the caller's filter
	// names kinds; empty: all.
	Kinds []Kind
	// Filter is a further condition on these kinds, and goes where they go; nil: none.
	Filter filter.Expr
	// Pinned are notes that a context shows whether or not they answer the
	// query, first in order, as far as the budget allows.
	Pinned []Pin
	Recent int  // newest messages that a context shows; 0: none
	K      int  // hits of a search or candidates of a context; 0: the usual number
	ByDate bool // hits of a context stand together under their dates, oldest first, whatever their kind
	Graph  bool // triples of the entities that a query names are found too
}

// Pin names a note by its natural key.
type Pin struct {
	Kind Kind
	Key  string
}

// Desk is what a policy works with: a view whose reads are recorded, a clock,
// chance, and a model within a budget. It is safe for concurrent use.
type Desk interface {
	Config() json.RawMessage // of the collection; may be empty
	Now() time.Time
	Rand() *rand.Rand // not for concurrent use
	Analyst() Analyst
	Ask(ctx context.Context, c Call) (Answer, error)
	// NewID is the id of a note that the decision makes, so that its links can name it.
	NewID() uuid.UUID

	// Nearest gives the k notes most similar to n by cosine, best first, never n
	// itself, among notes of its kind (notes and messages count as one). They are recorded as read.
	Nearest(ctx context.Context, n Note, k int) ([]Neighbour, error)
	// Similar answers several queries at once, each best first. What it gives is recorded as read.
	Similar(ctx context.Context, q []SimilarQuery) ([][]Neighbour, error)
	// Embed gives the vectors of texts, to compare texts that are no notes yet.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Notes reads notes by id and records them as read.
	Notes(ctx context.Context, ids []uuid.UUID) ([]Note, error)
	// ByKey finds a live note by kind and key. It is recorded as read, or as absent.
	ByKey(ctx context.Context, kind Kind, key string) (n Note, ok bool, err error)
	// Links gives the links from, to, or from and to notes, and records them as read.
	Links(ctx context.Context, ids []uuid.UUID, d Direction) ([]Link, error)
	// Absent declares that no live note of the kind and key exists; part of the conflict rule.
	Absent(kind Kind, key string)

	// What follows is not recorded as read: it may have moved when the decision
	// is applied. A note that the decision changes or deletes is compared all the same.

	// List pages through notes.
	List(ctx context.Context, q NoteQuery) ([]Note, error)
	// Recent gives the n messages before a message in the order in which they came, oldest first.
	Recent(ctx context.Context, before uuid.UUID, n int) ([]Note, error)
	// Linked gives up to limit notes linked from or to each note.
	Linked(ctx context.Context, ids []uuid.UUID, limit int) (map[uuid.UUID][]Note, error)
	// Past reads notes as they stood at an earlier revision; those that were not visible then are left out.
	Past(ctx context.Context, ids []uuid.UUID, at Revision) ([]Note, error)
	// Usage of notes; those that were never used are absent.
	Usage(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Usage, error)
}

// SimilarQuery asks for notes by meaning.
type SimilarQuery struct {
	Text     string
	Kinds    []Kind
	Filter   filter.Expr // further conditions; nil: none
	K        int
	MinScore float64 // cosine; hits below it are left out
}

// Neighbour is a note and its similarity to another, cosine, higher is better.
type Neighbour struct {
	Note  Note
	Score float64
}

// Decision is what a policy wants changed, and what it would only do with a
// person's consent.
type Decision struct {
	Note    Note   // EventNote: the note itself as it should be; ignored otherwise
	Puts    []Note // changed or new other notes; a new one has no id, or one of Desk.NewID
	Links   []Link // put as they are: one that is there gets these attributes and this confidence
	Unlinks []LinkID
	Deletes []uuid.UUID
	Follow  []Follow
	Cause   Cause           // of the changeset; "": CauseEvolve
	Evolved bool            // counts towards consolidation
	Review  *ReviewProposal // what waits for a person
	Applied *ReviewProposal // risky changes among the above, listed for periodic review
	Outcome json.RawMessage // kept as the job's result: what was decided and why
	Pending string          // a call fell back: what the event is about is marked pending with this reason and tried again
}

// ReviewProposal is the part of a decision that waits, or that should be
// looked at later.
type ReviewProposal struct {
	Confidence float64
	Changes    []ReviewChange
	Reason     string
}

// Refresher is a policy that keeps notes which sum up others.
type Refresher interface {
	// Refresh says what is to be done when a caller has deleted a note (is nil), restored one that was gone (was
	// nil), or changed what it says. stale are the summaries and profiles that come from it, which are marked.
	Refresh(was, is *Note, stale []Note) []Follow
}

// EnqueueFollows enqueues tasks of a collection's policy, but for those that wait already.
func EnqueueFollows(ctx context.Context, tx Tx, collection uuid.UUID, follows []Follow) error {
	if len(follows) == 0 {
		return nil
	}
	waiting, err := tx.Unended(ctx, JobPolicy)
	if err != nil {
		return err
	}
	type name struct{ name, key string }
	waits := map[name]bool{}
	for i := range waiting {
		var t Task
		if j := &waiting[i]; j.State == JobQueued && json.Unmarshal(j.Payload, &t) == nil {
			waits[name{t.Name, t.Key}] = true
		}
	}
	for _, f := range follows {
		n := name{f.Task.Name, f.Task.Key}
		if waits[n] {
			continue
		}
		payload, err := json.Marshal(f.Task)
		if err != nil {
			return fault.Wrap(err, fault.Internal, "the task cannot be kept")
		}
		j := Job{Collection: collection, Kind: JobPolicy, Stage: StageTask, Payload: payload, NotBefore: f.After}
		if _, err := tx.Enqueue(ctx, j); err != nil {
			return err
		}
		waits[n] = true
	}
	return nil
}
