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

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Completion is the answer to a request in the form of OpenAI's chat completions. Close must be
// called.
type Completion struct {
	ContentType string
	Stream      bool              // sent as server-sent events
	Revision    memory.Revision   // of the memory that was read
	Citations   []recall.Citation // of the context
	Remembered  bool              // the exchange is stored once the answer is sent, if the model answers by then

	answer  *response // takes the answer in the form of OpenAI's responses; nil: it passes unchanged
	replies *replies
	body    io.Reader // rest of the answer
	resp    *Response // nil: no model answers, or the completion is closed
	offline bool
	request []byte
	said    *transcript
	memo    pendingExchange
	began   bool // a piece of the stream was sent
	cancel  context.CancelFunc
	ctx     context.Context //nolint:containedctx // of the answer that flows, which ends with it
}

// Complete answers a request of an OpenAI client (notes:read; notes:write to store the exchange).
// The collection is what find returns for what [SplitModel] finds in the model's name, "" without one. The request is sent to the
// model unchanged, except for the model's name and the context from memory behind what the user said
// last; a policy may bound the turns that the model reads. The answer is returned unchanged. A request beyond Config.Limits is Invalid.
//
// The user's last message is stored with the text that finally answers it. While the model calls
// tools nothing is stored: the request with their results does it.
//
// If the endpoint refuses the request, a *Refused is in the chain of the error. Otherwise the
// errors are those of Answer.
func (s *Service) Complete(ctx context.Context, scope tenant.Scope, find Find, raw []byte) (*Completion, error) {
	b, err := parseBody(raw)
	if err != nil {
		return nil, err
	}
	return s.complete(ctx, scope, find, b, nil)
}

// Find returns the reference of the collection of a request, from what the model's name says of it. It is called once, before anything
// is read, with whether a stream is asked for.
type Find func(named string, stream bool) (ref string, err error)

// SplitModel splits the name of a model in a request into that of the model and that of the collection, at the @ between them. Names
// of models may have one (of a version), and so may ids of an application (an address of e-mail): the ids begin at the first
// @user=, @agent=, @app= or @run=, and what follows slipbox@ is a collection. Otherwise the last @ is between them.
func SplitModel(name string) (model, collection string) {
	at := strings.LastIndexByte(name, '@')
	if rest, ok := strings.CutPrefix(name, ownModel+"@"); ok {
		return ownModel, rest
	}
	for _, id := range []string{"@user=", "@agent=", "@app=", "@run="} {
		if i := strings.Index(name, id); i >= 0 && i < at {
			at = i
		}
	}
	if at >= 0 {
		return name[:at], name[at+1:]
	}
	return name, ""
}

// ownModel is the name of the model that the gateway has, whichever it is.
const ownModel = "slipbox"

// nameMissing returns the fault for a collection that does not exist with the name by which it was looked for: a part of the name of
// a model, which a client may not show.
func nameMissing(err error, name string) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || name == "" || f.Code != fault.NotFound || f.Message != fault.Missing("collection").Message {
		return err
	}
	named := *f
	named.Message = fmt.Sprintf("collection %q not found", clip.Runes(name, 200))
	if strings.Contains(name, "=") { // ids of an application
		named.Message += "; a request with the header Slipbox-Create: amem creates it"
	}
	return &named
}

// complete answers a request. r is the request in its own form, if it was translated, and takes the answer.
func (s *Service) complete(ctx context.Context, scope tenant.Scope, find Find, b *body, r *response) (_ *Completion, err error) {
	if err := s.cfg.Limits.check(b); err != nil {
		return nil, err
	}
	name, named := SplitModel(b.model)
	ref, err := find(named, b.stream)
	if err != nil {
		return nil, nameMissing(err, named)
	}
	if ref == "" {
		return nil, fault.InvalidField("model", "no collection is named: send it in the header Slipbox-Collection or Slipbox-External, or after the model's name as in %q", DefaultModel+"@my-collection")
	}
	asked := ctx
	ctx, cancel := context.WithTimeout(ctx, s.timeout(b.stream))
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	v, err := s.Current(ctx, nil, func() (memory.View, error) { return s.recall.Open(ctx, scope, ref, nil, 0) })
	if err != nil {
		return nil, nameMissing(err, ref)
	}
	model, err := s.models.choose(name, &v.Collection)
	if err != nil {
		return nil, err
	}
	question, ok := b.question()
	memo, err := s.newMemo(ctx, scope, &v, question, b.turns, ok)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && left(asked) {
			memo.keepQuestion(asked)
		}
	}()
	c := &Completion{Stream: b.stream, Revision: v.At, Remembered: memo.wanted, said: &transcript{}, memo: memo, cancel: cancel, ctx: ctx, replies: &s.replies}
	if r != nil {
		c.answer, c.said.part = r, r.add
		r.begin()
	}
	if model == nil {
		if err := b.needsModel(); err != nil {
			return nil, err
		}
		c.offline = true
		return c, s.completeOffline(ctx, scope, v, b, c)
	}
	built, err := s.context(ctx, scope, v, b.asked(), recall.ContextQuery{Chat: true})
	if err != nil {
		return nil, err
	}
	c.Citations, c.memo.recalled = built.Citations, len(built.Citations) > 0
	b = b.clone() // a request may be tried again in another form
	b.keepLast(built.Turns)
	if built.Text != "" {
		if err := b.inject(withMemory(built.Text)); err != nil {
			return nil, err
		}
	}
	if c.resp, c.request, err = s.send(ctx, scope, model, v.Collection.ID, b); err != nil {
		return nil, err
	}
	c.ContentType, c.body = c.resp.ContentType, c.resp.Body
	c.Stream = isStream(c.ContentType)
	if c.Stream && !b.stream {
		return nil, c.unwanted()
	}
	if c.Stream {
		return c, nil
	}
	if err := c.readWhole(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// readWhole reads the whole answer, so that one that breaks off is still an error response. It is closed then.
func (c *Completion) readWhole(ctx context.Context) error {
	whole, err := io.ReadAll(c.body)
	if err == nil && !c.said.parseWhole(whole) {
		err = fault.New(fault.ModelFailed, "the model's answer is not a chat completion")
	} else if err != nil {
		err = brokenAnswer(ctx, err)
	}
	if err != nil {
		c.Close()
		return err
	}
	c.body = strings.NewReader(string(whole))
	c.wasRead()
	return nil
}

// Pass copies the answer to w as it arrives, byte for byte, and calls flush after each write. Call it once. An answer that breaks
// off is an error, and only its question is stored, before Pass returns: it was asked while its key was accepted, also if that changed.
func (c *Completion) Pass(w io.Writer, flush func() error) error {
	err := c.pass(w, flush)
	if err != nil && c.Stream && c.said.finished {
		// The client has the whole answer and has left, before the endpoint ended the stream.
		err = nil
	}
	if err == nil {
		c.end()
	} else if c.began || left(c.ctx) {
		c.memo.keepQuestion(c.ctx)
	}
	return err
}

// pass copies the answer to its end.
func (c *Completion) pass(w io.Writer, flush func() error) error {
	if c.answer != nil {
		return c.passTranslated(w, flush)
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := c.body.Read(buf)
		if n > 0 {
			if c.Stream {
				c.said.parseStream(buf[:n])
			}
			c.await()
			c.began = c.Stream
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

// passTranslated writes the answer in the form of OpenAI's responses, to its end.
func (c *Completion) passTranslated(w io.Writer, flush func() error) error {
	send := func() error {
		if part := c.answer.flush(); len(part) > 0 {
			c.began = c.Stream
			if _, err := w.Write(part); err != nil {
				return err
			}
			return flush()
		}
		return nil
	}
	buf := make([]byte, 16<<10)
	for !c.said.done {
		if err := send(); err != nil {
			return err
		}
		n, err := c.body.Read(buf)
		if c.Stream {
			c.said.parseStream(buf[:n])
		}
		switch {
		case c.said.failure != "":
			return fault.New(fault.ModelFailed, "%s", c.said.failure)
		case err == nil || c.said.done:
		case c.said.finished:
			c.said.done = true // as much as there is to say
		case errors.Is(err, io.EOF):
			return brokenAnswer(c.ctx, io.ErrUnexpectedEOF)
		default:
			return brokenAnswer(c.ctx, err)
		}
	}
	if err := c.answer.end(); err != nil {
		return err
	}
	c.await()
	return send()
}

// Broken returns the last event of a stream that breaks off, with an error in OpenAI's form: a JSON object with the
// field error.
func (c *Completion) Broken(raw []byte) []byte {
	if c.answer == nil {
		return fmt.Appendf(nil, "data: %s\n\n", raw)
	}
	var v object
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	if e, ok := v["error"].(object); ok {
		// Some clients read the fields at the top, some below error.
		v["message"], v["code"], v["param"] = e["message"], e["code"], e["param"]
	}
	c.answer.event("error", v)
	return c.answer.flush()
}

// end decides what of a complete answer is stored: nothing if the model calls tools, and only the
// question if there was no model.
func (c *Completion) end() {
	if c.answer != nil {
		c.answer.keep(c.replies, c.memo.scope.Tenant())
	}
	switch {
	case !c.keeps():
	case c.offline:
		c.memo.end("")
	default:
		c.memo.end(c.said.reply())
	}
}

// keeps reports whether something of an answer is stored, as far as it was read.
func (c *Completion) keeps() bool {
	return c.said.finished && c.said.failure == "" && !c.said.tools && c.said.reply() != ""
}

// await makes the next requests wait for the exchange if the rest of the answer is about to be sent.
func (c *Completion) await() {
	if c.keeps() {
		c.memo.await()
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
	c.Citations = a.Citations
	noUsage := object{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
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
		if b.usage {
			usage := frame(kind, object{})
			usage["id"], usage["choices"], usage["usage"] = first["id"], []object{}, noUsage
			err = errors.Join(err, write(before, usage, after))
		}
		out.WriteString("data: [DONE]\n\n")
	} else {
		c.ContentType = "application/json"
		whole := frame("chat.completion", object{"message": object{"role": "assistant", "content": a.Reply}, "finish_reason": "stop"})
		whole["usage"] = noUsage
		err = write("", whole, "")
		c.said.parseWhole([]byte(out.String()))
	}
	c.body = strings.NewReader(out.String())
	if !b.stream {
		c.wasRead()
	}
	return err
}

// unwanted closes a stream that was not asked for, and returns the error.
func (c *Completion) unwanted() error {
	c.Close()
	return errUnwanted
}

// wasRead notes that the whole answer was parsed. Translated, it is sent in the form that the request asks for, whether
// the endpoint streams or not.
func (c *Completion) wasRead() {
	if c.answer == nil {
		return
	}
	c.said.done = c.said.finished
	c.Stream, c.ContentType = c.answer.streams, "application/json"
	if c.Stream {
		c.ContentType = "text/event-stream"
	}
}

// isStream reports whether a media type is that of server-sent events.
func isStream(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "text/event-stream"
}
