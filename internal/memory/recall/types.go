package recall

import (
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Mode says which signals answer.
type Mode = search.Mode

// The modes.
const (
	Hybrid  = search.ModeHybrid
	Vector  = search.ModeVector
	Lexical = search.ModeLexical
)

// Profile names the weights of the ranking.
type Profile = search.Profile

// The profiles.
const (
	Auto    = search.Auto
	General = search.General
	People  = search.People
	Mem0    = search.Mem0
)

// Rerank says who has the last word about order.
type Rerank string

// The ways. RerankModel drops hits at or below Config.CoarseThreshold and lets
// a model judge the rest.
const (
	RerankNone  Rerank = "none"
	RerankModel Rerank = "model"
)

// Message is one turn of the dialogue that serves as a query: Content by a
// role, or User and Assistant.
type Message struct {
	Role, Name, Content string
	User, Assistant     string
}

// Query asks for hits. Exactly one of Text, Messages and Vector is given.
type Query struct {
	Text     string
	Messages []Message
	Vector   []float32

	Mode        Mode        // default hybrid; with Vector it is vector
	K           int         // 1..200; 0 is the policy's, else 5
	Filter      filter.Expr // nil: all; unless it names kinds, those that the policy names
	ExpandLinks int         // 0..2
	Rerank      Rerank      // default none
	MinScore    *float64
	TokenBudget int  // 0: none
	Explain     bool // fill Hit.Explain
	IDsOnly     bool // ids and scores, no note is read
	NoGraph     bool // leave out what only the graph leads to, where the policy keeps one
	Embedding   bool // fill Note.Vector

	Profile   Profile            // "" is auto
	Weights   map[string]float64 // of single signals, instead of the profile's
	Reference time.Time          // what "last May" counts from; zero: now

	// Internal is not a caller's recall: it counts no access, and what the
	// collection's policy says of reading does not hold for it.
	Internal bool

	now   time.Time // what has expired by then is no hit; zero: nothing expires
	graph bool      // triples near the entities that it names join the hits
}

// Source says what found a hit: vector, lexical, link or graph.
type Source = search.Source

// NoteView is a note with what is read per view: its outgoing links and its usage.
type NoteView struct {
	memory.Note
	Links []memory.Link
	Usage memory.Usage // Strength is 1 when nothing was counted yet
}

// Hit is one note found.
type Hit struct {
	ID         uuid.UUID
	Note       *NoteView // nil with IDsOnly
	Score      float64   // higher is better
	Sources    []Source
	IsNeighbor bool // found along a link and not by itself
	Explain    *Explain
	Passage    *text.Span // the best passage of the content by words; nil where it is one passage
}

// Explain says how a score came to be.
type Explain struct {
	Signals []search.Part `json:"signals"`           // parts of the score, with their weights
	Via     *uuid.UUID    `json:"via,omitempty"`     // the hit whose link led here, or the entity whose edge this is
	Hops    int           `json:"hops,omitempty"`    // links between it and a direct hit
	Tokens  int           `json:"tokens,omitempty"`  // of its text, with a token budget
	Version string        `json:"version,omitempty"` // of the note that was scored
}

// Result answers one query.
type Result struct {
	Hits     []Hit
	Revision memory.Revision
	Mode     Mode    // as asked
	Profile  Profile // that ranked; "" where nothing was fused
	// Answerable says how well the best hit itself fits the query, 0..1; nil
	// without hits and where words alone answered. It tells little: see docs/recall.md.
	Answerable *float64
	// Degraded says why less than the mode asked for answered, such as an
	// embedder that is down in hybrid mode or a model that failed to rerank.
	// "" otherwise.
	Degraded string
	Took     time.Duration
}

// HotNote is a note with what its use is worth: memory.HotScore of Note.Usage.
type HotNote struct {
	Note  NoteView
	Score float64
}

// ListQuery pages through notes.
type ListQuery struct {
	Filter    filter.Expr
	Kinds     []memory.Kind
	States    []memory.State
	After     uuid.UUID // id of the last one of the page before
	Newest    bool      // newest id, or time, first
	ByTime    bool      // by event time, then by id; AfterTime stands beside After
	AfterTime time.Time // event time of the last one of the page before
	Limit     int       // default 50, at most 200
	Embedding bool
}

// Page is a page of notes; Next is zero at the end.
type Page struct {
	Items    []NoteView
	Next     uuid.UUID
	NextTime time.Time // with ByTime
	Revision memory.Revision
}

// HistoryPage is a page of versions, newest first; Next is 0 at the end and
// else goes into the next call's before.
type HistoryPage struct {
	Items    []memory.HistoryEntry
	Next     memory.Revision
	Revision memory.Revision
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
	Distance *int // links between it and the center; nil without a center
}

// Graph is a set of notes and the links whose ends are both in it.
type Graph struct {
	Nodes     []Node
	Links     []memory.Link
	Truncated bool
	Revision  memory.Revision
}

// The states of an index. Cold: the next search waits until it is filled.
const (
	StateCold    = "cold"
	StateLoading = "loading"
	StateReady   = "ready"
)

// IndexState tells about the indexes of a view's layers in this process.
type IndexState struct {
	State    string          // the least ready layer's
	Revision memory.Revision // of the nearest layer
	Notes    int64           // visible, when ready
	Bytes    int64
}
