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
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Completion is the answer to a request in the form of OpenAI's chat
// completions. It has to be closed.
type Completion struct {
	ContentType string
	Stream      bool            // it comes as server-sent events
	Revision    memory.Revision // of memory that was read
	Remembered  bool            // the exchange goes into memory once the answer was sent, if the model then has answered

	body    io.Reader // what is left of the answer
	resp    *Response // nil: no model answers, or it is closed
	offline bool
	request []byte
	said    *transcript
	memo    memo
	clock   memory.Clock
	cancel  context.CancelFunc
	ctx     context.Context //nolint:containedctx // of the answer that flows, which ends with it
}

// Complete answers a request of a client that speaks OpenAI's chat completions
// (notes:read, and notes:write for anything to be remembered). The collection is
// ref, or what stands behind the last @ of the model's name. The request goes to
// the model as it is, but for the model's name and one system message with what
// memory holds, and the answer comes back as it is.
//
// The user's last message is remembered with the text that answers it in the
// end: while a model calls tools nothing is, the request with what they gave
// brings it up.
//
// What the endpoint refuses is a *Refused in the chain of the error; otherwise
// errors are those of Answer.
func (s *Service) Complete(ctx context.Context, scope tenant.Scope, ref string, raw []byte) (_ *Completion, err error) {
	b, err := parseBody(raw)
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
		return nil, fault.InvalidField("model", "no collection is named: send it in the header Slipbox-Collection, or behind the model's name as in %q", DefaultModel+"@my-collection")
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
	model, err := s.models.pick(name, &v.Collection)
	if err != nil {
		return nil, err
	}
	question, ok := b.question()
	memo := s.newMemo(scope, &v, question, ok)
	c := &Completion{Stream: b.stream, Revision: v.At, Remembered: memo.wanted, said: &transcript{}, memo: memo, clock: s.clock, cancel: cancel, ctx: ctx}
	if model == nil {
		c.offline = true
		return c, s.completeOffline(ctx, scope, v, b, c)
	}
	built, err := s.context(ctx, scope, v, b.turns, 0)
	if err != nil {
		return nil, err
	}
	c.memo.recalled = len(built.Citations) > 0
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
	// All of it is read before anything is answered: what breaks off is an error yet.
	whole, err := io.ReadAll(c.body)
	if err == nil && !c.said.whole(whole) {
		err = fault.New(fault.ModelFailed, "the model's answer is none of a chat")
	} else if err != nil {
		err = broken(ctx, err)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	c.body = strings.NewReader(string(whole))
	return c, nil
}

// Pass hands the answer on as it comes, byte for byte; flush is called after
// each write. It is called once. An answer that breaks off is an error, and
// nothing of it is remembered.
func (c *Completion) Pass(w io.Writer, flush func() error) error {
	buf := make([]byte, 16<<10)
	for {
		n, err := c.body.Read(buf)
		if n > 0 {
			if c.Stream {
				c.said.stream(buf[:n])
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
				return broken(c.ctx, io.ErrUnexpectedEOF)
			}
			c.end()
			return nil
		case err != nil:
			return broken(c.ctx, err)
		}
	}
}

// end tells what of an answer that came to its end is to be remembered: nothing
// while tools are called, and the question alone where memory answered.
func (c *Completion) end() {
	switch {
	case c.said.failure != "" || c.said.tools || c.said.reply() == "":
	case c.offline:
		c.memo.answered = c.clock()
	default:
		c.memo.reply, c.memo.answered = c.said.reply(), c.clock()
	}
}

// Remember is as that of an Answer.
func (c *Completion) Remember(ctx context.Context) { c.memo.remember(ctx) }

// Close ends the answer and counts what it cost.
func (c *Completion) Close() {
	if c.resp != nil {
		_ = c.resp.Body.Close() // nothing more is wanted of it
		c.resp.Account(c.said.cost(c.request))
		c.resp = nil
	}
	c.cancel()
}

// completeOffline answers from memory alone in the form that the client knows.
func (s *Service) completeOffline(ctx context.Context, scope tenant.Scope, v memory.View, b *body, c *Completion) error {
	a, err := s.offline(ctx, scope, v, b.turns)
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
		c.said.whole([]byte(out.String()))
	}
	c.body = strings.NewReader(out.String())
	return err
}

// isStream tells the media type of server-sent events.
func isStream(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "text/event-stream"
}
