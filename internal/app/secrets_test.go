package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// C261, C262: an API key, a card number and a password are redacted by default in every policy, refused or kept by setting, and
// neither the log of the collection, nor a fork, nor the log of the process has them. The caller is told.
func TestSecretsAreNotRemembered(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(nil)
		const secret = "hunter2x9"
		said := "My password is " + secret + "."
		const mark = "My password is [redacted: password]."
		all := func(collection string) string {
			page := g.call(http.StatusOK, http.MethodGet, "/v1/collections/"+collection+"/notes?limit=200", nil)
			raw, err := json.Marshal(page)
			if err != nil {
				t.Error(err)
			}
			return string(raw)
		}
		for _, policy := range []string{"none", "amem", "layered", "mem0", "mem0g", "memgpt", "memorybank", "memoryos"} {
			c := "/v1/collections/" + policy
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": policy, "policy": policy})
			note := g.call(http.StatusCreated, http.MethodPost, c+"/notes", object{"content": said, "attributes": object{"api_key": secret + "abc", "deep": []any{said}}})["note"].(object)
			if note["content"] != mark {
				t.Errorf("%s: a note is %v", policy, note)
			}
			id := note["id"].(string)
			g.call(http.StatusOK, http.MethodPatch, c+"/notes/"+id, object{"context": said})
			g.call(http.StatusAccepted, http.MethodPost, c+"/messages", object{"messages": []object{
				{"role": "user", "content": said, "id": "m1"}, {"role": "user", "content": "My card is 4111 1111"}, {"role": "user", "content": "1111 1111"},
			}})
			g.call(http.StatusAccepted, http.MethodPost, c+"/messages", object{"messages": []object{{"role": "user", "content": said, "id": "m1"}}})
			// A secret in two requests: the first half is stored, the second is redacted.
			for _, half := range []string{"My other card is 5500 0000", "0000 0004 it is."} {
				g.call(http.StatusAccepted, http.MethodPost, c+"/messages", object{"messages": []object{{"role": "user", "content": half, "session": "halves"}}})
			}
			if text := all(policy); !strings.Contains(text, "My other card is 5500 0000") || strings.Contains(text, "0000 0004") || !strings.Contains(text, "[redacted: card number] it is.") {
				t.Errorf("%s has %s", policy, text)
			}
			g.call(http.StatusOK, http.MethodPost, c+"/chat", object{"messages": []object{{"role": "user", "content": said + " Now"}}})
			g.call(http.StatusCreated, http.MethodPost, c+"/clone", object{"name": policy + "-fork"})
			for _, name := range []string{policy, policy + "-fork"} {
				if text := all(name); strings.Contains(text, secret) || strings.Contains(text, "1111 1111") || !strings.Contains(text, "[redacted: card number]") {
					t.Errorf("%s has %s", name, text)
				}
			}
		}
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "strict", "policy": "none", "policy_config": object{"secrets": "refuse"}})
		refused := g.call(http.StatusUnprocessableEntity, http.MethodPost, "/v1/collections/strict/messages", object{"messages": []object{{"content": "Hello."}, {"content": said}}})
		if raw, err := json.Marshal(refused); err != nil || strings.Contains(string(raw), secret) || !strings.Contains(string(raw), "messages.1.content") || !strings.Contains(string(raw), "password") {
			t.Errorf("refused with %s, %v", raw, err)
		}
		g.call(http.StatusUnprocessableEntity, http.MethodPost, "/v1/collections/strict/chat", object{"messages": []object{{"role": "user", "content": said}}})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "lax", "policy": "none", "policy_config": object{"secrets": "keep"}})
		if kept := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/lax/notes", object{"content": said})["note"].(object); kept["content"] != said {
			t.Errorf("kept: %v", kept)
		}
		g.call(http.StatusUnprocessableEntity, http.MethodPost, "/v1/collections", object{"name": "odd", "policy": "none", "policy_config": object{"secrets": "maybe"}})
		if strings.Contains(g.logs.String(), secret) {
			t.Error("the log of the process has the secret")
		}
	})
}

// C261: what is derived from messages and notes says nothing of a secret that was redacted: no keyword, summary, session, profile or
// knowledge has a mark. The message has it.
func TestNothingIsLearnedOfSecrets(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "amem", "policy": "amem"})
	note := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/amem/notes?wait=evolved", object{"content": "My AWS key for the bakery is AKIAQ3EGPZ7KLMN2R4ST."})["note"].(object)
	if words := strings.ToLower(textOf(t, note["keywords"])); !strings.Contains(words, "bakery") || strings.Contains(words, "redacted") || strings.Contains(words, "access token") {
		t.Errorf("keywords are %s", words)
	}
	for policy, config := range map[string]object{
		"memorybank": {"summary_delay": 0}, "memoryos": {"short_capacity": 1, "heat_threshold": 0}, "layered": {}, "mem0g": {},
	} {
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": policy, "policy": policy, "policy_config": config})
		c := "/v1/collections/" + policy
		g.call(http.StatusAccepted, http.MethodPost, c+"/messages?wait=evolved", object{"messages": []object{
			{"name": "Nora", "user": "My bank password is hunter2x9.", "assistant": "Your bank password is hunter2x9, got it."},
			{"name": "Nora", "user": "I live in Porto. The password of my mail is hunter2x9 too.", "assistant": "Porto is nice."},
			{"name": "Nora", "user": "My sister Anna visits on Friday.", "assistant": "Nice."},
		}})
		var derived []byte
		g.until(policy+" has learned where she lives", func() bool {
			derived = nil
			for _, n := range g.call(http.StatusOK, http.MethodGet, c+"/notes?limit=200", nil)["items"].([]any) {
				if n := n.(object); n["kind"] != "message" && (policy != "layered" || n["kind"] == "knowledge") {
					derived = append(derived, textOf(t, n)...)
				}
			}
			return strings.Contains(string(derived), "Porto")
		})
		if strings.Contains(strings.ToLower(string(derived)), "redacted") {
			t.Errorf("%s made %s", policy, derived)
		}
	}
}
