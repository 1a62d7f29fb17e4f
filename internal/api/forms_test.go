package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
)

// form is a message as a program has it, and what is stored of it: each with its role and, where the form says it, its time.
type form struct {
	message string
	stored  []string // "role: content"
	at      string
	unread  int
}

// forms are messages as programs keep and send them.
func forms() map[string]form {
	return map[string]form{
		"chat completions":         {`{"role":"user","content":"I row.","name":null}`, []string{"user: I row."}, "", 0},
		"an answer of one":         {`{"role":"assistant","content":"Nice.","refusal":null,"annotations":[],"audio":null,"function_call":null,"tool_calls":null}`, []string{"assistant: Nice."}, "", 0},
		"an answer in words":       {`{"role":"assistant","content":null,"audio":{"id":"a","data":"UklGRg==","transcript":"Nice."}}`, []string{"assistant: Nice."}, "", 0},
		"a developer":              {`{"role":"developer","content":[{"type":"text","text":"Be short."}]}`, []string{"developer: Be short."}, "", 0},
		"a call":                   {`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`, nil, "", 1},
		"a result":                 {`{"role":"tool","tool_call_id":"c","content":"12 degrees"}`, []string{"tool: 12 degrees"}, "", 0},
		"responses":                {`{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Nice.","annotations":[],"logprobs":[]}]}`, []string{"assistant: Nice."}, "", 0},
		"responses, the user":      {`{"type":"message","role":"user","content":[{"type":"input_text","text":"I row."},{"type":"input_image","image_url":"data:image/png;base64,AA"},{"type":"input_file","file_id":"f"}]}`, []string{"user: I row."}, "", 2},
		"a call as an item":        {`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{\"a\":1}","status":"completed"}`, nil, "", 1},
		"its output":               {`{"type":"function_call_output","call_id":"c","output":"12 degrees"}`, []string{"tool: 12 degrees"}, "", 0},
		"its output in parts":      {`{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"12 degrees"}]}`, []string{"tool: 12 degrees"}, "", 0},
		"another output":           {`{"type":"custom_tool_call_output","call_id":"c","output":"12 degrees"}`, []string{"tool: 12 degrees"}, "", 0},
		"reasoning":                {`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":null}`, nil, "", 1},
		"a search":                 {`{"type":"web_search_call","id":"ws_1","status":"completed"}`, nil, "", 1},
		"assistants":               {`{"object":"thread.message","id":"msg_2","created_at":1769938200,"thread_id":"t","role":"user","content":[{"type":"text","text":{"value":"I row.","annotations":[]}}],"metadata":{}}`, []string{"user: I row."}, "2026-02-01T09:30:00Z", 0},
		"LangChain":                {`{"type":"human","content":"I row.","additional_kwargs":{},"response_metadata":{},"name":null,"id":null,"example":false}`, []string{"user: I row."}, "", 0},
		"LangChain, the answer":    {`{"type":"ai","content":[{"type":"text","text":"Nice."}],"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":{"input_tokens":3},"id":"run--1"}`, []string{"assistant: Nice."}, "", 0},
		"LangChain in a file":      {`{"type":"AIMessageChunk","data":{"content":"Nice.","additional_kwargs":{},"type":"AIMessageChunk","id":null}}`, []string{"assistant: Nice."}, "", 0},
		"LangChain, serialized":    {`{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"I row."}}`, []string{"user: I row."}, "", 0},
		"Google":                   {`{"role":"model","parts":[{"text":"Nice."},{"inlineData":{"mimeType":"image/png","data":"AA"}}]}`, []string{"assistant: Nice."}, "", 1},
		"Google, a call":           {`{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}`, nil, "", 1},
		"Google, its answer":       {`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":"12 degrees"}}}]}`, []string{"tool: 12 degrees"}, "", 0},
		"Google in Python":         {`{"role":"user","parts":[{"text":null,"function_call":null,"function_response":{"name":"f","response":{"output":"12 degrees"}}},{"text":"I row.","thought":null}]}`, []string{"tool: 12 degrees", "user: I row."}, "", 0},
		"Anthropic":                {`{"id":"msg_3","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"text","text":"Nice.","citations":null},{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1}}`, []string{"assistant: Nice."}, "", 2},
		"Anthropic, a result":      {`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"12 degrees"}]}]}`, []string{"tool: 12 degrees"}, "", 0},
		"Bedrock":                  {`{"role":"user","content":[{"text":"I row."},{"image":{"format":"png","source":{"bytes":"AA"}}},{"toolResult":{"toolUseId":"t","content":[{"text":"12 degrees"}],"status":"success"}}]}`, []string{"tool: 12 degrees", "user: I row."}, "", 1},
		"Cohere":                   {`{"role":"CHATBOT","message":"Nice."}`, []string{"assistant: Nice."}, "", 0},
		"Ollama":                   {`{"role":"user","content":"I row.","images":["iVBORw0KGgo="]}`, []string{"user: I row."}, "", 1},
		"the AI SDK":               {`{"id":"x1","role":"user","createdAt":"2026-02-01T09:30:00.000Z","content":"","parts":[{"type":"step-start"},{"type":"text","text":"I row."},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AA"}],"metadata":{"a":1}}`, []string{"user: I row."}, "2026-02-01T09:30:00Z", 2},
		"LlamaIndex":               {`{"role":"user","additional_kwargs":{},"blocks":[{"block_type":"text","text":"I row."}]}`, []string{"user: I row."}, "", 0},
		"AutoGen":                  {`{"source":"user","models_usage":null,"metadata":{},"content":"I row.","type":"TextMessage"}`, []string{"user: I row."}, "", 0},
		"Pydantic AI":              {`{"kind":"request","parts":[{"part_kind":"system-prompt","content":"Be short."},{"part_kind":"user-prompt","content":"I row.","timestamp":"2026-02-01T09:30:00Z"}]}`, []string{"user: I row."}, "", 1},
		"a data set":               {`{"from":"gpt","value":"Nice."}`, []string{"assistant: Nice."}, "", 0},
		"a download":               {`{"author":{"role":"user","name":null,"metadata":{}},"create_time":1769938200.5,"content":{"content_type":"text","parts":["I row."]},"status":"finished_successfully"}`, []string{"user: I row."}, "2026-02-01T09:30:00.5Z", 0},
		"a line of a coding agent": {`{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-02-01T10:30:00+01:00","message":{"role":"user","content":[{"type":"text","text":"I row."}]}}`, []string{"user: I row."}, "2026-02-01T09:30:00Z", 0},
		"a messenger":              {`{"sender":"Nora","text":"I row.","timestamp":1769938200000}`, []string{"user: I row."}, "2026-02-01T09:30:00Z", 0},
		"nulls":                    {`{"id":null,"role":null,"content":"I row.","name":null,"occurred_at":null,"session":null,"attributes":null,"expires_at":null,"ttl_seconds":null,"recalled":null,"user":null,"assistant":null}`, []string{"user: I row."}, "", 0},
		"nothing":                  {`{"role":"assistant","content":null}`, nil, "", 1},
		"milliseconds":             {`{"role":"bot","content":"Nice.","occurred_at":1769938200000}`, []string{"assistant: Nice."}, "2026-02-01T09:30:00Z", 0},
		"seconds as a text":        {`{"role":"ai","content":"Nice.","occurred_at":"1769938200"}`, []string{"assistant: Nice."}, "2026-02-01T09:30:00Z", 0},
		"a time without a zone":    {`{"role":"ai","content":"Nice.","occurred_at":"2026-02-01 09:30:00"}`, []string{"assistant: Nice."}, "2026-02-01T09:30:00Z", 0},
		"nanoseconds":              {`{"role":"ai","content":"Nice.","occurred_at":1769938200000000000}`, []string{"assistant: Nice."}, "2026-02-01T09:30:00Z", 0},
		"a time without seconds":   {`{"role":"ai","content":"Nice.","occurred_at":"2026-02-01T09:30"}`, []string{"assistant: Nice."}, "2026-02-01T09:30:00Z", 0},
		"Haystack":                 {`{"role":"user","meta":{},"name":null,"content":[{"text":"I row."}]}`, []string{"user: I row."}, "", 0},
		"an export of Claude's":    {`{"uuid":"u","text":"I row.","sender":"human","created_at":"2026-02-01T09:30:00Z","attachments":[],"files":[],"content":[{"type":"text","text":"I row."}]}`, []string{"user: I row."}, "2026-02-01T09:30:00Z", 0},
		"a position, no time":      {`{"role":"ai","content":"Nice.","timestamp":7}`, []string{"assistant: Nice."}, "", 0},
		"a text alone":             {`"I row."`, []string{"user: I row."}, "", 0},
		"a role as an object":      {`{"role":{"label":"assistant"},"content":"Nice."}`, []string{"assistant: Nice."}, "", 0},
		"Semantic Kernel":          {`{"Role":{"Label":"user"},"Items":[{"$type":"TextContent","Text":"I row."},{"$type":"ImageContent","Uri":"https://example.com/a.png"}],"ModelId":"m","Metadata":{"A":1}}`, []string{"user: I row."}, "", 1},
		"Semantic Kernel's tools":  {`{"Role":{"Label":"tool"},"Items":[{"$type":"FunctionResultContent","CallId":"c","FunctionName":"f","Result":"12 degrees"}]}`, []string{"tool: 12 degrees"}, "", 0},
		"Semantic Kernel, Python":  {`{"content_type":"message","role":"assistant","items":[{"content_type":"text","text":"Nice."},{"content_type":"function_call","id":"c","name":"f","arguments":"{}"}],"metadata":{}}`, []string{"assistant: Nice."}, "", 1},
		"Microsoft's extensions":   {`{"authorName":"Nora","role":"user","contents":[{"$type":"text","text":"I row."},{"$type":"functionResult","callId":"c","result":"12 degrees"}],"messageId":"x"}`, []string{"tool: 12 degrees", "user: I row."}, "", 0},
		"what a model adds":        {`{"role":"assistant","content":"Nice.","reasoning_content":"Hm.","finish_reason":"stop","weight":1}`, []string{"assistant: Nice."}, "", 0},
	}
}

// Messages are read in the forms of other programs, by the same reader at each door: the API, mem0's and MCP's.
func TestMessagesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	tools := connectMCP(t, listen(t, b), "one", "")
	n := 0
	for name, f := range forms() {
		n++
		own := "own" + strconv.Itoa(n)
		c := b.Space(t, own, "none")
		const last = `{"role":"user","content":"That is all."}`
		list := "[" + f.message + "," + last + "]"
		want := append(slices.Clone(f.stored), "user: That is all.")
		check := func(door, collection, ids string) {
			t.Helper()
			page := b.Call(t, "one", "GET", collection+"/messages"+ids, "").Want(http.StatusOK)
			var got []string
			for i, content := range page.Texts("items.*.content") {
				got = append(got, page.Text("items."+strconv.Itoa(i)+".role")+": "+content)
			}
			slices.Sort(got)
			if sorted := slices.Sorted(slices.Values(want)); !slices.Equal(got, sorted) {
				t.Errorf("%s, %s: %q, want %q", name, door, got, sorted)
			}
			if f.at != "" && !strings.Contains(page.Body.String(), `"occurred_at":"`+f.at+`"`) {
				t.Errorf("%s, %s: not at %s: %s", name, door, f.at, page.Body)
			}
		}
		answer := b.Call(t, "one", "POST", c+"/messages", `{"messages":`+list+`}`).Want(http.StatusAccepted)
		check("API", c, "")
		if unread, _ := answer.At("unread").(float64); int(unread) != f.unread {
			t.Errorf("%s: %v parts were not read, want %d", name, answer.At("unread"), f.unread)
		}
		var messages []any
		if err := json.Unmarshal([]byte(list), &messages); err != nil {
			t.Fatal(name, err)
		}
		byTool := b.Space(t, "tool"+strconv.Itoa(n), "none")
		tools.use("add_messages", map[string]any{"collection": "tool" + strconv.Itoa(n), "messages": messages})
		check("MCP", byTool, "")
		user := "mem0-" + strconv.Itoa(n)
		callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"messages":`+list+`,"user_id":"`+user+`"}`).Want(http.StatusOK)
		check("mem0", "/v1/collections/by", "?user="+user)
	}
}

// A query may be a dialogue in any of these forms: of a search, alone and among others, of a context and of a chat.
func TestDialoguesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "space", "none")
	b.Call(t, "one", "POST", c+"/notes", `{"content":"The ferry is green."}`).Want(http.StatusCreated)
	for name, f := range forms() {
		list := "[" + f.message + `,{"type":"human","content":[{"type":"text","text":"Which colour has the ferry?"}],"id":null,"name":null}]`
		for path, body := range map[string]string{
			"/search": `{"messages":` + list + `}`, "/context": `{"messages":` + list + `}`, "/chat": `{"remember":false,"messages":` + list + `}`,
		} {
			ofTool := path == "/chat" && slices.Contains(f.stored, "tool: 12 degrees") // our own chat has no calls, and says so
			if got := b.Call(t, "one", "POST", c+path, body); got.Code != http.StatusOK && !ofTool || got.Code == http.StatusOK && !strings.Contains(got.Body.String(), "green") {
				t.Errorf("%s, %s: %d %s", name, path, got.Code, got.Body)
			}
		}
		got := b.Call(t, "one", "POST", c+"/search", `{"queries":[{"messages":`+list+`},{"query":"ferry"}]}`).Want(http.StatusOK)
		if got.Text("results.0.hits.0.note.content") != "The ferry is green." {
			t.Errorf("%s, among others: %s", name, got.Body)
		}
	}
	for body, field := range map[string]string{
		`{"messages":[7]}`: "messages.0", `{"messages":["a",{"role":"narrator","content":"a"}]}`: "messages.1.role", `{"queries":[{"messages":[{"utterance":"a"}]}]}`: "queries.0.messages.0.content",
		`{"messages":[{"type":"reasoning","summary":[]}]}`: "messages", `{"messages":[{"content":"a","occurred_at":"yesterday at noon"}]}`: "messages.0.occurred_at",
		`{"messages":[{"contnet":"a"}]}`: "messages.0.contnet",
	} {
		b.Call(t, "one", "POST", c+"/search", body).Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
	said := b.Call(t, "one", "POST", c+"/chat", `{"messages":[{"author":{"role":"user"},"create_time":1769938200,"content":{"content_type":"text","parts":["I row on Sundays."]}}]}`).Want(http.StatusOK)
	if page := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK); !strings.Contains(page.Body.String(), "I row on Sundays.") || !strings.Contains(page.Body.String(), "2026-02-01T09:30:00Z") {
		t.Errorf("a chat is stored as %s; %s", page.Body, said.Body)
	}
}
