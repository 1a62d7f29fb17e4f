package memory

import "time"

// This file holds the material and the answers of the calls of the policies
// for conversations. Texts of memories are data in every one of them. The
// heuristic analyst answers from the material alone; a model sees the same
// in a prompt.

// Language of prompts and of what is written: "en" or "zh".
type Language string

// The languages that prompts exist in.
const (
	English Language = "en"
	Chinese Language = "zh"
)

// ExtractInput is the material of "extract" (Mem0): facts come from New alone,
// the rest resolves references.
type ExtractInput struct {
	Summary string      // background; "" none
	Recent  []Utterance // background, oldest first
	New     []Utterance // the exchange, oldest first; only what may be learned from
	Max     int         // facts
}

// Extraction is the answer of "extract".
type Extraction struct {
	Facts []string `json:"facts"` // short, self-contained, with absolute dates; none for small talk
}

// Operation is what becomes of a candidate fact.
type Operation string

// The operations, the preferred first.
const (
	OpNoop   Operation = "NOOP"
	OpDelete Operation = "DELETE"
	OpUpdate Operation = "UPDATE"
	OpAdd    Operation = "ADD"
)

// DecideInput is the material of "decide" (Mem0).
type DecideInput struct {
	Fact    string
	Time    time.Time   // when it was said
	Similar []Described // memories by handle, best first; may be empty
}

// FactDecision is the answer of "decide".
type FactDecision struct {
	Operation Operation `json:"operation"`
	Target    *int      `json:"target"` // handle; nil for ADD
	Text      *string   `json:"text"`   // of the memory as it should read; nil: the fact as it is
}

// SummarizeInput is the material of "summarize" (Mem0): all memories, or the
// old summary and what changed since.
type SummarizeInput struct {
	Old      string
	Memories []string
	Changes  []string // "+ text" or "- text"; only in the incremental mode
	Chars    int      // most of the summary
	Language Language
}

// Summary is the answer of "summarize", "overall_history" and their like.
type Summary struct {
	Summary string `json:"summary"`
}

// EntitiesInput is the material of "entities" (Mem0g).
type EntitiesInput struct {
	Texts []string // facts
	User  string   // what "I", "me" and "my" stand for
}

// Entity is a thing that facts are about.
type Entity struct {
	Entity string `json:"entity"`
	Type   string `json:"entity_type"` // "person", "place", "organization", "event", "time", "thing", …
}

// EntitiesFound is the answer of "entities".
type EntitiesFound struct {
	Entities []Entity `json:"entities"`
}

// RelationsInput is the material of "relations" (Mem0g).
type RelationsInput struct {
	Texts    []string
	Entities []Entity // only among these
	User     string
}

// Triple is a relation between two entities.
type Triple struct {
	Source      string `json:"source"`
	Relation    string `json:"relationship"`
	Destination string `json:"destination"`
}

// RelationsFound is the answer of "relations".
type RelationsFound struct {
	Relations []Triple `json:"relations"`
}

// ConflictsInput is the material of "conflicts" (Mem0g).
type ConflictsInput struct {
	New      []Triple
	Existing []Triple
	Texts    []string // the facts that New comes from
}

// ConflictsFound is the answer of "conflicts": what of Existing is no longer true.
type ConflictsFound struct {
	Invalidate []Triple `json:"invalidate"`
}

// DayInput is the material of "daily_summary" and "daily_personality" (MemoryBank).
type DayInput struct {
	Date      string // 2006-01-02
	Turns     []Utterance
	User      string // name of the person; "" unknown
	Assistant string // name of the companion; "" unknown
	Chars     int    // most of a summary
	Language  Language
}

// DaySummary is the answer of "daily_summary".
type DaySummary struct {
	Summary string   `json:"summary"`
	Events  []string `json:"events"`
}

// DayPersonality is the answer of "daily_personality".
type DayPersonality struct {
	Traits        []string `json:"traits"`
	Mood          string   `json:"mood"`
	ReplyStrategy string   `json:"reply_strategy"`
}

// DatedText is what one day is summed up to.
type DatedText struct {
	Date string
	Text string
}

// OverallInput is the material of "overall_history" and "overall_personality"
// (MemoryBank).
type OverallInput struct {
	Days     []DatedText
	User     string
	Meta     map[string]string // name, personality, hobbies, speaking_style
	Role     string            // of the companion, such as "a friendly companion"
	Chars    int
	Language Language
}

// Portrait is the answer of "overall_personality".
type Portrait struct {
	Portrait      string `json:"portrait"`
	ReplyStrategy string `json:"reply_strategy"`
}
