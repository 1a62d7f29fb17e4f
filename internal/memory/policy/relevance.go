package policy

import (
	"embed"
	"encoding/json"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

//go:embed prompts schemas
var files embed.FS

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

// Judge builds the call that judges candidates of a search against its query, and
// reads the answer. Recall uses it.
type Judge struct{ prompt Prompt }

// NewJudge returns a judge with its prompt and schema.
func NewJudge() (*Judge, error) {
	p, err := LoadPrompt(files, "recall/relevance@2")
	if err != nil {
		return nil, err
	}
	return &Judge{prompt: p}, nil
}

// candidateChars bounds a candidate's content in the prompt.
const candidateChars = 1500

type relevanceMaterial struct {
	Query      string              `json:"query"`
	Candidates []DescribedMaterial `json:"candidates"`
}

// Call returns the call that asks how relevant the candidates are to the query. The
// handle of a candidate is its index.
func (j *Judge) Call(collection uuid.UUID, query string, candidates []memory.Described) (memory.Call, error) {
	m := relevanceMaterial{Query: text.Shorten(query, 4*candidateChars), Candidates: make([]DescribedMaterial, len(candidates))}
	in := RelevanceInput{Query: query, Candidates: make([]memory.Described, len(candidates))}
	for i, c := range candidates {
		c.Handle = i
		in.Candidates[i] = c
		m.Candidates[i] = DescribeNote(c, candidateChars)
		m.Candidates[i].Handle = &in.Candidates[i].Handle
	}
	return j.prompt.Call(memory.Call{
		Name: "relevance", Input: in, Temperature: 0, MaxTokens: 1000, Check: CheckTypes[Relevance], Collection: collection,
	}, m, len(candidates))
}

// Scores returns the score of each candidate in 0..1, NaN for one that the answer does
// not judge. dropped counts the entries that were ignored: their handle is unknown or
// repeated, or their score is out of range.
func (j *Judge) Scores(answer memory.Answer, candidates int) (scores []float64, dropped int, err error) {
	var a Relevance
	if err := json.Unmarshal(answer.JSON, &a); err != nil {
		return nil, 0, fmt.Errorf("relevance: %w: %w", memory.ErrBadAnswer, err)
	}
	scores = make([]float64, candidates)
	for i := range scores {
		scores[i] = math.NaN()
	}
	for _, s := range a.Scores {
		if s.ID < 0 || s.ID >= candidates || !math.IsNaN(scores[s.ID]) || !(s.Score >= 0 && s.Score <= 1) {
			dropped++
			continue
		}
		scores[s.ID] = s.Score
	}
	return scores, dropped, nil
}
