package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestListPolicies(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	got := b.Call(t, "reader", "GET", "/v1/policies", "").Want(http.StatusOK)
	var names []string
	for i := range got.Length("items") {
		at := fmt.Sprintf("items.%d.", i)
		name := got.Text(at + "name")
		names = append(names, name)
		defaults, _ := got.At(at + "defaults").(map[string]any)
		properties, _ := got.At(at + "schema.properties").(map[string]any)
		if got.At(at+"schema.additionalProperties") != false || len(properties) != len(defaults) || got.Text(at+"title") == "" {
			t.Errorf("%s: %d defaults, %d properties", name, len(defaults), len(properties))
		}
		for field, value := range defaults {
			// The documented default is a valid value.
			config := must.Get(json.Marshal(map[string]any{field: value}))(t)
			b.Call(t, "one", "POST", "/v1/collections", fmt.Sprintf(`{"name":%q,"policy":%q,"policy_config":%s}`, name+"-"+field, name, config)).Want(http.StatusCreated)
		}
		if reading := at + "reading."; got.At(reading+"messages") != (strings.HasPrefix(name, "mem0") || name == "memoryos") || (got.Length(reading+"kinds") == 0) != (name == "amem" || name == "none") ||
			(got.Number(reading+"recent") > 0) != (got.Length(reading+"pinned") > 0) || (got.At(reading+"k") != nil) != (name == "memorybank" || name == "memoryos" || name == "layered") {
			t.Errorf("%s: it is read as %v", name, got.At(at+"reading"))
		}
		if exchanges := got.At(at+"exchanges") == true; exchanges != (name != "amem" && name != "memgpt" && name != "none") {
			t.Errorf("%s: exchanges is %t", name, exchanges)
		}
	}
	if want := []string{"amem", "layered", "mem0", "mem0g", "memgpt", "memorybank", "memoryos", "none"}; !slices.Equal(names, want) {
		t.Errorf("policies are %v, want %v", names, want)
	}
	b.Call(t, "writer", "GET", "/v1/policies", "").Refused(http.StatusForbidden, fault.Forbidden, "")
}

// The settings of every policy are validated when a collection is created and when it is changed.
func TestPolicySettingsAreChecked(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for policy, tt := range map[string]struct{ good, bad, field string }{
		"layered":    {`{"working_capacity":7,"decay_days":3.5}`, `{"working_capacity":0}`, "policy_config.working_capacity"},
		"mem0":       {`{"similar":7}`, `{"similar":"many"}`, "policy_config.similar"},
		"mem0g":      {`{"node_similarity":0.8}`, `{"node_similarity":7}`, "policy_config.node_similarity"},
		"memgpt":     {`{"window":16384,"warn":0.8}`, `{"window":100}`, "policy_config.window"},
		"memoryos":   {`{"preset":"paper","heat_threshold":7.5}`, `{"mid_capacity":0}`, "policy_config.mid_capacity"},
		"memorybank": {`{"forgetting":"random","tau":3}`, `{"forgetting":"always"}`, "policy_config.forgetting"},
	} {
		c := b.Space(t, policy, policy)
		got := b.Call(t, "one", "PATCH", c, `{"policy_config":`+tt.good+`}`).Want(http.StatusOK)
		var want map[string]any
		must.Do(t, json.Unmarshal([]byte(tt.good), &want))
		for field, value := range want {
			if got.At("policy_config."+field) != value {
				t.Errorf("%s: %s", policy, got.Body)
			}
		}
		b.Call(t, "one", "PATCH", c, `{"policy_config":`+tt.bad+`}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, tt.field)
		b.Call(t, "one", "PATCH", c, `{"policy_config":{"flavor":"red"}}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "policy_config.flavor")
		b.Call(t, "one", "PATCH", c, `{"policy_config":7}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "policy_config")
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"new-`+policy+`","policy":"`+policy+`","policy_config":`+tt.bad+`}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, tt.field)
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"new-`+policy+`","policy":"`+policy+`","policy_config":{"flavor":1}}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "policy_config.flavor")
		if again := b.Call(t, "one", "GET", c, "").Want(http.StatusOK); again.At("policy_config.flavor") != nil || again.Number("head_revision") != got.Number("head_revision") {
			t.Errorf("%s: a refused change was made: %s", policy, again.Body)
		}
		if got := b.Call(t, "one", "PATCH", c, `{"policy_config":null}`).Want(http.StatusOK); len(got.At("policy_config").(map[string]any)) != 0 {
			t.Errorf("%s: null does not clear: %s", policy, got.Body)
		}
	}
}

// C244: the costs of adds and of answers are listed by purpose.
func TestGetCosts(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "mem0")
	id := uuid.MustParse(strings.TrimPrefix(c, "/v1/collections/"))
	if got := b.Call(t, "reader", "GET", c+"/costs", "").Want(http.StatusOK); got.Number("adds") != 0 || got.Length("purposes") != 0 || got.Length("days") != 0 || got.Number("per_add.calls") != 0 ||
		got.Text("from") != "2026-01-30" || got.Text("to") != "2026-03-01" {
		t.Errorf("%s", got.Body)
	}
	for range 2 {
		b.Call(t, "one", "POST", c+"/messages", `{"on_duplicate":"keep","messages":[{"content":"I live in Lisbon."},{"role":"assistant","content":"Nice."}]}`).Want(http.StatusAccepted)
	}
	if err := b.Store.AddModelUse(t.Context(), b.Scopes["one"].Scope, []memory.ModelUse{
		{Collection: id, Purpose: "extract", Day: "2026-03-01", Calls: 2, PromptTokens: 30, CompletionTokens: 5},
		{Collection: id, Purpose: "chat", Day: "2026-03-01", Calls: 4, PromptTokens: 400, CompletionTokens: 44},
		{Collection: uuid.New(), Purpose: "chat", Day: "2026-03-01", Calls: 4},
	}); err == nil {
		t.Error("use of a collection that is not there was taken")
	}
	must.Do(t, b.Store.AddModelUse(t.Context(), b.Scopes["one"].Scope, []memory.ModelUse{
		{Collection: id, Purpose: "extract", Day: "2026-03-01", Calls: 2, PromptTokens: 30, CompletionTokens: 5},
		{Collection: id, Purpose: "chat", Day: "2026-03-01", Calls: 4, PromptTokens: 400, CompletionTokens: 44},
	}))
	got := b.Call(t, "reader", "GET", c+"/costs?from=2026-03-01&to=2026-03-01", "").Want(http.StatusOK)
	for path, want := range map[string]any{
		"adds": 2.0, "answers": 4.0, "per_add.calls": 1.0, "per_add.prompt_tokens": 15.0, "per_add.completion_tokens": 2.5,
		"per_answer.calls": 1.0, "per_answer.prompt_tokens": 100.0, "per_answer.completion_tokens": 11.0,
		"purposes.0.purpose": "chat", "purposes.1.purpose": "extract", "purposes.1.calls": 2.0,
		"days.0.day": "2026-03-01", "days.0.adds": 2.0, "days.0.calls": 6.0, "days.0.prompt_tokens": 430.0, "days.0.completion_tokens": 49.0,
	} {
		if got.At(path) != want {
			t.Errorf("%s is %v, want %v", path, got.At(path), want)
		}
	}
	if got := b.Call(t, "reader", "GET", c+"/costs?to=2026-02-28", "").Want(http.StatusOK); got.Number("adds") != 0 || got.Number("answers") != 0 {
		t.Errorf("%s", got.Body)
	}
	for parameters, field := range map[string]string{"from=2026-03-02": "from", "from=2020-01-01": "from", "to=2026-02-30": "to", "from=x": "from", "per=add": "per"} {
		b.Call(t, "reader", "GET", c+"/costs?"+parameters, "").Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
	b.Call(t, "two", "GET", c+"/costs", "").Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "writer", "GET", c+"/costs", "").Refused(http.StatusForbidden, fault.Forbidden, "")
}

// livesIn answers the calls of mem0g about who says where they live, as a model does.
func livesIn(c memory.Call) (memory.Answer, error) {
	place := func(said string) string {
		if strings.Contains(said, "Shanghai") {
			return "Shanghai"
		}
		return "Beijing"
	}
	var out any
	switch in := c.Input.(type) {
	case mem0.ExtractInput:
		out = mem0.Extraction{Facts: []string{"User lives in " + place(in.New[0].Content)}}
	case mem0.DecideInput:
		out = mem0.FactDecision{Operation: mem0.OpDelete, Target: new(0)}
	case mem0.EntitiesInput:
		out = mem0.EntitiesFound{Entities: []mem0.Entity{{Entity: place(in.Texts[0]), Type: "place"}}}
	case mem0.RelationsInput:
		out = mem0.RelationsFound{Relations: []mem0.Triple{{Source: "User", Relation: "lives_in", Destination: place(in.Texts[0])}}}
	case mem0.ConflictsInput:
		out = mem0.ConflictsFound{Invalidate: in.Existing}
	}
	raw, err := json.Marshal(out)
	return memory.Answer{JSON: raw, Analyst: memory.AnalystModel, Model: "scripted"}, err
}

// A fact that is no longer true is listed as a past one.
func TestListFacts(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Model.AnswerCalls(livesIn)
	c := b.Space(t, "talk", "mem0g")
	for _, said := range []string{
		`{"content":"I live in Beijing.","occurred_at":"2025-01-01T00:00:00Z"}`,
		`{"content":"I live in Shanghai now.","occurred_at":"2025-06-01T00:00:00Z"}`,
	} {
		b.Call(t, "one", "POST", c+"/messages", `{"messages":[`+said+`]}`).Want(http.StatusAccepted)
		b.RunJobs(t)
	}
	list := func(parameters string) []string {
		t.Helper()
		got := b.Call(t, "reader", "GET", c+"/facts?"+parameters, "").Want(http.StatusOK)
		out := []string{}
		for i := range got.Length("items") {
			at := fmt.Sprintf("items.%d.", i)
			if got.Length(at+"sources") == 0 || got.Number(at+"mentions") < 1 || uuid.Validate(got.Text(at+"subject_id")) != nil {
				t.Errorf("%s", got.Body)
			}
			if valid := got.At(at+"valid") == true; valid != (got.At(at+"invalidated_at") == nil) {
				t.Errorf("%s", got.Body)
			}
			out = append(out, got.Text(at+"relation")+" "+got.Text(at+"object"))
		}
		return out
	}
	has := func(list []string, place string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, place) })
	}
	now, ever := list(""), list("valid=any")
	if !has(now, "Shanghai") || has(now, "Beijing") {
		t.Errorf("now: %v", now)
	}
	if !has(ever, "Beijing") || !has(ever, "Shanghai") {
		t.Errorf("ever: %v", ever)
	}
	if gone := list("valid=false"); !has(gone, "Beijing") || has(gone, "Shanghai") {
		t.Errorf("no longer: %v", gone)
	}
	if then := list("valid_at=2025-03-01T00:00:00Z"); !has(then, "Beijing") || has(then, "Shanghai") {
		t.Errorf("in March 2025: %v", then)
	}
	if got := list("object=shanghai"); len(got) == 0 || !has(got, "Shanghai") {
		t.Errorf("by object: %v", got)
	}
	if got := list("as_of=0"); len(got) != 0 {
		t.Errorf("before anything: %v", got)
	}
	if got := list("subject=nobody"); len(got) != 0 {
		t.Errorf("about nobody: %v", got)
	}
	first := b.Call(t, "reader", "GET", c+"/facts?valid=any&limit=1", "").Want(http.StatusOK)
	second := b.Call(t, "reader", "GET", c+"/facts?valid=any&limit=1&cursor="+first.Text("next_cursor"), "").Want(http.StatusOK)
	if first.Length("items") != 1 || second.Length("items") != 1 || first.At("items.0.object") == second.At("items.0.object") && first.At("items.0.relation") == second.At("items.0.relation") {
		t.Errorf("%s, then %s", first.Body, second.Body)
	}
	for parameters, field := range map[string]string{"valid=yes": "valid", "valid_at=then": "valid_at", "subject=": "subject", "limit=1000": "limit", "verb=is": "verb"} {
		b.Call(t, "reader", "GET", c+"/facts?"+parameters, "").Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
	b.Call(t, "two", "GET", c+"/facts", "").Refused(http.StatusNotFound, fault.NotFound, "")
	if got := b.Call(t, "reader", "GET", b.Space(t, "plain", "amem")+"/facts", "").Want(http.StatusOK); got.Length("items") != 0 {
		t.Errorf("%s", got.Body)
	}
}

// Notes that are not recalled fade: a dry run names them, applying deletes them, and they can be
// restored.
func TestForget(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "memorybank")
	said := b.Call(t, "one", "POST", c+"/messages", `{"messages":[
		{"user":"The harbour was foggy","assistant":"I like fog","occurred_at":"2025-01-01T09:00:00Z"},
		{"user":"I bought a red bicycle","assistant":"Ride safely","occurred_at":"2025-01-02T09:00:00Z"},
		{"user":"Good morning","assistant":"Good morning to you","occurred_at":"2026-03-01T08:00:00Z"}]}`).Want(http.StatusAccepted)
	forget := c + "/forget"
	// A recall a moment ago counts.
	if got := b.Call(t, "one", "POST", c+"/search", `{"query":"red bicycle","k":1}`).Want(http.StatusOK); !strings.Contains(got.Text("hits.0.note.content"), "bicycle") {
		t.Fatalf("%s", got.Body)
	}
	dry := b.Call(t, "one", "POST", forget, `{"dry_run":true}`).Want(http.StatusOK)
	head := b.Call(t, "one", "GET", c, "").Number("head_revision")
	if dry.Length("items") != 2 || dry.Number("forgotten") != 2 || dry.At("dry_run") != true || dry.Text("mode") != "threshold" || dry.Number("revision") != head ||
		dry.Text("items.0.note") != said.Text("messages.0.id") || dry.Number("items.0.retention") >= 0.05 || dry.Text("items.0.reason") == "" || dry.Text("items.0.kind") != "message" {
		t.Errorf("%s", dry.Body)
	}
	if none := b.Call(t, "one", "POST", forget, `{"dry_run":true,"floor":0}`).Want(http.StatusOK); none.Length("items") != 0 {
		t.Errorf("%s", none.Body)
	}
	done := b.Call(t, "one", "POST", forget, `{"mode":"threshold","floor":0.05,"tau":5}`).Want(http.StatusOK)
	if done.At("dry_run") != false || done.Number("forgotten") != 2 || done.Number("revision") != head+1 || apptest.JSON(t, done.At("items")) != apptest.JSON(t, dry.At("items")) {
		t.Errorf("%s", done.Body)
	}
	if left := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK).Texts("items.*.content"); !slices.Equal(left, []string{"I bought a red bicycle", "Ride safely", "Good morning", "Good morning to you"}) {
		t.Errorf("left are %v", left)
	}
	note := c + "/notes/" + said.Text("messages.0.id")
	if got := b.Call(t, "one", "GET", note+"/history", "").Want(http.StatusOK); got.Text("items.0.cause") != "forget" || got.At("items.0.deleted") != true {
		t.Errorf("%s", got.Body)
	}
	b.Call(t, "one", "POST", note+"/restore", `{"revision":1}`).Want(http.StatusOK)
	if got := b.Call(t, "one", "POST", forget, "").Want(http.StatusOK); got.Number("forgotten") > 1 {
		t.Errorf("%s", got.Body)
	}
	if got := b.Call(t, "one", "POST", forget, `{"mode":"random","dry_run":true}`).Want(http.StatusOK); got.Text("mode") != "random" {
		t.Errorf("%s", got.Body)
	}
	for body, field := range map[string]string{
		`{"mode":"all"}`: "mode", `{"floor":2}`: "floor", `{"tau":0}`: "tau", `{"dry_run":"yes"}`: "dry_run", `{"what":"all"}`: "what", `{"floor":null}`: "floor",
	} {
		b.Call(t, "one", "POST", forget, body).Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
	b.Call(t, "reader", "POST", forget, `{"dry_run":true}`).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "ada", "POST", forget, `{"dry_run":true}`).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "two", "POST", forget, `{"dry_run":true}`).Refused(http.StatusNotFound, fault.NotFound, "")
	for _, policy := range []string{"amem", "mem0", "mem0g", "none"} {
		got := b.Call(t, "one", "POST", b.Space(t, "other-"+policy, policy)+"/forget", `{"dry_run":true}`)
		if got.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", policy, got.Code, got.Body)
		}
	}
}

// A context names the days of its notes.
func TestContextDates(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "memorybank")
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"The kettle broke","occurred_at":"2023-05-02T09:00:00Z"},
		{"content":"I bought a kettle","occurred_at":"2023-05-01T09:00:00Z"}]}`).Want(http.StatusAccepted)
	got := b.Call(t, "reader", "POST", c+"/context", `{"query":"kettle"}`).Want(http.StatusOK)
	if apptest.JSON(t, got.At("dates")) != `["2023-05-01","2023-05-02"]` {
		t.Errorf("%s", got.Body)
	}
	b.Pass(time.Second)
	if none := b.Call(t, "reader", "POST", b.Space(t, "empty", "memorybank")+"/context", `{"query":"kettle"}`).Want(http.StatusOK); none.At("dates") != nil {
		t.Errorf("%s", none.Body)
	}
}
