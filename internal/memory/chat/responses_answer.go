package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Prefixes of ids in answers, as OpenAI's.
const (
	responsePrefix = "resp_"
	textPrefix     = "msg_"
	callPrefix     = "fc_"
)

func newItemID(prefix string) string { return prefix + strings.ReplaceAll(uuid.NewString(), "-", "") }

// answered is the answer to a request in the form of OpenAI's responses. It is fed with the parts of a chat
// completion. Of a stream, each part becomes events.
type answered struct {
	created time.Time
	streams bool

	id       string
	model    string
	items    []*outputItem
	thought  strings.Builder
	finish   string
	usage    json.RawMessage
	sequence int
	out      bytes.Buffer // events that are not sent yet
	err      error        // of encoding
}

// outputItem is an item of the answer: a text, a refusal, or a call of a function.
type outputItem struct {
	id      string
	kind    string // output_text, refusal or function_call
	call    int    // index of the call in the chat completion
	callID  string
	name    string
	said    strings.Builder
	settled bool // its last events are written
}

type object = map[string]any

// begin starts the answer, also for another attempt.
func (r *response) begin() {
	r.answered = answered{created: r.created, streams: r.streams, id: newItemID(responsePrefix)}
	r.event("response.created", object{"response": r.object("in_progress")})
	r.event("response.in_progress", object{"response": r.object("in_progress")})
}

// add adds a part of a chat completion.
func (r *response) add(a *answerPart) {
	if a.Model != "" {
		r.model = a.Model
	}
	if len(a.Usage) > 0 && string(a.Usage) != "null" {
		r.usage = a.Usage
	}
	for i := range a.Choices {
		c := &a.Choices[i]
		if c.Index != 0 {
			continue
		}
		for _, m := range []*utterance{&c.Message, &c.Delta} {
			r.say("output_text", textOf(m.Content))
			r.thought.WriteString(m.thinking())
			if m.Refusal != nil {
				r.say("refusal", *m.Refusal)
			}
			for n, raw := range m.ToolCalls {
				r.callTool(n, raw)
			}
		}
		if c.FinishReason != nil && *c.FinishReason != "" {
			r.finish = *c.FinishReason
		}
	}
}

// say adds text to the last item, or begins one.
func (r *response) say(kind, text string) {
	if text == "" {
		return
	}
	at := len(r.items) - 1
	if at < 0 || r.items[at].kind != kind {
		r.settle(at)
		at = r.open(&outputItem{id: newItemID(textPrefix), kind: kind})
	}
	item := r.items[at]
	item.said.WriteString(text)
	r.event("response."+item.kind+".delta", r.within(at, item.logged(object{"content_index": 0, "delta": text})))
}

// callTool adds a piece of a call.
func (r *response) callTool(n int, raw json.RawMessage) {
	var call toolCall
	if json.Unmarshal(raw, &call) != nil {
		return
	}
	n = *cmp.Or(call.Index, &n)
	at := -1
	for i, item := range r.items {
		if item.kind == "function_call" && item.call == n {
			at = i
		}
	}
	if at < 0 {
		r.settle(len(r.items) - 1)
		at = r.open(&outputItem{id: newItemID(callPrefix), kind: "function_call", call: n, callID: call.ID, name: call.Function.Name})
	}
	if text := call.Function.Arguments; text != "" {
		r.items[at].said.WriteString(text)
		r.event("response.function_call_arguments.delta", r.within(at, object{"delta": text}))
	}
}

// open begins an item and returns its index.
func (r *response) open(item *outputItem) int {
	r.items = append(r.items, item)
	at := len(r.items) - 1
	r.event("response.output_item.added", object{"output_index": at, "item": item.object("in_progress")})
	if item.kind != "function_call" {
		r.event("response.content_part.added", r.within(at, object{"content_index": 0, "part": item.part()}))
	}
	return at
}

// settle writes the last events of an item.
func (r *response) settle(at int) {
	if at < 0 || r.items[at].settled {
		return
	}
	item := r.items[at]
	item.settled = true
	switch item.kind {
	case "function_call":
		r.event("response.function_call_arguments.done", r.within(at, object{"name": item.name, "arguments": item.said.String()}))
	case "refusal":
		r.event("response.refusal.done", r.within(at, object{"content_index": 0, "refusal": item.said.String()}))
	default:
		r.event("response.output_text.done", r.within(at, item.logged(object{"content_index": 0, "text": item.said.String()})))
	}
	if item.kind != "function_call" {
		r.event("response.content_part.done", r.within(at, object{"content_index": 0, "part": item.part()}))
	}
	r.event("response.output_item.done", object{"output_index": at, "item": item.object("completed")})
}

// within adds where an event belongs.
func (r *response) within(at int, v object) object {
	v["output_index"], v["item_id"] = at, r.items[at].id
	return v
}

// logged adds the empty list of probabilities that events of texts have.
func (t *outputItem) logged(v object) object {
	if t.kind == "output_text" {
		v["logprobs"] = []any{}
	}
	return v
}

func (t *outputItem) part() object {
	if t.kind == "refusal" {
		return object{"type": t.kind, "refusal": t.said.String()}
	}
	return object{"type": t.kind, "text": t.said.String(), "annotations": []any{}, "logprobs": []any{}}
}

func (t *outputItem) object(status string) object {
	if t.kind == "function_call" {
		return object{"type": t.kind, "id": t.id, "status": status, "call_id": t.callID, "name": t.name, "arguments": t.said.String()}
	}
	content := []object{}
	if t.said.Len() > 0 {
		content = append(content, t.part())
	}
	return object{"type": "message", "id": t.id, "status": status, "role": "assistant", "content": content}
}

// end ends the answer: the last events of a stream, or the whole of it.
func (r *response) end() error {
	if len(r.items) == 0 && r.finish == "stop" {
		r.say("output_text", r.thought.String()) // the model put its answer there
	}
	r.settle(len(r.items) - 1)
	status := "completed"
	if r.incomplete() != nil {
		status = "incomplete"
	}
	if r.streams {
		r.event("response."+status, object{"response": r.object(status)})
	} else {
		r.encode(r.object(status))
	}
	return r.err
}

// incomplete returns why the answer is not complete; nil if it is.
func (r *response) incomplete() any {
	switch r.finish {
	case "length":
		return object{"reason": "max_output_tokens"}
	case "content_filter":
		return object{"reason": "content_filter"}
	}
	return nil
}

// object returns the response as far as it is there.
func (r *response) object(status string) object {
	as := func(name string, absent any) any {
		if raw := r.field(name); raw != nil {
			return raw
		}
		return absent
	}
	model, _ := SplitModel(modelOf(r.field("model")))
	if r.model != "" {
		model = r.model
	}
	out := object{
		"id": r.id, "object": "response", "created_at": r.created.Unix(), "status": status, "error": nil, "incomplete_details": nil, "model": model,
		"output": []object{}, "usage": nil, "store": false, "background": false, "previous_response_id": nil, "truncation": "disabled",
		"instructions": as("instructions", nil), "max_output_tokens": as("max_output_tokens", nil), "metadata": as("metadata", object{}),
		"parallel_tool_calls": as("parallel_tool_calls", true), "reasoning": as("reasoning", object{"effort": nil, "summary": nil}),
		"temperature": as("temperature", nil), "text": as("text", object{"format": object{"type": "text"}}), "tool_choice": as("tool_choice", "auto"),
		"tools": as("tools", []any{}), "top_p": as("top_p", nil), "user": as("user", nil),
	}
	if status == "in_progress" {
		return out
	}
	items := make([]object, len(r.items))
	for i, item := range r.items {
		items[i] = item.object("completed")
	}
	out["output"], out["incomplete_details"], out["usage"] = items, r.incomplete(), r.used()
	return out
}

func modelOf(raw json.RawMessage) string {
	var name string
	_ = json.Unmarshal(raw, &name) // it was checked; absent: ""
	return name
}

// used translates the usage; nil if the endpoint did not say it.
func (r *response) used() any {
	var u struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		In         struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if r.usage == nil || json.Unmarshal(r.usage, &u) != nil {
		return nil
	}
	return object{
		"input_tokens": u.Prompt, "output_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion,
		"input_tokens_details":  object{"cached_tokens": u.In.Cached, "cache_write_tokens": 0},
		"output_tokens_details": object{"reasoning_tokens": u.Out.Reasoning},
	}
}

// event adds an event to a stream.
func (r *response) event(name string, v object) {
	if !r.streams {
		return
	}
	v["type"], v["sequence_number"] = name, r.sequence
	r.sequence++
	r.out.WriteString("event: " + name + "\ndata: ")
	r.encode(v)
	r.out.WriteString("\n\n")
}

func (r *response) encode(v any) {
	raw, err := json.Marshal(v)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("encode an answer: %w", err)
	}
	r.out.Write(raw)
}

// flush returns what is to be sent.
func (r *response) flush() []byte {
	out := bytes.Clone(r.out.Bytes())
	r.out.Reset()
	return out
}

// keep keeps the texts of the answer, for references to them.
func (r *response) keep(in *replies, tenantID uuid.UUID) {
	for _, item := range r.items {
		if item.kind == "output_text" {
			in.put(tenantID, item.id, item.said.String())
		}
	}
}

// replies keeps the texts of the last answers, since clients refer to them by id in the next turn of a dialogue. It is
// safe for concurrent use.
type replies struct {
	mu    sync.Mutex
	texts map[replyKey]string
	order []replyKey // oldest first
	bytes int
}

type replyKey struct {
	tenant uuid.UUID
	id     string
}

// Bounds of replies, in bytes.
const (
	maxReply   = 64 << 10
	maxReplies = 4 << 20
)

func (k *replies) put(tenantID uuid.UUID, id, said string) {
	if len(said) > maxReply {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.texts == nil {
		k.texts = map[replyKey]string{}
	}
	key := replyKey{tenantID, id}
	k.texts[key] = said
	k.order = append(k.order, key)
	for k.bytes += len(said); k.bytes > maxReplies; k.order = k.order[1:] {
		k.bytes -= len(k.texts[k.order[0]])
		delete(k.texts, k.order[0])
	}
}

func (k *replies) get(tenantID uuid.UUID, id string) (said string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	said, ok = k.texts[replyKey{tenantID, id}]
	return said, ok
}
