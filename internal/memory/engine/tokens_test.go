package engine_test

import (
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/test/must"
)

// maxPromptTokens is what the prompts of one A-MEM add may cost on average, its two calls together and
// the schema of the answers apart, which endpoints count differently.
// An example in each prompt takes a hundred of them: small models need it.
const maxPromptTokens = 1200

// spoken are notes as an assistant stores them, about 23 words each.
var spoken = []string{
	"Maria said that her daughter starts school in Lisbon in September, and that she is still looking for a flat near the river.",
	"Tom cannot eat nuts since he was a child; at the restaurant last week he had to ask twice before the waiter checked the kitchen.",
	"The team agreed to move the release to the second week of May, because the payment provider needs more time for its security review.",
	"Ana bought a used bicycle from her neighbor for ninety euros and rides it to work on every day when it does not rain.",
	"For her birthday, Maria would like a weekend in Porto with her sister, without children, and with a table at the small fish restaurant.",
	"Tom told me that he sleeps badly when he drinks coffee after four, so he switched to peppermint tea in the afternoon.",
	"Maria found a flat near the river in Lisbon at last; the rent is higher than she wanted, but the school is five minutes away.",
	"The payment provider finished its security review early, so the team is thinking about releasing at the end of April after all.",
	"Ana's bicycle was stolen from the station on Friday; the police gave her a number for the insurance but little hope to see it again.",
	"Tom tried the new bakery next to the office and found out that they have a separate oven for everything without nuts.",
	"Maria's sister cannot come to Porto in June because of a conference, so they moved the weekend to the first days of July.",
	"Since the release the number of failed payments has fallen by half, and the support team answers most questions on the same day.",
	"Ana's insurance paid sixty euros for the stolen bicycle, and she is now looking for an old one that nobody would want to steal.",
	"Tom wants to learn Portuguese before he visits Maria in the autumn, and asked whether twenty minutes a day would be enough for small talk.",
}

// TestPromptTokens counts what the model reads for one add, with notes as people write them.
func TestPromptTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{together: true})
	const first = 6 // from the seventh on, each note has five neighbors
	adds, words := len(spoken), 0
	for i, note := range spoken {
		if i >= first {
			words += len(strings.Fields(note))
		}
		w.learn(note)
	}
	total, calls := 0, 0
	for i, r := range w.fake.Requests() {
		if i < 2*first-1 { // the first note of all has no decision
			continue
		}
		n := must.Get(search.O200k.Count(r.System + "\n" + r.User))(t)
		total, calls = total+n, calls+1
	}
	mean := total / (adds - first)
	t.Logf("%d tokens in %d calls for an add of %d words", mean, calls/(adds-first), words/(adds-first))
	if calls != 2*(adds-first) || mean > maxPromptTokens {
		t.Errorf("%d tokens an add in %d calls, want at most %d in two an add", mean, calls, maxPromptTokens)
	}
}
