package llm

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// rooms are the limits of tokens by which one question is asked: models that think need more than the answer has, and
// nobody knows how much before one was cut off.
type rooms struct {
	m      *Completion
	limit  int
	former int  // the last limit that the endpoint took
	raised bool // limit is above what was asked for and is known to serve
	least  bool // the last step was a small one
}

// How much more room the next request gets: few requests are sent, and an endpoint that refuses a large step may take a
// small one.
const (
	largeStep = 4
	smallStep = 2
)

// rooms returns the first limit of a question: what it asks for, or what a former answer needed.
func (m *Completion) rooms(asked int) *rooms {
	return &rooms{m: m, limit: max(cmp.Or(asked, m.cfg.MaxTokens), int(m.room.Load()))}
}

// ceiling returns the most tokens of an answer.
func (r *rooms) ceiling() int {
	most := r.m.cfg.MaxTokensCeiling
	if refused := int(r.m.most.Load()); refused > 0 {
		most = min(most, refused-1)
	}
	return most
}

// raise sets a higher limit; false: there is none.
func (r *rooms) raise() bool {
	next := min(r.limit*largeStep, r.ceiling())
	if r.least || next <= r.limit {
		return false
	}
	r.former, r.limit, r.raised = r.limit, next, true
	return true
}

// lower sets a limit between one that was refused and the former one; false: that was tried.
func (r *rooms) lower() bool {
	r.m.most.Store(int64(r.limit))
	next := r.former * smallStep
	if r.least || next >= r.limit {
		return false
	}
	r.limit, r.least = next, true
	return true
}

// keep makes the next question begin with the limit that served.
func (r *rooms) keep() {
	if !r.raised {
		return
	}
	r.m.room.Store(int64(r.limit))
	r.m.log.Info("answers of the model get more room from now on", "endpoint", r.m.endpoint.name, "model", r.m.cfg.Model, "tokens", r.limit)
}

// exhausted is the error of an answer that was cut off with all the room that it may have.
func (r *rooms) exhausted() error {
	if r.limit >= r.m.cfg.MaxTokensCeiling {
		return fault.Wrap(memory.ErrNoRoom, fault.ModelFailed,
			"the model's answer was cut off at %d tokens, the most that it may have: raise SLIPBOX_LLM_MAX_TOKENS_CEILING, or use a model that thinks less", r.limit)
	}
	return fault.Wrap(memory.ErrNoRoom, fault.ModelFailed,
		"the model's answer was cut off at %d tokens, and its endpoint takes no higher limit: raise the limit of the endpoint, or use a model that thinks less", r.limit)
}

// explain returns the error of a request: one whose higher limit is refused means that the answer has no more room.
func (r *rooms) explain(err error) error {
	if r.raised && isRefusal(err) {
		r.limit = r.former
		return r.exhausted()
	}
	return err
}

// isRefusal reports whether an endpoint refused the request itself.
func isRefusal(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && (f.status == http.StatusBadRequest || f.status == http.StatusRequestEntityTooLarge || f.status == http.StatusUnprocessableEntity)
}

// endsAtLimit reports whether an answer ended because it has no more tokens, as endpoints say it.
func endsAtLimit(finish string) bool {
	finish = strings.ToLower(finish)
	return finish == string(openai.FinishReasonLength) || strings.HasPrefix(finish, "max_")
}

// joined makes one message of several that one side says in a row. Calls and their results stay as they are.
func joined(req *openai.ChatCompletionRequest) {
	var out []openai.ChatCompletionMessage
	for _, msg := range req.Messages {
		if n := len(out) - 1; n >= 0 && out[n].Role == msg.Role && msg.Role != openai.ChatMessageRoleTool && len(out[n].ToolCalls)+len(msg.ToolCalls) == 0 {
			out[n].Content += "\n\n" + msg.Content
			continue
		}
		out = append(out, msg)
	}
	req.Messages = out
}

// learnTaking adapts the settings to an endpoint whose template wants the sides to take turns, as those of Gemma and Mistral.
// It reports whether the request should be sent again.
func (m *Completion) learnTaking(err error) bool {
	f, ok := errors.AsType[*failure](err)
	if !ok || !refuses(f, "alternate", "2 or more assistant messages") || !m.oneEach.CompareAndSwap(false, true) {
		return false
	}
	m.log.Warn("the model endpoint wants the sides to take turns; joining what one says in a row", "endpoint", m.endpoint.name, "model", m.cfg.Model)
	return true
}

// withoutSystem moves instructions to the beginning of what the user says first.
func withoutSystem(req *openai.ChatCompletionRequest) {
	var said []string
	var rest []openai.ChatCompletionMessage
	for _, msg := range req.Messages {
		if msg.Role == openai.ChatMessageRoleSystem {
			said = append(said, msg.Content)
			continue
		}
		rest = append(rest, msg)
	}
	all := strings.Join(said, "\n\n")
	for i := range rest {
		if rest[i].Role == openai.ChatMessageRoleUser {
			rest[i].Content = all + "\n\n" + rest[i].Content
			req.Messages = rest
			return
		}
	}
	req.Messages = append([]openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: all}}, rest...)
}

// learnSystem adapts the settings to an endpoint that refuses system messages. It reports whether the request should be
// sent again.
func (m *Completion) learnSystem(err error, req openai.ChatCompletionRequest) bool {
	f, ok := errors.AsType[*failure](err)
	has := false
	for i := range req.Messages {
		has = has || req.Messages[i].Role == openai.ChatMessageRoleSystem
	}
	if !ok || !has || !refuses(f, "system", "developer", "role") {
		return false
	}
	if m.noSystem.CompareAndSwap(false, true) {
		m.log.Warn("the model endpoint refuses system messages; sending instructions before those of the user", "endpoint", m.endpoint.name, "model", m.cfg.Model)
	}
	return true
}
