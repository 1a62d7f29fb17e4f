package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
	"github.com/slipboxhq/slipbox/test/must"
)

// Messages of a dialogue, in the forms that clients send.
const (
	system    = `{"role":"system","content":"You are  a tutor. \u003c3"}`
	developer = `{"content":[{"type":"text","text":"Be brief."}],"role":"developer"}`
	hi        = `{"role":"user","content":"Hi \"there\" \\ é"}`
	hello     = `{"role":"assistant","content":"Hello."}`
	picture   = `{"role":"user","content":[ {"type":"text","text":"What is it?"}, {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}} ],"name":"ada"}`
	aCat      = `{"role":"assistant","content":"A cat."}`
	where     = `{"name":"ada","role":"user","content":"Where does Ada live?"}`
	calls     = `{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	result    = `{"role":"tool","tool_call_id":"1","content":"Lisbon"}`
	lisbon    = `{"role":"assistant","content":"In Lisbon."}`
	since     = `{"role":"user","content":"Since when?"}`
	started   = `{"role":"assistant","content":"Since"}`
)

// known matches the block of memory as it is within JSON, with what joins it to the message.
var known = regexp.MustCompile(`(?s)(\\n\\n<slipbox-memory>.*?</slipbox-memory>)|(,\{"type":"text","text":"<slipbox-memory>.*?</slipbox-memory>"\})|(\{"role":"user","content":"<slipbox-memory>.*?</slipbox-memory>"\},)`)

// Each request of a dialogue begins like the one before it, byte for byte, although what is recalled changes: memory is
// behind what the user said last, and everything else is as the client sent it.
func TestRequestsOfADialogueBeginAlike(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][][]string{
		"instructions":        {{system, hi}, {system, hi, hello, where}, {system, hi, hello, where, lisbon, since}},
		"developer":           {{developer, hi}, {developer, hi, hello, where}},
		"several":             {{system, developer, hi}, {system, developer, hi, hello, since}},
		"none":                {{hi}, {hi, hello, where}, {hi, hello, where, lisbon, since}},
		"parts":               {{system, picture}, {system, picture, aCat, where}, {system, picture, aCat, where, lisbon, picture}},
		"tools":               {{system, where}, {system, where, calls, result}, {system, where, calls, result, calls, result}, {system, where, calls, result, lisbon, since}},
		"assistant last":      {{system, hi, hello, since, started}, {system, hi, hello, since, started, hi}},
		"assistant alone":     {{system, hello}, {system, hello, hi}},
		"system in the midst": {{system, hi, hello, system, since}, {system, hi, hello, system, since, lisbon, hi}},
	} {
		f := newFake()
		f.service(t)
		former := ""
		for i, messages := range steps {
			// What is recalled depends on the dialogue.
			f.context.Text = fmt.Sprintf("## Facts\n[1] Fact %d of %s.", i, name)
			if _, _, err := f.complete(t, both(), "home", `{"messages":[`+strings.Join(messages, ",")+`],"temperature":0.5}`); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sent := string(f.sent[len(f.sent)-1].Body)
			if want := `{"model":"fake-1","messages":[` + strings.Join(messages, ",") + `],"temperature":0.5}`; known.ReplaceAllString(sent, "") != want {
				t.Errorf("%s, %d: sent\n%s, want with memory added\n%s", name, i, sent, want)
			}
			if n := strings.Count(sent, recalled.Open); n != 1 || strings.Count(sent, `"system"`) != strings.Count(strings.Join(messages, ""), `"system"`) {
				t.Errorf("%s, %d: %d blocks in %s", name, i, n, sent)
			}
			if !json.Valid([]byte(sent)) {
				t.Errorf("%s, %d: not JSON: %s", name, i, sent)
			}
			if shared := sharedPrefix(former, sent); i > 0 && shared < len(known.Split(former, 2)[0]) && name != "assistant alone" {
				t.Errorf("%s, %d: %d bytes begin alike of\n%s and\n%s", name, i, shared, former, sent)
			}
			former = sent
		}
	}
}

// Consecutive requests of a dialogue begin alike in both of OpenAI's forms, streamed or not, and in other programs' forms, while memory
// grows: all up to the block of memory is shared.
func TestRequestsBeginAlikeAtEachDoor(t *testing.T) {
	t.Parallel()
	for door, x := range map[string]struct {
		messages  []string
		responses bool
		stream    bool
	}{
		"chat, streamed":      {[]string{system, hi, hello, where, lisbon, since}, false, true},
		"responses":           {[]string{system, hi, hello, where, lisbon, since}, true, false},
		"responses, streamed": {[]string{system, hi, hello, where, lisbon, since}, true, true},
		"responses, tools": {[]string{
			system, hi, hello, where, `{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"1","output":"Lisbon"}`, lisbon, since,
		}, true, false},
		"LangChain": {[]string{system, `{"type":"human","content":"Hi."}`, `{"type":"ai","content":"Hello."}`, `{"type":"human","content":"Where?"}`}, false, false},
		"Google":    {[]string{`{"role":"user","parts":[{"text":"Hi."}]}`, `{"role":"model","parts":[{"text":"Hello."}]}`, `{"role":"user","parts":[{"text":"Where?"}]}`}, false, true},
	} {
		f := newFake()
		if f.service(t); x.stream {
			f.stream, f.answer = true, events+eventsEnd
		}
		former := ""
		for upTo := 2; upTo <= len(x.messages); upTo++ {
			f.context.Text = "## Facts" + strings.Repeat(fmt.Sprintf("\n[%d] A fact.", upTo), upTo)
			var err error
			list := "[" + strings.Join(x.messages[:upTo], ",") + "]"
			if x.responses {
				_, err = respond(t, f.service(t), both(), fmt.Sprintf(`{"stream":%t,"input":%s}`, x.stream, list))
			} else {
				_, _, err = f.complete(t, both(), "home", fmt.Sprintf(`{"stream":%t,"messages":%s}`, x.stream, list))
			}
			if err != nil {
				t.Fatalf("%s: %v", door, err)
			}
			sent := string(f.sent[len(f.sent)-1].Body)
			if before, _, has := strings.Cut(former, "<slipbox-memory>"); former != "" && (!has || sharedPrefix(former, sent) < len(strings.TrimRight(before, `\n`))) {
				t.Errorf("%s: %d of %d bytes begin alike of\n%s and\n%s", door, sharedPrefix(former, sent), len(before), former, sent)
			}
			former = sent
		}
	}
}

func sharedPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// While tools are called, the same is recalled: the question has not changed.
func TestToolsDoNotChangeWhatIsRecalled(t *testing.T) {
	t.Parallel()
	f := newFake()
	for _, messages := range []string{hi + "," + where, hi + "," + where + "," + calls + "," + result} {
		if _, _, err := f.complete(t, both(), "home", `{"messages":[`+messages+`]}`); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := f.queries[0].Messages, f.queries[1].Messages; fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("recalled for %v, then for %v", a, b)
	}
	if a, b := string(f.sent[0].Body), string(f.sent[1].Body); sharedPrefix(a, b) < len(a)-len("]}") {
		t.Errorf("%d of %d bytes begin alike", sharedPrefix(a, b), len(a))
	}
}

// What was recalled is not learned where a client sends it back, at each door, nor is it part of what is asked.
func TestRecalledIsNotLearned(t *testing.T) {
	t.Parallel()
	block := recalled.Mark("[1] Ada lives in Oslo.")
	text := must.Get(json.Marshal("Where does Ada live?\n\n" + block))(t)
	alone := must.Get(json.Marshal(block))(t)
	parts := `[{"type":"text","text":"Where does Ada live?"},{"type":"text","text":` + string(alone) + `}]`
	check := func(name string, f *fake) {
		t.Helper()
		if len(f.written) != 1 || f.written[0].Messages[0].Content != "Where does Ada live?" || strings.Contains(fmt.Sprint(f.written), "Oslo") {
			t.Errorf("%s: written %+v", name, f.written)
		}
		if strings.Contains(fmt.Sprint(f.queries[0].Messages), "Oslo") {
			t.Errorf("%s: asked for %+v", name, f.queries[0].Messages)
		}
	}
	earlier := `{"role":"user","content":` + string(text) + `},{"role":"assistant","content":"There."},`
	for name, content := range map[string]string{"text": string(text), "parts": parts} {
		f := newFake()
		if _, _, err := f.complete(t, both(), "home", `{"messages":[`+earlier+`{"role":"user","content":`+content+`}]}`); err != nil {
			t.Fatal(err)
		}
		check(name, f)
	}
	f := newFake()
	must.Get(respond(t, f.service(t), both(), `{"input":`+string(text)+`}`))(t)
	check("responses", f)
	f = newFake()
	a := must.Get(f.service(t).Answer(t.Context(), both(), "c", ask("Where does Ada live?\n\n"+block), nil))(t)
	a.Remember(t.Context())
	check("our own", f)
	f = newFake()
	if _, _, err := f.complete(t, both(), "home", `{"messages":[{"role":"user","content":`+string(alone)+`}]}`); err != nil || len(f.written) != 0 {
		t.Errorf("a block alone: written %+v, %v", f.written, err)
	}
}

// choosy is a model that refuses some forms of instructions.
type choosy struct {
	*fake

	noSystems bool
}

func (c choosy) Send(ctx context.Context, s tenant.Scope, r chat.Request) (*chat.Response, error) {
	resp, err := c.fake.Send(ctx, s, r)
	var body struct {
		Messages []struct {
			Role memory.Role `json:"role"`
		} `json:"messages"`
	}
	if json.Unmarshal(r.Body, &body) != nil {
		return nil, errors.New("no JSON")
	}
	for i, m := range body.Messages {
		if m.Role == memory.RoleDeveloper || m.Role == memory.RoleSystem && (i > 0 || c.noSystems) {
			return nil, &fault.Error{Code: fault.ModelFailed, Err: &chat.Refused{Status: 400, Body: []byte(`{"error":"la consigne"}`)}}
		}
	}
	return resp, err
}

// Where a model refuses instructions as a client sends them, simpler forms are tried, and the next request begins with the
// one that it took.
func TestInstructionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		noSystems bool
		messages  string
		want      string // roles of what the model took
		tries     int
	}{
		"first alone":   {false, system + "," + developer + "," + hi, "system user", 2},
		"in the midst":  {false, hi + "," + hello + "," + system + "," + since, "system user assistant user", 2},
		"none":          {true, system + "," + hi + "," + hello + "," + since, "user assistant user", 2},
		"none, several": {true, system + "," + developer + "," + picture, "user", 3},
		"without user":  {true, system + "," + hello, "user assistant", 2},
	} {
		f := newFake()
		s := must.Get(chat.New(chat.Deps{Recall: f, Notes: f, Models: chat.Models{Main: choosy{f, c.noSystems}}}, chat.Config{}))(t)
		for _, tries := range []int{c.tries, 1} {
			before := len(f.sent)
			done, err := s.Complete(t.Context(), both(), in("home"), []byte(`{"messages":[`+c.messages+`]}`))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			done.Close()
			last := string(f.sent[len(f.sent)-1].Body)
			if got := strings.Join(f.roles(), " "); got != c.want || len(f.sent)-before != tries || !strings.Contains(last, "tutor") || !strings.Contains(last, recalled.Open) {
				t.Errorf("%s: %q in %d tries: %s", name, got, len(f.sent)-before, last)
			}
		}
	}
	f := newFake()
	f.err = &fault.Error{Code: fault.ModelFailed, Err: &chat.Refused{Status: 400, Body: []byte("no")}}
	if _, _, err := f.complete(t, both(), "home", `{"messages":[`+system+","+hi+`]}`); err == nil || len(f.sent) != 2 {
		t.Errorf("refused in every form: %v after %d tries", err, len(f.sent))
	}
}

// roles returns the roles of the messages that were sent last.
func (f *fake) roles() (roles []string) {
	for _, m := range roleField.FindAllSubmatch(f.sent[len(f.sent)-1].Body, -1) {
		roles = append(roles, string(m[1]))
	}
	return roles
}

var roleField = regexp.MustCompile(`"role":"(\w+)"`)

// An answer that is only in what the model thought is the answer, unless it was cut off; at each door.
func TestAnswersInThoughts(t *testing.T) {
	t.Parallel()
	body := func(field, finish string) string {
		return `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"` + field + `":"In Lisbon."},"finish_reason":"` + finish + `"}]}`
	}
	stream := func(field, finish string) string {
		return `data: {"choices":[{"index":0,"delta":{"` + field + `":"In "}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"` + field + `":"Lisbon."}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}` + "\n\ndata: [DONE]\n\n"
	}
	for _, field := range []string{"reasoning_content", "reasoning"} {
		f := newFake()
		f.answer = body(field, "stop")
		if a, err := f.service(t).Answer(t.Context(), both(), "c", ask("Where?"), nil); err != nil || a.Reply != "In Lisbon." {
			t.Errorf("%s: %+v, %v", field, a, err)
		}
		if out, err := respond(t, f.service(t), both(), `{"input":"Where?"}`); err != nil || !strings.Contains(out, `"text":"In Lisbon."`) || len(f.written) != 1 || len(f.written[0].Messages) != 2 {
			t.Errorf("%s: responses: %s, %v, written %+v", field, out, err, f.written)
		}
		f.answer = body(field, "length")
		if _, err := f.service(t).Answer(t.Context(), both(), "c", ask("Where?"), nil); !fault.Is(err, fault.ModelFailed) || !strings.Contains(err.Error(), "raise") {
			t.Errorf("%s: cut off: %v", field, err)
		}
		f.stream, f.answer = true, stream(field, "stop")
		var said strings.Builder
		if a, err := f.service(t).Answer(t.Context(), both(), "c", ask("Where?"), func(s string) error { said.WriteString(s); return nil }); err != nil || a.Reply != "In Lisbon." || said.String() != a.Reply {
			t.Errorf("%s: a stream: %q, %+v, %v", field, said.String(), a, err)
		}
		if out, err := respond(t, f.service(t), both(), `{"input":"Where?","stream":true}`); err != nil || !strings.Contains(out, `"delta":"In Lisbon."`) {
			t.Errorf("%s: a stream of responses: %s, %v", field, out, err)
		}
	}
}
