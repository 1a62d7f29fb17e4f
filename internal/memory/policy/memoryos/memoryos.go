package memoryos

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// taskMaintain moves what is left to move, sums up sessions whose summary is missing or stale, and analyzes hot ones.
// Its key is empty, or the id of a message that was changed or deleted: the knowledge from it becomes stale.
const taskMaintain = "maintain"

// taskSession evicts the pages of a session that a caller deleted, and takes back those of one that a caller restored. Its key is the
// id of the session.
const taskSession = "session"

// Relations of links.
const (
	// RelPage leads from a session to the messages of its pages. The link to the first message of a page has the
	// attributes of the page (PageState), the others name that message in attrOf.
	RelPage = "page"
	// RelNext leads from the first message of a page to that of the page that continues it.
	RelNext = "next"
)

// Categories of messages: where they are. A message of the short tier has any other category.
const (
	CategoryPage    = "page"    // in the middle tier
	CategoryEvicted = "evicted" // left it; searches and contexts leave it out
)

// Keys of notes of kind profile: what the pages show of the person, and what callers say about them.
const (
	KeyProfile = "overall"
	KeyMeta    = "meta"
)

// Attributes of notes of kind knowledge: whom it is about, OfUser or OfAssistant, and the session that it is from.
const (
	AttrOf      = "of"
	AttrSession = "from_session"
	OfUser      = "user"
	OfAssistant = "assistant"
)

// Name is the name of the policy.
const Name = "memoryos"

// Policy is MemoryOS. Its name is [Name].
type Policy struct {
	policy.Described

	calls  *Calls
	models []string // names that policy_config.model may have
	// Those of decisions that have ended, as room for the next.
	spent   sync.Pool // of *[]*session
	shelves sync.Pool // of *shelf
}

// New returns the policy with its prompts and schemas. models are the names of further models that a collection
// may choose.
func New(models ...string) (*Policy, error) {
	calls, err := LoadCalls()
	if err != nil {
		return nil, err
	}
	about, err := policy.Describe(memory.PolicyDescription{
		Name: Name, Title: "MemoryOS: short, middle and long tier",
		Description: "The newest exchanges stay as they are. Older ones become pages of sessions, which have a summary and a heat. What a hot " +
			"session says of the user goes into a profile and into knowledge, before the session that was used least leaves.",
		Exchanges: true,
	}, DefaultConfig(), settings())
	return &Policy{Described: about, calls: calls, models: models}, err
}

// CheckConfig refuses overrides with unknown names, wrong types or values out of range.
func (p *Policy) CheckConfig(config json.RawMessage) error {
	c, err := ParseConfig(config)
	return cmp.Or(err, policy.CheckModel(c.Model, p.models))
}

// Reading returns that the short tier, the pages of the sessions that match, and knowledge are searched, each by
// itself. A context also draws on all other messages that were not evicted, and shows the profile and the newest
// exchanges. A message that is shown counts as a visit of its session.
func (p *Policy) Reading(config json.RawMessage) memory.Reading {
	c, err := ParseConfig(config)
	if err != nil { // it was checked when it was set
		c = DefaultConfig()
	}
	knowledge := func(name, of string) memory.Part {
		return memory.Part{
			Name: name, Kinds: []memory.Kind{memory.KindKnowledge}, K: c.KnowledgeHits, Floor: c.KnowledgeFloor,
			Filter: filter.AttributeIs(AttrOf, of),
		}
	}
	return memory.Reading{
		Kinds: []memory.Kind{memory.KindMessage, memory.KindKnowledge, memory.KindNote},
		Parts: []memory.Part{
			{Name: "the short tier", Kinds: []memory.Kind{memory.KindMessage}, Filter: InShortTier()},
			{
				Name: "pages", Kinds: []memory.Kind{memory.KindMessage}, K: messagesPerPage * c.Pages, Floor: c.Floor,
				Stage: &memory.PartStage{Kinds: []memory.Kind{memory.KindSession}, K: c.Sessions, Floor: c.Floor, Relation: RelPage},
			},
			knowledge("knowledge about the user", OfUser), knowledge("knowledge about the assistant", OfAssistant),
			{Name: "notes", Kinds: []memory.Kind{memory.KindNote}},
		},
		Hidden: filter.TextIs(filter.Category, CategoryEvicted), CountLinked: RelPage,
		Pinned: []memory.Pin{{Kind: memory.KindProfile, Key: KeyProfile}, {Kind: memory.KindProfile, Key: KeyMeta}},
		Recent: messagesPerPage * c.ShortCapacity, K: messagesPerPage * c.Pages, Messages: true, OnePerson: c.Persons == personsOne,
	}
}

// messagesPerPage is how many messages a page has as a rule: a question and its answer.
const messagesPerPage = 2

// InShortTier matches messages that have not moved on.
func InShortTier() filter.Expr {
	return filter.Not{Term: filter.TextIs(filter.Category, CategoryPage, CategoryEvicted)}
}

// inMiddleTier matches messages of pages.
func inMiddleTier() filter.Expr { return filter.TextIs(filter.Category, CategoryPage) }

// Prepare returns the note unchanged: MemoryOS describes sessions, not single notes.
func (*Policy) Prepare(_ context.Context, _ memory.Desk, n memory.Note) (memory.Note, error) {
	return n, nil
}

// Decide moves the pairs that an exchange pushes out of the short tier, and runs the tasks.
func (p *Policy) Decide(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
	c, err := ParseConfig(d.Config())
	if err != nil {
		return memory.Decision{}, err
	}
	switch {
	case e.Kind == memory.EventExchange && len(e.Messages) > 0:
		return p.maintain(ctx, d, &c, work{upTo: e.Messages[len(e.Messages)-1].ID, earlier: e.Earlier})
	case e.Kind == memory.EventNote && e.Note.Kind == memory.KindMessage:
		dec, err := p.maintain(ctx, d, &c, work{upTo: e.Note.ID, earlier: e.Earlier})
		dec.Note = e.Note
		if i := slices.IndexFunc(dec.Puts, func(n memory.Note) bool { return n.ID == e.Note.ID }); i >= 0 {
			dec.Note = dec.Puts[i]
		}
		return dec, err
	case e.Kind == memory.EventNote:
		return memory.Decision{Note: e.Note, Outcome: (&outcome{Decision: policy.DecisionKeep}).encode()}, nil
	case e.Kind == memory.EventTask && e.Task.Name == taskMaintain:
		changed := uuid.Nil
		if e.Task.Key != "" {
			if changed, err = uuid.Parse(e.Task.Key); err != nil {
				return memory.Decision{}, fault.InvalidField("key", "must be the id of a message")
			}
		}
		return p.maintain(ctx, d, &c, work{upTo: uuid.Max, changed: changed, earlier: e.Earlier})
	case e.Kind == memory.EventTask && e.Task.Name == taskSession:
		session, err := uuid.Parse(e.Task.Key)
		if err != nil {
			return memory.Decision{}, fault.InvalidField("key", "must be the id of a session")
		}
		return p.maintain(ctx, d, &c, work{upTo: uuid.Max, session: session, earlier: e.Earlier})
	}
	return memory.Decision{}, policy.UnknownEvent(p.Name(), &e)
}

// Refresh sums up again what a changed or deleted message belongs to, and marks the knowledge from it. The pages of a
// session follow it when it is deleted or restored.
func (*Policy) Refresh(was, is *memory.Note, stale []memory.Note) []memory.Follow {
	switch {
	case is == nil && was.Kind == memory.KindSession:
		return []memory.Follow{{Task: memory.Task{Name: taskSession, Key: was.ID.String()}}}
	case was == nil && is.Kind == memory.KindSession:
		return []memory.Follow{{Task: memory.Task{Name: taskSession, Key: is.ID.String()}}}
	case was != nil && was.Kind == memory.KindMessage && (was.Category == CategoryPage || was.Category == CategoryEvicted):
		return []memory.Follow{maintainLater(was.ID.String())}
	case was == nil && is.Kind == memory.KindMessage:
		return []memory.Follow{maintainLater(is.ID.String())} // it was restored
	case len(stale) > 0:
		return []memory.Follow{maintainLater("")}
	}
	return nil
}

func maintainLater(key string) memory.Follow {
	return memory.Follow{Task: memory.Task{Name: taskMaintain, Key: key}}
}

// The tiers, as moves name them.
const (
	TierShort   = "short"
	TierMid     = "mid"
	TierLong    = "long"
	TierEvicted = "evicted"
)

// Move says why a pair or a session moved, as a job's result keeps it. It has no memory content.
type Move struct {
	At      time.Time  `json:"at"`
	From    string     `json:"from"` // a tier
	To      string     `json:"to"`
	Note    uuid.UUID  `json:"note"`              // the first message of a pair, or a session
	Session *uuid.UUID `json:"session,omitempty"` // that a pair moved to
	Reason  string     `json:"reason"`
	Heat    float64    `json:"heat"` // of the session, then
}

// outcome is a decision in a job's result. It has ids of notes and no memory content.
type outcome struct {
	Policy    string    `json:"policy"`
	Decision  string    `json:"decision"` // "keep", "move"
	Moves     []Move    `json:"moves,omitempty"`
	Unusable  []string  `json:"unusable,omitempty"` // calls whose answers could not be used
	Damaged   []Damaged `json:"damaged,omitempty"`  // records that were left as they are
	Knowledge *counted  `json:"knowledge,omitempty"`
	Profile   bool      `json:"profile,omitempty"` // it changed
	// ProfileEnded counts the sentences and dimensions that left it, as they were no longer true.
	ProfileEnded int            `json:"profile_ended,omitempty"`
	Analyst      memory.Analyst `json:"analyst,omitempty"`
	Model        string         `json:"model,omitempty"`
	Prompts      []string       `json:"prompts,omitempty"`
	Repaired     bool           `json:"repaired,omitempty"`
}

// counted counts what became of knowledge.
type counted struct {
	Added    int `json:"added"`
	Repeated int `json:"repeated"` // known already
	Dropped  int `json:"dropped"`  // said nothing, too much, or what nobody said
	Removed  int `json:"removed"`  // the oldest, at capacity
}

// Damaged is a note that cannot be read.
type Damaged struct {
	Note   uuid.UUID `json:"note"`
	Reason string    `json:"reason"`
}

func (o *outcome) encode() json.RawMessage {
	o.Policy = Name
	return policy.Encode(o)
}

// MovesOf returns the moves in the result of a job, in their order; nil when it has none.
func MovesOf(result json.RawMessage) []Move {
	var o outcome
	if len(result) == 0 || json.Unmarshal(result, &o) != nil || o.Policy != Name {
		return nil
	}
	return o.Moves
}

// formatVisit returns the time of a visit as a session keeps it.
func formatVisit(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

var (
	_ memory.Policy    = (*Policy)(nil)
	_ memory.Refresher = (*Policy)(nil)
)
