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
	out.Worth, out.Happened = said.Most(r.sentences(said.TurnsOf(in.Texts), 0))
	return out
}
