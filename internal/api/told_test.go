package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// An answer that tells in other words what is deleted is named: one that was written from memory, and one of the same exchange.
// What others say too names no answer.
func TestDeletionNamesAnswers(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	for _, policy := range []string{"none", "amem", "mem0", "layered", "memorybank"} {
		c := "/v1/collections/told-" + policy
		b.call(t, "one", "POST", "/v1/collections", `{"name":"told-`+policy+`","policy":"`+policy+`"}`).want(http.StatusCreated)
		said := b.call(t, "one", "POST", c+"/messages?wait=evolved", `{"messages":[{"role":"user","content":"Mein Tresorwort lautet Quarzfels."},{"role":"assistant","content":"Quarzfels, gut."}]}`).want(http.StatusAccepted)
		b.call(t, "one", "POST", c+"/messages?wait=evolved", `{"messages":[{"role":"user","content":"Wie war das Tresorwort?"},{"role":"assistant","recalled":true,"content":"Dein Wort ist Quarzfels, so hast du es mir gesagt."}]}`).want(http.StatusAccepted)
		b.call(t, "one", "POST", c+"/messages?wait=evolved", `{"messages":[{"role":"user","content":"Und das Wetter?"},{"role":"assistant","recalled":true,"content":"Das Tresorwort sagt nichts über Regen."}]}`).want(http.StatusAccepted)
		named := b.call(t, "one", "DELETE", c+"/notes/"+said.text("messages.0.id"), "").want(http.StatusNoContent).Header().Get("Slipbox-Sources")
		var texts []string
		for id := range strings.SplitSeq(named, ",") {
			if id = strings.TrimSpace(id); id != "" {
				texts = append(texts, b.call(t, "one", "GET", c+"/notes/"+id, "").want(http.StatusOK).text("content"))
			}
		}
		slices.Sort(texts)
		if want := []string{"Dein Wort ist Quarzfels, so hast du es mir gesagt.", "Quarzfels, gut."}; !slices.Equal(texts, want) {
			t.Errorf("%s: named are %q, want %q", policy, texts, want)
		}
	}
}

// A key whose messages were erased is refused, with and without waiting.
func TestErasedMessagesUnderAKey(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	for _, policy := range []string{"mem0", "amem"} {
		c := "/v1/collections/key-" + policy
		b.call(t, "one", "POST", "/v1/collections", `{"name":"key-`+policy+`","policy":"`+policy+`"}`).want(http.StatusCreated)
		body := `{"messages":[{"role":"user","content":"My locker is 4711 in the cellar."}]}`
		said := b.call(t, "one", "POST", c+"/messages?wait=evolved", body, "Idempotency-Key", "k").want(http.StatusAccepted)
		b.call(t, "one", "DELETE", c+"/notes/"+said.text("messages.0.id")+"?erase=true", "").want(http.StatusOK)
		for _, query := range []string{"", "?wait=evolved"} {
			if got := b.call(t, "one", "POST", c+"/messages"+query, body, "Idempotency-Key", "k"); got.Code != http.StatusUnprocessableEntity && got.Code != http.StatusConflict {
				t.Errorf("%s%s: %d %s", policy, query, got.Code, got.Body)
			}
		}
	}
}
