package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
)

// C033, C034: without a model, notes that share keywords are linked. The older one gets the union of
// the keywords and the beginning of the new context, and is embedded again. The rules report their
// own confidence, and the gate applies to them, too.
func TestOfflineEvolution_C034(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{heuristic: true, config: `{"confidence_gate":0.5}`})
	old := w.learn("The espresso machine in the kitchen leaks water from the boiler.",
		given([]string{"kitchen"}, []string{"espresso machine", "boiler", "leak"}, "A leaking machine."))
	fresh := w.learn("The espresso machine in the kitchen leaks water: the boiler gasket is worn.",
		given([]string{"kitchen"}, []string{"espresso machine", "boiler", "gasket"}, "The gasket of the boiler is worn."))
	if !slices.Equal(w.links(fresh.ID), []uuid.UUID{old.ID}) {
		t.Fatalf("links %v", w.links(fresh.ID))
	}
	got := w.get(old.ID)
	if !slices.Contains(got.Keywords, "gasket") || !slices.Contains(got.Keywords, "leak") {
		t.Errorf("keywords %q are no union", got.Keywords)
	}
	added, ok := strings.CutPrefix(got.Context, old.Context)
	if !ok || added == "" || len(added) > 60 {
		t.Errorf("context %q", got.Context)
	}
	if slices.Equal(got.Vector, old.Vector) {
		t.Error("not embedded anew")
	}
}

// Notes with no word in common are linked if the model relates them.
func TestLinkWithoutSharedWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.fake.Handle("evolve", func(r llmtest.Request) llmtest.Reply {
		if strings.Contains(r.User, "Simulated annealing") && strings.Contains(r.User, "Quantum tunnelling") {
			return evolve(func(e *amem.Evolution) { e.Actions, e.SuggestedConnections = []string{"strengthen"}, []int{0} })
		}
		return keep()
	})
	old := w.learn("Quantum tunnelling lets particles cross barriers.")
	fresh := w.learn("Simulated annealing escapes poor optima by random jumps.")
	if !slices.Equal(w.links(fresh.ID), []uuid.UUID{old.ID}) {
		t.Errorf("links %v", w.links(fresh.ID))
	}
}

// A collection can use the rules although a model is configured.
func TestAnalystSetting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: `{"analyst":"heuristic"}`})
	n := w.learn("The harbour crane lifts timber from the schooner.")
	if n.Analyst != memory.AnalystHeuristic || len(w.fake.Requests()) != 0 {
		t.Errorf("analyst %q, %d requests", n.Analyst, len(w.fake.Requests()))
	}
}

// C035: a contradicting note leads to a recorded decision that names the old note.
func TestContradictionIsRecorded_C035(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{heuristic: true})
	old := w.learn("Anna eats peanuts and honey for breakfast.")
	fresh := w.learn("Anna does not eat peanuts, honey is fine for breakfast.")
	var r struct {
		Considered []struct {
			Note   uuid.UUID `json:"note"`
			Stands string    `json:"stands"`
			Reason string    `json:"reason"`
		} `json:"considered"`
	}
	if err := json.Unmarshal(w.jobs(fresh.ID)[0].Result, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Considered) != 1 || r.Considered[0].Note != old.ID || r.Considered[0].Stands != "conflict" || r.Considered[0].Reason == "" {
		t.Errorf("recorded: %s", w.jobs(fresh.ID)[0].Result)
	}
}
