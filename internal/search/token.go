package search

import (
	"fmt"

	"github.com/slipboxhq/slipbox/internal/search/o200k"
)

// Encoding is a way to count the tokens of a text.
type Encoding string

// The encodings: the byte-pair encoding of models since GPT-4o, as OpenAI's tiktoken publishes it, whose
// ranks are part of the binary, and [EstimateTokens]. Those of older models would add megabytes.
const (
	O200k    Encoding = "o200k_base"
	Estimate Encoding = "estimate"
)

// Encodings returns all encodings, the default first.
func Encodings() []Encoding { return []Encoding{O200k, Estimate} }

// Count returns the number of tokens of s. Text that looks like a control token is counted as text.
// An unknown encoding is an error. Count is safe for concurrent use.
func (e Encoding) Count(s string) (int, error) {
	switch e {
	case O200k:
		return o200k.Count(s) //nolint:wrapcheck // it names the encoding
	case Estimate:
		return EstimateTokens(s), nil
	}
	return 0, fmt.Errorf("search: no encoding %q", e)
}
