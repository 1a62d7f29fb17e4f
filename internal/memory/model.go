package memory

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Call is one question to a model: a name, a versioned prompt, the JSON schema
// of the answer, and the same facts in structured form, which is what the
// heuristic analyst works from.
type Call struct {
	Name        string          // "analyze", "evolve", "relevance"
	Version     string          // of the prompt, such as "amem/analyze@1"
	System      string          // instructions
	Prompt      string          // the material, memory text marked as data
	Schema      json.RawMessage // JSON Schema of the answer, every property required
	Input       any             // the policy's payload, from which internal/rules answers
	Temperature float64         // 0: the model's default; negative: none, the most likely answer
	MaxTokens   int
	// Needs names the properties of the answer without which it is refused. Nil: every string and boolean; an
	// absent list or number means none.
	Needs []string
	// Lenient reads what a model said, without its thinking, where it means what was asked for in another form: it gives
	// the answer in the form of the schema, or nil when it cannot tell. Nil: answers are taken as they are.
	Lenient    func(said string) json.RawMessage
	Check      func(answer json.RawMessage) error // beyond the schema; an error asks for the one repair
	Collection uuid.UUID                          // for accounting
}

// Answer is a checked answer.
type Answer struct {
	JSON             json.RawMessage
	Analyst          Analyst
	Model            string
	Calls            int // requests that reached the endpoint, repairs included
	Repaired         bool
	PromptTokens     int64
	CompletionTokens int64
}

// Model answers calls: a language model, or the heuristic analyst.
//
// Transport trouble (timeout, 429, 5xx, open breaker) is a fault Unavailable
// or Timeout naming the endpoint; an answer that stays unusable after the repair is
// ErrBadAnswer, for which the caller has a fallback. It is never "nothing found".
type Model interface {
	Analyst() Analyst
	Ask(ctx context.Context, s tenant.Scope, c Call) (Answer, error)
}

// ErrBadAnswer is in the chain of the error for an answer that broke its
// schema twice.
var ErrBadAnswer = errors.New("the model's answer does not fit its schema")

// ErrPaused is in the chain of the error when the circuit breaker is open: the
// endpoint was not asked, or only to find out that it is still failing. The
// try does not count.
var ErrPaused = errors.New("the endpoint is failing; not asked")

// ErrLost says that a job's holders were lost too often while they had it:
// whatever ends them may be the job.
var ErrLost = errors.New("whoever worked on the job was lost, again and again")

// Embedder turns texts into vectors.
type Embedder interface {
	Name() string // recorded with every vector; vectors of different names are never compared
	Dim() int
	Fast() bool // local: cheap enough to run before a write's answer
	// Embed gives one embedding per text, in order. A text without content
	// gives a vector that is not all zeros, or a fault. Faults as Model.
	Embed(ctx context.Context, s tenant.Scope, texts []string) ([]Embedding, error)
}

// Embedding is what an embedder makes of one text.
type Embedding struct {
	Vector []float32 // of Dim numbers
	Tokens []Token   // of the words that count, in order, for late interaction; nil where the embedder knows none
}

// TokenDim is the number of dimensions that token vectors are projected to.
const TokenDim = 64

// Token is the direction of one word piece in its sentence.
type Token struct {
	Word string         // the word of the text that it is a piece of
	Code [TokenDim]int8 // of length 127
}

// Codes gives the directions of the tokens as they are stored: TokenDim bytes
// each, in order; nil without tokens.
func (e *Embedding) Codes() []byte {
	if len(e.Tokens) == 0 {
		return nil
	}
	out := make([]byte, 0, TokenDim*len(e.Tokens))
	for i := range e.Tokens {
		for _, x := range e.Tokens[i].Code {
			out = append(out, byte(x)) //nolint:gosec // the bits of a signed byte
		}
	}
	return out
}

// Spelling is an Embedder that can say that its vectors are near when texts
// share words or spellings, whatever they mean. Such vectors mostly repeat what
// the words say, so a search that fuses both gives them little weight.
type Spelling interface {
	Embedder
	Spelling() bool
}

// Floored is an Embedder that knows from which cosine on its vectors mean
// something: at or below it a note is noise. What is right for one embedder
// leaves nothing of another's answers.
type Floored interface {
	Embedder
	NoiseFloor() float64 // 0: not known
}

// Embedders finds embedders by the name a collection recorded.
type Embedders interface {
	Default() Embedder
	ByName(name string) (Embedder, bool)
	Names() []string
}

// EmbedText is the text that a note is embedded by: content, context, keywords
// and tags as labelled parts in that order (A-MEM). Its date is not in it: a
// date is found by words, and a note whose date changes keeps its vector.
func EmbedText(n *Note) string {
	b := make([]byte, 0, len(n.Content)+len(n.Context)+128)
	b = append(b, n.Content...)
	if n.Context != "" && n.Context != DefaultContext {
		b = append(b, "\ncontext: "...)
		b = append(b, n.Context...)
	}
	b = appendList(b, "\nkeywords: ", n.Keywords)
	b = appendList(b, "\ntags: ", n.Tags)
	return string(b)
}

func appendList(b []byte, label string, list []string) []byte {
	for i, s := range list {
		if i == 0 {
			b = append(b, label...)
		} else {
			b = append(b, ", "...)
		}
		b = append(b, s...)
	}
	return b
}

// Described is a note as a model sees it: a handle instead of an id.
type Described struct {
	Handle   int // 0..n-1 within the call; -1 for the new note
	Content  string
	Context  string
	Keywords []string
	Tags     []string
	Time     time.Time
	Score    float64  // similarity to the new note or the query
	Linked   []string // contents of notes linked to it (C019), bounded
}
