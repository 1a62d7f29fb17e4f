package search

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Encoding is a way to count the tokens of a text.
type Encoding string

// The encodings: byte-pair encodings as OpenAI's tiktoken publishes them, whose ranks are part of
// the binary, and [EstimateTokens]. Models since GPT-4o use O200k; GPT-4 and its embedding models
// use Cl100k.
const (
	O200k    Encoding = "o200k_base"
	Cl100k   Encoding = "cl100k_base"
	Estimate Encoding = "estimate"
)

// Encodings returns all encodings, the default first.
func Encodings() []Encoding { return []Encoding{O200k, Cl100k, Estimate} }

// The ranks of an encoding take a few megabytes and tens of milliseconds to set up. Only the first
// text counted by an encoding waits for it.
var (
	o200k  = sync.OnceValue(codec.NewO200kBase)
	cl100k = sync.OnceValue(codec.NewCl100kBase)
)

// Count returns the number of tokens of s. Text that looks like a control token is counted as text.
// An unknown encoding is an error. Count is safe for concurrent use.
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
