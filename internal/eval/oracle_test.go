package eval

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// The oracle's answers follow from the request alone.
func TestOracle(t *testing.T) {
	t.Parallel()
	const first, second = "43e9dbb0-080a-1659-c51e-a554d3cf5d45", "a128c383-e4b4-72fe-e5b3-e8dc54074924"
	s := httptest.NewServer(Oracle{})
	t.Cleanup(s.Close)
	question := fmt.Sprintf(`{"role":"user","content":%q}`, fmt.Sprintf("What is the value of the key %q? %s", first, lastQuestion))
	documents := `{"role":"user","content":"In the documents about \"the mill\": what is the lost wheel called?"}`
	searched := func(query string, page int, result string) string {
		c := searchCall(query, page)
		return fmt.Sprintf(`,{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":%q,"arguments":%q}}]},{"role":"tool","content":%q}`,
			c.Function.Name, c.Function.Arguments, result)
	}
	pair := fmt.Sprintf(`{"content":"Key: %s. Value: %s."}`, first, second)
	for name, c := range map[string]struct{ messages, want string }{
		"the question":        {question, fmt.Sprintf(`archival_search {"page":1,"query":%q,"request_heartbeat":true}`, first)},
		"a value":             {question + searched(first, 1, "Page 1 of 3: x\n"+pair), fmt.Sprintf(`archival_search {"page":1,"query":%q,"request_heartbeat":true}`, second)},
		"no key on this page": {question + searched(second, 1, "Page 1 of 3: x\n"+pair), fmt.Sprintf(`archival_search {"page":2,"query":%q,"request_heartbeat":true}`, second)},
		"the last page":       {question + searched(second, 3, "Page 3 of 3: x\n"+pair), fmt.Sprintf(`send_message {"message":%q}`, second)},
		"nothing of it":       {question + searched(second, 2, "Page 2 of 3: x\n{}"), fmt.Sprintf(`send_message {"message":%q}`, second)},
		"after the answer":    {question + `,{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"send_message","arguments":"{}"}}]},{"role":"tool","content":"delivered"}`, "conversation_search {}"},
		"documents":           {documents, `archival_search {"page":1,"query":"the mill","request_heartbeat":true}`},
		"another page":        {documents + searched("the mill", 1, "Page 1 of 2: x\n"+`{"content":"It turns."}`), `archival_search {"page":2,"query":"the mill","request_heartbeat":true}`},
		"the answer":          {documents + searched("the mill", 2, "Page 2 of 2: x\n"+`{"content":"They say the lost wheel is called Old Tom. It turns."}`), `send_message {"message":"Old Tom"}`},
		"no answer":           {documents + searched("the mill", 2, "Page 2 of 2: x"), `send_message {"message":"I do not know."}`},
	} {
		body := `{"tools":[{}],"messages":[{"role":"system","content":"x"},` + c.messages + `]}`
		resp := must.Get(http.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(body)))(t)
		var answer struct {
			Choices []struct {
				Message chatMessage `json:"message"`
			} `json:"choices"`
		}
		err := json.NewDecoder(resp.Body).Decode(&answer)
		_ = resp.Body.Close()
		if err != nil || len(answer.Choices) != 1 || len(answer.Choices[0].Message.ToolCalls) != 1 {
			t.Fatalf("%s: %v %v", name, answer, err)
		}
		f := answer.Choices[0].Message.ToolCalls[0].Function
		if got := f.Name + " " + f.Arguments; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
