package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Converse implements [memory.Model]. Where the endpoint has no tool calls, it asks for one JSON object
// with the same content. An empty answer is asked for once more.
func (m *Completion) Converse(ctx context.Context, s tenant.Scope, d memory.Dialogue) (memory.TurnResult, error) {
	out := memory.TurnResult{Analyst: memory.AnalystModel, Model: m.cfg.Model}
	if err := s.Check(); err != nil {
		return out, err
	}
	defer func() {
		m.deps.record(ctx, s, memory.ModelUse{
			Collection: d.Collection, Purpose: d.Purpose, Calls: int64(out.Requests),
			PromptTokens: out.PromptTokens, CompletionTokens: out.CompletionTokens,
		})
	}()
	var ts *turnStreamer
	if d.Stream != nil {
		ts = &turnStreamer{to: d.Stream}
	}
	for range 2 {
		sent := out.Requests
		turn, err := m.turnWithRoom(ctx, s, d, ts, &out)
		if err != nil {
			ts.finish(nil)
			if sent > 0 && errors.Is(err, memory.ErrPaused) {
				return out, fault.New(fault.Unavailable, "%s began to fail during a call", m.endpoint.label)
			}
			return out, err
		}
		if !isEmpty(&turn) {
			ts.finish(&turn)
			out.Turn = turn
			return out, nil
		}
		m.log.WarnContext(ctx, "the model said nothing", "purpose", d.Purpose, "model", m.cfg.Model, "endpoint", m.endpoint.name)
	}
	ts.finish(nil)
	return out, fault.Wrap(memory.ErrBadAnswer, fault.ModelFailed, "%s said nothing", m.endpoint.label)
}

func isEmpty(turn *memory.Turn) bool { return turn.Text == "" && len(turn.Calls) == 0 }

// turnWithRoom gets one turn, and again with more room as long as it was cut off. With all the room that it may have, what
// there is of a turn is returned.
func (m *Completion) turnWithRoom(ctx context.Context, s tenant.Scope, d memory.Dialogue, ts *turnStreamer, out *memory.TurnResult) (memory.Turn, error) {
	rooms := m.rooms(d.MaxTokens)
	var partial memory.Turn
	for {
		d.MaxTokens = rooms.limit
		turn, r, err := m.nextTurn(ctx, s, &d, ts, out, rooms.raised)
		switch {
		case err == nil && (!r.cutOff(rooms.limit) || !endsAtLimit(r.finish) && !isEmpty(&turn)):
			rooms.keep()
			return turn, nil
		case err == nil:
			partial = turn
			if rooms.raise() {
				continue
			}
			err = rooms.exhausted()
		case rooms.raised && isRefusal(err) && rooms.lower():
			continue
		default:
			err = rooms.explain(err)
		}
		if errors.Is(err, memory.ErrNoRoom) && !isEmpty(&partial) {
			return partial, nil
		}
		return memory.Turn{}, err
	}
}

// nextTurn gets one turn, in the best form that the endpoint supports; with ts it is streamed.
func (m *Completion) nextTurn(ctx context.Context, s tenant.Scope, d *memory.Dialogue, ts *turnStreamer, out *memory.TurnResult, raised bool) (memory.Turn, reply, error) {
	// Each refusal that is understood changes one setting, as in send.
	for {
		asJSON := m.noTools.Load() && len(d.Tools) > 0
		format := m.format.Load()
		req, err := m.dialogueRequest(d, asJSON, format)
		if err != nil {
			return memory.Turn{}, reply{}, err
		}
		if m.noSystem.Load() {
			withoutSystem(&req)
		}
		if m.oneEach.Load() {
			joined(&req)
		}
		req.Stream = ts != nil && !m.noStream.Load()
		if req.Stream && !m.noStreamUsage.Load() {
			req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
		}
		var resp openai.ChatCompletionResponse
		reached, err := m.endpoint.do(ctx, s, func(ctx context.Context, client *openai.Client) error {
			ts.begin(asJSON, len(d.Tools) > 0)
			var err error
			if req.Stream {
				resp, err = m.receive(ctx, client, req, ts)
			} else {
				resp, err = client.CreateChatCompletion(ctx, req)
			}
			return err
		})
		out.Requests += reached
		if err != nil {
			if (!raised || !isRefusal(err)) && m.learnTurn(err, format, &req) {
				continue
			}
			return memory.Turn{}, reply{}, err
		}
		turn := turnOf(resp, d, asJSON)
		in, answered := usageOf(&req, &resp, &turn)
		out.PromptTokens += in
		out.CompletionTokens += answered
		return turn, newReply(resp), nil
	}
}

// usageOf returns the tokens of a request and its answer: as the endpoint counted them, else an estimate.
func usageOf(req *openai.ChatCompletionRequest, resp *openai.ChatCompletionResponse, turn *memory.Turn) (in, answered int64) {
	in, answered = int64(resp.Usage.PromptTokens), int64(resp.Usage.CompletionTokens)
	if in != 0 || answered != 0 {
		return in, answered
	}
	for _, msg := range req.Messages {
		in += estimateTokens(msg.Content)
	}
	answered = estimateTokens(turn.Text)
	for _, c := range turn.Calls {
		answered += estimateTokens(c.Name + c.Arguments)
	}
	return in, answered
}

// learnTurn adapts the settings to a refusal of the form of a request. It reports whether it should be sent again.
func (m *Completion) learnTurn(err error, format int32, req *openai.ChatCompletionRequest) bool {
	return m.learnStream(err, req) || m.learnTools(err, req) || m.learnTaking(err) || m.learn(err, format, *req) || m.learnSystem(err, *req)
}

// learnStream adapts the settings to an endpoint that refuses streams, or a field beside them.
func (m *Completion) learnStream(err error, req *openai.ChatCompletionRequest) bool {
	f, ok := errors.AsType[*failure](err)
	if !ok || !req.Stream {
		return false
	}
	field, setting := "stream", &m.noStream
	if errors.Is(err, errNotStreamed) {
		setting.Store(true)
		return true
	}
	if req.StreamOptions != nil && refuses(f, "stream_options") {
		field, setting = "stream_options", &m.noStreamUsage
	} else if !refuses(f, "stream") {
		return false
	}
	if setting.CompareAndSwap(false, true) {
		m.log.Warn("the model endpoint refuses a request field; continuing without it", "endpoint", m.endpoint.name, "model", m.cfg.Model, "field", field)
	}
	return true
}

// learnTools adapts the settings to an endpoint that refuses tools.
func (m *Completion) learnTools(err error, req *openai.ChatCompletionRequest) bool {
	f, ok := errors.AsType[*failure](err)
	if !ok || len(req.Tools) == 0 || !refuses(f, "tool", "function") {
		return false
	}
	if m.noTools.CompareAndSwap(false, true) {
		m.log.Warn("the model endpoint has no tool calls; asking for JSON instead", "endpoint", m.endpoint.name, "model", m.cfg.Model)
	}
	return true
}

// dialogueRequest builds the request of a dialogue.
func (m *Completion) dialogueRequest(d *memory.Dialogue, asJSON bool, format int32) (openai.ChatCompletionRequest, error) {
	req := m.newRequest(d.MaxTokens, d.Temperature)
	if asJSON {
		err := dialogueAsJSON(&req, d, format)
		return req, err
	}
	for _, t := range d.Turns {
		msg := openai.ChatCompletionMessage{Role: string(t.Role), Content: t.Text, ToolCallID: t.Answers}
		for _, c := range t.Calls {
			msg.ToolCalls = append(msg.ToolCalls, openai.ToolCall{ID: c.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: c.Name, Arguments: c.Arguments}})
		}
		req.Messages = append(req.Messages, msg)
	}
	for _, t := range d.Tools {
		req.Tools = append(req.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}})
	}
	if len(req.Tools) == 0 {
		return req, nil
	}
	switch {
	case d.Choice == memory.ChooseRequired && d.Only != "":
		req.ToolChoice = openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: d.Only}}
	case d.Choice != "" && d.Choice != memory.ChooseAuto:
		req.ToolChoice = string(d.Choice)
	}
	return req, nil
}

// jsonTurn is a turn in the form for models without tool calls.
type jsonTurn struct {
	Text  string     `json:"text"`
	Calls []jsonCall `json:"calls"`
}

type jsonCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// jsonTurnSchema is the schema of a jsonTurn. The arguments are a text, since strict schemas allow no
// open objects; an object is accepted too.
const jsonTurnSchema = `{"type":"object","properties":{"text":{"type":"string"},"calls":{"type":"array","items":{"type":"object","properties":` +
	`{"tool":{"type":"string"},"arguments":{"type":"string"}},"required":["tool","arguments"],"additionalProperties":false}}},` +
	`"required":["text","calls"],"additionalProperties":false}`

// dialogueAsJSON writes the messages of a dialogue for a model without tool calls: tools are described in
// the instructions, calls and results are texts.
func dialogueAsJSON(req *openai.ChatCompletionRequest, d *memory.Dialogue, format int32) error {
	tools, err := json.Marshal(d.Tools)
	if err != nil {
		return fault.Wrap(err, fault.Internal, "encode the tools")
	}
	how := "You may call tools. Answer with one JSON object and nothing else: \"text\" is what you say, \"calls\" is a list of calls, " +
		"each with \"tool\" and \"arguments\", the arguments as the text of a JSON object. The tools:\n" + string(tools)
	switch d.Choice {
	case memory.ChooseRequired:
		how += "\nAt least one call is required" + only(d.Only) + "."
	case memory.ChooseNone:
		how += "\nCall none now."
	case memory.ChooseAuto:
	}
	f, form := objectFormat(format, d.Purpose, json.RawMessage(jsonTurnSchema))
	req.ResponseFormat, how = f, how+form
	for i, t := range d.Turns {
		msg := openai.ChatCompletionMessage{Role: string(t.Role), Content: t.Text}
		switch {
		case t.Role == memory.RoleAssistant:
			turn := jsonTurn{Text: t.Text, Calls: []jsonCall{}}
			for _, c := range t.Calls {
				arguments, err := json.Marshal(c.Arguments)
				if err != nil {
					return fault.Wrap(err, fault.Internal, "encode a call")
				}
				turn.Calls = append(turn.Calls, jsonCall{c.Name, arguments})
			}
			raw, err := json.Marshal(turn)
			if err != nil {
				return fault.Wrap(err, fault.Internal, "encode a turn")
			}
			msg.Content = string(raw)
		case t.Role == memory.RoleTool:
			msg.Role, msg.Content = openai.ChatMessageRoleUser, "Result of the tool "+toolOf(d.Turns[:i], t.Answers)+":\n"+t.Text
		case i == 0:
			msg.Content += "\n\n" + how
		}
		req.Messages = append(req.Messages, msg)
	}
	return nil
}

func only(tool string) string {
	if tool == "" {
		return ""
	}
	return ": " + tool
}

// toolOf returns the tool of a call in earlier turns.
func toolOf(turns []memory.Turn, call string) string {
	for _, turn := range slices.Backward(turns) {
		for _, c := range turn.Calls {
			if c.ID == call {
				return c.Name
			}
		}
	}
	return "called before"
}

// turnOf reads the turn of a response. In the JSON form, what is not an object of that form is a text.
func turnOf(resp openai.ChatCompletionResponse, d *memory.Dialogue, asJSON bool) memory.Turn {
	out := memory.Turn{Role: memory.RoleAssistant}
	if len(resp.Choices) == 0 {
		return out
	}
	msg := resp.Choices[0].Message
	text := strings.TrimSpace(msg.Content)
	out.Text = strings.TrimSpace(stripThinking(text))
	if out.Text = cmp.Or(out.Text, msg.Refusal); out.Text == "" && len(msg.ToolCalls) == 0 && !endsAtLimit(string(resp.Choices[0].FinishReason)) {
		text = strings.TrimSpace(msg.ReasoningContent) // some models put all that they say there
		out.Text = text
	}
	for _, c := range msg.ToolCalls {
		out.Calls = append(out.Calls, memory.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	if !asJSON {
		if len(out.Calls) == 0 && d.Choice != memory.ChooseNone {
			out.Text, out.Calls = writtenCalls(out.Text, d.Tools)
		}
		return out
	}
	raw, err := outermostObject(text)
	if err != nil {
		return out
	}
	var turn jsonTurn
	if err := json.Unmarshal(raw, &turn); err != nil || turn.Text == "" && len(turn.Calls) == 0 {
		return out
	}
	out.Text = strings.TrimSpace(turn.Text)
	for _, c := range turn.Calls {
		arguments := string(c.Arguments)
		var text string
		if json.Unmarshal(c.Arguments, &text) == nil {
			arguments = text
		}
		out.Calls = append(out.Calls, memory.ToolCall{Name: c.Tool, Arguments: arguments})
	}
	if d.Choice == memory.ChooseNone {
		out.Calls = nil
	}
	return out
}
