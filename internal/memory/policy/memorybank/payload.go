package memorybank

import (
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// DayInput is the input of "daily_summary" and "daily_personality".
type DayInput struct {
	Date      string // 2006-01-02
	Turns     []memory.Utterance
	User      string // name of the person; "": unknown
	Assistant string // name of the companion; "": unknown
	Chars     int    // of the summary, at most
	Language  policy.Language
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

// DatedText is the summary or the profile of a day.
type DatedText struct {
	Date string
	Text string
}

// OverallInput is the input of "overall_history" and "overall_personality".
type OverallInput struct {
	Days     []DatedText
	User     string
	Meta     map[string]string // name, personality, hobbies, speaking_style
	Role     string            // of the companion, such as "a friendly companion"
	Chars    int
	Language policy.Language
}

// Portrait is the answer of "overall_personality".
type Portrait struct {
	Portrait      string `json:"portrait"`
	ReplyStrategy string `json:"reply_strategy"`
}

// History is the answer of "overall_history".
type History struct {
	Summary string `json:"summary"`
}
