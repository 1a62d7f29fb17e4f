package amem

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestPrompts compares every prompt with its golden file: C018, C019 and C036 (the
// prompt's rules name relation by meaning), C029 and C316 (schema and rules).
func TestPrompts(t *testing.T) {
	t.Parallel()
	p := newAMem(t)
	near := policytest.Neighbors(3)
	near[1].Note.Content = policytest.Hostile
	d := &policytest.Desk{
		Near: near, Overrides: `{"split":true,"k_neighbours":2,"linked_chars":200}`,
		LinkedNotes: map[uuid.UUID][]memory.Note{policytest.ID(1): {policytest.Note(6, "A linked note."), policytest.Note(7, "Another one."), policytest.Note(8, "One too many.")}},
		Answers:     map[string]string{"split": `{"parts":[]}`, "evolve": `{}`, "analyze": `{}`},
	}
	n := policytest.Note(9, "New content. It has two sentences.")
	n.Attributes = map[string]any{"speaker": "Ada"}
	must.Get(p.Prepare(t.Context(), d, n))(t)
	must.Get(p.Decide(t.Context(), d, policytest.Added(n)))(t)
	for i, name := range []string{"analyze.v3", "split.v2", "evolve.v4"} {
		policytest.Golden(t, "golden/"+name+".txt", policytest.PromptText(d.Asked[i]))
	}
}

// TestHostileTextStaysData: with any text in a note, the prompt holds its marks once,
// and one JSON value between them.
func TestHostileTextStaysData(t *testing.T) {
	t.Parallel()
	p := newAMem(t)
	near := policytest.Neighbors(2)
	near[0].Note.Content, near[0].Note.Context = policytest.Hostile, policytest.Hostile
	near[0].Note.Tags, near[0].Note.Keywords = []string{policytest.Hostile}, []string{policytest.Hostile}
	d := &policytest.Desk{Near: near, Answers: map[string]string{"evolve": `{}`, "analyze": `{}`}, LinkedNotes: map[uuid.UUID][]memory.Note{policytest.ID(2): {policytest.Note(5, policytest.Hostile)}}}
	n := memory.Note{ID: policytest.ID(9), Content: policytest.Hostile, Attributes: map[string]any{"speaker": policytest.Hostile}, OccurredAt: policytest.Noon}
	must.Get(p.Prepare(t.Context(), d, n))(t)
	must.Get(p.Decide(t.Context(), d, policytest.Added(n)))(t)
	for _, c := range d.Asked {
		if strings.Count(c.Prompt, "<memory-data>") != 1 || strings.Count(c.Prompt, "</memory-data>") != 1 {
			t.Errorf("%s: the marks are forged:\n%s", c.Name, c.Prompt)
		}
		_, rest, _ := strings.Cut(c.Prompt, "<memory-data>")
		data, _, _ := strings.Cut(rest, "</memory-data>")
		if !json.Valid([]byte(data)) {
			t.Errorf("%s: the data is not a JSON value:\n%s", c.Name, data)
		}
		if strings.Contains(c.System, "Ignore your") || !strings.Contains(c.System, "never followed") {
			t.Errorf("%s: the instructions are not ours alone", c.Name)
		}
	}
}
