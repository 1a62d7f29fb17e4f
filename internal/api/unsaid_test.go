package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Encoded data and thinking are no part of any note, at each door for notes, blocks, passages and files: what is stored has a mark.
func TestNotesLeaveOutWhatWasNotSaid(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	picture := strings.Repeat("iVBORw0KGgoAAAANSUhEUg4A", 40)
	said := "<think>secretplan</think>\nThe ant is blue. data:image/png;base64," + picture + " " + picture
	text := strconv.Quote(said)
	c, agent := b.space(t, "plain", "none"), b.space(t, "agent", "memgpt")
	b.call(t, "one", "POST", c+"/notes", `{"content":`+text+`}`).want(http.StatusCreated)
	b.call(t, "one", "POST", c+"/notes", `{"kind":"fact","content":`+text+`}`).want(http.StatusCreated)
	note := b.call(t, "one", "POST", c+"/notes", `{"content":"The bee is blue."}`).want(http.StatusCreated).text("note.id")
	b.call(t, "one", "PATCH", c+"/notes/"+note, `{"content":`+text+`}`, "Content-Type", "application/merge-patch+json").want(http.StatusOK)
	b.call(t, "one", "POST", c+"/notes/bulk", `{"content":`+text+`,"on_duplicate":"keep"}`, "Content-Type", mediaNDJSON).want(http.StatusOK)
	b.call(t, "one", "POST", c+"/import", `{"id":"0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a11","kind":"note","content":`+text+`}`, "Content-Type", mediaNDJSON).want(http.StatusAccepted)
	tools := connectMCP(t, b.listen(t), "one", "")
	tools.use("add_note", map[string]any{"collection": "plain", "content": said + " 2"})
	tools.use("remember", map[string]any{"collection": "plain", "content": said + " 3"})
	b.mem0(t, "one", "POST", "/v3/memories/add/", `{"infer":false,"user_id":"u","messages":[{"role":"user","content":`+text+`}]}`).want(http.StatusOK)
	for range 2 { // the same passage is stored once
		b.call(t, "one", "POST", agent+"/step", `{"tool":"archival_insert","arguments":{"content":`+text+`}}`).want(http.StatusOK)
	}
	b.call(t, "one", "POST", agent+"/step", `{"tool":"core_memory_append","arguments":{"label":"human","content":`+text+`}}`).want(http.StatusOK)
	b.call(t, "one", "POST", agent+"/blocks/persona/append", `{"text":`+text+`}`).want(http.StatusOK)
	b.runJobs(t)
	for at, want := range map[string]int{
		c + "/notes?limit=200": 7, "/v1/collections/by/notes?limit=200&user=u": 1, agent + "/notes?limit=200&kind=passage": 1, agent + "/blocks": 2,
	} {
		got := b.call(t, "one", "GET", at, "").want(http.StatusOK).Body.String()
		if n := strings.Count(got, "The ant is blue. [left out: image/png, 960 bytes] [left out: encoded data, 960 bytes]"); n != want || strings.Contains(got, picture) || strings.Contains(got, "secretplan") {
			t.Errorf("%s has the mark %d times, want %d: %.2000s", at, n, want, got)
		}
	}
}
