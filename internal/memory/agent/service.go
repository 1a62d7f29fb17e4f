package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/files"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what Service reads beside recall.
type Store interface {
	ListNotes(ctx context.Context, s tenant.Scope, v memory.View, q memory.NoteQuery) ([]memory.Note, error)
	NoteByKey(ctx context.Context, s tenant.Scope, v memory.View, kind memory.Kind, key string) (memory.Note, error)
	Counts(ctx context.Context, s tenant.Scope, v memory.View) (memory.Counts, error)
}

// Deps are the parts that the service uses; all but Clock are required.
type Deps struct {
	Store    Store
	Notes    *notes.Service
	Blocks   *notes.Blocks
	Recall   *recall.Service
	Files    *files.Service
	Policies memory.Policies
	Clock    memory.Clock // nil: time.Now
}

// Config are the settings of the service.
type Config struct {
	Encoding search.Encoding // counts tokens; default search.O200k
}

// Service builds the context of agents and runs their tools. It is safe for concurrent use.
type Service struct {
	store    Store
	notes    *notes.Service
	blocks   *notes.Blocks
	recall   *recall.Service
	files    *files.Service
	policies memory.Policies
	clock    memory.Clock
	encoding search.Encoding
}

// New returns a service.
func New(deps Deps, cfg Config) (*Service, error) {
	if deps.Store == nil || deps.Notes == nil || deps.Blocks == nil || deps.Recall == nil || deps.Files == nil || deps.Policies == nil {
		return nil, fault.New(fault.Internal, "agent: store, notes, blocks, recall, files and policies are required")
	}
	a := &Service{
		store: deps.Store, notes: deps.Notes, blocks: deps.Blocks, recall: deps.Recall, files: deps.Files, policies: deps.Policies, clock: deps.Clock,
		encoding: cmp.Or(cfg.Encoding, search.O200k),
	}
	if !slices.Contains(search.Encodings(), a.encoding) {
		return nil, fault.New(fault.Internal, "agent: no encoding %q", a.encoding)
	}
	if a.clock == nil {
		a.clock = time.Now
	}
	return a, nil
}

// paging returns what an agent works with in a collection. Invalid for a policy that does not page.
func (a *Service) paging(c *memory.Collection) (memory.Paging, error) {
	p, _ := a.policies.ByName(c.Policy)
	if pager, ok := p.(memory.Pager); ok {
		return pager.Paging(c.PolicyConfig), nil
	}
	var able []string
	for _, name := range a.policies.Names() {
		if p, _ := a.policies.ByName(name); p != nil {
			if _, ok := p.(memory.Pager); ok {
				able = append(able, name)
			}
		}
	}
	return memory.Paging{}, fault.New(fault.Invalid, "a collection with the policy %s has no tools and no window; create one with the policy %s", c.Policy, strings.Join(able, ", "))
}

// Tools returns the tools of an agent (notes:read).
func (a *Service) Tools(v *memory.View) ([]memory.Tool, error) {
	p, err := a.paging(&v.Collection)
	return p.Tools, err
}

// count returns the tokens of a text, with a margin where the encoding only estimates.
func (a *Service) count(text string) int {
	n, err := a.encoding.Count(text)
	if err != nil || a.encoding == search.Estimate {
		return int(search.EstimateMargin*float64(search.EstimateTokens(text))) + 1
	}
	return n
}
