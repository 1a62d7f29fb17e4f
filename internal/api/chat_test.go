package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
)

const question = `{"messages":[{"role":"user","content":"Where do I live?"}]}`

// A chat answers whole or as a stream, with the citations of its context.
func TestChat(t *testing.T) {
	t.Parallel()
	b, model := talkingTo(t)
	c := b.collection(t, "one", "home")
	note := b.call(t, "one", "POST", c+"/notes", `{"content":"I live in Lisbon.","infer":false}`).want(http.StatusCreated).text("note.id")
	model.Always("", llmtest.Text("In Lisbon."))
	got := b.call(t, "one", "POST", c+"/chat", `{"message":"Where do I live?","remember":false}`).want(http.StatusOK)
	if got.text("reply") != "In Lisbon." || got.text("citations.0.note") != note || got.text("model") != "fake-1" || got.at("remembered") != false || got.at("usage.prompt_tokens") == nil {
		t.Errorf("%s", got.Body)
	}
	stream := b.call(t, "one", "POST", c+"/chat", `{"message":"Where do I live?","stream":true,"model":"small"}`).want(http.StatusOK)
	if kind := stream.Header().Get("Content-Type"); kind != mediaSSE {
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
	if reply.String() != "In Lisbon." || done["reply"] != "In Lisbon." || done["remembered"] != true || dig(done, "citations.0.note") != note || dig(done, "usage.completion_tokens") == nil {
		t.Errorf("%q, %v", reply.String(), done)
	}
	if log := b.call(t, "one", "GET", c+"/messages", "").want(http.StatusOK); log.length("items") != 2 {
		t.Errorf("%s", log.Body)
	}
}

// Errors of a model are reported, before the reply or within it, and nothing is stored then.
func TestChatFails(t *testing.T) {
	t.Parallel()
	b, model := talkingTo(t)
	c := b.collection(t, "one", "home")
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
			got := b.call(t, "one", "POST", c+"/chat", body)
			if x.after && strings.Contains(body, "stream") {
				if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "event: error\ndata: {") || strings.Contains(got.Body.String(), "event: done") {
					t.Errorf("%d %s", got.Code, got.Body)
				}
				continue
			}
			if got.Code != x.status || got.text("code") == "" || got.Header().Get("Content-Type") != mediaProblem || (got.Header().Get("Retry-After") != "") != x.retry {
				t.Errorf("%s: %d %s, want %d", body, got.Code, got.Body, x.status)
			}
		}
	}
	if log := b.call(t, "one", "GET", c+"/messages", "").want(http.StatusOK); log.length("items") != 0 {
		t.Errorf("%s", log.Body)
	}
	for body, field := range map[string]string{
		`{}`: "message", `{"message":"a","messages":[{"role":"user","content":"a"}]}`: "message", `{"message":"a","model":"gpt-99"}`: "model",
		`{"messages":[{"role":"user","content":"a","user":"b"}]}`: "messages.0.content", `{"messages":[{"role":"assistant","content":"a"}]}`: "messages",
		`{"message":" "}`: "messages", `{"message":"a","token_budget":0}`: "token_budget",
	} {
		if got := b.call(t, "one", "POST", c+"/chat", body); got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), field) {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
}

// A chat cannot read or write what belongs to another. A caller without write permission gets an
// answer.
func TestChatIsGuarded(t *testing.T) {
	t.Parallel()
	b, model := talkingTo(t)
	model.Always("", llmtest.Text("Well."))
	c := b.collection(t, "one", "home")
	b.call(t, "one", "POST", c+"/notes", `{"content":"I live in Lisbon.","infer":false}`).want(http.StatusCreated)
	for _, path := range []string{c + "/chat", "/v1/collections/home/chat"} {
		if got := b.call(t, "two", "POST", path, `{"message":"Where do I live?"}`); got.Code != http.StatusNotFound {
			t.Errorf("another tenant: %d %s", got.Code, got.Body)
		}
	}
	if got := b.call(t, "two", "POST", "/v1/chat/completions", question, "Slipbox-Collection", "home"); got.Code != http.StatusNotFound || got.text("error.code") != "not_found" {
		t.Errorf("another tenant: %d %s", got.Code, got.Body)
	}
	if n := len(model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	if got := b.call(t, "writer", "POST", c+"/chat", `{"message":"a"}`); got.Code != http.StatusForbidden {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := b.call(t, "reader", "POST", c+"/chat", `{"message":"a"}`).want(http.StatusOK); got.at("remembered") != false {
		t.Errorf("%s", got.Body)
	}
	b.call(t, "reader", "POST", "/v1/chat/completions", question, "Slipbox-Collection", "home").want(http.StatusOK)
	if log := b.call(t, "one", "GET", c+"/messages", "").want(http.StatusOK); log.length("items") != 0 {
		t.Errorf("%s", log.Body)
	}
}

// OpenAI clients get errors in their form, and the refusals of the model's endpoint unchanged.
func TestCompletionErrors(t *testing.T) {
	t.Parallel()
	b, model := talkingTo(t)
	b.collection(t, "one", "home")
	ask := func(who, body string, header ...string) response {
		return b.call(t, who, "POST", "/v1/chat/completions", body, header...)
	}
	home := []string{"Slipbox-Collection", "home"}
	for name, x := range map[string]struct {
		got        response
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
		if x.got.Code != x.status || x.got.text("error.type") != x.kind || x.got.text("error.code") != x.code || x.got.text("error.message") == "" || x.got.Header().Get("Content-Type") != mediaJSON {
			t.Errorf("%s: %d %s", name, x.got.Code, x.got.Body)
		}
	}
	for _, named := range []string{"user=ida@example.com", "user=ida@example.com&app=a@b", "no-such-place"} {
		got := ask("one", `{"model":"slipbox@`+named+`",`+question[1:])
		if got.Code != http.StatusNotFound || got.text("error.code") != "not_found" || !strings.Contains(got.text("error.message"), named) {
			t.Errorf("%s: %d %s", named, got.Code, got.Body)
		}
	}
	if got := ask("one", question, "Slipbox-Collection", "elsewhere"); !strings.Contains(got.text("error.message"), "elsewhere") {
		t.Errorf("%s", got.Body)
	}
	if got := ask("one", `{"n":9,`+question[1:], home...); got.Code != http.StatusUnprocessableEntity || got.text("error.param") != "n" || !strings.Contains(got.text("error.message"), "to 8") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	model.Script("", llmtest.Status(http.StatusTooManyRequests, 7*time.Second))
	if got := ask("one", question, home...); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "7" || got.text("error.type") != "server_error" {
		t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
	}
	model.Script("", llmtest.StatusText(http.StatusBadRequest, "Invalid schema for function 'f'"))
	if got := ask("one", question, home...); got.Code != http.StatusBadRequest || got.text("error.message") != "Invalid schema for function 'f'" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	model.Script("", llmtest.CutBody())
	if got := ask("one", `{"stream":true,`+question[1:], home...); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `data: {"error":{`) || strings.Contains(got.Body.String(), "[DONE]") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := b.call(t, "reader", "GET", "/v1/models", "").want(http.StatusOK); got.length("data") != 3 || got.text("data.0.id") != chat.DefaultModel || got.text("data.2.id") != "small" {
		t.Errorf("%s", got.Body)
	}
}
