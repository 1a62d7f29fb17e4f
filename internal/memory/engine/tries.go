package engine

import (
	"crypto/sha256"
	"fmt"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// tries is what all tries at one decision have in common.
type tries struct {
	spent costs
	said  answers
}

func newTries(spent costs) *tries { return &tries{spent: spent, said: answers{}} }

// errNewer is the conflict of a decision for which only a listing of the newest notes has another answer now.
var errNewer = fault.Wrap(memory.ErrMoved, fault.Conflict, "a newer note was written meanwhile")

// answers are those of a model, by question: a decision that is made again because of errNewer asks only what it has not
// asked before.
type answers map[question]memory.Answer

// question is the digest of all that a model is told.
type question [sha256.Size]byte

func questionOf(c *memory.Call) question {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %g %d %#v", c.Name, c.Version, c.System, c.Prompt, c.Schema, c.Temperature, c.MaxTokens, c.Needs))
}
