package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
)

// evolution is one description of an older note by the scripted model.
type evolution struct{ trigger, context string }

// C037: while notes are added, links and descriptions change from those of the first write, and the
// history of each note has every change in order, with the note that caused it.
func TestEvolvingNetwork_C037(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	var (
		given  = map[string][]evolution{} // by the content of the older note
		linked = map[string][]string{}    // by the content of the newer note
	)
	w.fake.Handle("evolve", func(r llmtest.Request) llmtest.Reply {
		_, data, _ := strings.Cut(r.User, "<memory-data>")
		data, _, _ = strings.Cut(data, "</memory-data>")
		var shown struct {
			New struct {
				Content string `json:"content"`
			} `json:"new_note"`
			Neighbors []struct {
				Handle  int    `json:"handle"`
				Content string `json:"content"`
				Context string `json:"context"`
			} `json:"neighbours"`
		}
		if err := json.Unmarshal([]byte(data), &shown); err != nil {
			t.Errorf("the prompt has no data: %v", err)
		}
		return evolve(func(e *amem.Evolution) {
			e.Actions = []string{"strengthen", "update_neighbor"}
			for i, n := range shown.Neighbors {
				if i >= 2 { // the others do not change
					e.NewContextNeighborhood = append(e.NewContextNeighborhood, n.Context)
					continue
				}
				context := fmt.Sprintf("Told beside %q.", shown.New.Content)
				e.SuggestedConnections = append(e.SuggestedConnections, n.Handle)
				e.NewContextNeighborhood = append(e.NewContextNeighborhood, context)
				given[n.Content] = append(given[n.Content], evolution{shown.New.Content, context})
				linked[shown.New.Content] = append(linked[shown.New.Content], n.Content)
			}
		})
	})
	var notes []memory.Note
	first := map[string]string{} // contexts of the first write
	for i := range 12 {
		n := w.learn(fmt.Sprintf("Day %d of the expedition: the glacier camp moved %d miles north.", i+1, i*3+2))
		notes, first[n.Content] = append(notes, n), n.Context
	}
	idOf := func(content string) uuid.UUID {
		return notes[slices.IndexFunc(notes, func(n memory.Note) bool { return n.Content == content })].ID
	}
	var changed, chains int
	for _, n := range notes {
		want := given[n.Content]
		got := w.get(n.ID)
		if len(want) > 0 {
			changed++
			if got.Context == first[n.Content] || got.Context != want[len(want)-1].context {
				t.Errorf("%s: context %q, want %q", n.Content, got.Context, want[len(want)-1].context)
			}
		} else if got.Context != first[n.Content] {
			t.Errorf("%s: nobody described it, and its context is %q", n.Content, got.Context)
		}
		if len(want) > 1 {
			chains++
		}
		var links []uuid.UUID
		for _, content := range linked[n.Content] {
			links = append(links, idOf(content))
		}
		for _, id := range links {
			if !has(w.links(n.ID), id) {
				t.Errorf("%s: links %v, want %v among them", n.Content, w.links(n.ID), links)
			}
		}
		// The history, oldest first, is the first write and then each change of the script.
		var said []evolution
		history := w.history(n.ID)
		slices.Reverse(history)
		for i, h := range history {
			if i == 0 || h.Note.Context == history[i-1].Note.Context {
				continue
			}
			if h.Changeset.Cause != memory.CauseEvolve && h.Changeset.Trigger == uuid.Nil {
				continue // the analysis of the note itself
			}
			if h.Changeset.Trigger != n.ID {
				at := slices.IndexFunc(notes, func(m memory.Note) bool { return m.ID == h.Changeset.Trigger })
				if at < 0 {
					t.Fatalf("%s: version %d was caused by no note: %+v", n.Content, i, h.Changeset)
				}
				said = append(said, evolution{notes[at].Content, h.Note.Context})
			}
		}
		if !slices.Equal(said, want) {
			t.Errorf("%s: the history has %v, want %v", n.Content, said, want)
		}
	}
	if changed < 6 || chains < 3 {
		t.Errorf("%d notes were changed, %d of them more than once: too few to show anything", changed, chains)
	}
}
