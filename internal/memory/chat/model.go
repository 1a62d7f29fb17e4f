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

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Model answers requests in the form of OpenAI's chat completions. It is safe
// for concurrent use.
type Model interface {
	// Name returns the endpoint's name of the model; requests contain it.
	Name() string
	// Send sends a request and returns the answer when it begins. It retries while that may help
	// and nothing was returned yet. Faults are those of memory.Model. If the endpoint refuses the
	// request itself, a *Refused is in the chain. QuotaExceeded when the tenant's tokens are used
	// up.
	Send(ctx context.Context, s tenant.Scope, r Request) (*Response, error)
}

// Request is a request to a model.
type Request struct {
	Collection uuid.UUID // for accounting
	Body       []byte    // JSON, with the model's name
	Stream     bool      // ask for server-sent events
}

// Response is an answer that may still arrive.
type Response struct {
	ContentType string
	// Body fails when its context ends, or when no data arrives for too long. It must be closed.
	Body io.ReadCloser
	// Account records the cost of the answer. Call it once, also after a failure.
	Account func(Usage)
}

// Usage is the cost of a request and its answer.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// Refused is the response of an endpoint that refuses a request.
type Refused struct {
	Status      int
	ContentType string
	Body        []byte
}

func (r *Refused) Error() string {
	return "the request was refused with status " + strconv.Itoa(r.Status)
}

// ErrUnknownModel is in the chain of the error for a name that Models does not have.
var ErrUnknownModel = errors.New("no such model")

// ErrNoModel is in the chain of the error for a request that only a model can answer, where there is none.
var ErrNoModel = errors.New("no model is configured")

// DefaultModel is the name that selects the collection's model.
const DefaultModel = "slipbox"

// AnyModel is the key in Models.Named of the model that serves every other name: its endpoint is asked for the model
// that the request names.
const AnyModel = "*"

// Models are the models that callers may choose. No other model is used.
type Models struct {
	Main  Model            // nil: none is configured
	Named map[string]Model // by their names in the settings, or AnyModel
}

// Names returns the valid names, the default first.
func (m *Models) Names() []string {
	names := map[string]bool{}
	if m.Main != nil {
		names[m.Main.Name()] = true
	}
	for name := range m.Named {
		names[name] = true
	}
	delete(names, DefaultModel)
	delete(names, AnyModel)
	return append([]string{DefaultModel}, slices.Sorted(maps.Keys(names))...)
}

// choose returns the model for a name. The default name is the collection's choice; nil means that
// the answer is built without a model.
func (m *Models) choose(name string, c *memory.Collection) (Model, error) {
	if name == "" || name == DefaultModel {
		return m.forCollection(c), nil
	}
	if named, ok := m.Named[name]; ok && name != AnyModel {
		return named, nil
	}
	if m.Main != nil && m.Main.Name() == name {
		return m.Main, nil
	}
	if every := m.Named[AnyModel]; every != nil && isModelName(name) {
		return passedOn{Model: every, name: name}, nil
	}
	err := fault.InvalidField("model", "unknown model %q; valid models are %s", clip.Runes(name, maxName), strings.Join(m.Names(), ", "))
	err.Err = ErrUnknownModel
	return nil, err
}

// passedOn is a model that is asked by another name.
type passedOn struct {
	Model
	name string
}

// Name implements Model.
func (m passedOn) Name() string { return m.name }

// maxModelName is the longest name of a model that is passed on, in bytes.
const maxModelName = 256

// isModelName reports whether a name may be one of an endpoint.
func isModelName(name string) bool {
	return len(name) <= maxModelName && name != AnyModel && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// Has reports whether callers may choose a name.
func (m *Models) Has(name string) bool {
	if slices.Contains(m.Names(), name) {
		return true
	}
	return m.Named[AnyModel] != nil && name != "" && isModelName(name)
}

// forCollection returns the model that the collection's config selects, or else the main one.
func (m *Models) forCollection(c *memory.Collection) Model {
	var set struct {
		Analyst memory.Analyst `json:"analyst"`
		Model   string         `json:"model"`
	}
	if len(c.PolicyConfig) > 0 && json.Unmarshal(c.PolicyConfig, &set) != nil {
		// The config was validated when it was set, so fields of other types belong to
		// another policy and have another meaning.
		set.Analyst, set.Model = "", ""
	}
	if set.Analyst == memory.AnalystHeuristic {
		return nil
	}
	return cmp.Or(m.Named[set.Model], m.Main)
}

// maxName bounds how much of a name an error repeats, in characters.
const maxName = 100
