package llm

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Registry finds embedders by recorded name. The hashed n-gram embedder is
// always there, so that collections bound to it stay searchable whatever is
// configured later.
type Registry struct {
	byName  map[string]memory.Embedder
	first   string
	cache   *Cached // of the endpoint; nil: none
	notices []string
}

// NewRegistry makes the embedder that cfg asks for the default one.
func NewRegistry(d Deps, cfg Config) (*Registry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &Registry{byName: map[string]memory.Embedder{HashName: Hash{}}, first: HashName, notices: cfg.Notices()}
	switch p := cfg.embedProvider(); p {
	case EmbedLocal, EmbedHash:
		return r, nil
	case ProviderOpenAI, ProviderOllama:
		e, err := newEmbedder(d, cfg)
		if err != nil {
			return nil, err
		}
		r.first = e.Name()
		r.byName[r.first] = e
		if size := cfg.withDefaults().EmbedCache; size > 0 {
			r.cache = NewCached(e, size)
			r.byName[r.first] = r.cache
		}
		return r, nil
	default:
		return nil, fmt.Errorf("llm.embedder: unknown embedder %q", p) // Validate refuses it first
	}
}

// newEmbedder makes the embedder of an endpoint, observed if it is to be.
func newEmbedder(d Deps, cfg Config) (memory.Embedder, error) {
	if d.Observer == nil {
		return NewEmbedding(d, cfg)
	}
	c := call{operation: operationEmbed, provider: cfg.embedProvider(), model: cfg.withDefaults().EmbedModel, purpose: purposeEmbed}
	d.Meter = d.Observer.meter(d.Meter, c)
	e, err := NewEmbedding(d, cfg)
	if err != nil {
		return nil, err
	}
	return observedEmbedder{Embedder: e, observer: d.Observer, call: c}, nil
}

// Default is the embedder of new collections.
func (r *Registry) Default() memory.Embedder { return r.byName[r.first] }

// ByName finds an embedder by its recorded name.
func (r *Registry) ByName(name string) (memory.Embedder, bool) {
	e, ok := r.byName[name]
	return e, ok
}

// Names lists the recorded names that are served, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.byName)) }

// Notices tells what serves differently from what was asked for.
func (r *Registry) Notices() []string { return slices.Clone(r.notices) }

// Forget drops what is cached of a tenant.
func (r *Registry) Forget(tenantID uuid.UUID) {
	if r.cache != nil {
		r.cache.Forget(tenantID)
	}
}

var _ memory.Embedders = (*Registry)(nil)
