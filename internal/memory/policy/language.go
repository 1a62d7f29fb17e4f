package policy

import "github.com/slipboxhq/slipbox/internal/memory"

// RelevanceInput is the material of "relevance".
type RelevanceInput struct {
	Query      string
	Candidates []memory.Described
}

// Relevance is the answer of "relevance".
type Relevance struct {
	Scores []struct {
		ID    int     `json:"id"`
		Score float64 `json:"score"`
	} `json:"scores"`
}

// Language of prompts and of what is written: "en" or "zh".
type Language string

// The languages that prompts exist in.
const (
	English Language = "en"
	Chinese Language = "zh"
)
