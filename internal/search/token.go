package search

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Encoding says how the tokens of a text are counted.
type Encoding string

// The encodings: byte-pair encodings as OpenAI's tiktoken publishes them, whose
// ranks are part of the binary, and [EstimateTokens]. O200k is that of models
// since GPT-4o, Cl100k that of GPT-4 and of its embedding models.
const (
	O200k    Encoding = "o200k_base"
	Cl100k   Encoding = "cl100k_base"
	Estimate Encoding = "estimate"
)

// Encodings lists every encoding, the default first.
func Encodings() []Encoding { return []Encoding{O200k, Cl100k, Estimate} }

// The ranks of an encoding take a few megabytes and tens of milliseconds to set
// up, which only the first text that is counted by them waits for.
var (
	o200k  = sync.OnceValue(codec.NewO200kBase)
	cl100k = sync.OnceValue(codec.NewCl100kBase)
)

// Count gives the tokens of s. What looks like a control token is counted as
// the text that it is. An unknown encoding is an error. Count is safe for
// concurrent use.
func (e Encoding) Count(s string) (int, error) {
	switch e {
	case O200k:
		return o200k().Count(s)
	case Cl100k:
		return cl100k().Count(s)
	case Estimate:
		return EstimateTokens(s), nil
	}
	return 0, fmt.Errorf("search: no encoding %q", e)
}
