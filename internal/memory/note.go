package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// Revision is a position in a collection's log. The first changeset of a
// collection without a parent makes revision 1; a fork's log continues its
// parent's numbering.
type Revision int64

// Kind is the kind of a note. All memory systems share the same notes, and differ in the kinds that
// they write.
type Kind string

// The kinds.
const (
	KindNote      Kind = "note"
	KindMessage   Kind = "message"
	KindFact      Kind = "fact"
	KindEntity    Kind = "entity"
	KindSummary   Kind = "summary"
	KindSession   Kind = "session"
	KindBlock     Kind = "block"
	KindPassage   Kind = "passage"
	KindProfile   Kind = "profile"
	KindKnowledge Kind = "knowledge"
	KindFile      Kind = "file" // of a folder: what is known about an uploaded file, and which views of files an agent has open
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{
		KindNote, KindMessage, KindFact, KindEntity, KindSummary, KindSession,
		KindBlock, KindPassage, KindProfile, KindKnowledge, KindFile,
	}
}

// ParseFilter parses a filter. Kinds and states that no note has are refused.
func ParseFilter(raw []byte) (filter.Expr, error) {
	kinds := make([]string, len(Kinds()))
	for i, k := range Kinds() {
		kinds[i] = string(k)
	}
	return filter.ParseKnown(raw, map[filter.Field][]string{
		filter.Kind: kinds, filter.State: {string(StateRaw), string(StateEvolved), string(StatePending), string(StateInReview)},
	})
}

// OfKinds returns the filter that matches notes of these kinds.
func OfKinds(kinds ...Kind) filter.Expr {
	leaf := &filter.Leaf{Field: filter.Kind, Op: filter.In}
	for _, k := range kinds {
		leaf.Values = append(leaf.Values, filter.Value{Type: filter.Text, Text: string(k)})
	}
	return leaf
}

// State is how far the collection's policy has processed a note.
type State string

// The states. Raw: no policy has run. Evolved: its job ended, whether or not it
// changed anything. Pending: a model or embedder call failed and is retried.
// InReview: a proposal waits for approval.
const (
	StateRaw      State = "raw"
	StateEvolved  State = "evolved"
	StatePending  State = "pending"
	StateInReview State = "in_review"
)

// Analyst is the origin of a note's description.
type Analyst string

// The analysts. The empty Analyst means that the note is not described.
const (
	AnalystModel     Analyst = "model"
	AnalystHeuristic Analyst = "heuristic"
)

// Defaults of fields that were not supplied.
const (
	DefaultContext    = "General"
	DefaultCategory   = "Uncategorized"
	DefaultImportance = 0.5
	RelatedTo         = "related" // the relation of A-MEM links
)

// Note is one version of a note as seen through a view.
type Note struct {
	ID         uuid.UUID `json:"id"`
	Collection uuid.UUID `json:"collection"` // the collection it was read through
	Layer      uuid.UUID `json:"layer"`      // the collection whose log holds this version
	From       Revision  `json:"from"`       // where this version begins; (Layer, ID, From) is its identity

	Kind       Kind           `json:"kind"`
	Key        string         `json:"key"` // optional natural key, unique per view and kind among live notes; "": none
	Content    string         `json:"content"`
	Context    string         `json:"context"`
	Keywords   []string       `json:"keywords"`
	Tags       []string       `json:"tags"`
	Category   string         `json:"category"`
	Attributes map[string]any `json:"attributes"`  // JSON values
	Importance float64        `json:"importance"`  // 0..1
	OccurredAt time.Time      `json:"occurred_at"` // event time, microseconds, in the zone of who wrote it (a fixed offset)
	ExpiresAt  time.Time      `json:"expires_at"`  // from then on the note is retired; zero: never
	CreatedAt  time.Time      `json:"created_at"`  // of the first version
	UpdatedAt  time.Time      `json:"updated_at"`  // of this version

	State      State      `json:"state"`
	Error      string     `json:"error"`    // why a pending note waits; "" otherwise
	Analyst    Analyst    `json:"analyst"`  // "": not described
	Supplied   []string   `json:"supplied"` // of keywords, tags and context, those that the caller set; analysis does not change them
	Provenance Provenance `json:"provenance"`
	Deleted    bool       `json:"deleted"` // a tombstone; all content is empty then

	Embedder string    `json:"embedder"` // name of the embedder of Vector; "" when it has none
	Vector   []float32 `json:"vector"`   // on writes: the vector to store; on reads: set on request only
	Tokens   []byte    `json:"tokens"`   // token directions of Vector, see [Embedding.Codes]; written and read with it
}

// Begun returns a time before which no job knew any of some notes, by the clock of any process; zero if there are none. Summaries, profiles
// and sessions are made again all the time: beside others, they do not count.
func Begun(notes ...Note) (since time.Time) {
	others := slices.DeleteFunc(slices.Clone(notes), func(n Note) bool { return n.Kind == KindSummary || n.Kind == KindProfile || n.Kind == KindSession })
	if len(others) == 0 {
		others = notes
	}
	for i := range others {
		at := others[i].CreatedAt
		if others[i].ID.Version() == 7 { // what is imported may say that it was created later than its id
			if sec, nsec := others[i].ID.Time().UnixTime(); time.Unix(sec, nsec).Before(at) {
				at = time.Unix(sec, nsec)
			}
		}
		if at = at.Add(-clocksDiffer); since.IsZero() || at.Before(since) {
			since = at
		}
	}
	return since
}

// clocksDiffer is by how much the clocks of two processes may differ.
const clocksDiffer = time.Hour

// Embed sets the note's vector and tokens.
func (n *Note) Embed(e Embedding, embedder string) {
	n.Vector, n.Tokens, n.Embedder = e.Vector, e.Codes(), embedder
}

// EmbedAs copies vector and tokens from a note with the same text.
func (n *Note) EmbedAs(o *Note) { n.Vector, n.Tokens, n.Embedder = o.Vector, o.Tokens, o.Embedder }

// Provenance is the origin of a note.
type Provenance struct {
	Sources []uuid.UUID `json:"sources,omitempty"` // notes it was derived from
	Actor   string      `json:"actor,omitempty"`
	// Agent is the name of the agent from whose collection the version was merged; "": the collection had no agent, or nothing was merged.
	Agent string     `json:"agent,omitempty"`
	Job   *uuid.UUID `json:"job,omitempty"`
	Stale bool       `json:"stale,omitempty"` // a source was deleted or changed, or a link it depends on was undone
}

// Version is the identity of a note version. Caches and ETags use it: two
// different contents never share one.
type Version struct {
	Layer uuid.UUID `json:"layer"`
	Note  uuid.UUID `json:"note"`
	From  Revision  `json:"from"`
}

// Version returns the identity of the note's version.
func (n *Note) Version() Version { return Version{Layer: n.Layer, Note: n.ID, From: n.From} }

// ETag renders the version as a strong entity tag (RFC 9110 §8.8.3), quotes included.
func (v Version) ETag() string {
	return fmt.Sprintf("%q", v.Layer.String()+"."+v.Note.String()+"."+strconv.FormatInt(int64(v.From), 10))
}

// LinkID is the identity of a link.
type LinkID struct {
	Source   uuid.UUID `json:"source"`
	Target   uuid.UUID `json:"target"`
	Relation string    `json:"relation"`
}

// Link is one version of a directed link. It is visible when its own version
// is visible and both endpoints are visible in the same view.
type Link struct {
	LinkID
	Layer      uuid.UUID      `json:"layer"`
	From       Revision       `json:"from"`
	Confidence float64        `json:"confidence"` // 0..1
	Attributes map[string]any `json:"attributes"`
	CreatedAt  time.Time      `json:"created_at"`
}

// Usage counts how a note was recalled. It is not versioned: it is read through
// the lineage and copied up on first change.
type Usage struct {
	AccessCount int64
	LastAccess  time.Time // zero: never
	Strength    float64   // the first: 1 unless it was imported. See CurrentStrength
	Heat        float64
}

// CurrentStrength returns the strength that forgetting uses and that callers see: the
// first one, plus 1 for each recall.
func (u Usage) CurrentStrength() float64 {
	if u.Strength <= 0 {
		u.Strength = 1
	}
	return u.Strength + float64(u.AccessCount)
}

// UsageDelta is a batch entry of recalls of one note.
type UsageDelta struct {
	Note       uuid.UUID
	Accesses   int64
	LastAccess time.Time
}

// Limits of a note. The fault that refuses a value names the limit.
const (
	MaxContentBytes    = 64 << 10
	MaxContextBytes    = 8 << 10
	MaxTags            = 50
	MaxKeywords        = 64
	MaxTermBytes       = 256 // of one tag or keyword
	MaxCategoryBytes   = 256
	MaxAttributesBytes = 16 << 10
	MaxKeyBytes        = 512
	MaxRelationBytes   = 128
	MaxLineage         = 8              // layers that a fork may have before a job flattens it
	DeepestLineage     = 4 * MaxLineage // layers of a collection that may be forked before the job is done
)

// EarliestEvent is the earliest event time that is accepted.
var EarliestEvent = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)

// MaxEventAhead is how far event time may lie in the future.
const MaxEventAhead = 5 * time.Minute

// ErrMoved is the cause of a Conflict fault when a version that was read or is
// changed has been replaced meanwhile.
var ErrMoved = fault.New(fault.Conflict, "a note or link that was read has changed")

// IDs returns the ids of notes, in their order.
func IDs(notes []Note) []uuid.UUID {
	ids := make([]uuid.UUID, len(notes))
	for i := range notes {
		ids[i] = notes[i].ID
	}
	return ids
}

// ByID returns notes by their ids.
func ByID(notes []Note) map[uuid.UUID]*Note {
	out := make(map[uuid.UUID]*Note, len(notes))
	for i := range notes {
		out[notes[i].ID] = &notes[i]
	}
	return out
}

// AppendNew appends the ids that are not there yet.
func AppendNew(list []uuid.UUID, ids ...uuid.UUID) []uuid.UUID {
	for _, id := range ids {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// OwnAttributes returns attributes of a note that the caller may change: it replaces those that others may share.
func (n *Note) OwnAttributes() map[string]any {
	if n.Attributes = maps.Clone(n.Attributes); n.Attributes == nil {
		n.Attributes = map[string]any{}
	}
	return n.Attributes
}

// Check returns a fault if a note is too long or empty. What a policy derives has the same limits
// as what a caller writes.
func (n *Note) Check() error {
	var r Validation
	if !slices.Contains(Kinds(), n.Kind) {
		r.Addf("kind", "must be one of %s", wording.Or(Kinds()...))
	}
	r.Text("key", n.Key, MaxKeyBytes)
	if n.Kind != KindBlock || n.Content != "" { // a block may be empty
		r.Content(n.Content)
	}
	r.Text("context", n.Context, MaxContextBytes)
	r.Terms("keywords", n.Keywords, MaxKeywords)
	r.Terms("tags", n.Tags, MaxTags)
	r.Text("category", n.Category, MaxCategoryBytes)
	if b, err := json.Marshal(n.Attributes); err != nil {
		r.Addf("attributes", "not JSON")
	} else {
		r.Text("attributes", string(b), MaxAttributesBytes)
	}
	r.Fraction("importance", n.Importance)
	if t := n.OccurredAt; !t.IsZero() && (t.Before(EarliestEvent) || t.Year() > 9999) {
		r.Addf("occurred_at", "must be between the years %d and 9999", EarliestEvent.Year())
	}
	return r.Err()
}

// SameSaid reports whether two versions are equal in all but identity, write times, state, provenance and vector.
func SameSaid(a, b *Note) bool {
	return a.Kind == b.Kind && a.Key == b.Key && a.Content == b.Content && a.Context == b.Context &&
		slices.Equal(a.Keywords, b.Keywords) && slices.Equal(a.Tags, b.Tags) && a.Category == b.Category &&
		SameJSON(a.Attributes, b.Attributes) && a.Importance == b.Importance && SameEvent(a, b) && a.ExpiresAt.Equal(b.ExpiresAt)
}

// SameEvent reports whether two versions are of the same time, on the same day.
func SameEvent(a, b *Note) bool {
	return a.OccurredAt.Equal(b.OccurredAt) && Day(a.OccurredAt) == Day(b.OccurredAt)
}

// SameJSON reports whether two objects are the same JSON.
func SameJSON(a, b map[string]any) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
