package llm

import (
	"container/list"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// CacheStats are the counters of an embedding cache since the start.
type CacheStats struct {
	Hits     int64 // texts that were not sent to the embedder
	Misses   int64 // texts that were
	Entries  int
	Capacity int
}

// Cached keeps the embeddings of recent short texts in memory and drops the least recently used
// first: a text that was just embedded is often searched for again, so exact recency is worth more
// here than the admission by frequency of the cache of versions. A key is tenant, embedder name
// and hash of the text. It includes the tenant so that neither response time nor token use reveals
// to one tenant what another has stored.
type Cached struct {
	memory.Embedder
	capacity int

	mu     sync.Mutex
	order  *list.List // of cacheKey; front: most recently used
	byKey  map[cacheKey]cacheEntry
	hits   int64
	misses int64
}

type cacheKey struct {
	tenant uuid.UUID
	name   string
	query  bool
	text   [sha256.Size]byte
}

type cacheEntry struct {
	embedding memory.Embedding
	place     *list.Element
}

// NewCached puts a cache of up to capacity embeddings in front of an embedder.
func NewCached(e memory.Embedder, capacity int) *Cached {
	return &Cached{Embedder: e, capacity: max(1, capacity), order: list.New(), byKey: map[cacheKey]cacheEntry{}}
}

// Embed asks the embedder once for all texts that are not in the cache, each different text once.
// Callers share the embeddings and must not change them. Errors are the embedder's; nothing is
// cached then.
func (c *Cached) Embed(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	return c.embed(ctx, s, texts, false, c.Embedder.Embed)
}

// EmbedQueries returns the embeddings of texts that are searched with. Where the embedder reads those as
// any other text, it is Embed.
func (c *Cached) EmbedQueries(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	if q, ok := c.Embedder.(memory.QueryEmbedder); ok {
		return c.embed(ctx, s, texts, true, q.EmbedQueries)
	}
	return c.Embed(ctx, s, texts)
}

type embedFunc func(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error)

func (c *Cached) embed(ctx context.Context, s tenant.Scope, texts []string, query bool, compute embedFunc) ([]memory.Embedding, error) {
	out := make([]memory.Embedding, len(texts))
	keys := make([]cacheKey, len(texts))
	places := map[cacheKey]int{} // in missing
	var missing []string
	c.mu.Lock()
	for i, t := range texts {
		keys[i] = cacheKey{tenant: s.Tenant(), name: c.Name(), query: query, text: sha256.Sum256([]byte(t))}
		if e, ok := c.byKey[keys[i]]; ok {
			c.order.MoveToFront(e.place)
			out[i] = e.embedding
			c.hits++
		} else if _, twice := places[keys[i]]; twice {
			c.hits++
		} else {
			places[keys[i]] = len(missing)
			missing = append(missing, t)
			c.misses++
		}
	}
	c.mu.Unlock()
	if len(missing) == 0 {
		return out, nil
	}
	made, err := compute(ctx, s, missing)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range texts {
		if out[i].Vector == nil {
			out[i] = made[places[keys[i]]]
		}
	}
	for key, i := range places {
		c.add(key, made[i])
	}
	return out, nil
}

// TakesImages reports whether the embedder does.
func (c *Cached) TakesImages() bool {
	_, ok := memory.TakesImages(c.Embedder)
	return ok
}

// EmbedImages asks the embedder: an image is embedded once, when its note is written, so it is not kept.
func (c *Cached) EmbedImages(ctx context.Context, s tenant.Scope, images []string) ([]memory.Embedding, error) {
	e, ok := memory.TakesImages(c.Embedder)
	if !ok {
		return nil, fmt.Errorf("%w: %s takes texts only", memory.ErrImageRefused, c.Name())
	}
	return e.EmbedImages(ctx, s, images)
}

// NoiseFloor returns that of the embedder.
func (c *Cached) NoiseFloor() float64 {
	if f, ok := c.Embedder.(memory.Floored); ok {
		return f.NoiseFloor()
	}
	return 0
}

// Scale returns that of the embedder.
func (c *Cached) Scale() string {
	if s, ok := c.Embedder.(memory.Scaled); ok {
		return s.Scale()
	}
	return ""
}

// maxKeptTokens is the longest entry in tokens: queries and short notes are shorter. Tokens take
// fifty times the memory of their words, so longer notes are not cached.
const maxKeptTokens = 64

// add stores an embedding. The caller holds the lock.
func (c *Cached) add(key cacheKey, made memory.Embedding) {
	if len(made.Tokens) > maxKeptTokens {
		return
	}
	if e, ok := c.byKey[key]; ok {
		c.order.MoveToFront(e.place)
		return
	}
	made.Tokens = slices.Clone(made.Tokens)
	for i := range made.Tokens {
		made.Tokens[i].Word = strings.Clone(made.Tokens[i].Word) // a substring would keep the whole text
	}
	c.byKey[key] = cacheEntry{embedding: made, place: c.order.PushFront(key)}
	for c.order.Len() > c.capacity {
		if oldest, ok := c.order.Remove(c.order.Back()).(cacheKey); ok {
			delete(c.byKey, oldest)
		}
	}
}

// Forget drops every embedding of a tenant, as erasure requires.
func (c *Cached) Forget(tenantID uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.byKey {
		if key.tenant == tenantID {
			c.order.Remove(e.place)
			delete(c.byKey, key)
		}
	}
}

// tenants adds those whose embeddings are cached.
func (c *Cached) tenants(to map[uuid.UUID]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.byKey {
		to[key.tenant] = true
	}
}

// Stats returns the counters since the start.
func (c *Cached) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheStats{Hits: c.hits, Misses: c.misses, Entries: c.order.Len(), Capacity: c.capacity}
}
