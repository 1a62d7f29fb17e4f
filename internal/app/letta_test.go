package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// An agent file is imported by a job with progress and a result for each message, and the job can be sent again: the
// agent's messages are there once, in their order.
func TestAgentFileIsAJob(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "sam", "policy": "memgpt"})
	const messages = 250 // more than two changesets
	var list []string
	for i := range messages {
		list = append(list, fmt.Sprintf(`{"id":"message-%d","role":"user","content":"Message %d.","created_at":"2025-10-31T22:57:00Z"}`, i, i))
	}
	file := `{"agents":[{"id":"agent-0","name":"Sam","block_ids":["b"],"messages":[` + strings.Join(list, ",") + `]}],"blocks":[{"id":"b","label":"human","value":"Ann."}],"tools":[]}`
	for range 2 {
		made := g.post("/v1/collections/sam/agent-file", "application/json", file)
		path := "/v1/jobs/" + made["job"].(object)["id"].(string)
		g.until("the import", func() bool { return g.call(http.StatusOK, http.MethodGet, path, nil)["state"] == "done" })
		job := g.call(http.StatusOK, http.MethodGet, path, nil)
		if p := job["progress"].(object); p["done"] != float64(messages) || p["total"] != float64(messages) {
			t.Errorf("the progress is %v", p)
		}
		page := g.call(http.StatusOK, http.MethodGet, "/v1/collections/sam/messages?limit=200", nil)
		items := page["items"].([]any)
		for i, item := range items {
			if content := item.(object)["content"]; content != fmt.Sprintf("Message %d.", i) {
				t.Fatalf("message %d is %v", i, content)
			}
		}
		if c := g.call(http.StatusOK, http.MethodGet, "/v1/collections/sam", nil)["counts"].(object); c["notes"] != float64(messages+2) {
			t.Errorf("the counts are %v", c)
		}
	}
}
