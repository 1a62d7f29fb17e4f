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
	"github.com/slipboxhq/slipbox/test/must"
)

// C033: without a model, notes that share keywords are linked, and the older one stays as it is.
func TestOfflineEvolution_C033(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{heuristic: true, config: `{"confidence_gate":0}`})
	old := w.learn("The espresso machine in the kitchen leaks water from the boiler.")
	fresh := w.learn("The espresso machine in the kitchen leaks water: the boiler gasket is worn.")
	if !slices.Equal(w.links(fresh.ID), []uuid.UUID{old.ID}) {
		t.Fatalf("links %v", w.links(fresh.ID))
	}
	if got := w.get(old.ID); got.From != old.From || got.Context != old.Context || !slices.Equal(got.Keywords, old.Keywords) {
		t.Errorf("the older note was changed: %+v", got)
	}
}

// C034: a model that joins the keywords and appends to the context changes the older note, which is embedded again.
func TestUnionAndAppend_C034(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	old := w.learn("The espresso machine in the kitchen leaks water from the boiler.",
		given([]string{"kitchen"}, []string{"espresso machine", "boiler", "leak"}, "A leaking machine."))
	w.fake.Always("evolve", evolve(func(e *amem.Evolution) {
		e.Actions = []string{"update_neighbor"}
		e.NewContextNeighborhood = []string{old.Context + " The gasket of the boiler is worn."}
		e.NewKeywordsNeighborhood = [][]string{append(slices.Clone(old.Keywords), "gasket")}
	}))
	w.learn("The boiler gasket is worn.", given([]string{"kitchen"}, []string{"boiler", "gasket"}, "The gasket of the boiler is worn."))
	got := w.get(old.ID)
	if !slices.Contains(got.Keywords, "gasket") || !slices.Contains(got.Keywords, "leak") {
		t.Errorf("keywords %q are not a union", got.Keywords)
	}
	if got.Context != "A leaking machine. The gasket of the boiler is worn." {
		t.Errorf("context %q", got.Context)
	}
	if slices.Equal(got.Vector, old.Vector) {
		t.Error("not embedded again")
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

// A collection can do without a model although a model is configured.
func TestAnalystSetting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: `{"analyst":"heuristic"}`})
	n := w.learn("The harbour crane lifts timber from the schooner.")
	if n.Analyst != memory.AnalystHeuristic || len(w.fake.Requests()) != 0 {
		t.Errorf("analyst %q, %d requests", n.Analyst, len(w.fake.Requests()))
	}
}

// C035: a contradicting note leads to a recorded decision that names the old note, and both stay.
func TestContradictionIsRecorded_C035(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{heuristic: true})
	old := w.learn("Anna eats peanuts and honey for breakfast.")
	fresh := w.learn("Anna does not eat peanuts, honey is fine for breakfast.")
	var r struct {
		Considered []struct {
			Note    uuid.UUID `json:"note"`
			Effects []string  `json:"effects"`
		} `json:"considered"`
	}
	must.Do(t, json.Unmarshal(w.jobs(fresh.ID)[0].Result, &r))
	if len(r.Considered) != 1 || r.Considered[0].Note != old.ID || !slices.Equal(r.Considered[0].Effects, []string{"linked"}) {
		t.Errorf("recorded: %s", w.jobs(fresh.ID)[0].Result)
	}
}
