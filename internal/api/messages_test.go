package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
)

// C331: messages are accepted as {role, content} and as {user, assistant}.
func TestMessagesInBothForms(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "none")
	got := b.Call(t, "writer", "POST", c+"/messages", `{"messages":[
		{"role":"system","content":"be kind","occurred_at":"2023-05-01T08:00:00Z"},
		{"id":"p","user":"I like tea","assistant":"Which one?","name":"Ada","session":7,"occurred_at":"202305010900","attributes":{"mood":"fine"},"expires_at":"2099-01-01T00:00:00Z","recalled":true},
		{"user":"","assistant":"Nobody asked"},
		{"user":"Nobody answers"}]}`).Want(http.StatusAccepted)
	if got.Length("messages") != 5 || got.Number("revision") != 1 || got.At("job") != nil {
		t.Fatalf("%s", got.Body)
	}
	page := b.Call(t, "reader", "GET", c+"/messages", "").Want(http.StatusOK)
	if want := []string{"be kind", "I like tea", "Which one?", "Nobody asked", "Nobody answers"}; !slices.Equal(page.Texts("items.*.content"), want) {
		t.Fatalf("%v", page.Texts("items.*.content"))
	}
	if ids, want := page.Texts("items.*.id"), got.Texts("messages.*.id"); !slices.Equal(ids, want) {
		t.Errorf("the messages are %v, want %v", ids, want)
	}
	for path, want := range map[string]any{
		"items.0.role": "system", "items.1.role": "user", "items.2.role": "assistant", "items.3.role": "assistant", "items.4.role": "user",
		"items.1.name": "Ada", "items.2.name": nil, "items.1.message_id": "p/user", "items.2.message_id": "p/assistant", "items.1.session": 7.0,
		"items.1.occurred_at": "2023-05-01T09:00:00Z", "items.2.occurred_at": "2023-05-01T09:00:00Z", "items.1.attributes.mood": "fine",
		"items.1.recalled": true, "items.1.expires_at": "2099-01-01T00:00:00Z", "items.0.session": nil, "items.0.attributes": nil,
		"items.1.turn": page.At("items.2.turn"), "items.3.occurred_at": "2026-03-01T09:00:00Z",
	} {
		if got := page.At(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if page.At("items.0.turn") == page.At("items.1.turn") || page.At("items.2.turn") == page.At("items.3.turn") {
		t.Errorf("sessions share exchanges: %s", page.Body)
	}
}

// A message may have parts. An image becomes text before anything is learned from it.
func TestMessagesInParts(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "mem0")
	image := `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"},"description":"a brown dog\n on a beach"}`
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[
		{"content":[{"type":"text","text":"This is my dog Rex."},`+image+`]},
		{"role":"assistant","content":[{"type":"text","text":"He looks happy."}]},
		{"content":[`+image+`]}]}`).Want(http.StatusAccepted)
	got := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK)
	want := []string{"This is my dog Rex.\n[image: a brown dog on a beach]", "He looks happy.", "[image: a brown dog on a beach]"}
	if !slices.Equal(got.Texts("items.*.content"), want) || strings.Contains(got.Body.String(), "base64") {
		t.Errorf("%s", got.Body)
	}
}

// Parts of all known forms are read, what cannot be read is counted, and programs may name the roles otherwise.
func TestMessagesOfAllForms(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "none")
	got := b.Call(t, "one", "POST", c+"/messages", `{"messages":[
		{"role":"human","content":["A.",{"type":"input_text","text":"B."},{"type":"image_url","image_url":{"url":"x"}}]},
		{"role":"AI","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t","name":"f","input":{}}]},
		{"id":"m","role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"sunny"},{"type":"text","text":"Thanks."}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"u"}]},
		{"role":"function","content":"rain"},
		{"role":"assistant","content":null,"refusal":"No."}]}`).Want(http.StatusAccepted)
	page := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK)
	if want := []string{"A.\nB.", "I look.", "sunny", "Thanks.", "rain", "No."}; !slices.Equal(page.Texts("items.*.content"), want) || got.Number("unread") != 3 || got.Length("messages") != 6 {
		t.Errorf("%q, %s", page.Texts("items.*.content"), got.Body)
	}
	if roles := strings.Join(page.Texts("items.*.role"), " "); roles != "user assistant tool user tool assistant" {
		t.Errorf("the messages are by %s", roles)
	}
	if page.Text("items.2.message_id") != "m/tool" || page.Text("items.3.message_id") != "m" {
		t.Errorf("%s", page.Body)
	}
}

// Thinking and encoded data are no part of what is stored, at each door for messages.
func TestMessagesLeaveOutWhatWasNotSaid(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "none")
	data := "data:image/png;base64," + strings.Repeat("iVBORw0KGgoAAAANSUhEUg4A", 4000)
	reply, want := "<think>secret plan</think>\nHere: "+data+" Nice?", "[left out: thinking]\nHere: [left out: image/png, 96 kB] Nice?"
	text := strconv.Quote(reply)
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"assistant","content":`+text+`},{"user":"Hi","assistant":`+text+`},{"role":"assistant","content":[{"type":"text","text":`+text+`}]}]}`).Want(http.StatusAccepted)
	page := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK)
	if got := page.Texts("items.*.content"); !slices.Equal(got, []string{want, "Hi", want, want}) {
		t.Errorf("%.300q", got)
	}
	tools := connectMCP(t, listen(t, b), "one", "")
	tools.use("add_messages", map[string]any{"collection": "talk", "messages": []any{map[string]any{"role": "assistant", "content": reply + "2"}}})
	line := `{"id":"0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a11","kind":"message","content":` + strconv.Quote(reply+"3") + `,"attributes":{"role":"assistant"}}`
	b.Call(t, "one", "POST", c+"/import", line, "Content-Type", "application/x-ndjson").Want(http.StatusAccepted)
	b.RunJobs(t)
	b.Call(t, "one", "POST", c+"/notes", `{"kind":"message","content":"Look: `+data[:1000]+`","infer":false}`).Want(http.StatusCreated)
	mixed := "<think>a <think>b</think> c</think> Tea. " + data
	note := b.Call(t, "one", "POST", c+"/notes", apptest.Object(t, "content", mixed)).Want(http.StatusCreated).Text("note.id")
	b.Call(t, "one", "PATCH", c+"/notes/"+note, apptest.Object(t, "content", "Cake. "+data)).Want(http.StatusOK)
	b.Call(t, "one", "POST", c+"/notes/bulk", apptest.Object(t, "content", mixed), "Content-Type", "application/x-ndjson").Want(http.StatusOK)
	keys := "Look: " + strings.Repeat("mQINBGPq7sEBEADCz0vV5nPq", 300) // names no type
	b.Call(t, "one", "PATCH", c+"/notes/"+note, apptest.Object(t, "content", keys)).Want(http.StatusOK)
	if got := b.Call(t, "one", "GET", c+"/notes/"+note, "").Want(http.StatusOK).Text("content"); got != keys {
		t.Errorf("a note became %.300q", got)
	}
	b.Call(t, "one", "PATCH", c+"/notes/"+note, apptest.Object(t, "content", "Cake. "+data)).Want(http.StatusOK)
	tools.use("remember", map[string]any{"collection": "talk", "content": "plan</think> Bread."})
	tools.use("remember", map[string]any{"collection": "talk", "content": "My model writes </think> behind a plan."})
	list := b.Call(t, "one", "GET", c+"/notes?kind=note", "").Want(http.StatusOK).Texts("items.*.content")
	slices.Sort(list)
	kept := []string{"Cake. [left out: image/png, 96 kB]", "My model writes </think> behind a plan.", "[left out: thinking]\nBread.", "[left out: thinking] Tea. [left out: image/png, 96 kB]"}
	if !slices.Equal(list, kept) {
		t.Errorf("the notes are %.300q", list)
	}
	said := b.Call(t, "one", "GET", c+"/messages?limit=200", "").Want(http.StatusOK).Texts("items.*.content")
	for _, w := range []string{want + "2", want + "3", "Look: [left out: image/png, 978 bytes]"} {
		if !slices.Contains(said, w) {
			t.Errorf("%q is not in %.600q", w, said)
		}
	}
}

func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "none")
	for name, tt := range map[string]struct {
		body, field string
		status      int
		code        fault.Code
	}{
		"no messages":      {`{}`, "messages", 422, fault.Invalid},
		"none":             {`{"messages":[]}`, "messages", 422, fault.Invalid},
		"too many":         {`{"messages":[` + strings.Repeat(`{"content":"a"},`, 500) + `{"content":"a"}]}`, "messages", 422, fault.Invalid},
		"too many sides":   {`{"messages":[` + strings.Repeat(`{"user":"a","assistant":"b"},`, 250) + `{"content":"a"}]}`, "messages", 422, fault.Invalid},
		"mistaken field":   {`{"messages":[{"content":"a","occurredAt":"2026-03-01T09:30:00Z"}]}`, "messages.0.occurredAt", 422, fault.Invalid},
		"another's field":  {`{"messages":[{"content":"a","metadata":{"mood":"fine"}}]}`, "messages.0.metadata", 422, fault.Invalid},
		"unknown form":     {`{"messages":[{"role":"user","utterance":"a"}]}`, "messages.0.content", 422, fault.Invalid},
		"unknown role":     {`{"messages":[{"content":"a"},{"role":"narrator","content":"a"}]}`, "messages.1.role", 422, fault.Invalid},
		"neither form":     {`{"messages":[{"role":"user"}]}`, "messages.0.content", 422, fault.Invalid},
		"both forms":       {`{"messages":[{"content":"a","user":"b"}]}`, "messages.0.content", 422, fault.Invalid},
		"role of a pair":   {`{"messages":[{"role":"user","user":"b"}]}`, "messages.0.content", 422, fault.Invalid},
		"blank content":    {`{"messages":[{"content":"a"},{"content":" \n"}]}`, "messages.1.content", 422, fault.Invalid},
		"blank pair":       {`{"messages":[{"user":" ","assistant":""}]}`, "messages.0.user", 422, fault.Invalid},
		"content no text":  {`{"messages":[{"content":{"a":1}}]}`, "messages.0.content", 422, fault.Invalid},
		"no parts":         {`{"messages":[{"content":[]}]}`, "messages.0.content", 422, fault.Invalid},
		"blank parts":      {`{"messages":[{"content":[{"type":"text","text":" "}]}]}`, "messages.0.content", 422, fault.Invalid},
		"part a number":    {`{"messages":[{"content":[7]}]}`, "messages.0.content.0", 422, fault.Invalid},
		"nothing to read":  {`{"messages":[{"content":[{"type":"input_audio"}]},{"content":[{"type":"text"}]}]}`, "messages.0.content", 422, fault.Invalid},
		"only calls":       {`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"t"}]}]}`, "messages.0.content", 422, fault.Invalid},
		"long parts":       {`{"messages":[{"content":[` + strings.Repeat(`{"type":"text","text":"`+strings.Repeat("a", 40<<10)+`"},`, 2) + `{"type":"text","text":"b"}]}]}`, "messages.0.content", 422, fault.Invalid},
		"long content":     {`{"messages":[{"content":"` + strings.Repeat("é", 40<<10) + `"}]}`, "messages.0.content", 422, fault.Invalid},
		"long side":        {`{"messages":[{"content":"a"},{"user":"a","assistant":"` + strings.Repeat("é", 40<<10) + `"}]}`, "messages.1.assistant", 422, fault.Invalid},
		"null":             {`{"messages":[{"content":null}]}`, "messages.0.content", 422, fault.Invalid},
		"NUL":              {`{"messages":[{"content":"a\u0000"}]}`, "messages.0.content", 422, fault.Invalid},
		"session object":   {`{"messages":[{"content":"a","session":{}}]}`, "messages.0.session", 422, fault.Invalid},
		"session blank":    {`{"messages":[{"content":"a","session":" "}]}`, "messages.0.session", 422, fault.Invalid},
		"time":             {`{"messages":[{"content":"a","occurred_at":"yesterday at noon"}]}`, "messages.0.occurred_at", 422, fault.Invalid},
		"future":           {`{"messages":[{"content":"a","occurred_at":"2030-01-01T00:00:00Z"}]}`, "messages.0.occurred_at", 422, fault.Invalid},
		"past":             {`{"messages":[{"user":"a","occurred_at":"1850-01-01T00:00:00Z"}]}`, "messages.0.occurred_at", 422, fault.Invalid},
		"pair in future":   {`{"messages":[{"user":"a","assistant":"b","occurred_at":"2030-01-01T00:00:00Z"}]}`, "messages.0.occurred_at", 422, fault.Invalid},
		"pair expired":     {`{"messages":[{"user":"a","assistant":"b","expires_at":"2020-01-01T00:00:00Z"}]}`, "messages.0.expires_at", 422, fault.Invalid},
		"expiry":           {`{"messages":[{"content":"a","expires_at":"someday soon"}]}`, "messages.0.expires_at", 422, fault.Invalid},
		"reserved":         {`{"messages":[{"content":"a","attributes":{"role":"x"}}]}`, "messages.0.attributes.role", 422, fault.Invalid},
		"attributes":       {`{"messages":[{"content":"a","attributes":{"a":"` + strings.Repeat("x", 17<<10) + `"}}]}`, "messages.0.attributes", 422, fault.Invalid},
		"id of two":        {`{"messages":[{"id":"a","content":"a"},{"id":"a","content":"b"}]}`, "messages.1.id", 422, fault.Invalid},
		"ids of two pairs": {`{"messages":[{"id":"a","user":"a","assistant":"b"},{"id":"a","user":"a","assistant":"c"}]}`, "messages.1.id", 422, fault.Invalid},
		"infer":            {`{"messages":[{"content":"a"}],"infer":"no"}`, "infer", 422, fault.Invalid},
		"a number":         {`{"messages":["a",7]}`, "messages.1", 422, fault.Invalid},
		"a blank text":     {`{"messages":["a"," "]}`, "messages.1.content", 422, fault.Invalid},
		"upper case":       {`{"messages":[{"Content":"a","Session":{}}]}`, "messages.0.session", 422, fault.Invalid},
		"a label":          {`{"messages":[{"role":{"label":"narrator"},"content":"a"}]}`, "messages.0.role", 422, fault.Invalid},
		"broken":           {`{"messages":[`, "", 400, fault.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.Call(t, "one", "POST", c+"/messages", tt.body)
			got.Refused(tt.status, tt.code, tt.field)
			if list, _ := got.At("errors").([]any); tt.status == 422 && strings.HasPrefix(name, "pair ") && len(list) != 1 {
				t.Errorf("it is refused for more than one reason: %s", got.Body)
			}
		})
	}
	one := `{"messages":[{"content":"a"}]}`
	b.Call(t, "one", "POST", c+"/messages?wait=long", one).Refused(http.StatusUnprocessableEntity, fault.Invalid, "wait")
	b.Call(t, "reader", "POST", c+"/messages", one).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "ada", "POST", c+"/messages", one).Refused(http.StatusForbidden, fault.Forbidden, "") // a shared base
	b.Call(t, "two", "POST", c+"/messages", one).Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "two", "GET", c+"/messages", "").Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "writer", "GET", c+"/messages", "").Refused(http.StatusForbidden, fault.Forbidden, "")
	if got := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"narrator","content":"a"}]}`); !strings.Contains(got.Body.String(), "developer") {
		t.Errorf("the roles are not listed: %s", got.Body)
	}
}

// Sessions that a float64 rounds to one number are two.
func TestSessionsAreExact(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "none")
	sessions := []string{"9007199254740993", "9007199254740992"}
	for _, session := range sessions {
		b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"It is `+session+`","session":`+session+`}]}`).Want(http.StatusAccepted)
	}
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"assistant","content":"Yes","session":`+sessions[0]+`}]}`).Want(http.StatusAccepted)
	for i, session := range sessions {
		got := b.Call(t, "one", "GET", c+"/messages?session="+session, "").Want(http.StatusOK)
		if got.Length("items") != 2-i || got.Text("items.0.content") != "It is "+session {
			t.Errorf("%s: %s", session, got.Body)
		}
	}
	for _, name := range []string{"NaN", "Infinity", "0x10", "1e400"} {
		if got := b.Call(t, "one", "GET", c+"/messages?session="+name, "").Want(http.StatusOK); got.Length("items") != 0 {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
}

// A message with an id is written once, and a request with a key is answered as before.
func TestMessagesAgain(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "none")
	first := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"id":"m","content":"a"},{"id":"p","user":"b","assistant":"c"}]}`).Want(http.StatusAccepted)
	again := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"id":"p","user":"b","assistant":"c"},{"id":"q","content":"d"},{"id":"m","content":"a"}]}`).Want(http.StatusAccepted)
	for path, want := range map[string]string{"messages.0.id": "messages.1.id", "messages.1.id": "messages.2.id", "messages.3.id": "messages.0.id"} {
		if again.Text(path) != first.Text(want) {
			t.Errorf("%s is new", path)
		}
	}
	if got := b.Call(t, "one", "GET", c+"/messages", ""); got.Length("items") != 4 || got.Number("revision") != 2 {
		t.Errorf("%s", got.Body)
	}
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"x"},{"id":"m","content":"other"}]}`).Refused(http.StatusConflict, fault.Exists, "messages.1.id")
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"id":"p","user":"b","assistant":"other"}]}`).Refused(http.StatusConflict, fault.Exists, "messages.0.id")

	one := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"once"}]}`, "Idempotency-Key", "k").Want(http.StatusAccepted)
	two := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"once"}]}`, "Idempotency-Key", "k").Want(http.StatusAccepted)
	if one.Body.String() != two.Body.String() || b.Call(t, "one", "GET", c+"/messages", "").Length("items") != 5 {
		t.Errorf("%s, then %s", one.Body, two.Body)
	}
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"twice"}]}`, "Idempotency-Key", "k").Refused(http.StatusConflict, fault.IdempotencyReuse, "")
}

// C092: messages are listed in order with their times, on pages that writes do not move.
func TestListMessages(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "none")
	// Written out of order.
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[
		{"role":"assistant","content":"three","occurred_at":"2023-05-02T09:00:00Z","session":"s"},
		{"content":"one","occurred_at":"2023-05-01T09:00:00Z","session":2},
		{"role":"tool","content":"two","occurred_at":"2023-05-01T09:00:01Z","session":"2"},
		{"content":"five","occurred_at":"2023-05-03T23:59:59Z"},
		{"role":"assistant","content":"four","occurred_at":"2023-05-02T09:00:00Z"}]}`).Want(http.StatusAccepted)
	b.Call(t, "one", "POST", c+"/notes", `{"content":"not said"}`).Want(http.StatusCreated)
	b.Call(t, "one", "POST", c+"/notes", `{"content":"said without a role","kind":"message","occurred_at":"2020-01-01T00:00:00Z"}`).Want(http.StatusCreated)
	list := func(parameters string) apptest.Response {
		t.Helper()
		return b.Call(t, "reader", "GET", c+"/messages?"+parameters, "").Want(http.StatusOK)
	}
	all := []string{"said without a role", "one", "two", "three", "four", "five"}
	for parameters, want := range map[string][]string{
		"":                          all,
		"order=oldest&limit=2":      all[:2],
		"role=tool":                 {"two"},
		"role=user":                 {"said without a role", "one", "five"},
		"role=developer":            {},
		"session=2":                 {"one", "two"},
		"session=s":                 {"three"},
		"from=2023-05-02T09:00:00Z": {"three", "four", "five"},
		"to=2023-05-02T09:00:00Z":   all[:3],
		"from=202305010900&to=2023-05-02T11:00:00%2B02:00": {"one", "two"},
		"to=2999-01-01T00:00:00Z&role=assistant":           {"three", "four"},
		"as_of=0":                                          {},
		"as_of=1":                                          all[1:],
	} {
		if got := list(parameters).Texts("items.*.content"); !slices.Equal(got, want) {
			t.Errorf("%q gives %v, want %v", parameters, got, want)
		}
	}
	for _, order := range []string{"oldest", "newest"} {
		want := slices.Clone(all)
		if order == "newest" {
			slices.Reverse(want)
		}
		var got []string
		cursor := ""
		for {
			page := list("limit=2&order=" + order + cursor)
			got = append(got, page.Texts("items.*.content")...)
			next, ok := page.At("next_cursor").(string)
			if !ok {
				break
			}
			cursor = "&cursor=" + url.QueryEscape(next)
			// A message that is added meanwhile is on no page.
			b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"later","occurred_at":"2023-05-02T10:00:00Z"}]}`).Want(http.StatusAccepted)
			b.Call(t, "one", "DELETE", c+"/notes/"+b.Call(t, "one", "GET", c+"/messages?from=2023-05-02T10:00:00Z&limit=1", "").Text("items.0.id"), "").Want(http.StatusNoContent)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: pages give %v, want %v", order, got, want)
		}
	}
	cursor := list("limit=1").Text("next_cursor")
	for parameters, field := range map[string]string{
		"role=narrator": "role", "from=yesterday": "from", "to=tomorrow+at+noon": "to", "order=best": "order", "session=": "session", "limit=0": "limit",
		"order=newest&cursor=" + cursor: "cursor", "cursor=x": "cursor", "query=tea&order=newest": "order", "query=tea&cursor=" + cursor: "cursor", "query=+": "query",
		"from=2023-13-45T00:00:00Z": "from",
	} {
		b.Call(t, "reader", "GET", c+"/messages?"+parameters, "").Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
}

// A query finds messages, also where the policy's searches use other kinds.
func TestSearchMessages(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "mem0")
	b.Call(t, "one", "POST", c+"/messages", `{"infer":false,"messages":[
		{"content":"The kettle is broken again","session":"a"},{"role":"assistant","content":"Kettles break when they boil dry","session":"a"},
		{"content":"Ben plays the cello","session":"b"}]}`).Want(http.StatusAccepted)
	found := func(parameters string) []string {
		t.Helper()
		return b.Call(t, "reader", "GET", c+"/messages?"+parameters, "").Want(http.StatusOK).Texts("items.*.content")
	}
	if got := found("query=broken+kettle"); len(got) == 0 || got[0] != "The kettle is broken again" {
		t.Errorf("%v", got)
	}
	if got := found("query=kettle&role=assistant"); !slices.Equal(got, []string{"Kettles break when they boil dry"}) {
		t.Errorf("%v", got)
	}
	if got := found("query=kettle&session=b&limit=1"); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "ettle") }) {
		t.Errorf("%v", got)
	}
	if got := b.Call(t, "reader", "GET", c+"/messages?query=kettle&limit=1", ""); got.Length("items") != 1 || got.Number("items.0.score") <= 0 || got.At("next_cursor") != nil {
		t.Errorf("%s", got.Body)
	}
	if got := b.Call(t, "one", "POST", c+"/search", `{"query":"kettle"}`).Want(http.StatusOK); got.Length("hits") != 0 {
		t.Errorf("a search shows the log: %s", got.Body)
	}
	if got := found("query=kettle&as_of=0"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// A call with wait=evolved answers when the policy has processed the messages.
func TestMessagesWait(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "mem0")
	got := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"I live in Lisbon."}]}`).Want(http.StatusAccepted)
	if got.Text("job.state") != "queued" {
		t.Errorf("%s", got.Body)
	}
	job := b.Call(t, "one", "GET", "/v1/jobs/"+got.Text("job.id"), "").Want(http.StatusOK)
	if job.Text("kind") != "exchange" || job.Text("note") != got.Text("messages.0.id") {
		t.Errorf("%s", job.Body)
	}
	got = b.Call(t, "one", "POST", c+"/messages?wait=evolved", `{"messages":[{"content":"I work as a baker.","id":"x"}]}`).Want(http.StatusAccepted)
	if got.Text("job.state") != "done" || got.Number("revision") < 3 || got.Length("learned") != 1 || got.Text("learned.0.event") != "ADD" {
		t.Errorf("%s", got.Body)
	}
	if facts := b.Call(t, "one", "GET", c+"/notes?kind=fact", "").Want(http.StatusOK); facts.Length("items") != 2 {
		t.Errorf("%s", facts.Body)
	}
	got = b.Call(t, "one", "POST", c+"/messages?wait=evolved", `{"messages":[{"content":"I work as a baker.","id":"x"}]}`).Want(http.StatusAccepted)
	if got.At("job") != nil || got.Length("learned") != 0 {
		t.Errorf("a message that was there has a job: %s", got.Body)
	}
	got = b.Call(t, "writer", "POST", c+"/messages?wait=evolved", `{"messages":[{"content":"I have a dog."}]}`).Want(http.StatusAccepted)
	if got.Text("job.state") != "done" || got.At("learned") != nil {
		t.Errorf("what was learned is only for readers: %s", got.Body)
	}
	got = b.Call(t, "one", "POST", c+"/messages?wait=evolved", `{"infer":false,"messages":[{"content":"I have a cat."}]}`).Want(http.StatusAccepted)
	if got.At("job") != nil || b.Call(t, "one", "GET", c+"/notes?kind=fact", "").Length("items") != 3 {
		t.Errorf("messages that are only to be kept were learned from: %s", got.Body)
	}
}

// With wait=evolved the answer says what was learned, of all exchanges in order. A fact that another one replaced
// is one entry, and is not reported as deleted.
func TestMessagesLearned(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "mem0")
	say := func(text ...string) apptest.Response {
		t.Helper()
		said := make([]string, 0, len(text))
		for _, s := range text {
			said = append(said, fmt.Sprintf(`{"user":%q,"assistant":"I see.","name":"Nora"}`, s))
		}
		return b.Call(t, "one", "POST", c+"/messages?wait=evolved", `{"messages":[`+strings.Join(said, ",")+`]}`).Want(http.StatusAccepted)
	}
	learned := func(got apptest.Response) []string {
		t.Helper()
		out := []string{}
		for i := range got.Length("learned") {
			at := fmt.Sprintf("learned.%d.", i)
			line := got.Text(at+"event") + " " + got.Text(at+"memory")
			if got.At(at+"previous") != nil {
				line += " <- " + got.Text(at+"previous")
			}
			out = append(out, line)
		}
		return out
	}
	for _, step := range []struct{ say, want []string }{
		{[]string{"I live in Lisbon.", "I work as a baker."}, []string{"ADD Nora, 2026-03-01: “I live in Lisbon.”", "ADD Nora, 2026-03-01: “I work as a baker.”"}},
		{[]string{"How are you?"}, []string{}},
		{[]string{"I moved to Oslo."}, []string{"ADD Nora, 2026-03-01: “I moved to Oslo.”"}},
		{[]string{"I work as a baker."}, []string{}},
	} {
		got := say(step.say...)
		if !slices.Equal(learned(got), step.want) {
			t.Errorf("%q: %q, want %q", step.say, learned(got), step.want)
		}
		for i, line := range step.want {
			note := b.Call(t, "one", "GET", c+"/notes/"+got.Text(fmt.Sprintf("learned.%d.note", i)), "").Want(http.StatusOK)
			if !strings.Contains(line, note.Text("content")) {
				t.Errorf("%q names the note %q", line, note.Text("content"))
			}
		}
	}
	// The same request again has the same answer, and one that does not wait has none.
	send := func(path string) apptest.Response {
		t.Helper()
		return b.Call(t, "one", "POST", c+path, `{"messages":[{"content":"I have a dog.","name":"Nora"}]}`, "Idempotency-Key", "k").Want(http.StatusAccepted)
	}
	first := send("/messages?wait=evolved")
	if again := send("/messages?wait=evolved"); len(learned(first)) != 1 || !slices.Equal(learned(again), learned(first)) {
		t.Errorf("%s, then %s", first.Body, again.Body)
	}
	if got := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"I have a cat."}]}`).Want(http.StatusAccepted); got.At("learned") != nil {
		t.Errorf("%s", got.Body)
	}
	// A policy that keeps messages as they are derives nothing from them.
	if got := b.Call(t, "one", "POST", b.Space(t, "notes", "amem")+"/messages?wait=evolved", `{"messages":[{"content":"I have a cat."}]}`).Want(http.StatusAccepted); got.Length("learned") != 0 {
		t.Errorf("%s", got.Body)
	}
}
