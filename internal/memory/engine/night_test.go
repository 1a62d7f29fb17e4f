//go:build night

package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// C247: the fact of the first of 500 exchanges is found at the end.
func TestOSLongSpan_C247(t *testing.T) {
	t.Parallel()
	w := newOSWorld(t, `{"mid_capacity":50}`, options{heuristic: true, together: true})
	topics := []string{"the garden", "a film", "the neighbors", "my bicycle", "soup", "the train to work", "a novel", "football", "the weather", "my aunt"}
	var messages []notes.NewMessage
	said := func(user, assistant string) {
		at := spring.Add(time.Duration(len(messages)) * time.Hour)
		messages = append(messages, notes.NewMessage{Content: user, OccurredAt: &at}, notes.NewMessage{Role: memory.RoleAssistant, Content: assistant, OccurredAt: &at})
	}
	said("My sister Ottilie works as a lighthouse keeper in Norway.", "What an unusual job!")
	for i := range 499 {
		topic := topics[i%len(topics)]
		said(fmt.Sprintf("Day %d: today I thought about %s.", i, topic), "Tell me more about "+topic+".")
	}
	// All exchanges go through the policy. Those of the first chunks are decided one by one, as in use; of each later chunk the last
	// one moves those that wait, eight at once. One by one, all 500 take about 8 s of CPU.
	const alone = 2
	for k, chunk := range slices.Collect(slices.Chunk(messages, 50)) {
		waiting := len(chunk) - 2
		if k < alone {
			waiting = 0
		}
		for i, part := range [][]notes.NewMessage{chunk[:waiting], chunk[waiting:]} {
			if len(part) == 0 {
				continue
			}
			in := notes.NewMessages{Messages: part, Infer: new(i == 1), OnDuplicate: memory.DuplicateKeep}
			if _, err := w.notes.AddMessages(t.Context(), w.s, w.c.ID.String(), in, memory.Request{}); err != nil {
				t.Fatal(err)
			}
		}
		w.settle()
	}
	const question = "What does my sister Ottilie work as?"
	hits := w.search(w.c.ID, recall.Query{Text: question})
	if !slices.ContainsFunc(hits[:min(len(hits), 5)], func(h recall.Hit) bool { return strings.Contains(h.Note.Content, "lighthouse") }) {
		t.Errorf("found is %+v", hits)
	}
	if c := w.context(w.c.ID, recall.ContextQuery{Text: question, TokenBudget: 300}); !strings.Contains(c.Text, "lighthouse") {
		t.Errorf("the context is %s", c.Text)
	}
	if s := w.tierState(); s.Short.Pairs != 10 || s.Mid.Sessions > 50 {
		t.Errorf("the tiers are %+v", s)
	}
}
