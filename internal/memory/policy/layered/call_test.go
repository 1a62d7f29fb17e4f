package layered

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

func loadCalls(t *testing.T) *Calls {
	t.Helper()
	c := must.Get(LoadCalls())(t)
	return c
}

// TestCallPrompts compares the prompts with their golden files. Hostile text stays data.
func TestCallPrompts(t *testing.T) {
	t.Parallel()
	calls := loadCalls(t)
	triples := must.Get(calls.Triples(TriplesInput{
		memory.Utterance{Role: memory.RoleUser, Name: "Ana", Content: policytest.Hostile, Time: policytest.Noon},
		[]KnownTriple{{SubjectUser, relationPlace, policytest.Hostile, policytest.Noon}},
	}))(t)
	abstract := must.Get(calls.Abstract(AbstractInput{Items: []AbstractItem{{Content: policytest.Hostile, Time: policytest.Noon, Importance: 0.4}, {Content: "Tea again.", Time: policytest.Noon, Importance: 0.5}}}))(t)
	for _, c := range []memory.Call{triples, abstract} {
		_, version, _ := strings.Cut(c.Version, "@")
		policytest.Golden(t, "golden/"+c.Name+".v"+version+".txt", policytest.PromptText(c))
		_, rest, _ := strings.Cut(c.Prompt, "<memory-data>")
		data, _, _ := strings.Cut(rest, "</memory-data>")
		if strings.Count(c.Prompt, "<memory-data>") != 1 || strings.Count(c.Prompt, "</memory-data>") != 1 || !json.Valid([]byte(data)) {
			t.Errorf("%s: the marks are forged:\n%s", c.Name, c.Prompt)
		}
	}
}

// C271: malformed lines are dropped and counted, good ones kept, with the confidence of a model.
func TestReadTriples(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		`{"triples":[{"subject":"User","relation":"lives in","object":"Rome","confidence":1},{"subject":"","relation":"likes","object":"tea"},{"relation":"likes"},"?",{"subject":"Bo","relation":"owns","object":"a boat."},{"subject":"Bo","relation":"owns","object":"A BOAT"}]}`,
		"(I, lives in, Rome)\n(, likes, tea)\n(x, likes)\n1\n(Bo, owns, a boat)\n(Bo, owns, a boat)",
		`[["user","place","Rome"],["","likes","tea"],["likes"],3,["Bo","owns","a boat"],["Bo","owns","a boat"]]`,
	} {
		got, err := ReadTriples(lenientTriples(said), memory.AnalystModel, 0)
		want := []Triple{{SubjectUser, relationPlace, "Rome", modelConfidence}, {"Bo", "owns", "a boat", modelConfidence}}
		if err != nil || !slices.Equal(got.Triples, want) || got.Dropped < 2 {
			t.Errorf("%s\n%+v, %v", said, got, err)
		}
	}
	if raw := lenientTriples(`Sure: {"triples":[],"ends":[2,0]}`); !strings.Contains(string(raw), `"ends":[2,0]`) {
		t.Errorf("%s", raw)
	}
	if raw := lenientTriples("There is nothing to be found."); raw != nil {
		t.Errorf("%s", raw)
	}
	long := strings.Repeat("x", 100)
	got, err := ReadTriples(json.RawMessage(`{"ends":[1,1,7,-1,0],"triples":[{"subject":"user","relation":"likes","object":"`+long+`","confidence":1},{"subject":"user","relation":"likes","object":"`+long[1:]+`","confidence":1}]}`), memory.AnalystHeuristic, 2)
	if err != nil || len(got.Triples) != 1 || !slices.Equal(got.Ends, []int{1, 0}) || got.Dropped != 4 || got.Triples[0].Confidence != ruleConfidence {
		t.Errorf("%+v %v", got, err)
	}
}

// C268: an abstract keeps its sources. Unknown handles are dropped, and fewer than two sources refused.
func TestReadAbstract(t *testing.T) {
	t.Parallel()
	in := AbstractInput{Items: make([]AbstractItem, 3)}
	got, dropped, err := readAbstract(lenientAbstract(`{"text":"Tea, twice.","sources":[2,0,0,7]}`), &in)
	if err != nil || got.Summary != "Tea, twice." || !slices.Equal(got.Sources, []int{0, 2}) || dropped != 2 {
		t.Errorf("%+v %d %v", got, dropped, err)
	}
	for _, poor := range []string{`{"summary":"","sources":[0,1]}`, `{"summary":"Tea.","sources":[0]}`, `{"summary":"None","sources":[0,1]}`} {
		if _, _, err := readAbstract(json.RawMessage(poor), &in); !errors.Is(err, memory.ErrBadAnswer) {
			t.Errorf("%s: %v", poor, err)
		}
	}
}
