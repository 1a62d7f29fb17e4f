package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// An answer that was cut off is asked for again with more room, and the next call begins with it. One that does not fit into
// the ceiling either says what to raise, immediately.
func TestMoreRoom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply func(llmtest.Request) llmtest.Reply
		set   func(*fixture)
		calls int
		limit int // of the last request
		says  string
	}{
		"thinks":      {llmtest.Thinking(3000, llmtest.JSON(goodAnalysis)), nil, 2, 4000, ""},
		"thinks long": {llmtest.Thinking(12_000, llmtest.JSON(goodAnalysis)), nil, 3, 16_000, ""},
		"partial": {func(r llmtest.Request) llmtest.Reply {
			if r.MaxTokens < 4000 {
				return llmtest.Truncated(goodAnalysis)
			}
			return llmtest.JSON(goodAnalysis)
		}, nil, 2, 4000, ""},
		"ceiling":         {llmtest.Thinking(12_000, llmtest.JSON(goodAnalysis)), func(f *fixture) { f.cfg.MaxTokensCeiling = 6000 }, 3, 6000, "SLIPBOX_LLM_MAX_TOKENS_CEILING"},
		"small endpoint":  {llmtest.Thinking(12_000, llmtest.JSON(goodAnalysis)), func(f *fixture) { f.srv.MostTokens(4000) }, 4, 8000, "raise the limit of the endpoint"},
		"between":         {llmtest.Thinking(7000, llmtest.JSON(goodAnalysis)), func(f *fixture) { f.srv.MostTokens(9000) }, 4, 8000, ""},
		"smaller ceiling": {llmtest.Thinking(2000, llmtest.JSON(goodAnalysis)), func(f *fixture) { f.cfg.MaxTokensCeiling = 500 }, 1, 1000, "SLIPBOX_LLM_MAX_TOKENS_CEILING"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			if c.set != nil {
				c.set(f)
			}
			f.srv.Handle("analyze", c.reply)
			m := f.model(t)
			a, err := m.Ask(t.Context(), f.scope, analyzeCall())
			sent := f.srv.Requests()
			if len(sent) != c.calls || a.Calls != c.calls || sent[len(sent)-1].MaxTokens != c.limit {
				t.Errorf("%d requests, the last with %d tokens", len(sent), sent[len(sent)-1].MaxTokens)
			}
			if c.says != "" {
				if !errors.Is(err, memory.ErrNoRoom) || errors.Is(err, memory.ErrBadAnswer) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || !slices.Equal(keywordsOf(t, a), goodAnalysis.Keywords) || a.Repaired {
				t.Fatalf("%+v, %v", a, err)
			}
			if a := mustAsk(t, m, f.scope, analyzeCall()); a.Calls != 1 {
				t.Errorf("the next call took %d requests", a.Calls)
			}
		})
	}
}

// A turn that was cut off is asked for again too, streamed or not; what there is of one is kept when there is no more room.
func TestMoreRoomForTurns(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			dialogue := memory.Dialogue{Purpose: "step", Turns: []memory.Turn{{Role: memory.RoleUser, Text: "Hi"}}, MaxTokens: 500, Collection: collection}
			said := ""
			if stream {
				dialogue.Stream = &memory.TurnStream{
					Delta: func(s string) { said += s }, Reset: func(string) { said = "" },
				}
			}
			f.srv.Handle("", llmtest.Thinking(3000, llmtest.Text("Hello there.")))
			m := f.model(t)
			for _, calls := range []int{3, 1} {
				said = ""
				got, err := m.Converse(t.Context(), f.scope, dialogue)
				if err != nil || got.Turn.Text != "Hello there." || got.Requests != calls || stream && said != got.Turn.Text {
					t.Errorf("%+v, %q, %v; want %d requests", got, said, err, calls)
				}
			}
			for _, field := range []string{"reasoning", "reasoning_content"} {
				f.srv.Script("", llmtest.InThoughts(field, "Said in thoughts."))
				if got, err := m.Converse(t.Context(), f.scope, dialogue); err != nil || got.Turn.Text != "Said in thoughts." {
					t.Errorf("%s: %+v, %v", field, got, err)
				}
			}
			f.srv.Always("", llmtest.CutThoughts("Hm"))
			if _, err := m.Converse(t.Context(), f.scope, dialogue); !errors.Is(err, memory.ErrNoRoom) {
				t.Errorf("%v", err)
			}
		})
	}
}

// An answer that is only in the thoughts of a model is read.
func TestAnswerInThoughts(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"reasoning", "reasoning_content"} {
		f := setup(t)
		f.srv.Script("analyze", llmtest.InThoughts(field, `So: {"keywords":["bees","frost","straw"],"context":"Bees.","tags":["nature"]}`))
		if a := mustAsk(t, f.model(t), f.scope, analyzeCall()); a.Calls != 1 || !slices.Equal(keywordsOf(t, a), goodAnalysis.Keywords) {
			t.Errorf("%s: %+v", field, a)
		}
	}
}

// No form of thinking becomes an answer, also of a call that takes a text alone: neither what a model marks, nor what its server
// sends apart while the model says nothing.
func TestNoAnswerIsAThought(t *testing.T) {
	t.Parallel()
	thoughts := []llmtest.Reply{llmtest.InThoughts("reasoning", "secret"), llmtest.InThoughts("reasoning_content", "secret"), llmtest.Text("[THINK]secret")}
	for _, form := range []string{
		"<thought>secret</thought>", "[THINK]secret[/THINK]", "◁think▷secret◁/think▷", "<unused94>thought\nsecret<unused95>", "<analysis>secret</analysis>\n", "<|START_THINKING|>secret<|END_THINKING|>",
		"<|channel|>analysis<|message|>secret<|end|><|start|>assistant<|channel|>final<|message|>",
	} {
		thoughts = append(thoughts, llmtest.Text(form+"Ana sails."))
	}
	for i, reply := range thoughts {
		f := setup(t)
		f.srv.Script("meta", reply, llmtest.Text("Ana sails."))
		c := memory.Call{Name: "meta", Schema: json.RawMessage(`{"type":"object","properties":{"meta":{"type":"string"}},"required":["meta"]}`), Lenient: func(said string) json.RawMessage {
			if strings.ContainsAny(said, "{[") {
				return nil
			}
			raw, _ := json.Marshal(map[string]string{"meta": said})
			return raw
		}}
		if a := mustAsk(t, f.model(t), f.scope, c); string(a.JSON) != `{"meta":"Ana sails."}` {
			t.Errorf("%d: %s", i, a.JSON)
		}
	}
	f := setup(t)
	f.srv.Always("", llmtest.Text("Models write `<think>` before `</think>`, and DeepSeek <think> alone."))
	if got, err := f.model(t).Converse(t.Context(), f.scope, memory.Dialogue{Turns: []memory.Turn{{Role: memory.RoleUser, Text: "Hi"}}, Collection: collection}); err != nil || got.Turn.Text != "Models write `<think>` before `</think>`, and DeepSeek <think> alone." {
		t.Errorf("a text about the marks is cut: %+v, %v", got.Turn, err)
	}
}

// Instructions are sent without the role that an endpoint refuses, from the first refusal on.
func TestNoSystemRole(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadRequest, http.StatusInternalServerError} {
		f := setup(t)
		f.srv.NoSystem(status)
		m := f.model(t)
		for _, calls := range []int{2, 1} {
			if a := mustAsk(t, m, f.scope, analyzeCall()); a.Calls != calls {
				t.Errorf("%d: %d calls", status, a.Calls)
			}
		}
		sent := f.srv.Requests()
		if last := sent[len(sent)-1]; last.System != "" || !strings.HasPrefix(last.User, "Describe the note.") || !strings.Contains(last.User, "bees survive") {
			t.Errorf("sent %+v", last.Messages)
		}
		_, err := m.Converse(t.Context(), f.scope, memory.Dialogue{Turns: []memory.Turn{{Role: memory.RoleSystem, Text: "Be brief."}, {Role: memory.RoleUser, Text: "Hi"}}, Collection: collection})
		if err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// What one side says in a row is sent as one message, from the first refusal on.
func TestSidesTakeTurns(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.Alternate()
	m := f.model(t)
	d := dialogue()
	d.Turns = append([]memory.Turn{
		{Role: memory.RoleSystem, Text: "Be kind."}, {Role: memory.RoleUser, Text: "<summary>"}, {Role: memory.RoleUser, Text: "Hello"},
		{Role: memory.RoleAssistant, Text: "Hi."}, {Role: memory.RoleAssistant, Text: "How are you?"},
	}, d.Turns[1:]...)
	d.Turns = append(d.Turns, memory.Turn{Role: memory.RoleUser, Text: "And now?"})
	for _, requests := range []int{2, 1} {
		if got, err := m.Converse(t.Context(), f.scope, d); err != nil || got.Requests != requests {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	sent := f.srv.Requests()
	var said []string
	for _, msg := range sent[len(sent)-1].Messages {
		said = append(said, msg.Role+": "+msg.Content)
	}
	want := []string{
		"system: Be kind.", "user: <summary>\n\nHello", "assistant: Hi.\n\nHow are you?", "user: Where do I live?", "assistant: ", "tool: Lisbon", "user: And now?",
	}
	if !slices.Equal(said, want) {
		t.Errorf("sent %q", said)
	}
}

// An error inside a successful answer counts as the status that it names, and its wait is kept.
func TestErrorInside(t *testing.T) {
	t.Parallel()
	for status, c := range map[int]struct {
		code  fault.Code
		calls int
	}{
		http.StatusTooManyRequests: {fault.Unavailable, 1}, http.StatusBadGateway: {fault.Unavailable, 1},
		http.StatusUnauthorized: {fault.Misconfigured, 1}, http.StatusBadRequest: {fault.ModelFailed, 1},
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			inside := llmtest.Inside(status, "at "+"http://10.1.2.3:8000", time.Minute)
			check := func(door string, f *fixture, err error, wait bool) {
				t.Helper()
				found, ok := errors.AsType[*fault.Error](err)
				if !ok || found.Code != c.code || errors.Is(err, memory.ErrBadAnswer) || strings.Contains(found.Message, "10.1.2.3") {
					t.Errorf("%s: %v", door, err)
				}
				if ok && wait && status != http.StatusBadRequest && found.RetryAfter != time.Minute {
					t.Errorf("%s: to be tried again after %s", door, found.RetryAfter)
				}
				if n := len(f.srv.Requests()); n != c.calls {
					t.Errorf("%s: %d requests", door, n)
				}
			}
			f := setup(t)
			f.srv.Always("analyze", inside)
			_, err := f.model(t).Ask(t.Context(), f.scope, analyzeCall())
			check("jobs", f, err, true)

			for _, stream := range []bool{false, true} {
				f = setup(t)
				f.srv.Always("", inside)
				d := memory.Dialogue{Turns: []memory.Turn{{Role: memory.RoleUser, Text: "Hi"}}, Collection: collection}
				if stream {
					d.Stream = &memory.TurnStream{Delta: func(string) {}, Reset: func(string) {}}
				}
				_, err = f.model(t).Converse(t.Context(), f.scope, d)
				check(fmt.Sprintf("turns, stream %v", stream), f, err, true)
			}
			for _, body := range []string{hello, helloStream} {
				f = setup(t)
				f.srv.Always("", inside)
				_, err = said(t.Context(), t, newChatProxy(t, f.srv, f.deps, nil), body)
				check("chats", f, err, true)
				if refused, ok := errors.AsType[*chat.Refused](err); ok != (status == http.StatusBadRequest) || ok && refused.Status != status {
					t.Errorf("%s: %v", body, err)
				}
			}
			f = setup(t)
			f.srv.Always(llmtest.Embed, inside)
			_, err = f.embedder(t).Embed(t.Context(), f.scope, []string{"a"})
			check("embeddings", f, err, true)
		})
	}
	f := setup(t)
	f.srv.Always("", llmtest.InsideLater(http.StatusTooManyRequests, "busy at "+f.srv.URL()))
	got, err := said(t.Context(), t, newChatProxy(t, f.srv, f.deps, nil), helloStream)
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(got, "One ") || strings.Contains(got, "busy") {
		t.Errorf("in the midst of a stream: %q, %v", got, err)
	}
	// A short wait is waited for.
	f = setup(t)
	f.srv.Script("analyze", llmtest.Inside(http.StatusTooManyRequests, "busy", time.Second), llmtest.JSON(goodAnalysis))
	if a := mustAsk(t, f.model(t), f.scope, analyzeCall()); a.Calls != 2 || a.Repaired {
		t.Errorf("%+v", a)
	}
}

// A successful answer without its content is an error in any form, with the status and the wait that are anywhere in it; nothing of
// it is passed on.
func TestErrorWithoutName(t *testing.T) {
	t.Parallel()
	for body, c := range map[string]struct {
		says  string
		calls int
		wait  time.Duration
	}{
		`{"code":429,"message":"wait","success":false}`:                                     {"(429)", 3, 0},
		`{"code":"429","message":"wait","retry_after":60}`:                                  {"(429)", 1, time.Minute},
		`{"detail":"wait","status_code":429}`:                                               {"(429)", 3, 0},
		`{"statusCode":503,"message":"wait"}`:                                               {"(503)", 3, 0},
		`{"choices":null,"base_resp":{"status_code":1002,"status_msg":"wait"},"data":null}`: {"(502)", 3, 0},
		`{"choices":null,"base_resp":{"status_code":429,"status_msg":"wait"},"data":null}`:  {"(429)", 3, 0},
		`[{"error":{"code":429,"message":"wait","details":[{"retryDelay":"60s"}]}}]`:        {"(429)", 1, time.Minute},
		`[{"error":{"code":401,"message":"wait"}}]`:                                         {"(401)", 1, 0},
		`{"message":"wait"}`: {"(502)", 3, 0},
		`"wait"`:             {"(502)", 3, 0},
		`null`:               {"(502)", 3, 0},
	} {
		code := fault.Unavailable
		if c.says == "(401)" {
			code = fault.Misconfigured
		}
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			check := func(door string, f *fixture, got string, err error) {
				t.Helper()
				found, ok := errors.AsType[*fault.Error](err)
				if !ok || found.Code != code || found.RetryAfter != c.wait || !strings.Contains(found.Message, c.says) || strings.Contains(got, "wait") {
					t.Errorf("%s: %q, %v", door, got, err)
				}
				if n := len(f.srv.Requests()); n != c.calls {
					t.Errorf("%s: %d requests", door, n)
				}
			}
			f := setup(t)
			f.srv.Always("analyze", llmtest.Body(body))
			_, err := f.model(t).Ask(t.Context(), f.scope, analyzeCall())
			check("jobs", f, "", err)
			for _, stream := range []bool{false, true} {
				f = setup(t)
				f.srv.Always("", llmtest.Body(body))
				d := memory.Dialogue{Turns: []memory.Turn{{Role: memory.RoleUser, Text: "Hi"}}, Collection: collection}
				if stream {
					d.Stream = &memory.TurnStream{Delta: func(string) {}, Reset: func(string) {}}
				}
				_, err = f.model(t).Converse(t.Context(), f.scope, d)
				check(fmt.Sprintf("turns, stream %v", stream), f, "", err)
			}
			for _, request := range []string{hello, helloStream} {
				f = setup(t)
				f.srv.Always("", llmtest.Body(body))
				got, err := said(t.Context(), t, newChatProxy(t, f.srv, f.deps, nil), request)
				check(request, f, got, err)
			}
			f = setup(t)
			f.cfg.MaxTries = 1
			f.srv.Always(llmtest.Embed, llmtest.Body(body))
			if _, err = f.embedder(t).Embed(t.Context(), f.scope, []string{"a"}); !fault.Is(err, code) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("embeddings: %v", err)
			}
		})
	}
	// What endpoints send beside the answer is not an error, and an error in the midst of a stream is not passed on.
	const one = `data: {"choices":[{"index":0,"delta":{"content":"One "}}]}` + "\n\n"
	for stream, fails := range map[string]bool{
		`data: {"sources":["a"]}` + "\n\n" + one + `data: {"sources":["b"]}` + "\n\n" + `data: {"choices":null,"usage":{"total_tokens":3}}` + "\n\ndata: [DONE]\n\n": false,
		one + `data: {"code":429,"message":"wait"}` + "\n\n":                                         true,
		one + `data: {"choices":null,"base_resp":{"status_code":1002,"status_msg":"wait"}}` + "\n\n": true,
	} {
		f := setup(t)
		f.srv.Always("", llmtest.Body(stream))
		got, err := said(t.Context(), t, newChatProxy(t, f.srv, f.deps, nil), helloStream)
		if fails && (!fault.Is(err, fault.Unavailable) || got != one) || !fails && (err != nil || got != stream) {
			t.Errorf("%q became %q, %v", stream, got, err)
		}
	}
}

// An address may have a query, and a header of the service may carry the key.
func TestQueryAndHeader(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.RequireHeader("api-key", secret)
	f.cfg.BaseURL += "/?api-version=2024-10-21&x=y"
	f.cfg.KeyHeader, f.cfg.EmbedProvider, f.cfg.EmbedModel, f.cfg.EmbedDim = "api-key", llm.ProviderOpenAI, "fake-embed", 8
	f.srv.EmbedDim(8)
	mustAsk(t, f.model(t), f.scope, analyzeCall())
	if _, err := f.embedder(t).Embed(t.Context(), f.scope, []string{"a"}); err != nil {
		t.Error(err)
	}
	proxy := newChatProxy(t, f.srv, f.deps, func(c *llm.Config) { c.BaseURL, c.APIKey, c.KeyHeader = f.cfg.BaseURL, secret, "api-key" })
	if _, err := said(t.Context(), t, proxy, hello); err != nil {
		t.Error(err)
	}
	paths := []string{"/v1/chat/completions", "/v1/embeddings", "/v1/chat/completions"}
	for i, r := range f.srv.Requests() {
		if r.Path != paths[i] || r.Query != "api-version=2024-10-21&x=y" {
			t.Errorf("asked %s?%s", r.Path, r.Query)
		}
	}
	for address, want := range map[string]string{
		"http://h/v1": "http://h/v1/models", "http://h/v1/": "http://h/v1/models", "http://h/v1?a=b": "http://h/v1/models?a=b", "http://h/v1/?a=b#c": "http://h/v1/models?a=b",
	} {
		if got := llm.JoinPath(address, "models"); got != want {
			t.Errorf("%s became %s", address, got)
		}
	}
	f.cfg.KeyHeader, f.cfg.APIKey = "api key", "a\nb"
	if err := f.cfg.Validate(); err == nil || !strings.Contains(err.Error(), "llm.key_header") || !strings.Contains(err.Error(), "llm.api_key") {
		t.Errorf("%v", err)
	}
}

// The address of a request is taken for that of its endpoint, with its query.
func TestAddressOfARequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ completion, embedding string }{
		{"/chat/completions", "/embeddings"}, {"/chat/completions/?key=abc", "/embeddings?key=abc"}, {"/completions?key=abc", "/embeddings/#a"},
		{"/responses", ""}, {"", "/"},
	} {
		f := setup(t)
		_, query, _ := strings.Cut(c.completion, "?")
		f.cfg.BaseURL, f.cfg.EmbedBaseURL = f.srv.URL()+c.completion, f.srv.URL()+c.embedding
		mustAsk(t, f.model(t), f.scope, analyzeCall())
		if _, err := f.embedder(t).Embed(t.Context(), f.scope, []string{"a"}); err != nil {
			t.Error(err)
		}
		proxy := newChatProxy(t, f.srv, f.deps, func(set *llm.Config) { set.BaseURL = f.cfg.BaseURL })
		if _, err := said(t.Context(), t, proxy, hello); err != nil {
			t.Error(err)
		}
		sent := f.srv.Requests()
		if len(sent) != 3 || sent[0].Path != "/v1/chat/completions" || sent[0].Query != query || sent[1].Path != "/v1/embeddings" || sent[2].Query != query {
			t.Errorf("%q: asked %+v", c, sent)
		}
	}
	for provider, want := range map[string]string{llm.ProviderOpenAI: "http://h", llm.ProviderOllama: "http://h/v1"} {
		set := llm.Config{Provider: provider, EmbedProvider: provider, BaseURL: "http://h/chat/completions", EmbedBaseURL: "http://h/embeddings"}
		if set.Endpoint() != want || set.EmbedEndpoint() != want || set.InForce().BaseURL != want {
			t.Errorf("%s: %s, %s", provider, set.Endpoint(), set.EmbedEndpoint())
		}
		if set.EmbedBaseURL = ""; set.EmbedEndpoint() != want {
			t.Errorf("%s: embeddings at %s", provider, set.EmbedEndpoint())
		}
	}
}

// What an embedder takes of a text, and of texts in one request, is learned from what it refuses, in any words.
func TestWindowIsLearned(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("bees survive frost in straw ", 200)
	for _, status := range []int{
		http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusServiceUnavailable,
	} {
		f := setup(t)
		f.srv.Window(700, 3, status)
		e := f.embedder(t)
		texts := []string{"kilns", long, "", "cellos", strings.Repeat("蜂", 3000), "vases", "frost"}
		made, err := e.Embed(t.Context(), f.scope, texts)
		if err != nil || len(made) != len(texts) {
			t.Fatalf("%d: %d vectors, %v", status, len(made), err)
		}
		must.Get(e.Embed(t.Context(), f.scope, texts))(t)
		before, parts := f.srv.Requests(), 0
		again := must.Get(e.Embed(t.Context(), f.scope, texts))(t)
		learned := f.srv.Requests()[len(before):]
		for _, r := range learned {
			parts += len(r.Inputs)
		}
		if len(learned) != (parts+1)/2 && len(learned) != (parts+2)/3 {
			t.Errorf("%d: %d requests for %d parts", status, len(learned), parts)
		}
		for i := range made {
			if cos, ok := memory.Cosine(made[i].Vector, again[i].Vector); !ok || cos < 0.9 {
				t.Errorf("%d: text %d: cosine %v", status, i, cos)
			}
		}
		short := must.Get(e.Embed(t.Context(), f.scope, []string{"bees survive frost in straw"}))(t)
		if cos, _ := memory.Cosine(made[1].Vector, short[0].Vector); cos < 0.9 {
			t.Errorf("%d: the average is not of the text: cosine %v", status, cos)
		}
		if n := strings.Count(f.log.String(), "long texts are embedded in parts"); n == 0 || n > 3 {
			t.Errorf("%d: said %d times", status, n)
		}
	}
	f := setup(t)
	f.srv.Always(llmtest.Embed, llmtest.Status(http.StatusBadRequest, 0))
	if _, err := f.embedder(t).Embed(t.Context(), f.scope, []string{long, "a"}); !fault.Is(err, fault.ModelFailed) || len(f.srv.Requests()) != 2 {
		t.Errorf("refused whatever its length: %d requests, %v", len(f.srv.Requests()), err)
	}
}

// An endpoint that fails on one text does not stop the others: not on a text that is too long, nor on one that it fails on in any
// length. One that fails on all texts is soon not asked.
func TestEndpointFailsOnOneText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("bees survive frost in straw ", 180)
	f := setup(t)
	f.cfg.BreakerFailures, f.cfg.BreakerPause = 2, time.Hour
	f.srv.Window(600, 0, http.StatusInternalServerError)
	e := f.embedder(t)
	if made, err := e.Embed(t.Context(), f.scope, []string{"kilns", long}); err != nil || len(made) != 2 || f.srv.Calls(llmtest.Embed) > 24 {
		t.Fatalf("%d vectors from %d requests: %v", len(made), f.srv.Calls(llmtest.Embed), err)
	}
	before := f.srv.Calls(llmtest.Embed)
	if _, err := e.Embed(t.Context(), f.scope, []string{long}); err != nil || f.srv.Calls(llmtest.Embed) != before+1 {
		t.Errorf("%d more requests: %v", f.srv.Calls(llmtest.Embed)-before, err)
	}

	f.srv.Handle(llmtest.Embed, func(r llmtest.Request) llmtest.Reply {
		if slices.ContainsFunc(r.Inputs, func(in string) bool { return strings.Contains(in, "kiln") }) {
			return llmtest.StatusText(http.StatusInternalServerError, "nein")
		}
		return llmtest.Default()
	})
	for range 5 {
		before := f.srv.Calls(llmtest.Embed)
		_, err := e.Embed(t.Context(), f.scope, []string{"bees", "kiln", long})
		if !fault.Is(err, fault.Unavailable) || errors.Is(err, memory.ErrPaused) || f.srv.Calls(llmtest.Embed) > before+8 {
			t.Errorf("%d requests: %v", f.srv.Calls(llmtest.Embed)-before, err)
		}
	}
	if _, err := e.Embed(t.Context(), f.scope, []string{"bees", long}); err != nil {
		t.Error(err)
	}

	f.srv.Always(llmtest.Embed, llmtest.Status(http.StatusInternalServerError, 0))
	before = f.srv.Calls(llmtest.Embed)
	for range 2 {
		if _, err := e.Embed(t.Context(), f.scope, []string{"bees", long}); !fault.Is(err, fault.Unavailable) {
			t.Error(err)
		}
	}
	if _, err := e.Embed(t.Context(), f.scope, []string{long}); !errors.Is(err, memory.ErrPaused) || f.srv.Calls(llmtest.Embed) > before+4 {
		t.Errorf("%d requests, and %v", f.srv.Calls(llmtest.Embed)-before, err)
	}
}

// An embedder that was away is asked again with any text, also with one that it fails on.
func TestEndpointIsBackForALongText(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.BreakerFailures, f.cfg.BreakerPause, f.cfg.MaxTries = 1, time.Millisecond, 1
	e := f.embedder(t)
	f.srv.Script(llmtest.Embed, llmtest.Reset())
	if _, err := e.Embed(t.Context(), f.scope, []string{"bees"}); err == nil {
		t.Fatal("it is not away")
	}
	f.srv.Window(600, 0, http.StatusBadGateway)
	for {
		_, err := e.Embed(t.Context(), f.scope, []string{strings.Repeat("bees survive frost in straw ", 180)})
		if errors.Is(err, memory.ErrPaused) && f.srv.Calls(llmtest.Embed) == 1 {
			continue // the pause is not over
		}
		if err != nil {
			t.Error(err)
		}
		return
	}
}

// A window that is known by the model's name costs no refusal.
func TestWindowIsKnown(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.Window(800, 0, http.StatusBadRequest)
	f.srv.EmbedDim(384)
	f.cfg.EmbedProvider, f.cfg.EmbedBaseURL = llm.ProviderOllama, f.srv.OllamaURL()
	e := must.Get(llm.NewEmbedding(f.deps, f.cfg))(t)
	if _, err := e.Embed(t.Context(), f.scope, []string{strings.Repeat("bees survive frost in straw ", 200)}); err != nil || len(f.srv.Requests()) != 1 {
		t.Errorf("%d requests, %v", len(f.srv.Requests()), err)
	}
}

// Vectors without an index are in order.
func TestVectorsWithoutIndex(t *testing.T) {
	t.Parallel()
	f := setup(t)
	e := f.embedder(t)
	want := must.Get(e.Embed(t.Context(), f.scope, []string{"one", "two", "three"}))(t)
	f.srv.OmitIndexes()
	got := must.Get(e.Embed(t.Context(), f.scope, []string{"one", "two", "three"}))(t)
	for i := range want {
		if cos, _ := memory.Cosine(want[i].Vector, got[i].Vector); math.Abs(cos-1) > 1e-6 {
			t.Errorf("vector %d is another", i)
		}
	}
}

// An answer without an end ends: in time, and in bytes. Nothing of it is passed on that is not a completion.
func TestAnswersEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		with llmtest.Reply
		code fault.Code // "": any
	}{
		"spaces":            {hello, llmtest.Endless(" ", time.Millisecond), fault.Timeout},
		"spaces, streamed":  {helloStream, llmtest.Endless(": alive\n\n", time.Millisecond), fault.Timeout},
		"flood":             {hello, llmtest.Endless(strings.Repeat("x", 64<<10), 0), fault.ModelFailed},
		"flood, streamed":   {helloStream, llmtest.Endless(strings.Repeat("x ", 32<<10), 0), fault.ModelFailed},
		"a stream of words": {helloStream, llmtest.Endless("on and ", time.Millisecond), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Always("", c.with)
			ctx := t.Context()
			if name == "a stream of words" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 2*time.Second) // as of the service; a busy machine connects slowly
				defer cancel()
			}
			proxy := newChatProxy(t, srv, llm.Deps{}, func(cfg *llm.Config) {
				cfg.Timeout = time.Minute // a busy machine reads slowly
				if c.code == fault.Timeout {
					cfg.Timeout = 2 * time.Second // a busy machine connects slowly
				}
			})
			resp, err := proxy.Send(ctx, grant.Scope(uuid.New(), uuid.Nil, "test"), chat.Request{Collection: uuid.Must(uuid.NewV7()), Body: []byte(c.body), Stream: c.body == helloStream})
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			if err == nil || c.code != "" && !fault.Is(err, c.code) || len(srv.Requests()) != 1 {
				t.Errorf("%v after %d requests", err, len(srv.Requests()))
			}
		})
	}
}

// A refusal that is passed on has no address and no key of the operator, in any form.
func TestRefusalsWithoutAddress(t *testing.T) {
	t.Parallel()
	f := setup(t)
	host := strings.TrimSuffix(strings.TrimPrefix(f.srv.URL(), "http://"), "/v1")
	f.srv.Always("", llmtest.StatusText(http.StatusBadRequest, "no: "+f.srv.URL()+"/chat/completions, HTTP://"+host+", 127.0.0.1, "+secret))
	_, err := said(t.Context(), t, newChatProxy(t, f.srv, f.deps, func(c *llm.Config) { c.APIKey = secret }), hello)
	refused, ok := errors.AsType[*chat.Refused](err)
	if !ok || strings.Contains(string(refused.Body), "127.0.0.1") || strings.Contains(string(refused.Body), secret) || !strings.Contains(string(refused.Body), "no: ") {
		t.Errorf("%s, %v", refused.Body, err)
	}
}

// While an endpoint is not asked, callers and operators read why it failed, such as a key that is not accepted.
func TestBreakerSaysWhy(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.srv.RequireKey("another")
	f.cfg.BreakerFailures, f.cfg.BreakerPause, f.cfg.MaxTries = 1, 20*time.Millisecond, 1
	watch := &llm.Watch{}
	f.deps.Watch = watch
	m, e := f.model(t), f.embedder(t)
	if models, embedder := watch.Has(); !models || !embedder || watch.Models(t.Context()) != nil || watch.Embedder(t.Context()) != nil {
		t.Error("endpoints that were not asked yet are not watched, or fail")
	}
	for range 2 {
		_, err := m.Ask(t.Context(), f.scope, analyzeCall())
		_, failed := e.Embed(t.Context(), f.scope, []string{"a"})
		for _, err := range []error{err, failed, watch.Models(t.Context()), watch.Embedder(t.Context())} {
			if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(f.Message, "does not accept the key (401)") {
				t.Errorf("%v", err)
			}
		}
	}
	f.srv.RequireKey("")
	waitFor(t, func() bool {
		_, err := m.Ask(t.Context(), f.scope, analyzeCall())
		return err == nil
	})
	if err := watch.Models(t.Context()); err != nil || watch.Embedder(t.Context()) == nil {
		t.Errorf("after the model came back: %v", err)
	}
}

// An embedder that takes too long for one text stays in use for the others, and gets that one in parts. One that answers nothing in time
// is soon not asked.
func TestEndpointIsSlowForOneText(t *testing.T) {
	t.Parallel()
	inBubble(t, slowForOneText)
}

func slowForOneText(t *testing.T, f *fixture) {
	t.Helper()
	long := strings.Repeat("bees survive frost in straw ", 30)
	f.cfg.BreakerFailures, f.cfg.BreakerPause, f.cfg.MaxTries = 2, 100*time.Hour, 2
	var most atomic.Int64
	most.Store(500)
	f.srv.Handle(llmtest.Embed, func(r llmtest.Request) llmtest.Reply {
		if slices.ContainsFunc(r.Inputs, func(in string) bool { return len(in) > int(most.Load()) }) {
			return llmtest.Hang()
		}
		return llmtest.Default()
	})
	e := f.embedder(t)
	for range 2 {
		if made, err := e.Embed(t.Context(), f.scope, []string{long}); err != nil || len(made) != 1 {
			t.Errorf("a slow text: %d vectors, %v", len(made), err)
		}
	}
	most.Store(30)
	for range 2 {
		if _, err := e.Embed(t.Context(), f.scope, []string{"a text that is always slow, and has few words"}); !fault.Is(err, fault.Timeout) {
			t.Errorf("a short slow text: %v", err)
		}
	}
	if _, err := e.Embed(t.Context(), f.scope, []string{"kilns"}); err != nil {
		t.Errorf("another text: %v", err)
	}
	most.Store(0)
	if _, err := e.Embed(t.Context(), f.scope, []string{long}); !fault.Is(err, fault.Timeout) {
		t.Errorf("nothing is answered: %v", err)
	}
	if _, err := e.Embed(t.Context(), f.scope, []string{"kilns"}); !errors.Is(err, memory.ErrPaused) {
		t.Errorf("after it: %v", err)
	}
}
