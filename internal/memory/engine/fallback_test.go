package engine_test

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Where a model gave no usable answer, no note says that it is by a model: what nobody described waits for a retry, and
// what was found without the model is marked so.
func TestFallbackSaysSo(t *testing.T) {
	t.Parallel()
	pending := map[string]bool{"amem": true, "mem0": true, "mem0g": true, "memorybank": false, "memoryos": false, "layered": false}
	for policy, waits := range pending {
		w := newWorld(t, options{policy: policy})
		w.answer(func(string) llmtest.Reply { return llmtest.Text("no JSON at all") })
		said := w.sayAndDrain("I live in Berlin with two cats, and I work as a nurse.")
		if state := w.get(said.ID).State; (state == memory.StatePending) != waits {
			t.Errorf("%s: the message is %s", policy, state)
		}
		for _, n := range w.all(w.c.ID) {
			if n.Analyst == memory.AnalystModel || n.Kind == memory.KindKnowledge && n.Analyst != memory.AnalystHeuristic {
				t.Errorf("%s: the %s %q is by %q", policy, n.Kind, n.Content, n.Analyst)
			}
		}
	}
}
