package policy

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestRelevancePrompt compares the prompt with its golden file.
func TestRelevancePrompt(t *testing.T) {
	t.Parallel()
	r := must.Get(NewJudge())(t)
	call := must.Get(r.Call(uuid.Nil, policytest.Hostile, []memory.Described{{Content: "one", Time: policytest.Noon}, {Content: policytest.Hostile, Tags: []string{"x"}, Time: policytest.Noon}}))(t)
	policytest.Golden(t, "golden/relevance.v2.txt", policytest.PromptText(call))
}

func TestRelevanceRead(t *testing.T) {
	t.Parallel()
	r := must.Get(NewJudge())(t)
	scores, dropped, err := r.Scores(memory.Answer{JSON: json.RawMessage(`{"scores":[{"id":1,"score":0.7},{"id":1,"score":0.1},{"id":9,"score":1},{"id":0,"score":3}]}`)}, 3)
	if err != nil || dropped != 3 || scores[1] != 0.7 || !math.IsNaN(scores[0]) || !math.IsNaN(scores[2]) {
		t.Errorf("got %v, %d, %v", scores, dropped, err)
	}
	if _, _, err := r.Scores(memory.Answer{JSON: json.RawMessage(`[]`)}, 3); err == nil {
		t.Error("a list was read as an answer")
	}
}
