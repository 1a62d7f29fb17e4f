package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Registry finds embedders by recorded name. It always has the hashed n-gram embedder and the local
// encoders, so that collections that use them work after any change of settings; an encoder returns
// Unavailable as long as its weights are not installed.
type Registry struct {
	byName    map[string]memory.Embedder
	first     string
	caches    []*Cached
	locals    []*Local
	sentences *Local
	missing   error // why the default is not the one by language; nil when another was selected
}

// NewRegistry returns a registry whose default is the embedder that cfg selects. When cfg selects
// none, that is the one by language, or what the weights that can be read allow: the encoder for
// English, or the hashed embedder. Notices then reports what is missing. When cfg selects a local
// encoder by name, weights that cannot be read are an error.
func NewRegistry(d Deps, cfg Config) (*Registry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	english, multilingual := NewLocal(d, cfg), newMultilingual(d, cfg)
	both, talk := NewByLanguage(d, cfg, english), newForTalk(d, cfg)
	talk2 := newBoth(d, cfg, Talk2Name, talk.english, encoder.E5ForTalk2)
	r := &Registry{
		byName: map[string]memory.Embedder{HashName: Hash{}}, first: HashName,
		locals: []*Local{english, multilingual, both.others, talk.english, talk.others, talk2.others}, sentences: talk.others,
	}
	size := cfg.withDefaults().EmbedCache
	for _, e := range []memory.Embedder{english, multilingual, both, talk, talk2} {
		r.add(e, size)
	}
	switch p := cfg.embedProvider(); p {
	case EmbedHash:
		return r, nil
	case EmbedLocal, EmbedPublished, EmbedEnglish, EmbedMultilingual:
		var err error
		switch p {
		case EmbedMultilingual:
			err = r.choose(multilingual.Name(), multilingual.Open)
		case EmbedEnglish:
			err = r.choose(english.Name(), english.Open)
		case EmbedPublished:
			err = r.chooseBoth(both, english)
		default:
			err = r.chooseBoth(talk, english)
		}
		if err != nil && cfg.EmbedProvider != "" {
			return nil, errors.Join(fault.Wrap(err, fault.Unavailable,
				"SLIPBOX_EMBEDDER=%s asks for a local encoder: %s; unset it, or set it to hash, to do without", p, localProblem(err)), r.Close())
		}
		r.missing = err
		return r, nil
	case ProviderOpenAI, ProviderOllama:
		e, err := newEmbedder(d, cfg)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(r.locals, func(l *Local) bool { return l.Name() == e.Name() }) {
			return nil, fmt.Errorf("SLIPBOX_EMBED_MODEL: %s is what collections of a local encoder record, which gives more than vectors; unset it to use the local encoder", e.Name())
		}
		r.first = e.Name()
		r.add(e, size)
		return r, nil
	default:
		return nil, fmt.Errorf("llm.embedder: unknown embedder %q", p) // Validate refuses it first
	}
}

// chooseBoth makes an embedder of two encoders the default one; without the weights of the second, it is the one for English.
func (r *Registry) chooseBoth(both *ByLanguage, english *Local) error {
	if missing := both.others.present(); missing != nil {
		return cmp.Or(r.choose(english.Name(), english.Open), missing)
	}
	return r.choose(both.Name(), both.english.Open)
}

// choose makes an embedder the default one if it is ready.
func (r *Registry) choose(name string, ready func() error) error {
	err := ready()
	if err == nil {
		r.first = name
	}
	return err
}

// add registers an embedder, behind a cache of cacheSize embeddings if that is above 0.
func (r *Registry) add(e memory.Embedder, cacheSize int) {
	if cacheSize > 0 {
		c := NewCached(e, cacheSize)
		r.caches = append(r.caches, c)
		e = c
	}
	r.byName[e.Name()] = e
}

// newEmbedder returns the embedder of an endpoint, observed if there is an observer.
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
	return observedEmbedder{ImageEmbedder: e, observer: d.Observer, call: c}, nil
}

// Sentences returns the embedder for sentences in any language, whose vectors internal/said reads; nil where the settings choose
// no embedder that has its weights.
func (r *Registry) Sentences() memory.Embedder {
	switch r.first {
	case TalkName, ByLanguageName, MultilingualName:
		return r.sentences
	}
	return nil
}

// Default returns the embedder of new collections.
func (r *Registry) Default() memory.Embedder { return r.byName[r.first] }

// ByName finds an embedder by its recorded name.
func (r *Registry) ByName(name string) (memory.Embedder, bool) {
	e, ok := r.byName[name]
	return e, ok
}

// Names lists the recorded names that are served, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.byName)) }

// Notices returns sentences for operators about embedders that differ from what the settings suggest.
func (r *Registry) Notices() []string {
	if r.missing == nil {
		return nil
	}
	return []string{localNotice(r.missing, r.first)}
}

// Check returns why a local encoder does not serve that the settings ask for, or which they would choose; nil
// when all do.
func (r *Registry) Check(context.Context) error { return r.missing }

// Expected reports whether the settings make a local encoder the default embedder.
func (r *Registry) Expected() bool {
	return r.missing != nil || slices.ContainsFunc(r.locals, func(l *Local) bool { return l.Name() == r.first })
}

// Caches returns the counters of the caches by the embedder's name.
func (r *Registry) Caches() map[string]CacheStats {
	out := make(map[string]CacheStats, len(r.caches))
	for _, c := range r.caches {
		out[c.Name()] = c.Stats()
	}
	return out
}

// Tenants returns the tenants whose embeddings are cached.
func (r *Registry) Tenants() []uuid.UUID {
	out := map[uuid.UUID]bool{}
	for _, c := range r.caches {
		c.tenants(out)
	}
	return slices.Collect(maps.Keys(out))
}

// Forget drops the cached embeddings of a tenant.
func (r *Registry) Forget(tenantID uuid.UUID) {
	for _, c := range r.caches {
		c.Forget(tenantID)
	}
}

// Close frees the resources of the embedders, which fail after it.
func (r *Registry) Close() error {
	var errs []error
	for _, l := range r.locals {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

var _ memory.Embedders = (*Registry)(nil)
