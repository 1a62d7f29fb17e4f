package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
)

const question = `{"messages":[{"role":"user","content":"Where do I live?"}]}`

// A chat answers whole or as a stream, with the citations of its context.
func TestChat(t *testing.T) {
	t.Parallel()
	b, model := apptest.Talking(t)
	c := b.Collection(t, "one", "home")
	note := b.Call(t, "one", "POST", c+"/notes", `{"content":"I live in Lisbon.","infer":false}`).Want(http.StatusCreated).Text("note.id")
	model.Always("", llmtest.Text("In Lisbon."))
	got := b.Call(t, "one", "POST", c+"/chat", `{"message":"Where do I live?","remember":false}`).Want(http.StatusOK)
	if got.Text("reply") != "In Lisbon." || got.Text("citations.0.note") != note || got.Text("model") != "fake-1" || got.At("remembered") != false || got.At("usage.prompt_tokens") == nil {
		t.Errorf("%s", got.Body)
	}
	stream := b.Call(t, "one", "POST", c+"/chat", `{"message":"Where do I live?","stream":true,"model":"small"}`).Want(http.StatusOK)
	if kind := stream.Header().Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type %q", kind)
	}
	var reply strings.Builder
	var done map[string]any
	for event := range strings.SplitSeq(strings.TrimSpace(stream.Body.String()), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		var v map[string]any
		if err := json.Unmarshal([]byte(data), &v); err != nil || done != nil {
			t.Fatalf("%q: %v", event, err)
		}
		switch name {
		case "delta":
			reply.WriteString(v["text"].(string))
		case "done":
			done = v
		}
	}
	if reply.String() != "In Lisbon." || done["reply"] != "In Lisbon." || done["remembered"] != true || apptest.Dig(done, "citations.0.note") != note || apptest.Dig(done, "usage.completion_tokens") == nil {
		t.Errorf("%q, %v", reply.String(), done)
	}
	if log := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK); log.Length("items") != 2 {
		t.Errorf("%s", log.Body)
	}
}

// Errors of a model are reported, before the reply or within it. Of one that broke off the question is stored; of the others nothing is.
func TestChatFails(t *testing.T) {
	t.Parallel()
	b, model := apptest.Talking(t)
	c := b.Collection(t, "one", "home")
	for _, x := range []struct {
		reply        llmtest.Reply
		status       int
		after, retry bool
	}{
		{llmtest.Status(http.StatusInternalServerError, 0), http.StatusServiceUnavailable, false, true},
		{llmtest.Status(http.StatusTooManyRequests, 7*time.Second), http.StatusServiceUnavailable, false, true},
		{llmtest.StatusText(http.StatusBadRequest, "no"), http.StatusBadGateway, false, false},
		{llmtest.NotJSON(), http.StatusBadGateway, false, false},
		{llmtest.CutBody(), http.StatusServiceUnavailable, true, true},
	} {
		for _, body := range []string{`{"message":"a"}`, `{"message":"a","stream":true}`} {
			model.Script("", x.reply)
			got := b.Call(t, "one", "POST", c+"/chat", body)
			if x.after && strings.Contains(body, "stream") {
				if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "event: error\ndata: {") || strings.Contains(got.Body.String(), "event: done") {
					t.Errorf("%d %s", got.Code, got.Body)
				}
				continue
			}
			if got.Code != x.status || got.Text("code") == "" || got.Header().Get("Content-Type") != "application/problem+json" || (got.Header().Get("Retry-After") != "") != x.retry {
				t.Errorf("%s: %d %s, want %d", body, got.Code, got.Body, x.status)
			}
		}
	}
	if log := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK); log.Length("items") != 1 || log.Text("items.0.role") != "user" {
		t.Errorf("%s", log.Body)
	}
	for body, field := range map[string]string{
		`{}`: "message", `{"message":"a","messages":[{"role":"user","content":"a"}]}`: "message", `{"message":"a","model":"gpt-99"}`: "model",
		`{"messages":[{"role":"user","content":"a","user":"b"}]}`: "messages.0.content", `{"messages":[{"role":"assistant","content":"a"}]}`: "messages",
		`{"message":" "}`: "messages", `{"message":"a","token_budget":0}`: "token_budget",
	} {
		if got := b.Call(t, "one", "POST", c+"/chat", body); got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), field) {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
}

// A chat cannot read or write what belongs to another. A caller without write permission gets an
// answer.
func TestChatIsGuarded(t *testing.T) {
	t.Parallel()
	b, model := apptest.Talking(t)
	model.Always("", llmtest.Text("Well."))
	c := b.Collection(t, "one", "home")
	b.Call(t, "one", "POST", c+"/notes", `{"content":"I live in Lisbon.","infer":false}`).Want(http.StatusCreated)
	for _, path := range []string{c + "/chat", "/v1/collections/home/chat"} {
		if got := b.Call(t, "two", "POST", path, `{"message":"Where do I live?"}`); got.Code != http.StatusNotFound {
			t.Errorf("another tenant: %d %s", got.Code, got.Body)
		}
	}
	if got := b.Call(t, "two", "POST", "/v1/chat/completions", question, "Slipbox-Collection", "home"); got.Code != http.StatusNotFound || got.Text("error.code") != "not_found" {
		t.Errorf("another tenant: %d %s", got.Code, got.Body)
	}
	if n := len(model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	if got := b.Call(t, "writer", "POST", c+"/chat", `{"message":"a"}`); got.Code != http.StatusForbidden {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := b.Call(t, "reader", "POST", c+"/chat", `{"message":"a"}`).Want(http.StatusOK); got.At("remembered") != false {
		t.Errorf("%s", got.Body)
	}
	b.Call(t, "reader", "POST", "/v1/chat/completions", question, "Slipbox-Collection", "home").Want(http.StatusOK)
	if log := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK); log.Length("items") != 0 {
		t.Errorf("%s", log.Body)
	}
}

// OpenAI clients get errors in their form, and the refusals of the model's endpoint unchanged.
func TestCompletionErrors(t *testing.T) {
	t.Parallel()
	b, model := apptest.Talking(t)
	b.Collection(t, "one", "home")
	ask := func(who, body string, header ...string) apptest.Response {
		return b.Call(t, who, "POST", "/v1/chat/completions", body, header...)
	}
	home := []string{"Slipbox-Collection", "home"}
	for name, x := range map[string]struct {
		got        apptest.Response
		status     int
		kind, code string
	}{
		"nobody":        {ask("nobody", question, home...), http.StatusUnauthorized, "authentication_error", "unauthenticated"},
		"no scope":      {ask("writer", question, home...), http.StatusForbidden, "permission_error", "forbidden"},
		"no JSON":       {ask("one", `{"messages"`, home...), http.StatusBadRequest, "invalid_request_error", "malformed"},
		"no messages":   {ask("one", `{}`, home...), http.StatusUnprocessableEntity, "invalid_request_error", "invalid"},
		"no collection": {ask("one", question), http.StatusUnprocessableEntity, "invalid_request_error", "invalid"},
		"no model":      {ask("one", `{"model":"gpt-99@home",`+question[1:]), http.StatusNotFound, "invalid_request_error", "model_not_found"},
	} {
		if x.got.Code != x.status || x.got.Text("error.type") != x.kind || x.got.Text("error.code") != x.code || x.got.Text("error.message") == "" || x.got.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", name, x.got.Code, x.got.Body)
		}
	}
	for _, named := range []string{"user=ida@example.com", "user=ida@example.com&app=a@b", "no-such-place"} {
		got := ask("one", `{"model":"slipbox@`+named+`",`+question[1:])
		if got.Code != http.StatusNotFound || got.Text("error.code") != "not_found" || !strings.Contains(got.Text("error.message"), named) {
			t.Errorf("%s: %d %s", named, got.Code, got.Body)
		}
	}
	if got := ask("one", question, "Slipbox-Collection", "elsewhere"); !strings.Contains(got.Text("error.message"), "elsewhere") {
		t.Errorf("%s", got.Body)
	}
	if got := ask("one", `{"n":9,`+question[1:], home...); got.Code != http.StatusUnprocessableEntity || got.Text("error.param") != "n" || !strings.Contains(got.Text("error.message"), "to 8") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	model.Script("", llmtest.Status(http.StatusTooManyRequests, 7*time.Second))
	if got := ask("one", question, home...); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "7" || got.Text("error.type") != "server_error" {
		t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
	}
	model.Script("", llmtest.StatusText(http.StatusBadRequest, "Invalid schema for function 'f'"))
	if got := ask("one", question, home...); got.Code != http.StatusBadRequest || got.Text("error.message") != "Invalid schema for function 'f'" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	model.Script("", llmtest.CutBody())
	if got := ask("one", `{"stream":true,`+question[1:], home...); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `data: {"error":{`) || strings.Contains(got.Body.String(), "[DONE]") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := b.Call(t, "reader", "GET", "/v1/models", "").Want(http.StatusOK); got.Length("data") != 3 || got.Text("data.0.id") != chat.DefaultModel || got.Text("data.2.id") != "small" {
		t.Errorf("%s", got.Body)
	}
}
