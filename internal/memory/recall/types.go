package recall

import (
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Mode selects the signals that answer.
type Mode = search.Mode

// The modes.
const (
	Hybrid  = search.ModeHybrid
	Vector  = search.ModeVector
	Lexical = search.ModeLexical
)

// Profile names the weights of a ranking.
type Profile = search.Profile

// The profiles.
const (
	Auto    = search.Auto
	General = search.General
	Mem0    = search.Mem0
)

// Rerank selects what decides the final order.
type Rerank string

// The ways of reranking. RerankModel drops hits at or below the noise of the embedder, and a model
// judges the others. RerankEndpoint has an endpoint for it order the hits, and drops none.
const (
	RerankNone     Rerank = "none"
	RerankModel    Rerank = "model"
	RerankEndpoint Rerank = "endpoint"
)

// Message is one turn of a dialogue that is used as a query: Content of one role, or User and
// Assistant.
type Message struct {
	Role, Name, Content string
	User, Assistant     string
}

// Query asks for hits. Exactly one of Text, Messages and Vector is set.
type Query struct {
	Text     string
	Messages []Message
	Vector   []float32

	Mode        Mode        // default hybrid; with Vector it is vector
	K           int         // 1..200; 0 is the policy's, else 5
	AutoK       bool        // as many hits as score clearly above the rest, up to [search.LeadingOf]; K is 0
	Filter      filter.Expr // nil: all; without a condition on kinds, those of the policy
	ExpandLinks int         // 0..2
	Rerank      Rerank      // default none, or that of Config.RerankAlways
	MinScore    *float64
	TokenBudget int  // 0: none
	Explain     bool // fill Hit.Explain
	IDsOnly     bool // return ids and scores, read no note
	Hidden      bool // find also what the policy hides, such as evicted messages
	Bare        bool // leave out the links and the use of notes
	Embedding   bool // fill Note.Vector
	Halves      bool // each message is a hit of its own, also where a policy recalls whole exchanges

	// Formula ranks instead of a profile: hits are those that it scores, and links, graph and Rerank are
	// not used. Aim is what the query asks for in its terms. nil: the profile ranks.
	Formula *memory.Formula
	Aim     memory.Aim

	Profile   Profile            // "" is auto
	Weights   map[string]float64 // override single weights of the profile
	Reference time.Time          // what "last May" is relative to, in the zone of its days ([memory.Localize]); zero: now

	Batch *Batch // bounds the queries of one request together; nil: it is the only one

	// Internal marks a search that is not a caller's recall: it counts no access, and the reading of
	// the collection's policy does not apply.
	Internal bool

	expiredBy time.Time // notes that have expired by then are not hits; zero: none expires
	leftOut   filter.Or // what is not a hit unless the caller asks for it: [memory.Transcripts], files
	useGraph  bool      // triples near the entities that the query names join the hits
	parts     []memory.Part
}

// Source is what found a hit: vector, lexical, link or graph.
type Source = search.Source

// NoteView is a note with its outgoing links and its usage in a view.
type NoteView struct {
	memory.Note
	Links []memory.Link
	Usage memory.Usage // Strength is 1 when nothing was counted
}

// Hit is a note that was found. Hits are best first, and those about the same thing together, the newest event first.
type Hit struct {
	ID         uuid.UUID
	Note       *NoteView // nil with IDsOnly
	Score      float64   // higher is better
	Sources    []Source
	IsNeighbor bool      // found by a link only
	About      uuid.UUID // the best hit that is about the same thing, which may be this one; zero: no other is
	Explain    *Explain
	Exchange   []NoteView // all messages of its exchange, oldest first, where the policy recalls exchanges; nil: it is recalled alone
	Collection uuid.UUID  // that it was found in, where several are searched; zero: one is
	Passage    *text.Span // the best passage by words; nil if the content is one passage or no word matches
}

// Explain shows how a score was computed.
type Explain struct {
	Signals []search.Part `json:"signals"`           // parts of the score, with their weights
	Via     *uuid.UUID    `json:"via,omitempty"`     // the hit with the link to it, or the entity with the edge
	Hops    int           `json:"hops,omitempty"`    // links from a direct hit
	Tokens  int           `json:"tokens,omitempty"`  // of its text; with a token budget only
	Version string        `json:"version,omitempty"` // of the note that was scored
	// Query holds what the weights depend on, by [search.Feature].
	Query map[string]float64 `json:"query,omitempty"`
}

// Result answers one query.
type Result struct {
	Hits     []Hit
	Revision memory.Revision
	Mode     Mode    // as asked
	Profile  Profile // that ranked; "" if nothing was fused
	// Answerable is how well the hits fit the query, 0..1: low values mean that the view may not have
	// the answer. It is nil without hits, and when words alone answered. See docs/recall.md.
	Answerable *float64
	// Degraded is the reason why less answered than the mode asks for, such as an embedder that is
	// down in hybrid mode or a model that failed to rerank. "" otherwise.
	Degraded string
	Took     time.Duration
}

// HotNote is a note with the score of its use: memory.HotScore of Note.Usage.
type HotNote struct {
	Note  NoteView
	Score float64
}

// ListQuery pages through notes.
type ListQuery struct {
	Filter    filter.Expr
	Kinds     []memory.Kind
	States    []memory.State
	After     uuid.UUID // id of the last note of the previous page
	Newest    bool      // newest id, or time, first
	ByTime    bool      // by event time, then by id; continue with After and AfterTime
	AfterTime time.Time // event time of the last note of the previous page
	// ByRevision is the order of last changes; continue with After and AfterRevision.
	ByRevision    bool
	AfterRevision memory.Revision
	Limit         int // default 50, at most 200
	Embedding     bool
	Bare          bool // leave out the links and the use of notes
}

// Page is a page of notes. Next is zero at the end.
type Page struct {
	Items        []NoteView
	Next         uuid.UUID
	NextTime     time.Time       // with ByTime
	NextRevision memory.Revision // with ByRevision
}

// HistoryPage is a page of versions, newest first. Next is the next call's before, 0 at the end.
type HistoryPage struct {
	Items []memory.HistoryEntry
	Next  memory.Revision
}

// GraphQuery asks for notes and the links between them.
type GraphQuery struct {
	Center uuid.UUID // zero: the collection's notes, oldest first
	Depth  int       // 0..5; -1 is 2
	Limit  int       // 1..1000; 0 is 200
}

// Node is a note of a graph.
type Node struct {
	Note     memory.Note
	Distance *int // in links from the center; nil without a center
}

// Graph is a set of notes and the links between them.
type Graph struct {
	Nodes     []Node
	Links     []memory.Link
	Truncated bool
}

// The states of an index. A search waits until a cold index is filled.
const (
	StateCold    = "cold"
	StateLoading = "loading"
	StateReady   = "ready"
)

// IndexState describes the indexes of a view's layers in this process.
type IndexState struct {
	State    string          // the least ready layer's
	Revision memory.Revision // of the nearest layer
	Notes    int64           // visible, when ready
	Bytes    int64
}
