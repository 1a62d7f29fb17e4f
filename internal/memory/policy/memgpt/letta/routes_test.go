package letta_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// lettaFile is an agent file as Letta writes it, with things that are not carried.
const lettaFile = `{"agents":[{"name":"Sam","memory_blocks":[],"tools":[],"tool_ids":["tool-0","tool-1"],"source_ids":["source-0"],"block_ids":["block-1","block-0"],
	"tool_rules":[{"tool_name":"send_message","type":"exit_loop","prompt_template":null},{"tool_name":"conversation_search","type":"max_count_per_step","max_count_limit":2},
		{"tool_name":"roll_dice","type":"constrain_child_tools","children":["send_message"]}],
	"tags":["demo"],"system":"You are Sam.","agent_type":"memgpt_agent","llm_config":{"model":"gpt-4o-mini","context_window":32000},
	"tool_exec_environment_variables":{"DICE_KEY":"hunter2-dice"},"secrets":[{"key":"OTHER","value":"hunter3"}],"metadata":null,"description":"An agent.",
	"id":"agent-0","in_context_message_ids":["message-0","message-1","message-2","message-3","message-4"],"messages":[
	{"type":"message","role":"system","content":[{"type":"text","text":"You are Sam. <memory>"}],"id":"message-0","tool_calls":null,"tool_call_id":null,"tool_returns":[],"created_at":"2025-10-31T22:56:56.459100+00:00"},
	{"type":"message","role":"user","content":[{"type":"text","text":"{\"type\":\"user_message\",\"message\":\"My dog is called Rex.\",\"time\":\"x\"}"}],"id":"message-1","tool_calls":null,"tool_returns":[],"created_at":"2025-10-31T22:57:00+00:00"},
	{"type":"message","role":"assistant","content":[{"type":"text","text":"A dog!"}],"id":"message-2","tool_calls":[{"id":"call-1","type":"function","function":{"name":"archival_memory_insert","arguments":"{\"content\":\"Rex\"}"}}],"tool_returns":[],"created_at":"2025-10-31T22:57:01+00:00"},
	{"type":"message","role":"tool","content":[{"type":"text","text":"{\"status\":\"OK\",\"message\":\"None\",\"time\":\"x\"}"}],"name":"archival_memory_insert","id":"message-3","tool_call_id":"call-1","tool_calls":null,"tool_returns":[],"created_at":"2025-10-31T22:57:02+00:00"},
	{"type":"message","role":"assistant","content":[],"id":"message-4","tool_calls":[{"id":"call-2","type":"function","function":{"name":"send_message","arguments":"{\"message\":\"Nice name!\"}"}}],"tool_returns":[],"created_at":"2025-10-31T22:57:03+00:00"}],
	"files_agents":[],"group_ids":[]}],"groups":[],
	"blocks":[{"value":"Has a dog.","limit":20000,"label":"human","read_only":false,"description":"The human.","metadata":{"a":1},"hidden":null,"id":"block-0"},
		{"value":"I am Sam.","limit":100000,"label":"persona","read_only":true,"description":null,"metadata":{},"id":"block-1"}],
	"files":[{"id":"file-0","file_name":"a.txt"}],"sources":[{"id":"source-0","name":"docs"}],
	"tools":[{"id":"tool-0","tool_type":"letta_core","name":"send_message","source_code":null,"json_schema":{}},
		{"id":"tool-1","tool_type":"custom","name":"roll_dice","source_type":"python","source_code":"import os; os.system('touch /tmp/rolled')","json_schema":{}}],
	"mcp_servers":[{"id":"mcp_server-0","server_type":"sse","server_name":"x"}],"metadata":{"revision_id":"1"},"created_at":"2025-10-31T22:58:00+00:00"}`

// C116, C118, C120, C134, C153: an agent file of Letta becomes the memory of an agent: blocks, messages with their calls,
// rules of tools. What is not carried is listed, and secrets are nowhere.
func TestAgentFile(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "sam", "memgpt")
	got := b.Call(t, "one", "POST", c+"/agent-file", lettaFile).Want(http.StatusAccepted)
	if got.Text("agent") != "Sam" || got.Number("messages") != 5 || got.Number("tool_rules") != 1 || got.Length("blocks") != 2 || got.Text("tools.0") != "send_message" {
		t.Errorf("the report is %s", got.Body)
	}
	var report struct {
		Left []struct {
			Path string `json:"path"`
		} `json:"not_carried"`
	}
	must.Do(t, json.Unmarshal(got.Body.Bytes(), &report))
	var paths []string
	for _, l := range report.Left {
		paths = append(paths, l.Path)
	}
	for _, path := range []string{
		"agents.0.llm_config", "agents.0.secrets", "agents.0.source_ids", "agents.0.system", "agents.0.tool_exec_environment_variables", "blocks.1.limit", "files", "mcp_servers", "sources", "tool_rules.2", "tools.1",
	} {
		if !slices.Contains(paths, path) {
			t.Errorf("%s is not among what is not carried: %v", path, paths)
		}
	}
	results := b.Call(t, "one", "GET", "/v1/jobs/"+got.Text("job.id")+"/results", "").Want(http.StatusOK)
	if strings.Contains(results.Body.String(), `"error"`) {
		t.Errorf("results: %s", results.Body)
	}
	if persona := b.Call(t, "one", "GET", c+"/blocks/persona", "").Want(http.StatusOK); persona.Text("value") != "I am Sam." || persona.At("read_only") != true || persona.Number("limit") != 65536 {
		t.Errorf("persona is %s", persona.Body)
	}
	if human := b.Call(t, "one", "GET", c+"/blocks/human", "").Want(http.StatusOK); human.Text("value") != "Has a dog." || human.Text("description") != "The human." || human.Number("limit") != 20000 {
		t.Errorf("human is %s", human.Body)
	}
	found := b.Use(t, c, "conversation_search", map[string]any{"query": "name of the dog"})
	if text := found.Text("result"); !strings.Contains(text, "My dog is called Rex.") || !strings.Contains(text, "Nice name!") || strings.Contains(text, "call-1") {
		t.Errorf("recall has %s", found.Body)
	}
	seen := b.Script(apptest.Calls(t, "send_message", map[string]any{"message": "Rex."}))
	b.Says(t, c, "What is my dog called?")
	var shape []string
	for _, turn := range (*seen)[0].Turns[1:] {
		shape = append(shape, string(turn.Role))
		for _, call := range turn.Calls {
			shape = append(shape, call.Name)
		}
	}
	if want := "user assistant archival_insert tool assistant send_message tool user"; strings.Join(shape, " ") != want {
		t.Errorf("the request has %v", shape)
	}

	before := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK).Length("items")
	again := b.Call(t, "one", "POST", c+"/agent-file", lettaFile).Want(http.StatusAccepted)
	if n := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK).Length("items"); again.Length("blocks") != 0 || n != before {
		t.Errorf("the second import writes %d messages, and %s", n-before, again.Body)
	}
	out := b.Call(t, "one", "GET", c+"/agent-file", "").Want(http.StatusOK).Body.String()
	collection := b.Call(t, "one", "GET", c, "").Want(http.StatusOK).Body.String()
	for _, secret := range []string{"hunter2", "hunter3", "os.system", "DICE_KEY"} {
		if strings.Contains(out+collection, secret) {
			t.Errorf("%s was stored", secret)
		}
	}
	if !strings.Contains(out, `"name":"roll_dice"`) || !strings.Contains(out, `"name":"archival_memory_insert"`) {
		t.Errorf("the export has no names of tools: %s", out)
	}
}

// The older form has one agent at the top.
func TestOldAgentFile(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "old", "memgpt")
	const file = `{"agent_type":"memgpt_agent","core_memory":[{"created_at":"2025-04-01T03:47:27","description":null,"is_template":false,"label":"human","limit":5000,"metadata_":{},"template_name":null,"updated_at":"2025-04-01T03:47:27","value":"First name: Chad"}],
		"created_at":"2025-04-01T03:47:27","description":"x","embedding_config":{"embedding_dim":1536},"llm_config":{"model":"gpt-4"},"message_buffer_autoclear":false,"in_context_message_indices":[0,2],
		"messages":[{"created_at":"2025-04-01T03:47:27.492924","group_id":null,"model":"gpt-4","name":null,"role":"system","content":[{"type":"text","text":"You are Letta"}],"tool_call_id":null,"tool_calls":[],"tool_returns":[],"updated_at":"2025-04-01T03:47:27"},
			{"created_at":"2025-04-01T03:47:28","role":"user","content":[{"type":"text","text":"I like sailing."}],"tool_calls":[],"tool_returns":[]},
			{"created_at":"2025-04-01T03:47:29","role":"assistant","content":[{"type":"text","text":"So do I."}],"tool_calls":[],"tool_returns":[]}],
		"metadata_":null,"multi_agent_group":null,"name":"memgpt_agent","system":"You are Letta","tags":[{"tag":"x"}],"tool_exec_environment_variables":[{"created_at":"x","key":"TAVILY_KEY","value":"hunter2","description":null,"updated_at":"x"}],
		"tool_rules":[],"tools":[{"name":"core_memory_append","source_code":null,"json_schema":{}}],"updated_at":"x","version":"0.6.47"}`
	got := b.Call(t, "one", "POST", c+"/agent-file", file).Want(http.StatusAccepted)
	if got.Number("messages") != 3 || got.Text("blocks.0") != "human" || got.Text("tools.0") != "core_memory_append" || strings.Contains(got.Body.String(), "hunter2") || !strings.Contains(got.Body.String(), "TAVILY_KEY") {
		t.Errorf("the report is %s", got.Body)
	}
	seen := b.Script(apptest.Calls(t, "send_message", map[string]any{"message": "Hello."}))
	b.Says(t, c, "Hello.")
	if turns := (*seen)[0].Turns; !strings.Contains(turns[1].Text, "1 messages have left the window") || turns[2].Text != "So do I." {
		t.Errorf("the request has %v", turns[1:])
	}
	if found := b.Use(t, c, "conversation_search", map[string]any{"query": "sailing"}); !strings.Contains(found.Text("result"), "I like sailing.") {
		t.Errorf("recall has %s", found.Body)
	}
}

// An exported agent comes back as it was: blocks, messages with their ids, the summary, passages, rules, and what a model
// is asked next. Exporting it again gives the same file.
func TestAgentFileRoundTrip(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Agent(t, "first", `{"window":6000,"approve":["memory_rethink"],"tool_rules":[{"tool":"send_message","rule":"after","after":["archival_insert","core_memory_append"]},{"tool":"grep_files","rule":"most","most":2}]}`)
	b.Call(t, "one", "PUT", c+"/blocks/plans", apptest.JSON(t, map[string]any{"value": "Sail to Porto 🚤", "limit": 99, "description": "What is planned", "read_only": true, "metadata": map[string]any{"n": 1}})).Want(http.StatusCreated)
	b.Call(t, "one", "POST", c+"/messages", apptest.JSON(t, map[string]any{"messages": []map[string]any{
		{"role": "user", "name": "Ann", "content": `{"type":"user_message","message":"not packed by Letta","time":"x"}`, "session": 7},
		{"role": "developer", "content": "Be brief."}, {"role": "tool", "content": "a result of elsewhere"},
	}})).Want(http.StatusAccepted)
	b.Call(t, "one", "POST", c+"/notes", apptest.JSON(t, map[string]any{"content": "A note.", "tags": []string{"x"}, "importance": 0.25, "infer": false})).Want(http.StatusCreated)
	n := 0
	b.Converse(func(d memory.Dialogue) memory.Turn {
		if n++; n%2 == 1 {
			return apptest.Calls(t, "archival_insert", map[string]any{"content": fmt.Sprintf("Passage %d.", n), "tags": []string{"tide"}, "request_heartbeat": true}, "core_memory_append", "{broken")
		}
		return apptest.Calls(t, "send_message", map[string]any{"message": fmt.Sprintf("Reply %d.", n)})
	})
	for i := range 12 {
		b.Pass(1_000_000_000)
		b.Says(t, c, fmt.Sprintf("Message %d. ", i)+strings.Repeat("The tide is high. ", 60))
	}
	first := b.Call(t, "one", "GET", c+"/agent-file", "").Want(http.StatusOK).Body.String()
	if !strings.Contains(first, "summary of the previous") {
		t.Error("the queue was not flushed; the test is too small")
	}
	b.Pass(1_000_000_000)
	d := b.Space(t, "second", "memgpt")
	got := b.Call(t, "one", "POST", d+"/agent-file", first).Want(http.StatusAccepted)
	if results := b.Call(t, "one", "GET", "/v1/jobs/"+got.Text("job.id")+"/results", "").Want(http.StatusOK).Body.String(); strings.Contains(results, `"error"`) {
		t.Errorf("results: %s", results)
	}
	b.RunJobs(t)
	second := b.Call(t, "one", "GET", d+"/agent-file", "").Want(http.StatusOK).Body.String()
	// The prompt says what time it is, and so do the file and its own message.
	changes := regexp.MustCompile(`"created_at":"[^"]*"|It is [^.]*UTC|"name":"(first|second)"`)
	if a, z := changes.ReplaceAllString(first, ""), changes.ReplaceAllString(second, ""); a != z {
		at := 0
		for at < min(len(a), len(z)) && a[at] == z[at] {
			at++
		}
		t.Errorf("the files differ at\n%.300s\n%.300s", a[max(0, at-100):], z[max(0, at-100):])
	}
	for _, path := range []string{"/messages?limit=200", "/notes?limit=200&kind=passage", "/notes?limit=200&kind=note", "/notes?limit=200&kind=summary"} {
		shown := func(c string) string {
			var page struct {
				Items []map[string]any `json:"items"`
			}
			must.Do(t, json.Unmarshal(b.Call(t, "one", "GET", c+path, "").Want(http.StatusOK).Body.Bytes(), &page))
			for _, item := range page.Items {
				for _, own := range []string{"created_at", "updated_at", "collection", "layer", "revision", "version", "actor", "analyst", "state", "provenance", "etag"} {
					delete(item, own)
				}
			}
			return apptest.JSON(t, page.Items)
		}
		if a, z := shown(c), shown(d); a != z {
			t.Errorf("%s:\n%.2000s\n%.2000s", path, a, z)
		}
	}
	if a, z := b.Call(t, "one", "GET", c+"/context", "").Want(http.StatusOK).Body.String(), b.Call(t, "one", "GET", d+"/context", "").Want(http.StatusOK).Body.String(); a != z {
		t.Errorf("the contexts differ:\n%s\n%s", a, z)
	}
}

// Bad files change nothing, and the refusal says where they are wrong.
func TestBadAgentFiles(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "bad", "memgpt")
	blocks := func(list string) string {
		return `{"agents":[{"id":"agent-0","name":"x","block_ids":["b0","b1"]}],"blocks":` + list + `,"tools":[]}`
	}
	for name, bad := range map[string]struct {
		file   string
		status int
		field  string
	}{
		"cut off":          {lettaFile[:len(lettaFile)/2], 400, ""},
		"a list":           {`[]`, 422, ""},
		"another format":   {`{"name":"Ada","history":{"2023-05-01":[{"query":"I moved.","response":"How so?"}]},"summary":{"2023-05-01":"Ada moved."}}`, 422, ""},
		"equal labels":     {blocks(`[{"id":"b0","label":"x","value":""},{"id":"b1","label":"x","value":""}]`), 422, "blocks.1.label"},
		"a line break":     {blocks(`[{"id":"b0","label":"a\nb","value":""},{"id":"b1","label":"x","value":""}]`), 422, "blocks.0.label"},
		"a long block":     {blocks(`[{"id":"b0","label":"y","value":"🚤🚤🚤","limit":2},{"id":"b1","label":"x","value":""}]`), 422, "blocks.0.value"},
		"a very long one":  {blocks(`[{"id":"b0","label":"y","value":"` + strings.Repeat("x", 70_000) + `","limit":100000},{"id":"b1","label":"x","value":""}]`), 422, "blocks.0.value"},
		"a later version":  {`{"agents":[{"id":"agent-0","metadata":{"slipbox":{"version":9}}}]}`, 422, "agents.0.metadata.slipbox.version"},
		"another kind":     {`{"agents":[{"id":"agent-0","metadata":{"slipbox":{"version":1,"notes":[{"kind":"file"}]}}}]}`, 422, "metadata.slipbox.notes.0.kind"},
		"a bad setting":    {`{"agents":[{"id":"agent-0","metadata":{"slipbox":{"version":1,"policy_config":{"window":1}}}}]}`, 422, "policy_config.window"},
		"more after it":    {lettaFile + "{}", 400, ""},
		"nothing":          {"", 400, ""},
		"null":             {"null", 422, ""},
		"no agent":         {`{"agents":[]}`, 422, "agents"},
		"agents as text":   {`{"agents":"Ada"}`, 422, "agents"},
		"an agent as text": {`{"agents":["Ada"]}`, 422, "agents.0"},
		"a name as number": {`{"agents":[{"id":"agent-0","name":7}]}`, 422, "agents.0.name"},
		"no such block":    {`{"agents":[{"id":"agent-0","block_ids":["block-9"]}]}`, 422, "agents.0.block_ids.0"},
		"no such tool":     {`{"agents":[{"id":"agent-0","tool_ids":["tool-9"]}]}`, 422, "agents.0.tool_ids.0"},
		"a limit as text":  {`{"agents":[{"id":"agent-0"}],"blocks":[{"id":"block-0","label":"human","limit":"x"}]}`, 422, "blocks.limit"},
		"no version":       {`{"agents":[{"id":"agent-0","metadata":{"slipbox":{}}}]}`, 422, "agents.0.metadata.slipbox.version"},
		"an old index":     {`{"core_memory":[],"messages":[],"in_context_message_indices":[0]}`, 422, "in_context_message_indices.0"},
		"an old block":     {`{"core_memory":[{"label":7}]}`, 422, "core_memory.label"},
	} {
		got := b.Call(t, "one", "POST", c+"/agent-file", bad.file)
		if got.Code != bad.status || bad.field != "" && got.Text("errors.0.field") != bad.field {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
		if list := b.Call(t, "one", "GET", c+"/blocks", "").Want(200); list.Length("items") != 2 || list.Text("items.0.value") != "" {
			t.Errorf("%s: blocks were written: %s", name, list.Body)
		}
	}
	several := `{"agents":[{"id":"agent-0","name":"x"},{"id":"agent-1","name":"Ada"}]}`
	b.Call(t, "one", "POST", c+"/agent-file", several).Refused(422, fault.Invalid, "agent")
	if got := b.Call(t, "one", "POST", c+"/agent-file?agent=Ada", several).Want(202); got.Text("agent") != "Ada" || got.Text("not_carried.0.path") != "agents.0" {
		t.Errorf("%s", got.Body)
	}
	plain := b.Space(t, "plain", "none")
	b.Call(t, "one", "POST", plain+"/agent-file", lettaFile).Refused(422, fault.Invalid, "")
	b.Call(t, "one", "GET", plain+"/agent-file", "").Refused(422, fault.Invalid, "")
	b.Call(t, "reader", "POST", c+"/agent-file", lettaFile).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "ada", "POST", c+"/agent-file", lettaFile).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "two", "POST", c+"/agent-file", lettaFile).Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "two", "GET", c+"/agent-file", "").Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "writer", "GET", c+"/agent-file", "").Refused(http.StatusForbidden, fault.Forbidden, "")
}
