package chat_test

import (
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/test/must"
)

// Open WebUI asks for a title while the first question is being answered: nothing is learned from the transcript, whichever comes or
// ends first. A question that another one only has within its words is learned from, and so is one that comes later.
func TestTranscriptOfAQuestionInFlight(t *testing.T) {
	t.Parallel()
	transcript := func(said string) string {
		return "### Task:\nGenerate a title.\n<chat_history>\nUSER: " + said + "\nASSISTANT: \n</chat_history>"
	}
	tests := map[string]struct {
		first, second string
		later         time.Duration
		marked        string
	}{
		"the title second":      {"I keep bees in Porto.", transcript("I keep bees in Porto."), 0, transcript("I keep bees in Porto.")},
		"the title first":       {transcript("I keep bees in Porto."), "I keep bees in Porto.", time.Second, transcript("I keep bees in Porto.")},
		"Chinese":               {"我在波尔图养蜜蜂。", "任务：起一个标题。\n用户：我在波尔图养蜜蜂。\n助手：（无）", 0, "任务：起一个标题。\n用户：我在波尔图养蜜蜂。\n助手：（无）"},
		"in JSON":               {"I keep bees.", `[{"role":"user","content":"I keep bees."}]`, 0, `[{"role":"user","content":"I keep bees."}]`},
		"a question of lines":   {"I keep bees.\nWhere do I buy hives?", transcript("I keep bees.\nWhere do I buy hives?"), 0, transcript("I keep bees.\nWhere do I buy hives?")},
		"another conversation":  {"I keep bees in Porto.", transcript("My brother lives in Lyon."), 0, ""},
		"much later":            {"I keep bees in Porto.", transcript("I keep bees in Porto."), time.Minute, ""},
		"more of the same":      {"I keep bees in Porto.", "I keep bees in Porto.\nThey like lavender.", 0, ""},
		"the words in a phrase": {"the bees in Porto", "I told you about the bees in Porto\nand about Lyon.", 0, ""},
		"the same twice":        {"I keep bees in Porto.", "I keep bees in Porto.", 0, ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, now := newFake(), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
			s := must.Get(chat.New(chat.Deps{Recall: f, Notes: f, Models: chat.Models{Main: f}, Clock: func() time.Time { return now }}, chat.Config{}))(t)
			var answers []*chat.Completion
			for _, text := range []string{c.first, c.second} {
				raw, _ := json.Marshal(map[string]any{"model": "slipbox", "messages": []any{map[string]any{"role": "user", "content": text}}})
				a := must.Get(s.Complete(t.Context(), both(), in("ada"), raw))(t)
				t.Cleanup(a.Close)
				answers, now = append(answers, a), now.Add(c.later)
			}
			for _, a := range answers {
				must.Do(t, a.Pass(io.Discard, func() error { return nil }))
				a.Remember(t.Context())
			}
			checkMarked(t, f.written, c.marked)
		})
	}
}

// checkMarked verifies that an exchange is marked if its question is that one.
func checkMarked(t *testing.T, written []notes.NewMessages, question string) {
	t.Helper()
	if len(written) != 2 {
		t.Fatalf("%d exchanges were stored", len(written))
	}
	for _, exchange := range written {
		asked := exchange.Messages[0]
		if asked.Recalled != (asked.Content == question) {
			t.Errorf("recalled is %v: %q", asked.Recalled, asked.Content)
		}
	}
}
