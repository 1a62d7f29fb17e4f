package memgpt_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

func newPolicy(t *testing.T) *memgpt.Policy {
	t.Helper()
	p := must.Get(memgpt.New())(t)
	return p
}

// C150: shares outside of 0..1 are refused, and so is a window that the instructions fill.
func TestConfig(t *testing.T) {
	t.Parallel()
	p := newPolicy(t)
	for _, good := range []string{``, `{}`, `{"window":4096}`, `{"preset":"letta"}`, `{"warn":0,"flush":1,"evict":1}`, `{"max_steps":1}`} {
		if err := p.CheckConfig(json.RawMessage(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, field := range map[string]string{
		`{"warn":1.1}`: "warn", `{"warn":-0.1}`: "warn", `{"flush":1.01}`: "flush", `{"flush":0}`: "flush", `{"evict":-1}`: "evict", `{"evict":30}`: "evict",
		`{"window":0}`: "window", `{"window":500}`: "window", `{"window":8192.5}`: "window", `{"window":"8k"}`: "window",
		`{"max_steps":0}`: "max_steps", `{"preset":"other"}`: "preset", `{"instructions":"x"}`: "instructions",
	} {
		f, ok := errors.AsType[*fault.Error](p.CheckConfig(json.RawMessage(bad)))
		if !ok || f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Field != "policy_config."+field {
			t.Errorf("%s: %v", bad, f)
		}
	}
	paper, letta := p.Paging(nil), p.Paging(json.RawMessage(`{"preset":"letta","evict":0.6}`))
	if paper.Window != 8192 || paper.Warn != 0.7 || paper.Flush != 1 || paper.Evict != 0.5 || paper.MaxSteps != 50 {
		t.Errorf("the paper's values are %+v", paper)
	}
	if letta.Warn != 0.75 || letta.Flush != 0.9 || letta.Evict != 0.6 {
		t.Errorf("Letta's values are %+v", letta)
	}
}

// C117: the instructions are the policy's own. The tools are described as model APIs take them.
func TestPaging(t *testing.T) {
	t.Parallel()
	p := newPolicy(t)
	got := p.Paging(nil)
	if !strings.HasPrefix(got.Instructions, "You are an assistant") || strings.Contains(got.Instructions, "{{") {
		t.Errorf("the instructions are %q", got.Instructions)
	}
	shown := must.Get(json.MarshalIndent(got.Tools, "", "  "))(t)
	policytest.Golden(t, "tools.json", append(shown, '\n'))
	for _, tool := range got.Tools {
		var schema struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
			Additional *bool                      `json:"additionalProperties"`
		}
		must.Do(t, json.Unmarshal(tool.Parameters, &schema))
		if schema.Type != "object" || schema.Required == nil || schema.Additional == nil || *schema.Additional || schema.Properties[memgpt.ArgHeartbeat] == nil {
			t.Errorf("%s has the parameters %s", tool.Name, tool.Parameters)
		}
		for _, name := range schema.Required {
			if schema.Properties[name] == nil {
				t.Errorf("%s requires %s and does not describe it", tool.Name, name)
			}
		}
	}
}

// C135: human and persona exist from the beginning.
func TestHumanAndPersonaExistFromTheBeginning(t *testing.T) {
	t.Parallel()
	var labels []string
	for _, n := range newPolicy(t).Seed(nil) {
		b := block.Of(&n)
		labels = append(labels, b.Label)
		if b.Value != "" || b.Description == "" || b.Limit != block.DefaultLimit || b.ReadOnly || n.Check() != nil {
			t.Errorf("%+v, %v", b, n.Check())
		}
	}
	if !slices.Equal(labels, []string{"human", "persona"}) {
		t.Errorf("the first blocks are %v", labels)
	}
}

// Notes stay as they are, and there are no tasks.
func TestNotesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	p := newPolicy(t)
	d, err := p.Decide(t.Context(), nil, policytest.Added(memory.Note{Content: "as it is"}))
	if err != nil || d.Note.Content != "as it is" || len(d.Puts) > 0 || memory.Decides(p.Name()) {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := p.Decide(t.Context(), nil, policytest.TaskEvent("summary", "", "")); !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Internal) {
		t.Errorf("a task: %v", err)
	}
}
