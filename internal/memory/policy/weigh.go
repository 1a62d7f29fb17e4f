package policy

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/said"
)

// CallWeigh asks what texts hold. The analyst answers it, beside any model: it has no prompt.
const CallWeigh = "weigh"

// WeighInput is the input of CallWeigh: what persons said, in order.
type WeighInput struct{ Texts []string }

// Weighed is the answer of CallWeigh.
type Weighed struct {
	Worth    float64 `json:"worth"`    // the most of any sentence that asks nothing: how likely it is worth keeping
	Happened bool    `json:"happened"` // a sentence tells what happened to somebody, or was done or decided
}

// Weigh asks the analyst what texts hold. With an error, nobody is there to ask, and the answer is that of the sentences without
// vectors; a context that ended is seen by what follows.
func Weigh(ctx context.Context, d memory.Desk, texts ...string) (out Weighed, err error) {
	answer, err := d.Ask(ctx, memory.Call{Name: CallWeigh, Input: WeighInput{texts}, Analyst: memory.AnalystHeuristic})
	if err == nil {
		err = json.Unmarshal(answer.JSON, &out)
	}
	if err != nil {
		out.Worth, out.Happened = said.Most(said.Sentences(said.TurnsOf(texts), 0))
	}
	return out, err
}
