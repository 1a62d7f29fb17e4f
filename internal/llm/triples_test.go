package llm_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/test/must"
)

// The least precision and recall of the published phrases on the labeled messages: they are certain of what they
// find, and leave the rest to a model ("Sushi makes me sick").
const (
	leastPrecision = 0.95
	leastRecall    = 0.55
)

// C340: the precision and recall of triples on labeled messages in English and Chinese, by rules and, if
// SLIPBOX_LLM_BASE_URL and SLIPBOX_LLM_MODEL name one, by a model.
func TestTriplesOfLabeledMessages(t *testing.T) {
	t.Parallel()
	f := setup(t)
	precision, recall := labeledTriples(t, f, f.deps.Rules)
	t.Logf("rules: precision %.2f, recall %.2f", precision, recall)
	if precision < leastPrecision || recall < leastRecall {
		t.Errorf("precision %.2f, recall %.2f", precision, recall)
	}
	cfg := llm.Config{BaseURL: os.Getenv("SLIPBOX_LLM_BASE_URL"), Model: os.Getenv("SLIPBOX_LLM_MODEL"), APIKey: os.Getenv("SLIPBOX_LLM_API_KEY"), EmbedProvider: llm.EmbedHash, Timeout: time.Minute}
	if !cfg.UsesModel() {
		t.Log("model: none is configured")
		return
	}
	model := must.Get(llm.NewCompletion(f.deps, cfg))(t)
	precision, recall = labeledTriples(t, f, model)
	t.Logf("%s: precision %.2f, recall %.2f", cfg.Model, precision, recall)
}

// labeledTriples returns the precision and recall of a model's triples. A triple is found if the relation is the
// same, and the objects are, in any letter case, or one is in the other.
func labeledTriples(t *testing.T, f *fixture, model memory.Model) (precision, recall float64) {
	t.Helper()
	raw := must.Get(os.ReadFile(filepath.Join("..", "memory", "policy", "layered", "testdata", "labeled.json")))(t)
	var messages []struct {
		Said    string      `json:"said"`
		Triples [][2]string `json:"triples"`
	}
	must.Do(t, json.Unmarshal(raw, &messages))
	calls := must.Get(layered.LoadCalls())(t)
	labeled, returned, right := 0, 0, 0
	for _, m := range messages {
		call := must.Get(calls.Triples(layered.TriplesInput{Message: memory.Utterance{Role: memory.RoleUser, Content: m.Said, Time: now}}))(t)
		call.MaxTokens = 500
		answer, err := model.Ask(t.Context(), f.scope, call)
		if err != nil {
			t.Errorf("%s: %v", m.Said, err)
			continue
		}
		read := must.Get(layered.ReadTriples(answer.JSON, answer.Analyst, 0))(t)
		triples := read.Triples
		labeled, returned = labeled+len(m.Triples), returned+len(triples)
		found := map[int]bool{}
		for _, got := range triples {
			for i, want := range m.Triples {
				a, b := text.Fold(got.Object), text.Fold(want[1])
				if !found[i] && got.Subject == layered.SubjectUser && got.Relation == want[0] && (strings.Contains(a, b) || strings.Contains(b, a)) {
					found[i] = true
					right++
					break
				}
			}
		}
		if len(found) < len(m.Triples) || len(found) < len(triples) {
			t.Logf("%s: %+v", m.Said, triples)
		}
	}
	return float64(right) / float64(max(returned, 1)), float64(right) / float64(max(labeled, 1))
}
