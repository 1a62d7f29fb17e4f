package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
)

// With the encoders and without a model, what happened to somebody is an episode and thanks are none, a portrait has no small talk, and
// what is supposed or handed over for work is no fact.
func TestKindsOfSentences(t *testing.T) {
	t.Parallel()
	dir := weightstest.Dir(t)
	g := startGateway(t, func(c *Settings) { c.LLM.EmbedProvider, c.LLM.EncoderDir = "", dir })

	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "layers", "policy": "layered"})
	for said, kept := range map[string]bool{
		"Oma ist gestern gestorben.": true, "We sold the farm.": true, "我昨天结婚了": true,
		"Danke dir, super!": false, "Sure, go ahead.": false, "好的，谢谢": false, "If we sold the farm, we'd move.": false,
	} {
		got := g.call(http.StatusOK, http.MethodPost, "/v1/collections/layers/remember", object{"content": said, "role": "user"})
		stored := false
		for _, s := range listOf(got["stored"]) {
			stored = stored || s.(object)["layer"] == "episodic"
		}
		if stored != kept {
			t.Errorf("%q is an episode: %t; %v", said, stored, got)
		}
	}

	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "facts", "policy": "mem0"})
	for _, said := range []string{"Ash was found in the garage!", "If I moved to Lyon, I would sell the car.", "Translate into French:\nI live in Porto and I have a dog."} {
		g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/facts/messages?wait=evolved", object{"messages": []object{{"role": "user", "content": said}}})
	}
	var facts []string
	for _, n := range listOf(g.call(http.StatusOK, http.MethodGet, "/v1/collections/facts/notes?kind=fact", nil)["items"]) {
		facts = append(facts, n.(object)["content"].(string))
	}
	if got := strings.Join(facts, "\n"); !strings.Contains(got, "Ash was found") || strings.Contains(got, "Lyon") || strings.Contains(got, "Porto") {
		t.Errorf("facts: %s", got)
	}

	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{
		"name": "tiers", "policy": "memoryos", "policy_config": object{"short_capacity": 1, "heat_threshold": 1},
	})
	for _, said := range []string{"I run three times a week.", "Haha, that was quick, thanks a lot!", "What a lovely day it is today.", "Meine Frau heißt Birgit.", "Bye!"} {
		g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/tiers/messages?wait=evolved", object{"messages": []object{
			{"role": "user", "content": said}, {"role": "assistant", "content": "I see."}}})
	}
	profile, _ := g.call(http.StatusOK, http.MethodGet, "/v1/collections/tiers/profile", nil)["text"].(string)
	if !strings.Contains(profile, "three times") || strings.Contains(profile, "Haha") || strings.Contains(profile, "lovely") {
		t.Errorf("profile: %q", profile)
	}
}
