package memory

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/quote"
)

// Call is one question to a model: a name, a versioned prompt, the JSON schema
// of the answer, and the same material in structured form for the heuristic
// analyst (internal/analyst).
type Call struct {
	Name        string          // "analyze", "evolve", "relevance"
	Version     string          // of the prompt, such as "amem/analyze@1"
	System      string          // instructions
	Prompt      string          // the material, memory text marked as data; "": only the analyst answers it, and it costs nothing
	Schema      json.RawMessage // JSON Schema of the answer, every property required
	Input       any             // the policy's payload, from which internal/analyst answers
	Analyst     Analyst         // AnalystHeuristic: the model is not asked
	Temperature float64         // 0: the model's default; negative: none, the most likely answer
	MaxTokens   int
	// Needs names the properties of the answer without which it is refused. Nil: every string and boolean; an
	// absent list or number means none.
	Needs []string
	// Lenient converts an answer in another form (prose, another JSON shape) to the schema's form. It gets the model's
	// text without its thinking, and returns nil when it cannot. Nil: no conversion.
	Lenient    func(said string) json.RawMessage
	Check      func(answer json.RawMessage) error // beyond the schema; an error asks for the one repair
	Collection uuid.UUID                          // for accounting
}

// exampleNames are whom and what the prompts' examples are about. [TestExampleNames] finds those that are missing.
var exampleNames = []string{"ann", "anna", "eva", "rex", "fjord", "bergen", "oslo", "小安", "杭州"}

// exampleText is a text of a prompt's example that is too long to be the same by chance.
var exampleText = regexp.MustCompile(`"[^"{}]{30,}"`)

// Echo returns what an answer has from the example in its instructions and not from the material: a name, or a whole text. Small
// models tell it as if it had been said. "": nothing.
func (c *Call) Echo(answer json.RawMessage) string {
	shown, told, said := text.Words(c.System), text.Words(string(answer)), text.Words(c.Prompt)
	for _, name := range exampleNames {
		if slices.Contains(shown, name) && slices.Contains(told, name) && !slices.Contains(said, name) {
			return name
		}
	}
	for _, s := range exampleText.FindAllString(c.System, -1) {
		if strings.Contains(string(answer), s) && !strings.Contains(c.Prompt, s) {
			return s
		}
	}
	return ""
}

// CallRefused asks the analyst whether a model said something in place of an answer. It has no prompt.
const CallRefused = "refused"

// RefusedInput is the input of CallRefused: the texts of an answer.
type RefusedInput struct{ Texts []string }

// Refused is the answer of CallRefused.
type Refused struct {
	All bool `json:"all"` // each text is a refusal, such as an apology that the model cannot help
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
// Transport errors (timeout, 429, 5xx, open breaker) are an Unavailable or
// Timeout fault that names the endpoint. An answer that is still unusable after
// the repair is ErrBadAnswer, for which the caller has a fallback. Neither is
// ever reported as an empty answer.
type Model interface {
	Analyst() Analyst
	Ask(ctx context.Context, s tenant.Scope, c Call) (Answer, error)
	// Converse returns the next turn of a conversation: a text, tool calls, or both. It checks no call
	// against the tools. Its faults are those of Ask: ErrBadAnswer when the model said nothing twice.
	Converse(ctx context.Context, s tenant.Scope, d Dialogue) (TurnResult, error)
}

// ErrBadAnswer is in the error chain of an answer that broke its schema twice.
var ErrBadAnswer = errors.New("the model's answer does not fit its schema")

// ErrNoRoom is in the error chain of an answer that was cut off although it had all the tokens that it may have: most
// tries would end alike.
var ErrNoRoom = errors.New("the model's answer does not fit into the tokens that it may have")

// ErrPaused is in the error chain when the circuit breaker is open: the endpoint
// was not asked, or its probe failed. It does not count as a try.
var ErrPaused = errors.New("the endpoint is failing; not asked")

// ErrBudget is in the error chain when a decision has used up its budget of calls
// and tokens.
var ErrBudget = errors.New("the budget of model calls is used up")

// ErrLost ends a job that was, too often in a row, the only job of a process that
// was lost: it is the likely reason.
var ErrLost = errors.New("each process that ran this job alone was lost; look at its log for the reason, then retry the job")

// Embedder turns texts into vectors.
type Embedder interface {
	Name() string // recorded with every vector; vectors of different names are never compared
	Dim() int
	Fast() bool // local: cheap enough to run before a write's answer
	// Embed returns one embedding per text, in order. For a text without content it
	// returns a vector that is not all zeros, or a fault. Faults are those of Model.
	Embed(ctx context.Context, s tenant.Scope, texts []string) ([]Embedding, error)
}

// Embedding is the result of embedding one text.
type Embedding struct {
	Vector []float32 // of Dim numbers
	Tokens []Token   // of the content words, in order, for late interaction; nil when the embedder has none
	Second bool      // read by the second encoder of an embedder that has two, whose tokens are all near one another; not stored
}

// TokenDim is the number of dimensions that token vectors are projected to.
const TokenDim = 64

// MaxTokens is how many tokens of a text are stored, the first ones. An encoder may read more.
const MaxTokens = 256

// Token is the direction of one word piece in its sentence.
type Token struct {
	Word string         // the word that it is a piece of
	Code [TokenDim]int8 // of length 127
}

// Codes returns the token directions in their stored form: TokenDim bytes each,
// in order, of the first MaxTokens; nil without tokens.
func (e *Embedding) Codes() []byte {
	if len(e.Tokens) == 0 {
		return nil
	}
	tokens := e.Tokens[:min(len(e.Tokens), MaxTokens)]
	out := make([]byte, 0, TokenDim*len(tokens))
	for i := range tokens {
		for _, x := range tokens[i].Code {
			out = append(out, byte(x)) //nolint:gosec // the bits of a signed byte
		}
	}
	return out
}

// Spelling is implemented by an Embedder whose vectors compare words and
// spellings instead of meaning. They mostly repeat what word search finds, so a
// hybrid search gives them little weight.
type Spelling interface {
	Embedder
	Spelling() bool
}

// QueryEmbedder is implemented by an Embedder that reads a question otherwise than the notes that answer
// it.
type QueryEmbedder interface {
	Embedder
	// EmbedQueries is Embed for texts that are searched with.
	EmbedQueries(ctx context.Context, s tenant.Scope, texts []string) ([]Embedding, error)
}

// ImageEmbedder is implemented by an Embedder whose vectors of images compare with those of texts, as of a model such
// as CLIP. It is not Fast: images are embedded by jobs.
type ImageEmbedder interface {
	Embedder
	TakesImages() bool // false: it could, but is not set to
	// EmbedImages returns one embedding per image, in order. An image is an https: or a data: URL. ErrImageRefused when
	// one of them cannot be embedded, other faults as of Embed.
	EmbedImages(ctx context.Context, s tenant.Scope, images []string) ([]Embedding, error)
}

// ErrImageRefused is in the error chain when the embedder does not take an image, and another try would not help.
var ErrImageRefused = errors.New("the embedder refused the image")

// TakesImages returns an embedder of images; ok is false if e takes texts only.
func TakesImages(e Embedder) (out ImageEmbedder, ok bool) {
	out, ok = e.(ImageEmbedder)
	return out, ok && out.TakesImages()
}

// Floored is implemented by an Embedder that knows its noise floor: hits with a
// cosine at or below it are noise. The right floor differs between embedders.
type Floored interface {
	Embedder
	NoiseFloor() float64 // 0: not known
}

// Scaled is implemented by an Embedder whose cosines mean what those of others of its scale mean, although their vectors have no common
// space.
type Scaled interface {
	Embedder
	Scale() string // empty: none is known
}

// Embedders finds embedders by the name a collection recorded.
type Embedders interface {
	Default() Embedder
	ByName(name string) (Embedder, bool)
	Names() []string
}

// SameScale reports whether what two embedders find can be ranked together.
func SameScale(of Embedders, a, b string) bool {
	scale := func(name string) string {
		if e, ok := of.ByName(name); ok {
			if known, ok := e.(Scaled); ok {
				return known.Scale()
			}
		}
		return ""
	}
	return a == b || scale(a) != "" && scale(a) == scale(b)
}

// EmbedText returns the text that is embedded for a note: content, context, keywords and tags as labeled parts in that order
// (A-MEM). What a message says is behind the name of its speaker, who is asked for. It leaves the date out: dates are found
// by words, and a note whose date changes keeps its vector. Of a quotation it is what was said, which often has a vector
// already: that of the message.
func EmbedText(n *Note) string {
	content := n.Content
	switch n.Kind {
	case KindFact:
		content = quote.Said(content)
	case KindMessage:
		name, _ := n.Attributes[AttrName].(string)
		content = quote.Spoken(name, content)
	default:
	}
	b := make([]byte, 0, len(content)+len(n.Context)+128)
	b = append(b, content...)
	if n.Context != "" && n.Context != DefaultContext {
		b = append(b, "\ncontext: "...)
		b = append(b, n.Context...)
	}
	b = appendList(b, labelKeywords, n.Keywords)
	b = appendList(b, labelTags, n.Tags)
	return string(b)
}

// VectorText returns the text that the vector of a note is of: its EmbedText. What was taken from the content without a model is
// left out: it repeats the content, and would change the vector that the note was added with. Of an item it says what the content
// lacks: name and description.
func VectorText(n *Note) string {
	if _, isItem := ItemOf(n); isItem || n.Analyst != AnalystHeuristic {
		return EmbedText(n)
	}
	said := *n
	said.Context, said.Keywords = "", nil
	return EmbedText(&said)
}

const (
	labelKeywords = "\nkeywords: "
	labelTags     = "\ntags: "
)

// Prose returns a text of EmbedText without its lists. They may be in another language than the note: tags are
// English in notes of all languages.
func Prose(embedText string) string {
	for _, label := range []string{labelKeywords, labelTags} {
		embedText, _, _ = strings.Cut(embedText, label)
	}
	return embedText
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
