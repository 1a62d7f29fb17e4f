package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Completion is the answer to a request in the form of OpenAI's chat completions. Close must be
// called.
type Completion struct {
	ContentType string
	Stream      bool            // sent as server-sent events
	Revision    memory.Revision // of the memory that was read
	Remembered  bool            // the exchange is stored once the answer is sent, if the model answers by then

	body    io.Reader // rest of the answer
	resp    *Response // nil: no model answers, or the completion is closed
	offline bool
	request []byte
	said    *transcript
	memo    pendingExchange
	clock   memory.Clock
	cancel  context.CancelFunc
	ctx     context.Context //nolint:containedctx // of the answer that flows, which ends with it
}

// Complete answers a request of an OpenAI client (notes:read; notes:write to store the exchange).
// The collection is ref, or what follows the last @ in the model's name. The request is sent to the
// model unchanged, except for the model's name and one added system message with the context from
// memory; a policy may bound the turns that the model reads. The answer is returned unchanged. A request beyond Config.Limits is Invalid.
//
// The user's last message is stored with the text that finally answers it. While the model calls
// tools nothing is stored: the request with their results does it.
//
// If the endpoint refuses the request, a *Refused is in the chain of the error. Otherwise the
// errors are those of Answer.
func (s *Service) Complete(ctx context.Context, scope tenant.Scope, ref string, raw []byte) (_ *Completion, err error) {
	b, err := parseBody(raw)
	if err == nil {
		err = s.cfg.Limits.check(b)
	}
	if err != nil {
		return nil, err
	}
	name := b.model
	if at := strings.LastIndexByte(name, '@'); at >= 0 {
		if ref == "" {
			ref = name[at+1:]
		}
		name = name[:at]
	}
	if ref == "" {
		return nil, fault.InvalidField("model", "no collection is named: send it in the header Slipbox-Collection, or after the model's name as in %q", DefaultModel+"@my-collection")
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	v, err := s.recall.Open(ctx, scope, ref, nil, 0)
	if err != nil {
		return nil, err
	}
	model, err := s.models.choose(name, &v.Collection)
	if err != nil {
		return nil, err
	}
	question, ok := b.question()
	memo, err := s.newMemo(ctx, scope, &v, question, ok)
	if err != nil {
		return nil, err
	}
	c := &Completion{Stream: b.stream, Revision: v.At, Remembered: memo.wanted, said: &transcript{}, memo: memo, clock: s.clock, cancel: cancel, ctx: ctx}
	if model == nil {
		c.offline = true
		return c, s.completeOffline(ctx, scope, v, b, c)
	}
	built, err := s.context(ctx, scope, v, b.turns, recall.ContextQuery{Chat: true})
	if err != nil {
		return nil, err
	}
	c.memo.recalled = len(built.Citations) > 0
	b.keepLast(built.Turns)
	if built.Text != "" {
		if err := b.inject(withMemory(built.Text)); err != nil {
			return nil, err
		}
	}
	if c.request, err = b.encode(model.Name()); err != nil {
		return nil, err
	}
	if c.resp, err = model.Send(ctx, scope, Request{Collection: v.Collection.ID, Body: c.request, Stream: b.stream}); err != nil {
		return nil, err
	}
	c.ContentType, c.body = c.resp.ContentType, c.resp.Body
	c.Stream = isStream(c.ContentType)
	if c.Stream {
		return c, nil
	}
	// The whole answer is read first, so that an answer that breaks off is still an error response.
	whole, err := io.ReadAll(c.body)
	if err == nil && !c.said.parseWhole(whole) {
		err = fault.New(fault.ModelFailed, "the model's answer is not a chat completion")
	} else if err != nil {
		err = brokenAnswer(ctx, err)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	c.body = strings.NewReader(string(whole))
	return c, nil
}

// Pass copies the answer to w as it arrives, byte for byte, and calls flush after each write. Call
// it once. An answer that breaks off is an error, and nothing of it is stored.
func (c *Completion) Pass(w io.Writer, flush func() error) error {
	err := c.pass(w, flush)
	if err != nil && c.Stream && c.said.finished {
		// The client has the whole answer and has left, before the endpoint ended the stream.
		err = nil
	}
	if err == nil {
		c.end()
	}
	return err
}

// pass copies the answer to its end.
func (c *Completion) pass(w io.Writer, flush func() error) error {
	buf := make([]byte, 16<<10)
	for {
		n, err := c.body.Read(buf)
		if n > 0 {
			if c.Stream {
				c.said.parseStream(buf[:n])
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if err := flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			if !c.said.finished {
				return brokenAnswer(c.ctx, io.ErrUnexpectedEOF)
			}
			return nil
		case err != nil:
			return brokenAnswer(c.ctx, err)
		}
	}
}

// end decides what of a complete answer is stored: nothing if the model calls tools, and only the
// question if there was no model.
func (c *Completion) end() {
	switch {
	case c.said.failure != "" || c.said.tools || c.said.reply() == "":
	case c.offline:
		c.memo.answered = c.clock()
	default:
		c.memo.reply, c.memo.answered = c.said.reply(), c.clock()
	}
}

// Remember works like Remember of an Answer.
func (c *Completion) Remember(ctx context.Context) { c.memo.remember(ctx) }

// Close ends the answer and counts what it cost.
func (c *Completion) Close() {
	if c.resp != nil {
		_ = c.resp.Body.Close() // the rest is not read
		c.resp.Account(c.said.cost(c.request))
		c.resp = nil
	}
	c.cancel()
}

// completeOffline answers without a model, in the form that the client expects.
func (s *Service) completeOffline(ctx context.Context, scope tenant.Scope, v memory.View, b *body, c *Completion) error {
	a, err := s.answerOffline(ctx, scope, v, &Question{Turns: b.turns})
	if err != nil {
		return err
	}
	type object = map[string]any
	frame := func(kind string, choice object) object {
		choice["index"] = 0
		return object{
			"id": "chatcmpl-" + uuid.NewString(), "object": kind, "created": s.clock().Unix(), "model": DefaultModel,
			"choices": []object{choice},
		}
	}
	var out strings.Builder
	write := func(before string, v any, after string) error {
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode an answer: %w", err)
		}
		out.WriteString(before + string(raw) + after)
		return nil
	}
	if b.stream {
		c.ContentType = "text/event-stream"
		const kind, before, after = "chat.completion.chunk", "data: ", "\n\n"
		first := frame(kind, object{"delta": object{"role": "assistant", "content": a.Reply}, "finish_reason": nil})
		last := frame(kind, object{"delta": object{}, "finish_reason": "stop"})
		last["id"] = first["id"]
		err = errors.Join(write(before, first, after), write(before, last, after))
		out.WriteString("data: [DONE]\n\n")
	} else {
		c.ContentType = "application/json"
		whole := frame("chat.completion", object{"message": object{"role": "assistant", "content": a.Reply}, "finish_reason": "stop"})
		whole["usage"] = object{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
		err = write("", whole, "")
		c.said.parseWhole([]byte(out.String()))
	}
	c.body = strings.NewReader(out.String())
	return err
}

// isStream reports whether a media type is that of server-sent events.
func isStream(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "text/event-stream"
}
