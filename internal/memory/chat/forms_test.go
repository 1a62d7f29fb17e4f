package chat_test

import (
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// A dialogue in another form is sent to the model as chat completions have it, and its question is asked of memory. What has OpenAI's
// form already is sent byte for byte.
func TestDialoguesOfOtherForms(t *testing.T) {
	t.Parallel()
	const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}`
	for name, x := range map[string]struct{ message, sent, said string }{
		"roles":             {`{"role":"human","content":"Where?"}`, `{"role":"user","content":"Where?"}`, "Where?"},
		"LangChain":         {`{"type":"human","content":"Where?","additional_kwargs":{},"id":null}`, `{"role":"user","content":"Where?"}`, "Where?"},
		"LangChain in data": {`{"type":"human","data":{"content":"Where?"}}`, `{"role":"user","content":"Where?"}`, "Where?"},
		"responses":         {`{"type":"message","role":"user","content":[{"type":"input_text","text":"Where?"}]}`, `{"role":"user","content":"Where?"}`, "Where?"},
		"Google":            {`{"role":"user","parts":[{"text":"Where"},{"text":"now?"}]}`, `{"role":"user","content":"Where\nnow?"}`, "Where\nnow?"},
		"Google's image":    {`{"role":"user","parts":[{"text":"Where?"},{"inlineData":{"mimeType":"image/png","data":"AA"}}]}`, `{"role":"user","content":[{"text":"Where?","type":"text"},{"image_url":{"url":"data:image/png;base64,AA"},"type":"image_url"}]}`, "Where?"},
		"Anthropic's image": {`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}},{"type":"text","text":"Where?"}]}`, `{"role":"user","content":[{"image_url":{"url":"data:image/png;base64,AA"},"type":"image_url"},{"text":"Where?","type":"text"}]}`, "Where?"},
		"Bedrock":           {`{"role":"user","content":[{"text":"Where?"},{"video":{"format":"mp4"}}]}`, `{"role":"user","content":"Where?\n[left out: a part without text]"}`, "Where?\n[left out: a part without text]"},
		"Semantic Kernel":   {`{"Role":{"Label":"user"},"Items":[{"$type":"TextContent","Text":"Where?"}]}`, `{"role":"user","content":"Where?"}`, "Where?"},
		"a data set":        {`{"from":"human","value":"Where?"}`, `{"role":"user","content":"Where?"}`, "Where?"},
		"OpenAI":            {`{"role": "user", "content": [{"type":"text","text":"Where?"}, ` + image + `]}`, `{"role": "user", "content": [{"type":"text","text":"Where?"}, ` + image + `]}`, "Where?"},
	} {
		f := newFake()
		f.context.Text = ""
		if _, _, err := f.complete(t, both(), "", `{"model":"@home","messages":[{"type":"reasoning","summary":[]},`+x.message+`]}`); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if sent := string(f.sent[0].Body); !strings.Contains(sent, `"messages":[`+x.sent+`]`) {
			t.Errorf("%s: sent %s, want %s", name, sent, x.sent)
		}
		if len(f.written) != 1 || f.written[0].Messages[0].Content != x.said {
			t.Errorf("%s: stored %+v", name, f.written)
		}
		f = newFake()
		f.context.Text = ""
		if _, err := respond(t, f.service(t), both(), `{"input":[`+x.message+`]}`); err != nil && name != "OpenAI" {
			t.Errorf("%s, as an item of responses: %v", name, err)
		} else if err == nil && !strings.Contains(string(f.sent[0].Body), `"role":"user"`) {
			t.Errorf("%s, as an item of responses: sent %s", name, f.sent[0].Body)
		}
	}
	f := newFake()
	calls := `{"model":"@home","messages":[{"role":"user","content":"Where?"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"12"}]}`
	f.context.Text = ""
	if _, _, err := f.complete(t, both(), "", calls); err != nil || !strings.Contains(string(f.sent[0].Body), `"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"12","tool_call_id":"c"}]`) {
		t.Errorf("%v, %s", err, f.sent[0].Body)
	}
	for _, body := range []string{`[{"role":"user","utterance":"Where?"}]`, `[{"role":"narrator","content":"Where?"}]`, `[{"a":1}]`, `[{"type":"reasoning","summary":[]}]`} {
		if _, _, err := newFake().complete(t, both(), "", `{"model":"@home","messages":`+body+`}`); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
