package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
	"github.com/slipboxhq/slipbox/test/must"
)

// respond sends a request in the form of OpenAI's responses and returns what came back.
func respond(t *testing.T, s *chat.Service, scope tenant.Scope, body string) (string, error) {
	t.Helper()
	c, err := s.Respond(t.Context(), scope, in("c"), []byte(body))
	if err != nil {
		return "", err
	}
	defer c.Close()
	var out strings.Builder
	if err = c.Pass(&out, func() error { return nil }); err != nil {
		out.Write(c.Broken([]byte(`{"error":{"message":"It broke off.","code":"unavailable"}}`)))
	}
	c.Remember(t.Context())
	return out.String(), err
}

// translated returns what the model was asked last, without its name and what memory adds.
func (f *fake) translated(t *testing.T) string {
	t.Helper()
	var body map[string]any
	must.Do(t, json.Unmarshal(f.sent[len(f.sent)-1].Body, &body))
	delete(body, "model")
	for _, m := range body["messages"].([]any) {
		m := m.(map[string]any)
		switch said := m["content"].(type) {
		case string:
			m["content"] = recalled.Strip(said)
		case []any:
			m["content"] = slices.DeleteFunc(said, func(part any) bool {
				text, _ := part.(map[string]any)["text"].(string)
				return strings.HasPrefix(text, recalled.Open)
			})
		}
	}
	raw := must.Get(json.Marshal(body))(t)
	return string(raw)
}

// A request in the form of responses asks the model what it would ask as a chat completion.
func TestResponsesAreTranslated(t *testing.T) {
	t.Parallel()
	const tool = `{"type":"function","name":"weather","parameters":{"type":"object"},"strict":true,"description":null}`
	for name, x := range map[string]struct{ body, want string }{
		"a text": {`"input":"Where?"`, `{"messages":[{"content":"Where?","role":"user"}]}`},
		"instructions": {
			`"input":[{"role":"user","content":"Where?"}],"instructions":"Be brief.","store":false,"background":false,"previous_response_id":null,"truncation":"disabled","include":["reasoning.encrypted_content"]`,
			`{"messages":[{"content":"Be brief.","role":"system"},{"content":"Where?","role":"user"}]}`,
		},
		"settings": {
			`"input":"Where?","temperature":0.5,"top_p":1,"max_output_tokens":50,"reasoning":{"effort":"low","summary":null},"metadata":{"a":"b"},"next_version":{"x":1}`,
			`{"max_tokens":50,"messages":[{"content":"Where?","role":"user"}],"next_version":{"x":1},"reasoning_effort":"low","temperature":0.5,"top_p":1}`,
		},
		"JSON": {
			`"input":"Where?","text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"},"strict":true},"verbosity":"low"}`,
			`{"messages":[{"content":"Where?","role":"user"}],"response_format":{"json_schema":{"name":"a","schema":{"type":"object"},"strict":true},"type":"json_schema"},"verbosity":"low"}`,
		},
		"a stream": {`"input":"Where?","stream":true,"stream_options":{"include_obfuscation":false}`, `{"messages":[{"content":"Where?","role":"user"}],"stream":true,"stream_options":{"include_usage":true}}`},
		"a round of tools": {
			`"tools":[` + tool + `],"tool_choice":{"type":"function","name":"weather"},"input":[{"role":"user","content":[{"type":"input_text","text":"How?"}]},` +
				`{"type":"reasoning","id":"rs_1","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},` +
				`{"type":"function_call","call_id":"1","name":"weather","arguments":"{}"},{"type":"function_call","call_id":"2","name":"weather","arguments":"[]"},` +
				`{"type":"function_call_output","call_id":"1","output":"sunny"},{"type":"function_call_output","call_id":"2","output":[{"type":"input_text","text":"rain"}]}]`,
			`{"messages":[{"content":"How?","role":"user"},` +
				`{"content":"I look.","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"weather"},"id":"1","type":"function"},{"function":{"arguments":"[]","name":"weather"},"id":"2","type":"function"}]},` +
				`{"content":"sunny","role":"tool","tool_call_id":"1"},{"content":"rain","role":"tool","tool_call_id":"2"}],` +
				`"tool_choice":{"function":{"name":"weather"},"type":"function"},"tools":[{"function":{"name":"weather","parameters":{"type":"object"},"strict":true},"type":"function"}]}`,
		},
		"media": {
			`"input":[{"role":"user","content":[{"type":"input_text","text":"What?"},{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"low"},{"type":"input_file","filename":"a.pdf","file_data":"data:x"}]}]`,
			`{"messages":[{"content":[{"text":"What?","type":"text"},{"image_url":{"detail":"low","url":"data:image/png;base64,AA=="},"type":"image_url"},{"file":{"file_data":"data:x","filename":"a.pdf"},"type":"file"}],"role":"user"}]}`,
		},
	} {
		f := newFake()
		if _, err := respond(t, f.service(t), both(), "{"+x.body+"}"); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := f.translated(t); got != x.want {
			t.Errorf("%s: the model was asked\n%s, want\n%s", name, got, x.want)
		}
	}
}

// What has no counterpart in chat completions is refused by its name, before the model sees it.
func TestResponsesRefuse(t *testing.T) {
	t.Parallel()
	for field, body := range map[string]string{
		"input": `"stream":true`, "input.0.role": `"input":[{"content":"a"}]`, "input.0.type": `"input":[{"type":"web_search_call"}]`,
		"input.0.content.0.type": `"input":[{"role":"user","content":[{"type":"input_audio"}]}]`, "input.0.content": `"input":[{"role":"user","content":7}]`,
		"input.0.content.0.file_id": `"input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]`,
		"input.0.id":                `"input":[{"type":"item_reference","id":"fc_1"}]`, "previous_response_id": `"input":"a","previous_response_id":"resp_1"`,
		"conversation": `"input":"a","conversation":{"id":"c"}`, "store": `"input":"a","store":true`, "background": `"input":"a","background":true`,
		"prompt": `"input":"a","prompt":{"id":"p"}`, "tools.0.type": `"input":"a","tools":[{"type":"web_search"}]`,
		"tool_choice": `"input":"a","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"file_search"}`,
		"truncation":  `"input":"a","truncation":"auto"`, "include.0": `"input":"a","include":["file_search_call.results"]`,
		"reasoning.summary": `"input":"a","reasoning":{"summary":"auto"}`, "text.format.type": `"input":"a","text":{"format":{"type":"grammar"}}`,
		"messages": `"input":"a","messages":[]`, "n": `"input":"a","n":2`, "model": `"input":"a","Model":"x"`, "max_tool_calls": `"input":"a","max_tool_calls":3`,
		"instructions": `"input":"a","instructions":[{}]`, "max_output_tokens": `"input":"a","max_output_tokens":2000`,
		"input.0.content.0.image_url": `"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://example.org/a.png"}]}]`,
	} {
		f := newFake()
		_, err := respond(t, f.limited(t, chat.Limits{MaxTokens: 1000}), both(), "{"+body+"}")
		refused, ok := errors.AsType[*fault.Error](err)
		if !ok || refused.Code != fault.Invalid || len(refused.Fields) != 1 || refused.Fields[0].Field != field || len(f.sent) > 0 {
			t.Errorf("%s: %v, %d requests", body, err, len(f.sent))
		}
	}
	for _, body := range []string{`[]`, `{"input":"a"`} {
		if _, err := respond(t, newFake().service(t), both(), body); err == nil {
			t.Errorf("%s was accepted", body)
		}
	}
}

// A whole answer and a stream say the same, and the exchange is stored. An answer that breaks off is an error, and
// nothing of it is stored.
func TestResponsesAnswer(t *testing.T) {
	t.Parallel()
	chunk := func(delta, finish string) string {
		return fmt.Sprintf(`data: {"model":"fake-2","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
	}
	const usage = `data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":2}}}` + "\n\n"
	const done = "data: [DONE]\n\n"
	calls := chunk(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\""}}]}`, "null") +
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`, "null") + chunk(`{"tool_calls":[{"index":1,"id":"c2","function":{"name":"g","arguments":"{}"}}]}`, "null")
	for name, x := range map[string]struct {
		answer  string
		streams bool // the endpoint does
		ask     bool // for a stream
		want    []string
		stored  int // messages
		breaks  bool
	}{
		"whole": {whole("In Lisbon."), false, false, []string{
			`"status":"completed"`, `"text":"In Lisbon."`, `"role":"assistant"`, `"input_tokens":11`, `"output_tokens":5`, `"total_tokens":16`, `"store":false`, `"instructions":null`,
		}, 2, false},
		"a stream": {chunk(`{"role":"assistant","content":""}`, "null") + chunk(`{"content":"In "}`, "null") + chunk(`{"content":"Lisbon."}`, "null") + chunk(`{}`, `"stop"`) + usage + done, true, true, []string{
			"event: response.created", "event: response.in_progress", "event: response.output_item.added", "event: response.content_part.added",
			`"delta":"In "`, `"delta":"Lisbon."`, "event: response.output_text.done", "event: response.content_part.done", "event: response.output_item.done",
			"event: response.completed", `"model":"fake-2"`, `"text":"In Lisbon."`, `"reasoning_tokens":2`,
		}, 2, false},
		"an endpoint that does not stream": {whole("In Lisbon."), false, true, []string{"event: response.created", `"delta":"In Lisbon."`, "event: response.completed"}, 2, false},
		"an endpoint without an end": {chunk(`{"content":"In Lisbon."}`, "null") + chunk(`{}`, `"length"`), true, true, []string{
			"event: response.incomplete", `"incomplete_details":{"reason":"max_output_tokens"}`,
		}, 2, false},
		"calls": {chunk(`{"content":"I look."}`, "null") + calls + chunk(`{}`, `"tool_calls"`) + done, true, true, []string{
			`"delta":"I look."`, "event: response.output_text.done", "event: response.function_call_arguments.delta", `"arguments":"{\"a\":1}"`,
			`"call_id":"c2"`, "event: response.completed",
		}, 0, false},
		"a refusal":       {chunk(`{"refusal":"No."}`, "null") + chunk(`{}`, `"stop"`) + done, true, true, []string{"event: response.refusal.delta", "event: response.refusal.done", "event: response.completed"}, 2, false},
		"half an answer":  {chunk(`{"content":"In "}`, "null"), true, true, []string{"event: response.created", `"delta":"In "`, "event: error", `"message":"It broke off."`}, 1, true},
		"an error within": {chunk(`{"content":"In "}`, "null") + `data: {"error":{"message":"overloaded"}}` + "\n\n", true, true, []string{`"delta":"In "`, "event: error"}, 1, true},
	} {
		f := newFake()
		f.answer, f.stream = x.answer, x.streams
		got, err := respond(t, f.service(t), both(), fmt.Sprintf(`{"model":"slipbox","input":"Where?","stream":%v}`, x.ask))
		if (err != nil) != x.breaks {
			t.Errorf("%s: %v", name, err)
		}
		rest := got
		for _, w := range x.want {
			if _, after, ok := strings.Cut(rest, w); !ok && !strings.Contains(got, w) || x.ask && !ok {
				t.Errorf("%s: no %s in\n%s", name, w, got)
			} else if x.ask {
				rest = after
			}
		}
		if x.breaks && strings.Contains(got, "response.completed") {
			t.Errorf("%s: it broke off, and says that it is complete:\n%s", name, got)
		}
		stored := 0
		for _, w := range f.written {
			stored += len(w.Messages)
		}
		if stored != x.stored || len(f.usage) != 1 {
			t.Errorf("%s: %d messages stored, want %d; accounted %d times", name, stored, x.stored, len(f.usage))
		}
	}
}

// A client refers to the text of an earlier answer by its id. One of another tenant, or an old one, is left out.
func TestReferencesAtOnce(t *testing.T) {
	t.Parallel()
	f := newFake()
	s, mine := f.service(t), both()
	got, err := respond(t, s, mine, `{"input":"Where?"}`)
	var answer struct {
		Output []struct {
			ID string `json:"id"`
		} `json:"output"`
	}
	if err != nil || json.Unmarshal([]byte(got), &answer) != nil || len(answer.Output) != 1 {
		t.Fatalf("%s, %v", got, err)
	}
	body := fmt.Sprintf(`{"input":[{"role":"user","content":"Where?"},{"type":"item_reference","id":%q},{"role":"user","content":"Since when?"}]}`, answer.Output[0].ID)
	if _, err := respond(t, s, mine, body); err != nil || !strings.Contains(f.translated(t), `{"content":"In Lisbon.","role":"assistant"}`) {
		t.Errorf("%v: %s", err, f.translated(t))
	}
	for _, x := range []struct {
		scope tenant.Scope
		body  string
	}{{both(), body}, {mine, strings.ReplaceAll(body, answer.Output[0].ID, "msg_old")}} {
		if _, err := respond(t, s, x.scope, x.body); err != nil || strings.Contains(f.translated(t), `"assistant"`) {
			t.Errorf("%v: %s", err, f.translated(t))
		}
	}
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			if _, err := respond(t, s, mine, body); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
}

// picky is an endpoint that refuses fields.
type picky struct {
	*fake
	refuses []string
}

func (p *picky) Send(ctx context.Context, s tenant.Scope, r chat.Request) (*chat.Response, error) {
	for _, name := range p.refuses {
		if strings.Contains(string(r.Body), `"`+name+`":`) {
			return nil, &chat.Refused{Status: 400, ContentType: "application/json", Body: []byte("unknown field: " + name)}
		}
	}
	return p.fake.Send(ctx, s, r)
}

// What the translation adds to a request is left out, or renamed, where an endpoint refuses it.
func TestResponsesOfPickyEndpoints(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer = whole("In Lisbon.")
	p := &picky{fake: f, refuses: []string{"stream_options", "max_tokens"}}
	s := must.Get(chat.New(chat.Deps{Recall: f, Notes: f, Models: chat.Models{Main: p}}, chat.Config{}))(t)
	got, err := respond(t, s, both(), `{"input":"Where?","stream":true,"max_output_tokens":9}`)
	if err != nil || strings.Count(got, "event: response.created") != 1 || !strings.Contains(f.translated(t), `"max_completion_tokens":9`) {
		t.Errorf("%v: %s", err, got)
	}
	if strings.Count(string(f.sent[0].Body), "## Facts") != 1 {
		t.Errorf("the context is not there once: %s", f.sent[0].Body)
	}
	p.refuses = []string{"messages"}
	if _, err := respond(t, s, both(), `{"input":"Where?"}`); err == nil {
		t.Error("a refusal was lost")
	}
}

// Where the operator allows it, any name of a model is passed on, and no other name than that of the request.
func TestAnyModelIsPassedOn(t *testing.T) {
	t.Parallel()
	f := newFake()
	models := chat.Models{Main: f, Named: map[string]chat.Model{chat.AnyModel: f}}
	s := must.Get(chat.New(chat.Deps{Recall: f, Notes: f, Models: models}, chat.Config{}))(t)
	for name, ok := range map[string]bool{"gpt-99@c": true, "org/model:tag@c": true, "*@c": false, "a b@c": false, strings.Repeat("x", 300) + "@c": false} {
		c, err := s.Complete(t.Context(), both(), in(""), fmt.Appendf(nil, `{"model":%q,"messages":[{"role":"user","content":"Where?"}]}`, name))
		if (err == nil) != ok || s.HasModel(strings.TrimSuffix(name, "@c")) != ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !ok {
			continue
		}
		if err := c.Pass(io.Discard, func() error { return nil }); err != nil {
			t.Error(err)
		}
		c.Close()
		if last := f.sent[len(f.sent)-1].Body; !strings.Contains(string(last), `"model":"`+strings.TrimSuffix(name, "@c")+`"`) {
			t.Errorf("%s: %s", name, last)
		}
	}
	if names := s.Models(); strings.Join(names, " ") != "slipbox fake-1" {
		t.Errorf("%v", names)
	}
}

// Without a model, what a client would take for JSON is refused, and so is a call that must be made; the rest is
// answered from memory, with a usage where it is asked for.
func TestCompletionsWithoutAModel(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := must.Get(chat.New(chat.Deps{Recall: f, Notes: f}, chat.Config{}))(t)
	const said = `"messages":[{"role":"user","content":"Where?"}]`
	for body, refused := range map[string]bool{
		said: false, `"tools":[{"type":"function","function":{"name":"f"}}],` + said: false, `"tools":[],` + said: false, `"tools":null,` + said: false,
		`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none",` + said: false, `"functions":[{"name":"f"}],` + said: false,
		`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto",` + said: false, `"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required",` + said: true,
		`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"f"}},` + said: true,
		`"functions":[{"name":"f"}],"function_call":{"name":"f"},` + said:                                                         true, `"functions":[{"name":"f"}],"function_call":"auto",` + said: false,
		`"response_format":{"type":"json_object"},` + said: true, `"response_format":{"type":"json_schema","json_schema":{}},` + said: true, `"response_format":{"type":"text"},` + said: false,
	} {
		c, err := s.Complete(t.Context(), both(), in("c"), []byte("{"+body+"}"))
		if errors.Is(err, chat.ErrNoModel) != refused || refused != (fault.CodeOf(err) == fault.Misconfigured) {
			t.Errorf("%s: %v", body, err)
		}
		if c != nil {
			c.Close()
		}
	}
	if _, err := s.Complete(t.Context(), both(), in("c"), []byte(`{"n":2,`+said+`}`)); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("n: %v", err)
	}
	if _, err := respond(t, s, both(), `{"input":"Where?","text":{"format":{"type":"json_object"}}}`); !errors.Is(err, chat.ErrNoModel) {
		t.Errorf("%v", err)
	}
	for _, body := range []string{`{"input":"Where?"}`, `{"input":"Where?","stream":true}`} {
		if got, err := respond(t, s, both(), body); err != nil || !strings.Contains(got, "Ada lives in Lisbon.") || !strings.Contains(got, `"status":"completed"`) {
			t.Errorf("%s: %v %s", body, err, got)
		}
	}
	c := must.Get(s.Complete(t.Context(), both(), in("c"), []byte(`{"stream":true,"stream_options":{"include_usage":true},`+said+`}`)))(t)
	var out strings.Builder
	if err := c.Pass(&out, func() error { return nil }); err != nil || strings.Count(out.String(), `"usage"`) != 1 || !strings.Contains(out.String(), `"choices":[]`) {
		t.Errorf("%v: %s", err, out.String())
	}
	c.Close()
}
