package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
)

// An answer that tells in other words what is deleted is named: one that was written from memory, and one of the same exchange.
// What others say too names no answer.
func TestDeletionNamesAnswers(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, policy := range []string{"none", "amem", "mem0", "layered", "memorybank"} {
		c := "/v1/collections/told-" + policy
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"told-`+policy+`","policy":"`+policy+`"}`).Want(http.StatusCreated)
		said := b.Call(t, "one", "POST", c+"/messages?wait=evolved", `{"messages":[{"role":"user","content":"Mein Tresorwort lautet Quarzfels."},{"role":"assistant","content":"Quarzfels, gut."}]}`).Want(http.StatusAccepted)
		b.Call(t, "one", "POST", c+"/messages?wait=evolved", `{"messages":[{"role":"user","content":"Wie war das Tresorwort?"},{"role":"assistant","recalled":true,"content":"Dein Wort ist Quarzfels, so hast du es mir gesagt."}]}`).Want(http.StatusAccepted)
		b.Call(t, "one", "POST", c+"/messages?wait=evolved", `{"messages":[{"role":"user","content":"Und das Wetter?"},{"role":"assistant","recalled":true,"content":"Das Tresorwort sagt nichts über Regen."}]}`).Want(http.StatusAccepted)
		named := b.Call(t, "one", "DELETE", c+"/notes/"+said.Text("messages.0.id"), "").Want(http.StatusNoContent).Header().Get("Slipbox-Sources")
		var texts []string
		for id := range strings.SplitSeq(named, ",") {
			if id = strings.TrimSpace(id); id != "" {
				texts = append(texts, b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK).Text("content"))
			}
		}
		slices.Sort(texts)
		if want := []string{"Dein Wort ist Quarzfels, so hast du es mir gesagt.", "Quarzfels, gut."}; !slices.Equal(texts, want) {
			t.Errorf("%s: named are %q, want %q", policy, texts, want)
		}
	}
}

// A message of the same session beside the sources of a fact that says it too is named when the fact is deleted, at each door.
// One that shares an everyday word is not.
func TestDeletionNamesWhatWasToldBefore(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	const answer, asks, number = "On Mondays you see your therapist, Doctor Quenlin.", "Do you remember that Doctor Quenlin is my therapist?", "Her door is 47K1."
	talk := []any{}
	for i, said := range []string{"Who do I see on Mondays?", answer, asks, "I do. " + number, "Yes, Doctor Quenlin is my therapist, and her door is 47K1.", "Good to know."} {
		talk = append(talk, map[string]any{"role": []string{"user", "assistant", "user", "assistant", "user", "assistant"}[i], "content": said})
	}
	for _, policy := range []string{"mem0", "mem0g", "memoryos"} {
		c := b.Space(t, "before-"+policy, policy)
		kind := map[bool]string{true: "knowledge", false: "fact"}[policy == "memoryos"]
		if policy == "memoryos" {
			b.Call(t, "one", "PATCH", c, `{"policy_config":{"short_capacity":1,"heat_threshold":1}}`).Want(http.StatusOK)
		}
		b.Call(t, "one", "POST", c+"/messages", apptest.Object(t, "messages", talk)).Want(http.StatusAccepted)
		b.RunJobs(t)
		b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","content":"I like hiking. The door of my hut is red."},{"role":"assistant","content":"A red door, then."}]}`).Want(http.StatusAccepted)
		b.RunJobs(t)
		list := b.Call(t, "one", "GET", c+"/notes?kind="+kind, "").Want(http.StatusOK)
		deleted := false
		for i, said := range list.Texts("items.*.content") {
			if deleted || !strings.Contains(said, "Quenlin") {
				continue
			}
			deleted = true
			named := b.Call(t, "one", "DELETE", c+"/notes/"+list.Text(fmt.Sprintf("items.%d.id", i)), "").Want(http.StatusNoContent).Header().Get("Slipbox-Sources")
			var texts []string
			for id := range strings.SplitSeq(named, ",") {
				if id != "" {
					texts = append(texts, b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK).Text("content"))
				}
			}
			slices.Sort(texts)
			if want := []string{asks, "I do. " + number, answer}; !slices.Equal(texts, want) {
				t.Errorf("%s: %q: named are %q, want %q", policy, said, texts, want)
			}
		}
		if !deleted {
			t.Errorf("%s: nothing was learned: %s", policy, list.Body)
		}
	}
	for _, door := range []string{"mem0", "forget", "delete_note"} {
		callMem0(t, b, "one", "POST", "/memories", apptest.Object(t, "user_id", door, "messages", talk)).Want(http.StatusOK)
		b.RunJobs(t)
		list := callMem0(t, b, "one", "GET", "/memories?user_id="+door, "").Want(http.StatusOK)
		id := ""
		for i, said := range list.Texts("results.*.memory") {
			if strings.Contains(said, "Quenlin") {
				id = list.Text(fmt.Sprintf("results.%d.id", i))
			}
		}
		var said string
		switch door {
		case "mem0":
			said = callMem0(t, b, "one", "DELETE", "/memories/"+id, "").Want(http.StatusOK).Text("message")
		case "forget":
			_, said = connectMCP(t, listen(t, b), "one", "").use(door, map[string]any{"external": map[string]any{"user": door}, "notes": []string{id}})
		default:
			_, said = connectMCP(t, listen(t, b), "one", "").use(door, map[string]any{"external": map[string]any{"user": door}, "note": id})
		}
		if _, ids, _ := strings.Cut(said, "may still say it: "); strings.Count(ids, ", ") != 2 {
			t.Errorf("%s: %q", door, said)
		}
	}
}

// A key whose messages were erased is refused, with and without waiting.
func TestErasedMessagesUnderAKey(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, policy := range []string{"mem0", "amem"} {
		c := "/v1/collections/key-" + policy
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"key-`+policy+`","policy":"`+policy+`"}`).Want(http.StatusCreated)
		body := `{"messages":[{"role":"user","content":"My locker is 47K1 in the cellar."}]}`
		said := b.Call(t, "one", "POST", c+"/messages?wait=evolved", body, "Idempotency-Key", "k").Want(http.StatusAccepted)
		b.Call(t, "one", "DELETE", c+"/notes/"+said.Text("messages.0.id")+"?erase=true", "").Want(http.StatusOK)
		for _, query := range []string{"", "?wait=evolved"} {
			if got := b.Call(t, "one", "POST", c+"/messages"+query, body, "Idempotency-Key", "k"); got.Code != http.StatusUnprocessableEntity && got.Code != http.StatusConflict {
				t.Errorf("%s%s: %d %s", policy, query, got.Code, got.Body)
			}
		}
	}
}

// What a request under a key has made and was deleted since is told by no repetition of it: the key is refused, and a note that lost a
// sentence is answered without it.
func TestDeletedUnderAKey(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	space, layered, facts := b.Space(t, "plain", "amem"), b.Space(t, "layers", "layered"), b.Space(t, "facts", "mem0")
	shared := "/v1/blocks"
	for name, x := range map[string]struct{ path, body string }{
		"a note":         {space + "/notes", `{"content":"My locker is 47K1."}`},
		"an item":        {layered + "/remember", `{"content":"My locker is 47K1.","importance":1}`},
		"messages":       {space + "/messages", `{"messages":[{"content":"My locker is 47K1."}]}`},
		"a shared block": {shared, `{"label":"locker","value":"47K1"}`},
	} {
		first := b.Call(t, "one", "POST", x.path, x.body, "Idempotency-Key", "key "+name)
		if first.Code >= 300 {
			t.Fatalf("%s: %d %s", name, first.Code, first.Body)
		}
		if again := b.Call(t, "one", "POST", x.path, x.body, "Idempotency-Key", "key "+name); again.Code != first.Code {
			t.Errorf("%s, again: %d %s", name, again.Code, again.Body)
		}
		switch name {
		case "a shared block":
			b.Call(t, "one", "DELETE", shared+"/"+first.Text("id"), "").Want(http.StatusNoContent)
		case "an item":
			for i := range first.Length("stored") {
				b.Call(t, "one", "DELETE", layered+"/notes/"+first.Text(fmt.Sprintf("stored.%d.note", i)), "")
			}
		case "messages":
			b.Call(t, "one", "DELETE", space+"/notes/"+first.Text("messages.0.id"), "").Want(http.StatusNoContent)
		default:
			b.Call(t, "one", "DELETE", space+"/notes/"+first.Text("note.id"), "").Want(http.StatusNoContent)
		}
		got := b.Call(t, "one", "POST", x.path, x.body, "Idempotency-Key", "key "+name)
		if got.Code != http.StatusConflict && got.Code != http.StatusUnprocessableEntity || strings.Contains(got.Body.String(), "47K1") {
			t.Errorf("%s, deleted: %d %s", name, got.Code, got.Body)
		}
	}
	body := `{"kind":"message","content":"My locker is 47K1 in the cellar. I row every day.","attributes":{"role":"user"}}`
	note := b.Call(t, "one", "POST", facts+"/notes", body, "Idempotency-Key", "k").Want(http.StatusCreated)
	b.RunJobs(t)
	list := b.Call(t, "one", "GET", facts+"/notes?kind=fact", "").Want(http.StatusOK)
	for i, said := range list.Texts("items.*.content") {
		if strings.Contains(said, "47K1") {
			b.Call(t, "one", "DELETE", facts+"/notes/"+list.Text(fmt.Sprintf("items.%d.id", i)), "").Want(http.StatusNoContent)
		}
	}
	now := b.Call(t, "one", "GET", facts+"/notes/"+note.Text("note.id"), "").Want(http.StatusOK).Text("content")
	got := b.Call(t, "one", "POST", facts+"/notes", body, "Idempotency-Key", "k").Want(http.StatusCreated).Text("note.content")
	if !strings.HasPrefix(now, "[redacted: deleted] ") || got != now {
		t.Errorf("%q, and by the key %q", now, got)
	}
}

// What an agent and its tools exchange in a run is found by no search and shown by no context, unless a filter selects it by its role.
// What was said to people is found.
func TestCallsAreNotFound(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Agent(t, "agent", `{}`)
	b.Script(apptest.Calls(t, "archival_search", map[string]any{"query": "lantern", "request_heartbeat": true}), apptest.Calls(t, "send_message", map[string]any{"message": "The lantern hangs in the hall."}))
	b.Says(t, c, "Where is the lantern?")
	b.RunJobs(t)
	hasCalls := func(body string) bool {
		return strings.Contains(body, `\"calls\"`) || strings.Contains(body, "archival_search")
	}
	_, byMCP := connectMCP(t, listen(t, b), "one", "").use("search_notes", map[string]any{"collection": "agent", "query": "lantern", "k": 50})
	for name, got := range map[string]string{
		"search":    b.Call(t, "one", "POST", c+"/search", `{"query":"lantern","k":50}`).Want(http.StatusOK).Body.String(),
		"by words":  b.Call(t, "one", "POST", c+"/search", `{"query":"lantern calls archival_search","mode":"lexical","k":50}`).Want(http.StatusOK).Body.String(),
		"of a kind": b.Call(t, "one", "POST", c+"/search", `{"query":"lantern","k":50,"filter":{"field":"kind","op":"eq","value":"message"}}`).Want(http.StatusOK).Body.String(),
		"messages":  b.Call(t, "one", "GET", c+"/messages?query=lantern", "").Want(http.StatusOK).Body.String(),
		"context":   b.Call(t, "one", "POST", c+"/context", `{"query":"lantern","token_budget":4000}`).Want(http.StatusOK).Body.String(),
		"MCP":       byMCP,
	} {
		if hasCalls(got) || !strings.Contains(got, "The lantern hangs in the hall.") {
			t.Errorf("%s: %.1500s", name, got)
		}
	}
	for _, body := range []string{`{"query":"lantern","k":50,"filter":{"field":"attributes.role","op":"eq","value":"assistant"}}`} {
		if got := b.Call(t, "one", "POST", c+"/search", body).Want(http.StatusOK).Body.String(); !hasCalls(got) {
			t.Errorf("the calls are not found by their role: %.1500s", got)
		}
	}
	if got := b.Call(t, "one", "GET", c+"/messages?query=lantern&role=tool", "").Want(http.StatusOK); got.Length("items") == 0 {
		t.Errorf("the results are not found by their role: %s", got.Body)
	}
}
