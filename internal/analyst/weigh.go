package analyst

import (
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/said"
)

// weighCalls is what policies and their engine ask the analyst beside any model.
func weighCalls() map[string]answerer {
	return map[string]answerer{policy.CallWeigh: reading(weigh), memory.CallRefused: reading(refused)}
}

// refused reports whether all texts of a model's answer are refusals. Without vectors none is.
func refused(r *reader, in memory.RefusedInput) (out memory.Refused) {
	for i := range in.Texts {
		if out.All = said.Refuses(r.sentences(said.TurnsOf(in.Texts[i : i+1]))); !out.All {
			return out
		}
	}
	return out
}

// weigh says what turns of one or several speakers hold.
func weigh(r *reader, in policy.WeighInput) (out policy.Weighed) {
	out.Worth, out.Happened = said.Most(r.sentences(said.TurnsOf(in.Texts)))
	return out
}
