package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// maxChats is how many chats of one tenant may run concurrently. Each may take minutes, and its tokens
// are counted only at the end.
const maxChats = 64

// chat answers a dialogue from memory, whole or as a stream. The exchange is stored after the
// answer was sent, within the request, so that a shutdown waits for it.
func (h *core) chat(c *gin.Context, ref string) error {
	body, err := bindAsked[wire.ChatRequest](h, c)
	if err != nil {
		return err
	}
	q, err := h.question(&body)
	if err != nil {
		return err
	}
	leave, err := h.talking.enter(scope(c).Tenant())
	if err != nil {
		return err
	}
	defer leave()
	ctx, watch, stop := untilRefused(c)
	defer stop()
	stream := valueOr(body.Stream, false)
	if stream {
		watch()
	}
	if asRun, err := h.chatsAsRun(c, ref, &body); err != nil || asRun {
		if err != nil {
			return err
		}
		return h.chatRun(ctx, c, ref, q.Turns[len(q.Turns)-1].Content, stream)
	}
	q.Once = conditions(c).Idempotency
	q.Began = func(r memory.Revision) { setRevision(c, r) }
	s := scope(c)
	if stream {
		return h.chatStream(ctx, c, s, ref, q)
	}
	a, err := h.Chat.Answer(ctx, s, ref, q, nil)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(wireAnswer(a))
	if err != nil {
		return err
	}
	sendWhole(c, mediaJSON, raw)
	a.Remember(ctx)
	return nil
}

// sendWhole sends an answer completely before the handler continues.
func sendWhole(c *gin.Context, media string, raw []byte) {
	c.Header("Content-Length", strconv.Itoa(len(raw)))
	c.Data(http.StatusOK, media, raw)
	_ = http.NewResponseController(c.Writer).Flush() // an error means that the client has left
}

// chatStream sends the reply in pieces.
func (h *core) chatStream(ctx context.Context, c *gin.Context, s tenant.Scope, ref string, q chat.Question) error {
	out := newEventStream(c)
	defer out.end()
	a, err := h.Chat.Answer(ctx, s, ref, q, func(text string) error { return out.event("delta", wire.ChatDelta{Text: text}) })
	if err != nil {
		err = refusal(ctx, err)
		if c.Writer.Written() {
			h.log.WarnContext(ctx, "a reply broke off", slog.String("request_id", requestID(c)), slog.Any("error", err))
		}
		return out.fail(err)
	}
	if err = out.event("done", wireAnswer(a)); err != nil { // the reply itself was sent
		h.log.DebugContext(ctx, "the end of a reply was not read", slog.String("request_id", requestID(c)), slog.Any("error", err))
	}
	a.Remember(ctx)
	if out.refused != nil {
		return out.fail(out.refused)
	}
	return nil
}

// question decodes a dialogue.
func (h *core) question(body *wire.ChatRequest) (chat.Question, error) {
	q := chat.Question{Model: valueOr(body.Model, ""), TokenBudget: valueOr(body.TokenBudget, 0), Forget: !valueOr(body.Remember, true), MinAnswerable: body.MinAnswerable}
	switch {
	case (body.Message == nil) == (body.Messages == nil):
		return q, fault.InvalidField("message", "exactly one of message and messages is required")
	case body.Message != nil:
		q.Turns = []chat.Turn{{Role: memory.RoleUser, Content: *body.Message}}
		return q, nil
	}
	for i := range body.Messages {
		turns, err := h.turns(&body.Messages[i])
		if err != nil {
			return q, prefixFields("messages."+strconv.Itoa(i), err)
		}
		q.Turns = append(q.Turns, turns...)
	}
	return q, nil
}

// turns decodes a message: one turn, or the two of a pair.
func (h *core) turns(m *wire.Message) ([]chat.Turn, error) {
	if _, err := h.message(m); err != nil {
		return nil, err
	}
	t := chat.Turn{ID: valueOr(m.ID, ""), Role: memory.Role(valueOr(m.Role, "")), Name: valueOr(m.Name, ""), Content: valueOr(m.Content, "")}
	if m.Session != nil { // else nil, and not an empty text
		t.Session = *m.Session
	}
	if m.OccurredAt != nil {
		at, err := memory.ParseEventTime("occurred_at", *m.OccurredAt, h.now())
		if err != nil {
			return nil, err
		}
		t.OccurredAt = &at
	}
	if m.Content != nil {
		return []chat.Turn{t}, nil
	}
	var out []chat.Turn
	for _, side := range []struct {
		role memory.Role
		text string
	}{{memory.RoleUser, valueOr(m.User, "")}, {memory.RoleAssistant, valueOr(m.Assistant, "")}} {
		if side.text != "" {
			t.Role, t.Content = side.role, side.text
			out = append(out, t)
		}
	}
	return out, nil
}

func wireAnswer(a *chat.Answer) wire.ChatAnswer {
	out := wire.ChatAnswer{
		Reply: a.Reply, Citations: wireCitations(a.Citations), Tokens: a.Tokens, Model: wire.Optional(a.Model),
		Offline: wire.Optional(a.Offline), Remembered: a.Remembered, Degraded: wire.Optional(a.Degraded),
		Answerable: a.Answerable, Withheld: wire.Optional(a.Withheld),
	}
	if a.Usage != nil {
		out.Usage = &wire.ChatUsage{PromptTokens: a.Usage.PromptTokens, CompletionTokens: a.Usage.CompletionTokens}
	}
	return out
}
