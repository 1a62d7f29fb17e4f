package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// A writeRoute is a way by which a text comes into a collection. Each has the policy that has it.
type writeRoute struct {
	name, policy       string
	method, path, body string // the path below the collection's; SAID stands for the text
	contentType        string // "": JSON
	job                bool   // a job writes what was uploaded
	refusal            string // what a refusal names; for a job, in its error or results
}

const (
	routeSecret = "hunter2x9"
	routeSaid   = "My password is " + routeSecret + "."
)

func writeRoutes() []writeRoute {
	return []writeRoute{
		{name: "note", policy: "amem", method: "POST", path: "/notes", body: `{"content": "SAID"}`, refusal: "content"},
		{name: "note, described", policy: "amem", method: "POST", path: "/notes", body: `{"content": "A note.", "context": "SAID", "keywords": ["SAID"], "tags": ["SAID"], "category": "SAID", "attributes": {"a": ["SAID"]}}`, refusal: "attributes.a.0"},
		{name: "item", policy: "none", method: "POST", path: "/notes", body: `{"content": "x := 1", "item": {"type": "code", "description": "SAID"}}`, refusal: "attributes.item.description"},
		{name: "bulk", policy: "none", method: "POST", path: "/notes/bulk", contentType: "application/x-ndjson", body: `{"content": "SAID"}`, refusal: "content"},
		{name: "patch", policy: "none", method: "PATCH", path: "/notes/NOTE", contentType: "application/merge-patch+json", body: `{"content": "SAID"}`, refusal: "content"},
		{name: "messages", policy: "mem0", method: "POST", path: "/messages?wait=evolved", body: `{"messages": [{"role": "user", "content": "SAID"}, {"role": "assistant", "content": "SAID"}]}`, refusal: "messages.0.content"},
		{name: "a pair", policy: "memoryos", method: "POST", path: "/messages", body: `{"messages": [{"user": "SAID", "assistant": "SAID"}]}`, refusal: "messages.0"},
		{name: "remember", policy: "layered", method: "POST", path: "/remember", body: `{"content": "SAID"}`, refusal: "content"},
		{name: "chat", policy: "mem0", method: "POST", path: "/chat", body: `{"message": "SAID"}`, refusal: "content"},
		{name: "event", policy: "memgpt", method: "POST", path: "/events", body: `{"content": "SAID"}`, refusal: "content"},
		{name: "step", policy: "memgpt", method: "POST", path: "/step", body: `{"tool": "archival_insert", "arguments": {"content": "SAID"}}`, refusal: "content"},
		{name: "block", policy: "memgpt", method: "PUT", path: "/blocks/new", body: `{"value": "SAID"}`, refusal: ""},
		{name: "append", policy: "memgpt", method: "POST", path: "/blocks/human/append", body: `{"text": "SAID"}`, refusal: ""},
		{name: "insert", policy: "memgpt", method: "POST", path: "/blocks/human/insert", body: `{"text": "SAID", "line": 0}`, refusal: ""},
		{name: "replace", policy: "memgpt", method: "POST", path: "/blocks/human/replace", body: `{"old": "Name", "new": "SAID"}`, refusal: ""},
		{name: "profile", policy: "memorybank", method: "PUT", path: "/profile", body: `{"personality": "SAID"}`, refusal: ""},
		{name: "bank", policy: "memorybank", method: "POST", path: "/bank", body: `{"Nora": {"name": "Nora", "history": {"2026-03-01": [{"query": "SAID", "response": "SAID"}]}}}`, refusal: ""},
		{name: "import", policy: "none", method: "POST", path: "/import", contentType: "application/x-ndjson", body: `{"id": "0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a11", "content": "SAID"}`, job: true, refusal: "content"},
		{name: "agent file", policy: "memgpt", method: "POST", path: "/agent-file", refusal: "blocks.0.value",
			body: `{"agents":[{"id":"agent-0","name":"Sam","block_ids":["b"],"messages":[]}],"blocks":[{"id":"b","label":"team","value":"SAID"}],"tools":[]}`},
		{name: "agent file, messages", policy: "memgpt", method: "POST", path: "/agent-file", job: true, refusal: "content",
			body: `{"agents":[{"id":"agent-0","name":"Sam","block_ids":[],"messages":[{"id":"m-0","role":"user","content":"SAID","created_at":"2025-10-31T22:57:00Z"}]}],"blocks":[],"tools":[]}`},
		{name: "file", policy: "none", method: "POST", path: "/files", contentType: "multipart/form-data; boundary=B", body: upload("said.txt", "Read this. SAID"), job: true, refusal: "password"},
		{name: "shared block", method: "POST", body: `{"label": "team", "value": "SAID"}`},
		{name: "patch of a shared block", method: "PATCH", path: "/BLOCK", body: `{"value": "SAID", "description": "SAID", "metadata": {"by": "SAID"}}`},
	}
}

// upload returns the body of an upload with the boundary B.
func upload(name, content string) string {
	return "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n--B--\r\n"
}

// C262: every route that writes text redacts, refuses or keeps a secret as its collection says, and tells the caller: the
// header Slipbox-Redacted, or 422 with the field and the kind. A refused import ends with a clear result, and nothing of it waits.
func TestSecretsOnEveryRoute(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(nil)
		for i, r := range writeRoutes() {
			for _, mode := range []string{"redact", "refuse", "keep"} {
				name := fmt.Sprintf("%s-%d", mode, i)
				base := "/v1/collections/" + name
				switch {
				case r.policy == "": // the collection of shared blocks has no setting
					if base = "/v1/blocks"; mode != "redact" {
						continue
					}
				case r.name == "file":
					base = "/v1/folders/" + name
					g.call(http.StatusCreated, http.MethodPost, "/v1/folders", object{"name": name})
					g.call(http.StatusOK, http.MethodPatch, "/v1/collections/"+name, object{"policy_config": object{"secrets": mode}})
				default:
					g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": name, "policy": r.policy, "policy_config": object{"secrets": mode}})
				}
				t.Run(mode+" "+r.name, func(t *testing.T) { g.checkSecretRoute(t, &r, base, mode) })
			}
		}
		if strings.Contains(g.logs.String(), routeSecret) {
			t.Error("the log of the process has the secret")
		}
	})
}

func (g *gatewayTest) checkSecretRoute(t *testing.T, r *writeRoute, base, mode string) {
	t.Helper()
	path, contentType := r.path, r.contentType
	if contentType == "" {
		contentType = "application/json"
	}
	if strings.Contains(path, "NOTE") {
		note := g.call(http.StatusCreated, http.MethodPost, base+"/notes", object{"content": "A note."})["note"].(object)
		path = strings.Replace(path, "NOTE", note["id"].(string), 1)
	}
	if strings.Contains(path, "BLOCK") {
		block := g.call(http.StatusCreated, http.MethodPost, base, object{"label": "team"})
		path = strings.Replace(path, "BLOCK", block["id"].(string), 1)
	}
	if r.name == "replace" {
		g.call(http.StatusOK, http.MethodPut, base+"/blocks/human", object{"value": "Name: Nora."})
	}
	status, header, body := g.raw(r.method, base+path, contentType, strings.ReplaceAll(r.body, "SAID", routeSaid))
	var answer object
	_ = json.Unmarshal([]byte(body), &answer)
	var job object
	if r.job && status < 300 {
		id := jobOf(answer)
		g.until("the job of "+r.name+" ends", func() bool {
			job = g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+id, nil)
			return !slices.Contains([]any{"queued", "running"}, job["state"])
		})
	}
	kept := textOf(t, g.stored(base))
	switch mode {
	case "redact":
		told := r.name != "agent file, messages" && r.name != "file" // a job reads it after the answer
		if status >= 300 || told && header.Get("Slipbox-Redacted") != "password" || strings.Contains(body+kept, routeSecret) || !strings.Contains(kept, "[redacted: password]") {
			t.Errorf("%d with %q: %s; stored: %s", status, header.Get("Slipbox-Redacted"), body, kept)
		}
	case "refuse":
		refused, said := status == http.StatusUnprocessableEntity, body
		if r.name == "step" { // a failed tool explains itself to the model
			refused = status == http.StatusOK && answer["ok"] == false
		}
		if r.name == "bulk" { // each line has a status
			refused = strings.Contains(body, `"status":422`) || strings.Contains(body, "invalid")
		}
		if job != nil {
			_, _, results := g.raw(http.MethodGet, "/v1/jobs/"+fmt.Sprint(job["id"])+"/results", "", "")
			said = textOf(t, job) + results
			refused = true
		}
		if !refused || !strings.Contains(said, r.refusal) || !strings.Contains(said, "password") || strings.Contains(said+kept, routeSecret) || header.Get("Slipbox-Redacted") != "" {
			t.Errorf("%d: %s; stored: %s", status, said, kept)
		}
	case "keep":
		if status >= 300 || header.Get("Slipbox-Redacted") != "" || !strings.Contains(kept, routeSecret) {
			t.Errorf("%d with %q: %s; stored: %s", status, header.Get("Slipbox-Redacted"), body, kept)
		}
	}
}

// C262: a secret in the reply of a model is answered as it came, and remembered by the rule of the collection; a collection that
// refuses secrets redacts it, because the exchange would be lost. What is learned from has none.
func TestSecretsInReplies(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		g := startChat(start, model)
		const reply = "Your password is " + routeSecret + "."
		for mode, want := range map[string]string{"redact": "assistant: Your password is [redacted: password].", "refuse": "assistant: Your password is [redacted: password].", "keep": "assistant: " + reply} {
			for _, stream := range []string{"false", "true"} {
				name := mode + "-" + stream
				g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": name, "policy": "mem0", "policy_config": object{"secrets": mode}})
				model.Script("", llmtest.Text(reply))
				calls := len(model.RequestsOf("extract"))
				status, _, body := g.raw(http.MethodPost, "/v1/chat/completions", "application/json",
					`{"model": "slipbox@`+name+`", "stream": `+stream+`, "messages": [{"role": "user", "content": "I live in Lisbon. What did I set?"}]}`)
				if status != http.StatusOK || stream == "false" && !strings.Contains(body, reply) {
					t.Errorf("%s: the caller got %d %s", name, status, body)
				}
				g.remembers(name, "user: I live in Lisbon. What did I set?", want)
				g.until("it learns from "+name, func() bool { return len(model.RequestsOf("extract")) > calls })
				learned := string(model.RequestsOf("extract")[calls].Body)
				if mode != "keep" && strings.Contains(textOf(t, g.stored("/v1/collections/"+name))+learned, routeSecret) {
					t.Errorf("%s: stored %s, to be learned %s", name, textOf(t, g.stored("/v1/collections/"+name)), learned)
				}
			}
		}
		if strings.Contains(g.logs.String(), routeSecret) {
			t.Error("the log of the process has the secret")
		}
	})
}

// jobOf returns the id of the job in an answer.
func jobOf(answer object) string {
	job, _ := answer["job"].(object)
	id, _ := job["id"].(string)
	return id
}

// stored returns what a collection or the shared blocks hold.
func (g *gatewayTest) stored(base string) any {
	if folder, ok := strings.CutPrefix(base, "/v1/folders/"); ok {
		base = "/v1/collections/" + folder
	}
	if base == "/v1/blocks" {
		return g.call(http.StatusOK, http.MethodGet, base, nil)
	}
	return g.call(http.StatusOK, http.MethodGet, base+"/notes?limit=200", nil)
}

// raw sends a request and returns its answer as it is.
func (g *gatewayTest) raw(method, path, contentType, body string) (status int, header http.Header, answer string) {
	g.t.Helper()
	req := must.Get(http.NewRequestWithContext(g.t.Context(), method, g.url+path, strings.NewReader(body)))(g.t)
	req.Header.Set("Authorization", "Bearer "+g.key)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp := must.Get(http.DefaultClient.Do(req))(g.t)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Error(err)
	}
	return resp.StatusCode, resp.Header, string(raw)
}
