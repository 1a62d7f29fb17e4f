package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Model answers requests in the form of OpenAI's chat completions. It is safe
// for concurrent use.
type Model interface {
	// Name is what its endpoint calls it; requests carry it.
	Name() string
	// Send sends a request, again while that may help and nothing of an answer
	// was given out, and gives the answer as it begins. Faults are as those of
	// memory.Model; what the endpoint finds wrong with the request itself is a
	// *Refused in the chain. QuotaExceeded when the tenant's tokens are used up.
	Send(ctx context.Context, s tenant.Scope, r Request) (*Response, error)
}

// Request is one request of a chat.
type Request struct {
	Collection uuid.UUID // for accounting
	Body       []byte    // JSON, with the model's name
	Stream     bool      // the answer is to come as server-sent events
}

// Response is an answer as it comes.
type Response struct {
	ContentType string
	// Body breaks off when its context ends, or nothing comes for too long. It
	// has to be closed.
	Body io.ReadCloser
	// Account counts what the answer cost. It is called once, whatever became of
	// the answer.
	Account func(Usage)
}

// Usage is what a request and its answer cost.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// Refused is an answer by which an endpoint finds something wrong with a request.
type Refused struct {
	Status      int
	ContentType string
	Body        []byte
}

func (r *Refused) Error() string {
	return "the request was refused with status " + strconv.Itoa(r.Status)
}

// ErrUnknownModel is in the chain of the error for a name that is none of Models.
var ErrUnknownModel = errors.New("no such model")

// DefaultModel is the name by which callers leave the choice to the collection.
const DefaultModel = "slipbox"

// Models are those that callers can choose from; no other is ever asked.
type Models struct {
	Main  Model            // nil: none is configured
	Named map[string]Model // by the names of the settings
}

// Names lists the names that are valid, the default first.
func (m *Models) Names() []string {
	names := map[string]bool{}
	if m.Main != nil {
		names[m.Main.Name()] = true
	}
	for name := range m.Named {
		names[name] = true
	}
	delete(names, DefaultModel)
	return append([]string{DefaultModel}, slices.Sorted(maps.Keys(names))...)
}

// pick gives the model of a name, where a collection has the last word about
// none; nil when nobody but the heuristic analyst is to answer.
func (m *Models) pick(name string, c *memory.Collection) (Model, error) {
	if name == "" || name == DefaultModel {
		return m.of(c), nil
	}
	if named, ok := m.Named[name]; ok {
		return named, nil
	}
	if m.Main != nil && m.Main.Name() == name {
		return m.Main, nil
	}
	err := fault.InvalidField("model", "no model is named %q; named are %s", clip(name, maxName), strings.Join(m.Names(), ", "))
	err.Err = ErrUnknownModel
	return nil, err
}

// of gives the model that a collection's config names, or else the main one.
func (m *Models) of(c *memory.Collection) Model {
	var set struct {
		Analyst memory.Analyst `json:"analyst"`
		Model   string         `json:"model"`
	}
	if len(c.PolicyConfig) > 0 && json.Unmarshal(c.PolicyConfig, &set) != nil {
		set.Analyst, set.Model = "", "" // it was checked when it was set; if it says something else by these names, they mean nothing here
	}
	if set.Analyst == memory.AnalystHeuristic {
		return nil
	}
	return cmp.Or(m.Named[set.Model], m.Main)
}

// maxName bounds what is repeated of a name, in characters.
const maxName = 100
