package amem

import (
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// AnalyzeInput is the input of "analyze".
type AnalyzeInput struct {
	Content string
	Time    time.Time
	Speaker string   // excluded from keywords; "": unknown
	Want    []string // subset of "keywords", "context", "tags"
}

// Analysis is the answer of "analyze".
type Analysis struct {
	Keywords []string `json:"keywords"`
	Context  string   `json:"context"`
	Tags     []string `json:"tags"`
}

// EvolveInput is the input of "evolve".
type EvolveInput struct {
	New       memory.Described
	Neighbors []memory.Described
	MaxLinks  int
}

// Evolution is the answer of "evolve". Nil arrays mean no change; a nil
// Confidence means review.
type Evolution struct {
	ShouldEvolve            bool       `json:"should_evolve"`
	Actions                 []string   `json:"actions"`
	SuggestedConnections    []int      `json:"suggested_connections"`
	TagsToUpdate            []string   `json:"tags_to_update"`
	NewContextNeighborhood  []string   `json:"new_context_neighborhood"`
	NewTagsNeighborhood     [][]string `json:"new_tags_neighborhood"`
	NewKeywordsNeighborhood [][]string `json:"new_keywords_neighborhood"`
	Confidence              *float64   `json:"confidence"`
}
