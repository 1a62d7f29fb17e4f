package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	openai "github.com/sashabaranov/go-openai"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// NewModel returns the model that cfg selects: a Completion, or d.Rules where no endpoint is
// configured.
func NewModel(d Deps, cfg Config) (memory.Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if !cfg.UsesModel() {
		return d.Rules, nil
	}
	if d.Observer == nil {
		return NewCompletion(d, cfg)
	}
	filled := cfg.withDefaults()
	c := call{operation: operationChat, provider: filled.Provider, model: filled.Model}
	d.Meter = d.Observer.meter(d.Meter, c)
	m, err := NewCompletion(d, cfg)
	if err != nil {
		return nil, err
	}
	return observedModel{Model: m, observer: d.Observer, call: c}, nil
}

// Completion is a language model behind an OpenAI-compatible endpoint.
type Completion struct {
	deps     Deps
	log      *slog.Logger
	cfg      Config
	endpoint *endpoint
	schemas  schemas

	// What the endpoint does not support. Learned from its refusals and kept for the life of the
	// process.
	format          atomic.Int32 // one of the format constants
	completionLimit atomic.Bool  // the token limit is named max_completion_tokens
	fixedSampling   atomic.Bool  // the endpoint refuses a temperature
	noTools         atomic.Bool  // the endpoint has no tool calls: turns are asked for as JSON
	noStreamUsage   atomic.Bool  // the endpoint refuses stream_options
	noStream        atomic.Bool  // the endpoint refuses to stream turns
	oneEach         atomic.Bool  // the endpoint refuses several messages of one side in a row: they are joined
	noSystem        atomic.Bool  // the endpoint refuses system messages: instructions are sent before the first of the user

	// room is the least limit of tokens of an answer, once one was cut off with less; most is the least that was refused.
	room, most atomic.Int64
}

// The ways to request JSON, best first.
const (
	formatBounded int32 = iota // response_format json_schema, strict, with bounds of lengths
	formatSchema               // the same without bounds, which some endpoints refuse in a strict schema
	formatObject               // response_format json_object, the schema in the instructions
	formatText                 // instructions alone
)

// bound matches a bound of a length or number in a schema of ours. It is removed as text, since the order of properties,
// in which a model writes them, would be lost in a map.
var bound = regexp.MustCompile(`,\s*"(?:minItems|maxItems|minLength|maxLength|minimum|maximum)":\s*[0-9.]+`)

// unbounded returns a schema without bounds.
func unbounded(schema json.RawMessage) json.RawMessage { return bound.ReplaceAll(schema, nil) }

// NewCompletion returns a Completion for a valid Config.
func NewCompletion(d Deps, cfg Config) (*Completion, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if d.Clock == nil {
		return nil, errors.New("llm: a clock is required")
	}
	cfg = cfg.withDefaults()
	return &Completion{deps: d, log: d.log(), cfg: cfg, endpoint: newEndpoint(d, cfg, labelModel, cfg.BaseURL, cfg.APIKey, cfg.KeyHeader)}, nil
}

// Analyst returns AnalystModel: a model describes the notes.
func (m *Completion) Analyst() memory.Analyst { return memory.AnalystModel }

// Name returns the name of the model at the endpoint.
func (m *Completion) Name() string { return m.cfg.Model }

// jsonOnly ends the instructions of every request, also when a response format is set: some
// endpoints ignore the format, and OpenAI requires the word JSON.
const jsonOnly = "The answer must be one JSON object: no prose, no code fence."

// Ask sends the call and checks the answer. When the answer is unusable it asks once more and shows
// the error to the model. The error is a fault: Unavailable or Timeout from the transport (with
// memory.ErrPaused in the chain when the breaker is open and nothing was sent), or ModelFailed with
// memory.ErrBadAnswer in the chain when both answers are unusable; Answer.JSON then holds an empty
// answer that fits the schema.
func (m *Completion) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (memory.Answer, error) {
	answer := memory.Answer{Analyst: memory.AnalystModel, Model: m.cfg.Model}
	if err := s.Check(); err != nil {
		return answer, err
	}
	schema, err := m.schemas.compile(c.Schema)
	if err != nil {
		return answer, fault.Wrap(err, fault.Internal, "the schema of the call %q cannot be used", c.Name)
	}
	defer func() {
		m.deps.record(ctx, s, memory.ModelUse{
			Collection: c.Collection, Purpose: c.Name, Calls: int64(answer.Calls),
			PromptTokens: answer.PromptTokens, CompletionTokens: answer.CompletionTokens,
		})
	}()

	messages := []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: c.Prompt}}
	for try := range 2 {
		sent := answer.Calls
		var checked json.RawMessage
		reply, err := m.sendWithRoom(ctx, s, c, messages, &answer, func(r *reply) (err error) {
			checked, err = r.check(schema, schema.requiredBy(c.Needs), &c)
			return err
		})
		if err != nil {
			if sent > 0 && errors.Is(err, memory.ErrPaused) {
				// A request was sent: the try counts.
				return answer, fault.New(fault.Unavailable, "%s began to fail during a call", m.endpoint.label)
			}
			return answer, err
		}
		if reply.problem == nil {
			answer.JSON, answer.Repaired = checked, try > 0
			return answer, nil
		}
		m.log.WarnContext(ctx, "unusable model answer", "call", c.Name, "prompt", c.Version, "model", m.cfg.Model,
			"endpoint", m.endpoint.name, "try", try+1, "finish", reply.finish, "refused", reply.refusal != "", "reason", reason(reply.problem))
		messages = repairMessages(c.Prompt, reply.content, reply.problem)
	}
	answer.JSON = memory.EmptyAnswer(c.Schema)
	return answer, fault.Wrap(memory.ErrBadAnswer, fault.ModelFailed, "%s gave no usable answer to %q", m.endpoint.label, c.Name)
}

// maxShown is how much of a bad answer is repeated to the model, in characters.
const maxShown = 4000

// repairMessages returns the conversation that shows the model its error.
func repairMessages(prompt, content string, err error) []openai.ChatCompletionMessage {
	ask := "That answer cannot be used: " + clip.Runes(err.Error(), maxShown) +
		"\nAnswer the same question again. " + jsonOnly
	if strings.TrimSpace(content) == "" {
		return []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: prompt + "\n\n" + ask}}
	}
	return []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleUser, Content: prompt},
		{Role: openai.ChatMessageRoleAssistant, Content: clip.Runes(content, maxShown)},
		{Role: openai.ChatMessageRoleUser, Content: ask},
	}
}

// sendWithRoom gets one reply, and again with more room as long as one that cannot be used was cut off.
func (m *Completion) sendWithRoom(
	ctx context.Context, s tenant.Scope, c memory.Call, messages []openai.ChatCompletionMessage, a *memory.Answer, check func(*reply) error,
) (reply, error) {
	rooms := m.rooms(c.MaxTokens)
	for {
		c.MaxTokens = rooms.limit
		r, err := m.send(ctx, s, c, messages, a, rooms.raised)
		if err != nil {
			if rooms.raised && isRefusal(err) && rooms.lower() {
				continue
			}
			return r, rooms.explain(err)
		}
		if r.problem = check(&r); r.problem == nil || !r.cutOff(rooms.limit) {
			rooms.keep()
			return r, nil
		}
		if !rooms.raise() {
			return r, rooms.exhausted()
		}
	}
}

// send gets one reply, in the best format that the endpoint supports, and adds calls and tokens to
// the answer.
func (m *Completion) send(ctx context.Context, s tenant.Scope, c memory.Call, messages []openai.ChatCompletionMessage, a *memory.Answer, raised bool) (reply, error) {
	// Each refusal that learn understands changes one of four settings, the format at most three times and the others
	// once, so this sends at most seven requests.
	for {
		format := m.format.Load()
		req := m.request(c, messages, format)
		var resp openai.ChatCompletionResponse
		reached, err := m.endpoint.do(ctx, s, func(ctx context.Context, client *openai.Client) error {
			var err error
			resp, err = client.CreateChatCompletion(ctx, req)
			return err
		})
		a.Calls += reached
		if err != nil {
			if (!raised || !isRefusal(err)) && (m.learn(err, format, req) || m.learnSystem(err, req)) {
				continue
			}
			return reply{}, err
		}
		r := newReply(resp)
		in, out := int64(resp.Usage.PromptTokens), int64(resp.Usage.CompletionTokens)
		if in == 0 && out == 0 {
			for _, msg := range req.Messages {
				in += estimateTokens(msg.Content)
			}
			out = estimateTokens(r.content)
		}
		a.PromptTokens += in
		a.CompletionTokens += out
		return r, nil
	}
}

// request builds the request of a call.
func (m *Completion) request(c memory.Call, messages []openai.ChatCompletionMessage, format int32) openai.ChatCompletionRequest {
	system := strings.TrimSpace(c.System + "\n\n" + jsonOnly)
	req := m.newRequest(c.MaxTokens, c.Temperature)
	var how string
	req.ResponseFormat, how = objectFormat(format, c.Name, c.Schema)
	req.Messages = append([]openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleSystem, Content: system + how}}, messages...)
	if m.noSystem.Load() {
		withoutSystem(&req)
	}
	return req
}

// newRequest returns a request without messages, in the form that the endpoint takes. A limit or temperature of 0 is the
// configured one.
func (m *Completion) newRequest(maxTokens int, temperature float64) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{Model: m.cfg.Model}
	limit := max(cmp.Or(maxTokens, m.cfg.MaxTokens), int(m.room.Load()))
	if m.completionLimit.Load() {
		req.MaxCompletionTokens = limit
	} else {
		req.MaxTokens = limit //nolint:staticcheck // the only name that Ollama, llama.cpp and older servers know
	}
	if !m.fixedSampling.Load() {
		req.Temperature = requestTemperature(temperature, m.cfg.Temperature)
	}
	return req
}

// objectFormat returns how a JSON object is requested, and what the instructions say of a schema that is not sent
// beside them.
func objectFormat(format int32, name string, schema json.RawMessage) (f *openai.ChatCompletionResponseFormat, how string) {
	if format == formatSchema {
		schema = unbounded(schema)
	}
	sendsSchema := format == formatBounded || format == formatSchema
	switch {
	case len(schema) == 0 && sendsSchema, format == formatObject:
		f = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	case sendsSchema:
		f = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: name, Schema: schema, Strict: true},
		}
	}
	if !sendsSchema && len(schema) > 0 {
		how = fmt.Sprintf("\n\nThe object must fit this JSON Schema, named %q:\n%s", name, schema)
	}
	return f, how
}

// leastTemperature stands for zero, which the client library omits. It is not the smallest number above: logits are
// divided by it, and where that overflows llama.cpp answers otherwise than at zero.
const leastTemperature = 1e-6

// requestTemperature returns the temperature of a call, or the default when the call has none (0).
// A negative one means zero.
func requestTemperature(call, def float64) float32 {
	switch {
	case call == 0:
		return float32(def)
	case call < 0:
		return leastTemperature
	}
	return float32(call)
}

// learn adapts the settings to a refusal of the form of a request. It reports whether the request
// should be sent again in another form.
func (m *Completion) learn(err error, format int32, req openai.ChatCompletionRequest) bool {
	var f *failure
	if !errors.As(err, &f) {
		return false
	}
	learned := ""
	switch {
	case errors.Is(f.err, openai.ErrReasoningModelMaxTokensDeprecated) || refuses(f, "max_tokens"):
		if req.MaxCompletionTokens > 0 {
			return false
		}
		if m.completionLimit.CompareAndSwap(false, true) {
			learned = "max_tokens"
		}
	case errors.Is(f.err, openai.ErrReasoningModelLimitationsOther), errors.Is(f.err, openai.ErrReasoningSamplingUnsupported),
		refuses(f, "temperature"):
		if req.Temperature == 0 {
			return false
		}
		if m.fixedSampling.CompareAndSwap(false, true) {
			learned = "temperature"
		}
	case refuses(f, "response_format", "json_schema", "json_object", "schema", "grammar", "maxlength", "maxitems", "minlength", "minitems"):
		if req.ResponseFormat == nil {
			return false
		}
		if m.format.CompareAndSwap(format, format+1) {
			learned = string(req.ResponseFormat.Type)
			if format == formatBounded {
				learned = "bounds of lengths in " + learned
			}
		}
	default:
		return false
	}
	// When another call has learned it meanwhile, the request is only sent again.
	if learned != "" {
		m.log.Warn("the model endpoint refuses a request field; continuing without it",
			"endpoint", m.endpoint.name, "model", m.cfg.Model, "field", learned)
	}
	return true
}

// refuses reports whether the endpoint rejected the request as bad with a message that contains one
// of the words.
func refuses(f *failure, words ...string) bool {
	switch f.status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
	default:
		return false
	}
	text := errors.Unwrap(f.err).Error()
	var api *openai.APIError
	if errors.As(f.err, &api) && api.Param != nil {
		text += " " + *api.Param
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// reply is one answer of a model, unchecked.
type reply struct {
	content string
	refusal string
	finish  string
	tokens  int   // as the endpoint counted them
	thought bool  // content is what the model thought: it said nothing
	problem error // why it cannot be used
}

func newReply(resp openai.ChatCompletionResponse) reply {
	if len(resp.Choices) == 0 {
		return reply{}
	}
	c := resp.Choices[0]
	r := reply{content: c.Message.Content, refusal: c.Message.Refusal, finish: string(c.FinishReason), tokens: resp.Usage.CompletionTokens}
	if strings.TrimSpace(r.content) == "" && !endsAtLimit(r.finish) {
		r.content, r.thought = c.Message.ReasoningContent, true // some models put all that they say there
	}
	return r
}

// cutOff reports whether the limit ended the answer. Not every endpoint says so.
func (r *reply) cutOff(limit int) bool {
	return endsAtLimit(r.finish) || limit > 0 && r.tokens >= limit
}

// check returns the checked answer of a reply. Its error is meant to be shown to the model.
func (r *reply) check(schema *answerSchema, required []string, c *memory.Call) (json.RawMessage, error) {
	switch {
	case r.refusal != "":
		return nil, problem{short: "a refusal", full: "the question was not answered: " + r.refusal}
	case withoutThinking(r.content) == "", r.thought && !strings.ContainsAny(r.content, "{["): // a thought in prose is not an answer in prose
		return nil, problem{short: "an empty answer", full: "the answer is empty"}
	case endsAtLimit(r.finish) && isPartial(r.content):
		return nil, problem{short: "cut off at the token limit", full: "the answer was cut off at the token limit; be shorter"}
	}
	object, err := answerObject(r.content, c.Lenient)
	if err != nil {
		return nil, err
	}
	checked, err := schema.check(object, required)
	if err != nil {
		return nil, err
	}
	if echo := c.Echo(checked); echo != "" {
		return nil, problem{short: "it repeats the example", full: echo + " is from the example, and not in the data; write only what the data says"}
	}
	if c.Check != nil {
		if err := c.Check(checked); err != nil {
			return nil, problem{short: "refused by the call's own check", full: err.Error()}
		}
	}
	return checked, nil
}

// problem says what is wrong with an answer: in full for the model, which wrote it, and in short,
// without text of the answer, for the log.
type problem struct{ short, full string }

func (p problem) Error() string { return p.full }

func reason(err error) string {
	if p, ok := errors.AsType[problem](err); ok {
		return p.short
	}
	return "unusable"
}
