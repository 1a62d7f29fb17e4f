package api

import (
	"net/http"
	"strings"
	"testing"
)

// A program asks for a title of a conversation with its transcript: it is kept as what it is, and nothing is learned from it, at
// every door and in any language. A person who says something new is learned from, also when the words of a turn occur in it.
func TestTranscriptsAreNotLearned(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	doors := map[string]func(c, said string){
		"messages": func(c, said string) {
			b.call(t, "one", "POST", c+"/messages", encode(t, map[string]any{"messages": []any{map[string]any{"role": "user", "content": said}, map[string]any{"role": "assistant", "content": `{"title": "T"}`}}})).want(http.StatusAccepted)
		},
		"chat completions": func(c, said string) {
			name := strings.TrimPrefix(c, "/v1/collections/")
			b.call(t, "one", "POST", "/v1/chat/completions", encode(t, map[string]any{"model": "slipbox@" + name, "messages": []any{map[string]any{"role": "user", "content": said}}})).want(http.StatusOK)
		},
		"chat": func(c, said string) {
			b.call(t, "one", "POST", c+"/chat", encode(t, map[string]any{"message": said})).want(http.StatusOK)
		},
	}
	turns := map[string][2]string{
		"English": {"My sister Anna works at Siemens.", "Good to know. What does she do there?"},
		"Chinese": {"我妹妹在西门子工作。", "很高兴知道。她在那里做什么？"},
	}
	for door, send := range doors {
		for language, turn := range turns {
			c := b.space(t, strings.ReplaceAll(door, " ", "-")+"-"+strings.ToLower(language), "mem0")
			b.call(t, "one", "POST", c+"/messages", encode(t, map[string]any{"messages": []any{
				map[string]any{"role": "user", "content": turn[0]}, map[string]any{"role": "assistant", "content": turn[1]},
			}})).want(http.StatusAccepted)
			b.runJobs(t)
			learned := len(b.kept(t, c, "fact"))
			send(c, "### Task:\nI want a title with an emoji.\n<chat_history>\nUSER: "+turn[0]+"\nASSISTANT:  "+turn[1]+"\n</chat_history>\nMy titles are short.")
			b.runJobs(t)
			if now := len(b.kept(t, c, "fact")); now != learned {
				t.Errorf("%s, %s: %d facts became %d", door, language, learned, now)
			}
			send(c, "I live in Oslo with my dog Rex.\nYou said: "+turn[1])
			b.runJobs(t)
			if now := len(b.kept(t, c, "fact")); now == learned {
				t.Errorf("%s, %s: nothing was learned from what a person said", door, language)
			}
		}
	}
}
