package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
)

// Encoded data and thinking are no part of any note, at each door for notes, blocks, passages and files: what is stored has a mark.
func TestNotesLeaveOutWhatWasNotSaid(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	picture := strings.Repeat("iVBORw0KGgoAAAANSUhEUg4A", 40)
	said := "<think>secretplan</think>\nThe ant is blue. data:image/png;base64," + picture
	text := strconv.Quote(said)
	c, agent := b.Space(t, "plain", "none"), b.Space(t, "agent", "memgpt")
	b.Call(t, "one", "POST", c+"/notes", `{"content":`+text+`}`).Want(http.StatusCreated)
	b.Call(t, "one", "POST", c+"/notes", `{"kind":"fact","content":`+text+`}`).Want(http.StatusCreated)
	note := b.Call(t, "one", "POST", c+"/notes", `{"content":"The bee is blue."}`).Want(http.StatusCreated).Text("note.id")
	b.Call(t, "one", "PATCH", c+"/notes/"+note, `{"content":`+text+`}`, "Content-Type", "application/merge-patch+json").Want(http.StatusOK)
	b.Call(t, "one", "POST", c+"/notes/bulk", `{"content":`+text+`,"on_duplicate":"keep"}`, "Content-Type", "application/x-ndjson").Want(http.StatusOK)
	b.Call(t, "one", "POST", c+"/import", `{"id":"0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a11","kind":"note","content":`+text+`}`, "Content-Type", "application/x-ndjson").Want(http.StatusAccepted)
	tools := connectMCP(t, listen(t, b), "one", "")
	tools.use("add_note", map[string]any{"collection": "plain", "content": said + " 2"})
	tools.use("remember", map[string]any{"collection": "plain", "content": said + " 3"})
	callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"infer":false,"user_id":"u","messages":[{"role":"user","content":`+text+`}]}`).Want(http.StatusOK)
	for range 2 { // the same passage is stored once
		b.Call(t, "one", "POST", agent+"/step", `{"tool":"archival_insert","arguments":{"content":`+text+`}}`).Want(http.StatusOK)
	}
	b.Call(t, "one", "POST", agent+"/step", `{"tool":"core_memory_append","arguments":{"label":"human","content":`+text+`}}`).Want(http.StatusOK)
	b.Call(t, "one", "POST", agent+"/blocks/persona/append", `{"text":`+text+`}`).Want(http.StatusOK)
	b.RunJobs(t)
	for at, want := range map[string]int{
		c + "/notes?limit=200": 7, "/v1/collections/by/notes?limit=200&user=u": 1, agent + "/notes?limit=200&kind=passage": 1, agent + "/blocks": 2,
	} {
		got := b.Call(t, "one", "GET", at, "").Want(http.StatusOK).Body.String()
		if n := strings.Count(got, "The ant is blue. [left out: image/png, 960 bytes]"); n != want || strings.Contains(got, picture) || strings.Contains(got, "secretplan") {
			t.Errorf("%s has the mark %d times, want %d: %.2000s", at, n, want, got)
		}
	}
}
