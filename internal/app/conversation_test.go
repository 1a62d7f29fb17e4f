package app

import (
	"net/http"
	"reflect"
	"testing"
)

// C180, C092: messages and their summaries are the same after a restart. C253, C301: so are all layers of a memory.
func TestConversationsSurviveARestart(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		data := t.TempDir()
		var key string
		checkConversationsAfterRestart(t, func() *gatewayTest {
			g, stdout := launch(t, settings(t, nil, func(c *Settings) { c.Data = data }))
			if key == "" {
				key = printedKey(t, stdout.String())
			}
			g.key = key
			return g
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s := newServers(t, false)
		checkConversationsAfterRestart(t, func() *gatewayTest { return s.gateway(nil) })
	})
}

// checkConversationsAfterRestart fills the store of the gateways that start returns, and reads it through a second one.
func checkConversationsAfterRestart(t *testing.T, start func() *gatewayTest) {
	t.Helper()
	g := start()
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "talk", "policy": "mem0", "policy_config": object{"summary_every": 1}})
	for _, said := range []string{"I live in Lisbon.", "I work as a baker.", "I have a dog."} {
		g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/talk/messages?wait=evolved", object{
			"messages": []object{{"user": said, "assistant": "I see.", "session": 7, "occurred_at": "2026-03-01T09:00:00Z"}},
		})
	}
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "layers", "policy": "layered"})
	for _, said := range []string{"My name is Ada.", "I live in Lisbon.", "I live in Porto."} {
		g.call(http.StatusOK, http.MethodPost, "/v1/collections/layers/remember", object{"content": said, "role": "user"})
	}
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{
		"name": "tiers", "policy": "memoryos", "policy_config": object{"short_capacity": 1, "heat_threshold": 2},
	})
	for _, said := range []string{"I adopted a dog called Rex.", "We hiked in the Dolomites.", "I bake bread."} {
		g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/tiers/messages?wait=evolved", object{"messages": []object{{"role": "user", "content": said}}})
	}
	g.call(http.StatusOK, http.MethodPost, "/v1/collections/tiers/search", object{"query": "a dog called Rex"})
	// C228: how often each session was used. C242: tiers, knowledge and moves. Heat and recency change with the time.
	readTiers := func() []any {
		t.Helper()
		out := []any{g.call(http.StatusOK, http.MethodGet, "/v1/collections/tiers/tiers", nil)}
		for _, what := range []string{"sessions", "knowledge", "moves"} {
			for _, item := range g.call(http.StatusOK, http.MethodGet, "/v1/collections/tiers/"+what, nil)["items"].([]any) {
				for _, name := range []string{"heat", "recency"} {
					delete(item.(object), name)
				}
				out = append(out, item)
			}
		}
		return out
	}
	g.until("the search is counted", func() bool {
		used := 0.0
		for _, s := range g.call(http.StatusOK, http.MethodGet, "/v1/collections/tiers/sessions", nil)["items"].([]any) {
			used += s.(object)["accesses"].(float64)
		}
		return used > 0
	})
	read := func(what string) []any {
		t.Helper()
		return g.call(http.StatusOK, http.MethodGet, "/v1/collections/talk/"+what, nil)["items"].([]any)
	}
	readLayers := func() []any {
		t.Helper()
		out := []any{g.call(http.StatusOK, http.MethodGet, "/v1/collections/layers/layers", nil), g.call(http.StatusOK, http.MethodGet, "/v1/collections/layers/facts?conflicts=true", nil)}
		found := g.call(http.StatusOK, http.MethodPost, "/v1/collections/layers/recall", object{"query": "What is my name?"})
		for _, layer := range []string{"working", "episodic", "semantic"} {
			for _, item := range found[layer].([]any) {
				note := item.(object)["note"].(object)
				delete(note, "usage") // this counts
				out = append(out, note)
			}
		}
		return out
	}
	g.until("it is summed up", func() bool { return len(read("summaries")) == 1 })
	g.until("nothing is left to do", func() bool {
		return len(g.call(http.StatusOK, http.MethodGet, "/v1/jobs?state=queued", nil)["items"].([]any)) == 0 &&
			len(g.call(http.StatusOK, http.MethodGet, "/v1/jobs?state=running", nil)["items"].([]any)) == 0
	})
	messages, summaries, facts := read("messages"), read("summaries"), read("notes?kind=fact")
	if len(messages) != 6 || len(facts) != 3 {
		t.Errorf("%v, %v", messages, facts)
	}
	layers := readLayers()
	if len(layers) < 2+3 {
		t.Errorf("%v", layers)
	}
	tiers := readTiers()
	if len(tiers) < 1+2+2+4 {
		t.Errorf("%v", tiers)
	}
	g.stop()

	g = start()
	for what, before := range map[string][]any{"messages": messages, "summaries": summaries, "notes?kind=fact": facts} {
		if after := read(what); !reflect.DeepEqual(after, before) {
			t.Errorf("%s were %v and are %v", what, before, after)
		}
	}
	if after := readLayers(); !reflect.DeepEqual(after, layers) {
		t.Errorf("layers were %v and are %v", layers, after)
	}
	if after := readTiers(); !reflect.DeepEqual(after, tiers) {
		t.Errorf("tiers were %v and are %v", tiers, after)
	}
}
