package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Question is a dialogue that ends with what is to be answered.
type Question struct {
	Turns       []Turn
	Model       string // one of Models; "": the collection's
	TokenBudget int    // of the context; 0: recall's
	Forget      bool   // nothing of it is to be remembered
	// Began is told of the revision that is read, before anything is answered; nil: nobody is.
	Began func(memory.Revision)
}

// Answer is the reply to a question.
type Answer struct {
	Reply      string
	Citations  []recall.Citation // what the context held; [1] in it is the first
	Tokens     int               // of the context
	Model      string            // who answered; "" no model did
	Offline    bool              // put together from memory
	Remembered bool              // the exchange goes into memory once the answer is sent
	Usage      *Usage            // as the endpoint counted; nil where it did not, or was not asked
	Degraded   string            // as in [recall.Context]
	Revision   memory.Revision   // that was read

	memo memo
}

// Remember stores what was said and answered, if that is wanted. It is called
// once, after the answer was sent, with the context of the request, whose end
// it outlives for at most Config.RememberFor. A failure is logged and counted:
// whoever asked has their answer.
func (a *Answer) Remember(ctx context.Context) { a.memo.remember(ctx) }

// Answer answers a question from memory (notes:read, and notes:write for
// anything to be remembered). With delta the reply is handed on as it comes,
// in pieces; its error ends the answer. What fails before the first piece can
// still be answered otherwise.
//
// A name that is no model's is Invalid "model". What a model refuses is
// ModelFailed, one that cannot be reached Unavailable or Timeout.
func (s *Service) Answer(ctx context.Context, scope tenant.Scope, ref string, q Question, delta func(string) error) (*Answer, error) {
	if err := check(q.Turns); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	v, err := s.recall.Open(ctx, scope, ref, nil, 0)
	if err != nil {
		return nil, err
	}
	model, err := s.models.pick(q.Model, &v.Collection)
	if err != nil {
		return nil, err
	}
	if q.Began != nil {
		q.Began(v.At)
	}
	memo := s.newMemo(scope, &v, q.Turns[len(q.Turns)-1], !q.Forget)
	if model == nil {
		a, err := s.offline(ctx, scope, v, q.Turns)
		if err != nil {
			return nil, err
		}
		if delta != nil {
			if err := delta(a.Reply); err != nil {
				return nil, err
			}
		}
		memo.answered = s.clock()
		a.memo, a.Remembered = memo, memo.wanted
		return a, nil
	}
	built, err := s.context(ctx, scope, v, q.Turns, q.TokenBudget)
	if err != nil {
		return nil, err
	}
	body, err := newRequest(model.Name(), withMemory(built.Text), q.Turns, delta != nil, true)
	if err != nil {
		return nil, err
	}
	r := Request{Collection: v.Collection.ID, Body: body, Stream: delta != nil}
	t, err := s.ask(ctx, scope, model, r, delta)
	if refused, ok := errors.AsType[*Refused](err); ok && r.Stream && bytes.Contains(refused.Body, []byte("stream_options")) {
		// Not every endpoint knows how to end a stream with what it cost.
		if r.Body, err = newRequest(model.Name(), withMemory(built.Text), q.Turns, true, false); err != nil {
			return nil, err
		}
		t, err = s.ask(ctx, scope, model, r, delta)
	}
	if err != nil {
		return nil, err
	}
	memo.reply, memo.answered, memo.recalled = t.reply(), s.clock(), len(built.Citations) > 0
	return &Answer{
		Reply: t.reply(), Citations: built.Citations, Tokens: built.Tokens, Model: model.Name(), Remembered: memo.wanted,
		Usage: t.usage, Degraded: built.Degraded, Revision: v.At, memo: memo,
	}, nil
}

// ask sends a request and reads all of its answer.
func (s *Service) ask(ctx context.Context, scope tenant.Scope, model Model, r Request, delta func(string) error) (*transcript, error) {
	resp, err := model.Send(ctx, scope, r)
	if err != nil {
		return nil, err
	}
	t := &transcript{}
	defer func() {
		_ = resp.Body.Close() // nothing more is wanted of it
		resp.Account(t.cost(r.Body))
	}()
	if !r.Stream || !isStream(resp.ContentType) {
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, broken(ctx, err)
		}
		if !t.whole(raw) {
			return nil, fault.New(fault.ModelFailed, "the model's answer is none of a chat")
		}
		if delta != nil && t.reply() != "" {
			if err := delta(t.reply()); err != nil {
				return nil, err
			}
		}
	} else if err := t.follow(ctx, resp.Body, delta); err != nil {
		return nil, err
	}
	if t.reply() == "" {
		return nil, fault.New(fault.ModelFailed, "the model gave an empty answer")
	}
	return t, nil
}

// follow reads a stream to its end and hands on what it says.
func (t *transcript) follow(ctx context.Context, body io.Reader, delta func(string) error) error {
	buf := make([]byte, 16<<10)
	for {
		n, err := body.Read(buf)
		if added := t.stream(buf[:n]); added != "" {
			if err := delta(added); err != nil {
				return err
			}
		}
		switch {
		case t.failure != "":
			return fault.New(fault.ModelFailed, "%s", t.failure)
		case errors.Is(err, io.EOF):
			if !t.finished {
				return broken(ctx, io.ErrUnexpectedEOF)
			}
			if s := t.refusal.String(); s != "" && t.text.Len() == 0 {
				return delta(s)
			}
			return nil
		case err != nil:
			return broken(ctx, err)
		}
	}
}

// broken says that an answer broke off.
func broken(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err() // whoever asked has gone
	}
	if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return fault.Wrap(err, fault.Timeout, "the model's answer did not come to an end in time")
	}
	return fault.Wrap(err, fault.Unavailable, "the model's answer broke off")
}

// cost is what an answer cost: as the endpoint says, else by an estimate.
func (t *transcript) cost(request []byte) Usage {
	if u := t.usage; u != nil && u.PromptTokens >= 0 && u.CompletionTokens >= 0 && u.PromptTokens+u.CompletionTokens > 0 {
		return *t.usage
	}
	u := Usage{CompletionTokens: int64(search.EstimateTokens(t.reply())) + t.beside}
	if b, err := parseBody(request); err == nil {
		for _, f := range b.fields {
			switch f.name {
			case "tools", "functions", "response_format": // they are read as well
				u.PromptTokens += int64(search.EstimateTokens(string(f.raw)))
			}
		}
		for _, turn := range b.turns {
			u.PromptTokens += int64(search.EstimateTokens(turn.Content))
		}
	}
	return u
}

// speaker is a name that endpoints take.
var speaker = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// newRequest makes the request for a dialogue; a stream can be asked to end with what it cost.
func newRequest(model, system string, turns []Turn, stream, usage bool) ([]byte, error) {
	type message struct {
		Role    memory.Role `json:"role"`
		Name    string      `json:"name,omitempty"`
		Content string      `json:"content"`
	}
	type options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	out := struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
		Stream   bool      `json:"stream,omitempty"`
		Options  *options  `json:"stream_options,omitempty"`
	}{Model: model, Stream: stream}
	if stream && usage {
		out.Options = &options{IncludeUsage: true}
	}
	out.Messages = []message{{Role: memory.RoleSystem, Content: system}}
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
	return raw, nil
}
