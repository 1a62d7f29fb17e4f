package chat

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// learnedForms keeps, by the name of a model, in which form it takes instructions. It is safe for concurrent use.
type learnedForms struct {
	mu    sync.Mutex
	forms map[string]systemForm
}

func (l *learnedForms) of(model string) systemForm {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.forms[model]
}

func (l *learnedForms) learn(model string, form systemForm) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.forms == nil || len(l.forms) >= maxLearned { // names of models come from callers
		l.forms = map[string]systemForm{}
	}
	l.forms[model] = form
}

// maxLearned bounds the models of which something is kept.
const maxLearned = 1000

// send sends a request in the form in which the model takes instructions, and returns what was sent. When the model
// refuses it, simpler forms are tried, and the one that it takes is kept. The error is that of the first refusal.
func (s *Service) send(ctx context.Context, scope tenant.Scope, model Model, collection uuid.UUID, b *body) (*Response, []byte, error) {
	var refused error
	learned := s.forms.of(model.Name())
	for form := learned; form < systemForms; form++ {
		shaped, changed, err := b.withSystems(form)
		if err != nil {
			return nil, nil, err
		}
		if refused != nil && !changed {
			continue
		}
		raw, err := shaped.encode(model.Name())
		if err != nil {
			return nil, nil, err
		}
		resp, err := model.Send(ctx, scope, Request{Collection: collection, Body: raw, Stream: b.stream})
		switch {
		case err == nil:
			if form != learned {
				s.forms.learn(model.Name(), form)
				s.log.WarnContext(ctx, "the model refuses system messages as clients send them; sending them in another form", "model", model.Name())
			}
			return resp, raw, nil
		case refused == nil && !refusesForm(err):
			return nil, nil, err
		case refused == nil:
			refused = err
		}
	}
	return nil, nil, refused
}

// The statuses of an endpoint that refuses a request for its form.
const (
	malformed     = 400
	unprocessable = 422
)

// refusesForm reports whether an error may be about the form of a request.
func refusesForm(err error) bool {
	r, ok := errors.AsType[*Refused](err)
	return ok && (r.Status == malformed || r.Status == unprocessable)
}
