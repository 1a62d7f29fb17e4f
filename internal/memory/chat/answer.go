package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Question is a dialogue whose last turn is to be answered.
type Question struct {
	Turns       []Turn
	Model       string // one of Models; "": the collection's model
	TokenBudget int    // of the context; 0: recall's default
	Forget      bool   // nothing is remembered
	// Once is the key under which the exchange is stored once, however often the question is asked; nil: none.
	Once *memory.Idempotency
	// MinAnswerable is as in [recall.ContextQuery]; without a model, nil is a low value of our own.
	MinAnswerable *float64
	// Began is called with the revision that is read, before the answer begins; may be nil.
	Began func(memory.Revision)
}

// Answer is the reply to a question.
type Answer struct {
	Reply      string
	Citations  []recall.Citation // sources of the context; [1] in its text is the first
	Tokens     int               // of the context
	Model      string            // that answered; "": none did
	Offline    bool              // built from memory without a model
	Remembered bool              // the exchange is stored once the answer is sent
	Usage      *Usage            // as the endpoint counted it; nil: not counted, or no endpoint
	Degraded   string            // as in [recall.Context]
	Answerable *float64          // as in [recall.Context]
	Withheld   string            // as in [recall.Context]
	Revision   memory.Revision   // that was read

	memo pendingExchange
}

// Remember stores the question and the answer, if that is wanted. Call it once, after the answer
// was sent, with the context of the request; it continues after the end of that context for at most
// ten seconds. A failure is logged and counted, not returned: the answer is already sent.
func (a *Answer) Remember(ctx context.Context) { a.memo.remember(ctx) }

// Answer answers a question from memory (notes:read; notes:write to store the exchange). If delta
// is set, it is called with each piece of the reply; its error ends the answer. Until the first
// piece, a failed model can be replaced by another answer. Of an answer that breaks off behind its first piece, or whose caller has
// left, the question is stored before Answer returns.
//
// An unknown model name is Invalid "model". A refusal of the model is ModelFailed; a model that
// cannot be reached is Unavailable or Timeout.
func (s *Service) Answer(ctx context.Context, scope tenant.Scope, ref string, q Question, delta func(string) error) (_ *Answer, err error) {
	if err := checkTurns(q.Turns); err != nil {
		return nil, err
	}
	asked := ctx
	ctx, cancel := context.WithTimeout(ctx, s.timeout(delta != nil))
	defer cancel()
	v, err := s.Current(ctx, nil, func() (memory.View, error) { return s.recall.Open(ctx, scope, ref, nil, 0) })
	if err != nil {
		return nil, err
	}
	model, err := s.models.choose(q.Model, &v.Collection)
	if err != nil {
		return nil, err
	}
	if q.Began != nil {
		q.Began(v.At)
	}
	memo, err := s.newMemo(ctx, scope, &v, q.Turns[len(q.Turns)-1], q.Turns, !q.Forget)
	if err != nil {
		return nil, err
	}
	memo.once = q.Once
	began := false
	defer func() {
		if err != nil && (began || left(asked)) {
			memo.keepQuestion(asked)
		}
	}()
	if send := delta; send != nil {
		delta = func(piece string) error { began = true; return send(piece) }
	}
	if model == nil {
		a, err := s.answerOffline(ctx, scope, v, &q)
		if err != nil {
			return nil, err
		}
		if delta != nil {
			if err := delta(a.Reply); err != nil {
				return nil, err
			}
		}
		memo.end("")
		a.memo, a.Remembered = memo, memo.wanted
		return a, nil
	}
	built, err := s.context(ctx, scope, v, q.Turns, recall.ContextQuery{TokenBudget: q.TokenBudget, MinAnswerable: q.MinAnswerable, Chat: true})
	if err != nil {
		return nil, err
	}
	r, err := newRequest(q.Turns, built.Turns, withMemory(built.Text), delta != nil)
	if err != nil {
		return nil, err
	}
	t, err := s.readAnswer(ctx, scope, model, v.Collection.ID, r, delta)
	if refused, ok := errors.AsType[*Refused](err); ok && r.stream && bytes.Contains(refused.Body, []byte("stream_options")) {
		// Not every endpoint supports usage at the end of a stream.
		r.rename("stream_options", "")
		t, err = s.readAnswer(ctx, scope, model, v.Collection.ID, r, delta)
	}
	if err != nil {
		return nil, err
	}
	memo.recalled = len(built.Citations) > 0
	memo.end(t.reply())
	return &Answer{
		Reply: t.reply(), Citations: built.Citations, Tokens: built.Tokens, Model: model.Name(), Remembered: memo.wanted,
		Usage: t.usage, Degraded: built.Degraded, Answerable: built.Answerable, Withheld: built.Withheld, Revision: v.At, memo: memo,
	}, nil
}

// left reports whether the caller has left: nobody reads the status of the request. One that ends a context for another cause is there.
func left(ctx context.Context) bool { return errors.Is(context.Cause(ctx), context.Canceled) }

// readAnswer sends a request and reads the whole answer.
func (s *Service) readAnswer(ctx context.Context, scope tenant.Scope, model Model, collection uuid.UUID, r *body, delta func(string) error) (*transcript, error) {
	resp, sent, err := s.send(ctx, scope, model, collection, r)
	if err != nil {
		return nil, err
	}
	t := &transcript{}
	defer func() {
		_ = resp.Body.Close() // the rest is not read
		resp.Account(t.cost(sent))
	}()
	if isStream(resp.ContentType) && !r.stream {
		return nil, errUnwanted
	}
	if !isStream(resp.ContentType) {
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, brokenAnswer(ctx, err)
		}
		if !t.parseWhole(raw) {
			return nil, fault.New(fault.ModelFailed, "the model's answer is not a chat completion")
		}
		if delta != nil && t.reply() != "" {
			if err := delta(t.reply()); err != nil {
				return nil, err
			}
		}
	} else if err := t.readStream(ctx, resp.Body, delta); err != nil {
		return nil, err
	}
	switch {
	case t.reply() != "":
		return t, nil
	case t.finish == "length":
		return nil, fault.New(fault.ModelFailed, "the model's answer was cut off before its text began: raise the limit of answers at the model's endpoint, or use a model that thinks less")
	}
	return nil, fault.New(fault.ModelFailed, "the model returned an empty answer")
}

// readStream reads a stream to its end and passes on its text.
func (t *transcript) readStream(ctx context.Context, body io.Reader, delta func(string) error) error {
	buf := make([]byte, 16<<10)
	for {
		n, err := body.Read(buf)
		if added := t.parseStream(buf[:n]); added != "" {
			if err := delta(added); err != nil {
				return err
			}
		}
		switch {
		case t.failure != "":
			return fault.New(fault.ModelFailed, "%s", t.failure)
		case errors.Is(err, io.EOF):
			if !t.finished {
				return brokenAnswer(ctx, io.ErrUnexpectedEOF)
			}
			if s := t.reply(); s != "" && t.text.Len() == 0 {
				return delta(s)
			}
			return nil
		case err != nil:
			return brokenAnswer(ctx, err)
		}
	}
}

// errUnwanted is the error of a stream that nobody asked for.
var errUnwanted = fault.New(fault.ModelFailed, "the model's answer is a stream, which was not asked for")

// brokenAnswer returns the error for an answer that ended early.
func brokenAnswer(ctx context.Context, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f // the endpoint said what is wrong
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err() // the client is gone
	}
	if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return fault.Wrap(err, fault.Timeout, "the model's answer did not end in time")
	}
	return fault.Wrap(err, fault.Unavailable, "the model's answer broke off")
}

// cost returns the cost of an answer: as the endpoint counted it, or else an estimate.
func (t *transcript) cost(request []byte) Usage {
	if u := t.usage; u != nil && u.PromptTokens >= 0 && u.CompletionTokens >= 0 && u.PromptTokens+u.CompletionTokens > 0 {
		return *t.usage
	}
	u := Usage{CompletionTokens: int64(search.EstimateTokens(t.reply())) + t.beside}
	if b, err := parseBody(request); err == nil {
		for _, f := range b.fields {
			switch f.name {
			case "tools", "functions", "response_format": // the model reads these too
				u.PromptTokens += int64(search.EstimateTokens(string(f.raw)))
			}
		}
		for _, turn := range b.turns {
			u.PromptTokens += int64(search.EstimateTokens(turn.Content))
		}
	}
	return u
}

// speaker matches names that endpoints accept.
var speaker = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// newRequest returns the last turns of a dialogue, at most so many (0: all), as a request, with what is known behind the last one. Of a
// stream, the usage at its end is asked for.
func newRequest(turns []Turn, most int, known string, stream bool) (*body, error) {
	type message struct {
		Role    memory.Role `json:"role"`
		Name    string      `json:"name,omitempty"`
		Content string      `json:"content"`
	}
	type options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	out := struct {
		Messages []message `json:"messages"`
		Stream   bool      `json:"stream,omitempty"`
		Options  *options  `json:"stream_options,omitempty"`
	}{Stream: stream}
	if stream {
		out.Options = &options{IncludeUsage: true}
	}
	for _, t := range turns {
		m := message{Role: t.Role, Content: t.Content}
		if speaker.MatchString(t.Name) {
			m.Name = t.Name
		}
		out.Messages = append(out.Messages, m)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode a request: %w", err)
	}
	b, err := parseBody(raw)
	if err != nil {
		return nil, err
	}
	b.keepLast(most)
	err = b.inject(known)
	return b, err
}
