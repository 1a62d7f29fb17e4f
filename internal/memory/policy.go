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
	// Reading returns how a collection with this config is read.
	Reading(config json.RawMessage) Reading
	// Prepare describes one note on its own: keywords, context, tags. It returns
	// the changed note; the engine embeds it.
	Prepare(ctx context.Context, d Desk, n Note) (Note, error)
	// Decide looks at an event in the light of other notes and returns what should change.
	Decide(ctx context.Context, d Desk, e Event) (Decision, error)
}

// CheckConfig validates the settings of a policy. An empty object means none.
func CheckConfig(policy Policy, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, fault.InvalidField("policy_config", "must be an object")
	}
	if len(m) == 0 {
		return nil, nil
	}
	if len(raw) > MaxPolicyConfigBytes {
		return nil, fault.InvalidField("policy_config", "at most %d bytes; it has %d", MaxPolicyConfigBytes, len(raw))
	}
	return raw, policy.CheckConfig(raw)
}

// PolicyDescription describes a policy to callers of the API.
type PolicyDescription struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Defaults    json.RawMessage `json:"defaults"`
	Schema      json.RawMessage `json:"schema"`
	// Exchanges reports whether messages are decided by exchange (what a person
	// says and the answer) instead of one by one like notes.
	Exchanges bool `json:"exchanges"`
	Guided    bool `json:"guided"` // learns as the Guidance of an add says
}

// EventKind is the type of an event.
type EventKind string

// The events.
const (
	EventNote     EventKind = "note"     // a note was added or changed
	EventExchange EventKind = "exchange" // messages were added
	EventTask     EventKind = "task"     // work that a decision deferred, or that a caller asks for
)

// Event is what a policy decides about.
type Event struct {
	Kind     EventKind
	Note     Note      // EventNote: its current version, with its vector
	Messages []Note    // EventExchange: the new messages, oldest first; often of one side only
	Task     Task      // EventTask
	Guidance *Guidance // EventExchange: what its caller wants to be learned; nil: what the policy learns by itself
	// Earlier is the result of earlier tries of the job, as far as they were written: the outcome of a decision that was Pending. Empty: none.
	Earlier json.RawMessage
}

// Task is work that a policy does outside of notes and exchanges, such as a summary or a forgetting pass.
type Task struct {
	Name string          `json:"name"`           // the policy's
	Key  string          `json:"key,omitempty"`  // what it is about, such as a day
	Args json.RawMessage `json:"args,omitempty"` // the policy's
}

// Follow is a task to run later, as a job of its own. It is not enqueued while
// one with the same name and key is queued.
type Follow struct {
	Task  Task
	After time.Time // zero: now
}

// Reading holds the defaults of searches and contexts over a collection; a
// caller's own values win.
type Reading struct {
	// Kinds are the kinds that are searched, unless the caller's filter names
	// kinds; empty: all.
	Kinds []Kind
	// Filter is a further condition, applied together with Kinds; nil: none.
	Filter filter.Expr
	// Pinned are notes that a context shows first, whether or not they match the
	// query, as far as the budget allows.
	Pinned []Pin
	Recent int  // newest messages that a context shows; 0: none
	K      int  // hits of a search or candidates of a context; 0: the usual number
	ChatK  int  // hits that the prompt of a chat shows at most; 0: as a context
	ByDate bool // a context groups its hits by date, oldest first, across kinds
	Graph  bool // triples of the entities named in the query are hits too
	// Messages adds the messages to what contexts draw on, so that a context finds what was said and not
	// derived. Searches are of Kinds alone.
	Messages bool
	// ExpandLinks is how far contexts follow links from their hits, 0..2.
	ExpandLinks int
	// PieceChars makes exchanges of a person and an assistant the pieces that are recalled: messages of one exchange are one
	// hit, which shows all of it, and a context merges the exchanges beside it up to so many characters; 0: a message is a piece.
	PieceChars int
	// OnePerson is set where the memory is of one person: messages of a user with another name
	// are refused.
	OnePerson bool
	// Parts are searched instead of all Kinds together, at the same time. What they find is ranked together. A
	// part that fails leaves the others, and the answer says so. Empty: one search of Kinds. A caller's
	// condition on kinds replaces them.
	Parts []Part
	// Layers are the layers of a memory that consists of several, in the order that wins ties. Each is
	// recalled alone, by a formula of its own. Empty: the memory has no layers.
	Layers []LayerReading
	// Hidden are notes that no search and no context finds unless the query asks for them; nil: none.
	Hidden filter.Expr
	// CountLinked also counts the notes with a link of this relation to a note that a search or context has shown,
	// each once; "": none.
	CountLinked string
}

// Part is one of the searches that a reading consists of.
type Part struct {
	Name   string      // names it where it fails
	Kinds  []Kind      // of the reading's; empty: all of them
	Filter filter.Expr // a further condition; nil: none
	K      int         // hits at most; 0: no bound but that of the query
	Floor  float64     // least cosine of a hit that has no word of the query
	Stage  *PartStage  // nil: none
}

// PartStage is a search before that of a part: the part finds only notes that are linked from those of the stage.
type PartStage struct {
	Kinds    []Kind
	Filter   filter.Expr // nil: none
	K        int         // notes at most; 0: no bound
	Floor    float64     // as in [Part]
	Relation string      // of the links; "": any
}

// LayerReading is a part of a memory that is filled, recalled and counted alone.
type LayerReading struct {
	Name     string
	Kinds    []Kind
	Filter   filter.Expr // a further condition; nil: none
	Formula  Formula
	Capacity int // items at most after a consolidation; 0: no bound
	// A recall of all layers that asks for k items gets k/Share of them from this layer, but at least
	// Least. Share 0 is 1.
	Share, Least int
}

// Formula ranks notes by a weighted sum of raw signals, none of which depends on the other candidates.
type Formula struct {
	Cosine     float64 // weight of the cosine of query and note
	Overlap    float64 // of the share of the query's distinct terms that the note has, 0..1
	Importance float64 // of the note's importance, 0..1
	Recency    float64 // of exp(-age/RecencyScale)
	Access     float64 // of the note's accesses divided by AccessCap, at most 1
	Confidence float64 // of the attribute "confidence", 0..1
	Relation   float64 // of 1 when the query names the relation of a triple, see [Aim]
	Object     float64 // of 1 when the query has the object of a triple

	RecencyScale time.Duration // above 0 when Recency has a weight
	AccessCap    float64       // above 0 when Access has a weight

	// NeedsOverlap leaves out notes that share no term with the query. NeedsSubject leaves out triples
	// of which the query names neither subject nor object, unless their cosine is at least Floor.
	NeedsOverlap, NeedsSubject bool
	Floor                      float64
}

// Aim is what a query asks for, in the terms of a policy.
type Aim struct {
	Layer     string   // that answers it best; "": none in particular
	Subjects  []string // of triples that it names, lower case; the speaker is one
	Relations []string // of triples that it names, in any wording
}

// Aimer is a policy that understands queries.
type Aimer interface {
	Aim(query string) Aim
}

// Consolidator is a policy with work of its own over a whole collection. Callers may ask for it at any
// time.
type Consolidator interface {
	Consolidate() Task
}

// Pin names a note by its natural key, or all notes of a kind, oldest first.
type Pin struct {
	Kind   Kind
	Key    string      // "": all
	Filter filter.Expr // of all of a kind; nil: none
}

// Desk is what a policy works with: a view of the collection, a clock, a random
// source, and a model within a budget. It is safe for concurrent use.
type Desk interface {
	DeskSettings
	DeskModel
	DeskReader
	DeskLister
}

// DeskSettings is what a decision is made under.
type DeskSettings interface {
	Config() json.RawMessage // of the collection; may be empty
	Now() time.Time          // in the zone of the collection
	Rand() *rand.Rand        // not for concurrent use
	// NewID returns the id of a note that the decision creates, so that links can name it.
	NewID() uuid.UUID
}

// DeskModel asks the model and the embedder.
type DeskModel interface {
	Analyst() Analyst
	Ask(ctx context.Context, c Call) (Answer, error)
	// Embed returns the vectors of texts that are not notes.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// DeskReader reads what a decision depends on. Every result is recorded in the
// decision's read set: when any of it changes before the decision is applied,
// that is a conflict and the event is decided again.
type DeskReader interface {
	// Nearest returns the k notes most similar to n by cosine, best first, never n
	// itself, among notes of its kind (notes and messages count as one kind).
	Nearest(ctx context.Context, n Note, k int) ([]Neighbor, error)
	// Similar answers several queries in one call, each best first.
	Similar(ctx context.Context, q []SimilarQuery) ([][]Neighbor, error)
	Notes(ctx context.Context, ids []uuid.UUID) ([]Note, error)
	// ByKey finds a live note by kind and key. Absence is recorded too.
	ByKey(ctx context.Context, kind Kind, key string) (n Note, ok bool, err error)
	// Links returns the links of notes in a direction.
	Links(ctx context.Context, ids []uuid.UUID, d Direction) ([]Link, error)
	// Absent records that no live note of the kind and key may exist.
	Absent(kind Kind, key string)
}

// DeskLister reads without recording: the result may be out of date when the
// decision is applied. A note that the decision changes or deletes is checked
// all the same, and so is a listing of the newest notes.
type DeskLister interface {
	// List pages through notes. With Newest and a Limit, as a policy asks for what came last, the listing is in the read
	// set: it is repeated when the decision is applied, and another answer is a conflict. While an index is loaded, a filter
	// that few notes match costs little.
	List(ctx context.Context, q NoteQuery) ([]Note, error)
	// All returns the notes of a kind, oldest id first. Other decisions hold them too, so nobody changes them. It is for kinds
	// that are few beside messages and notes: of those little is read again. The list itself is the caller's.
	All(ctx context.Context, kind Kind, o ReadOptions) ([]*Note, error)
	// AllRead returns what sum makes of the notes of a kind, oldest id first, with vectors and with what read returns of each. Both
	// depend on the notes alone and are kept: read is called once for each version, and sum gets what it made of an earlier list, if
	// any, of which other decisions hold parts. notes are valid until sum returns. A kind is always read by the same functions.
	AllRead(ctx context.Context, kind Kind, read func(*Note) any, sum func(was any, notes []ReadNote) any) (any, error)
	// Recent returns the n messages before a message in order of arrival, oldest first.
	Recent(ctx context.Context, before uuid.UUID, n int) ([]Note, error)
	// Linked returns up to limit notes linked from or to each note.
	Linked(ctx context.Context, ids []uuid.UUID, limit int) (map[uuid.UUID][]Note, error)
	// Past reads notes at an earlier revision; those not visible then are left out.
	Past(ctx context.Context, ids []uuid.UUID, at Revision) ([]Note, error)
	// Usage of notes; those that were never used have none, or a zero one. Many are asked for in the order of their ids, so that of those
	// that were asked for before little is read again; the list may be kept, so it is not changed later.
	Usage(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Usage, error)
}

// ReadNote is a note, and what a policy has read of it. Other decisions hold both, so nobody changes them.
type ReadNote struct {
	*Note

	Read any
}

// SimilarQuery asks for notes by meaning.
type SimilarQuery struct {
	Text     string
	Kinds    []Kind
	Filter   filter.Expr // further conditions; nil: none
	K        int
	MinScore float64 // cosine; hits below it are left out
}

// Neighbor is a note and its similarity to another, cosine, higher is better.
type Neighbor struct {
	Note  Note
	Score float64
}

// Decision is what a policy wants to change, and what it proposes for review.
type Decision struct {
	Note    Note   // EventNote: the note's new content; ignored otherwise
	Puts    []Note // changed or new other notes; a new one has no id, or one of Desk.NewID
	Links   []Link // written as given; an existing link gets these attributes and this confidence
	Unlinks []LinkID
	Deletes []uuid.UUID
	Follow  []Follow
	Runs    []uuid.UUID     // events among Puts that start a run of the agent
	Idle    bool            // while a run of the agent is queued or under way, only Follow is done
	Cause   Cause           // of the changeset; "": CauseEvolve
	Evolved bool            // counts towards consolidation
	Review  *ReviewProposal // changes that need approval
	Applied *ReviewProposal // risky ones among the applied changes, listed for periodic review
	Outcome json.RawMessage // stored as the job's result: what was decided and why
	Named   []uuid.UUID     // notes that the answer to a caller names, and names again when the request is repeated
	Learned []Learned       // changes of what is known; the engine stores those that were written
	Pending string          // reason to mark the event's notes pending and retry: a call used its fallback
}

// ReviewProposal is the part of a decision that waits for approval, or that a
// person should look at later.
type ReviewProposal struct {
	Confidence float64
	Changes    []ReviewChange
	Reason     string
}

// Refresher is a policy that maintains summaries of other notes.
type Refresher interface {
	// Refresh returns the tasks to run after a caller deleted a note (is nil), restored a deleted one (was nil), or
	// changed its content. stale are the summaries and profiles derived from it, which are marked stale.
	Refresh(was, is *Note, stale []Note) []Follow
}

// Reanalyzer is a policy whose events a model may decide again that were decided without one.
type Reanalyzer interface {
	// Reanalyzes reports whether the event that a note of this kind is or comes from may be decided again.
	Reanalyzes(kind Kind) bool
}

// Seeder is a policy whose collections begin with notes.
type Seeder interface {
	// Seed returns the first notes of a new collection with this config.
	Seed(config json.RawMessage) []Note
}

// Pager is a policy whose collections are the memory of an agent: a model sees as much of them as fits
// into its window, and pages the rest in with tools.
type Pager interface {
	// Paging returns what an agent works with in a collection with this config.
	Paging(config json.RawMessage) Paging
	// SummaryCall returns the call that sums up messages that leave the window, oldest first, together with
	// the summary of those before them ("": none). Its answer is an object with the text "summary".
	SummaryCall(old string, evicted []Utterance) Call
}

// Paging is what an agent works with.
type Paging struct {
	Instructions string // the system message begins with them; no tool changes them
	Tools        []Tool
	Window       int     // tokens of the model's context window
	Warn         float64 // share of the window at which the agent is warned, once until the next flush
	Flush        float64 // share at which the oldest messages are evicted
	Evict        float64 // share of the tokens of messages that a flush evicts
	MaxSteps     int     // steps of one run: turns of the model
	MaxCalls     int     // tool calls of one run
	MaxTokens    int64   // prompts and turns of one run
	MaxTime      time.Duration
	Heartbeat    time.Duration // after which an idle agent gets a heartbeat; 0: never
	Warning      string        // what the agent is told at Warn
	Rules        []ToolRule    // in what order tools may be called
	Approve      []string      // tools that wait for approval
	Own          []OwnTool     // those among Tools that the caller runs
	MaxWait      time.Duration // for the answer to a call
	// SummaryModel is the name of the model that sums up; "": that of the agent. SummaryWindow is its window in
	// tokens; 0: Window.
	SummaryModel  string
	SummaryWindow int
}

// ToolRule restricts when a tool may be called in a run.
type ToolRule struct {
	Tool  string   `json:"tool"`
	Rule  RuleKind `json:"rule"`
	After []string `json:"after,omitempty"` // of RuleAfter: one of them has succeeded before
	Most  int      `json:"most,omitempty"`  // of RuleMost
}

// RuleKind names a rule.
type RuleKind string

// The rules.
const (
	RuleFirst RuleKind = "first" // the first call of a run is one of the tools with this rule
	RuleLast  RuleKind = "last"  // the run ends with it, and not before
	RuleAfter RuleKind = "after" // only after another tool
	RuleMost  RuleKind = "most"  // at most so often in a run
)

// Tool is a function that a model may call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON schema of an object
}

// EnqueueFlush enqueues a job that evicts messages from an agent's window, or returns one that is queued already.
func EnqueueFlush(ctx context.Context, tx Tx, force bool) (Job, error) {
	waiting, err := tx.Unended(ctx, JobFlush)
	if err != nil {
		return Job{}, err
	}
	for _, j := range waiting {
		var same FlushJob
		if j.State == JobQueued && json.Unmarshal(j.Payload, &same) == nil && same.Force == force {
			return j, nil
		}
	}
	payload, err := json.Marshal(FlushJob{Force: force})
	if err != nil {
		return Job{}, fault.Wrap(err, fault.Internal, "encode a flush")
	}
	return tx.Enqueue(ctx, Job{Kind: JobFlush, Stage: StageDecide, Payload: payload})
}

// EnqueueFollows enqueues tasks of a collection's policy, except those that are queued already.
func EnqueueFollows(ctx context.Context, tx Tx, collection uuid.UUID, follows []Follow) error {
	for _, f := range follows {
		if f.Task.Name == TaskFlush {
			if _, err := EnqueueFlush(ctx, tx, false); err != nil {
				return err
			}
			continue
		}
		waits, err := tx.HasTask(ctx, f.Task.Name, f.Task.Key)
		if err != nil {
			return err
		}
		if waits {
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
	}
	return nil
}
