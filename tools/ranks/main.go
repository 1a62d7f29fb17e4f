// Command ranks writes the tokens of OpenAI's byte-pair encoding o200k_base into a file, for internal/search/o200k:
// in the order of their ranks, each as a byte with its length, and its bytes. "go generate" runs it.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/tiktoken-go/tokenizer/codec"
)

// count is how many tokens the encoding has, besides control tokens.
const count = 199_998

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ranks:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: ranks FILE")
	}
	encoding := codec.NewO200kBase()
	var out bytes.Buffer
	for rank := range uint(count) {
		token, err := encoding.Decode([]uint{rank})
		if err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		if len(token) > math.MaxUint8 {
			return fmt.Errorf("the token of rank %d has %d bytes", rank, len(token))
		}
		out.WriteByte(byte(len(token))) //nolint:gosec // at most 255
		out.WriteString(token)
	}
	return os.WriteFile(args[0], out.Bytes(), 0o600)
}
