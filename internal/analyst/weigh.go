package analyst

import (
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/said"
)

// weighCalls is what policies ask the analyst beside any model.
func weighCalls() map[string]answerer {
	return map[string]answerer{policy.CallWeigh: reading(weigh)}
}

// weigh says what turns of one or several speakers hold.
func weigh(r *reader, in policy.WeighInput) (out policy.Weighed) {
	turns := make([]said.Turn, len(in.Texts))
	for i, t := range in.Texts {
		turns[i] = said.Turn{Text: t}
	}
	out.Worth, out.Happened = said.Most(r.sentences(turns, 0))
	return out
}
