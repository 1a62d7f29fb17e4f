package llm

import (
	"container/list"
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// CacheStats tells how an embedding cache does.
type CacheStats struct {
	Hits     int64 // texts that were not sent
	Misses   int64 // texts that were
	Entries  int
	Capacity int
}

// Cached keeps the embeddings of recent short texts in memory, least recently used out
// first. A key is tenant, embedder name and hash of the text: the tenant, so
// that neither time nor token use tells one tenant what another has stored.
type Cached struct {
	memory.Embedder
	capacity int

	mu     sync.Mutex
	order  *list.List // front: used last; of cacheKey
	byKey  map[cacheKey]cacheEntry
	hits   int64
	misses int64
}

type cacheKey struct {
	tenant uuid.UUID
	name   string
	text   [sha256.Size]byte
}

type cacheEntry struct {
	embedding memory.Embedding
	place     *list.Element
}

// NewCached puts a cache of so many embeddings before an embedder.
func NewCached(e memory.Embedder, capacity int) *Cached {
	return &Cached{Embedder: e, capacity: max(1, capacity), order: list.New(), byKey: map[cacheKey]cacheEntry{}}
}

// Embed asks the embedder for each different text that is not known, at once.
// What it gives is shared: nobody changes it. Errors as the embedder's; nothing is
// kept then.
func (c *Cached) Embed(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	out := make([]memory.Embedding, len(texts))
	keys := make([]cacheKey, len(texts))
	asked := map[cacheKey]int{} // to place in missing
	var missing []string
	c.mu.Lock()
	for i, t := range texts {
		keys[i] = cacheKey{tenant: s.Tenant(), name: c.Name(), text: sha256.Sum256([]byte(t))}
		if e, known := c.byKey[keys[i]]; known {
			c.order.MoveToFront(e.place)
			out[i] = e.embedding
			c.hits++
		} else if _, twice := asked[keys[i]]; twice {
			c.hits++
		} else {
			asked[keys[i]] = len(missing)
			missing = append(missing, t)
			c.misses++
		}
	}
	c.mu.Unlock()
	if len(missing) == 0 {
		return out, nil
	}
	made, err := c.Embedder.Embed(ctx, s, missing)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range texts {
		if out[i].Vector == nil {
			out[i] = made[asked[keys[i]]]
		}
	}
	for key, i := range asked {
		c.keep(key, made[i])
	}
	return out, nil
}

// NoiseFloor is the embedder's own.
func (c *Cached) NoiseFloor() float64 {
	if f, ok := c.Embedder.(memory.Floored); ok {
		return f.NoiseFloor()
	}
	return 0
}

// maxKeptTokens bounds the entries: what queries and short notes have. Tokens
// are fifty times their words, and the words of long notes have no business in
// a cache.
const maxKeptTokens = 64

// keep stores an embedding. The lock is held.
func (c *Cached) keep(key cacheKey, made memory.Embedding) {
	if len(made.Tokens) > maxKeptTokens {
		return
	}
	if e, known := c.byKey[key]; known {
		c.order.MoveToFront(e.place)
		return
	}
	made.Tokens = slices.Clone(made.Tokens)
	for i := range made.Tokens {
		made.Tokens[i].Word = strings.Clone(made.Tokens[i].Word) // or it keeps the whole text
	}
	c.byKey[key] = cacheEntry{embedding: made, place: c.order.PushFront(key)}
	for c.order.Len() > c.capacity {
		if oldest, ok := c.order.Remove(c.order.Back()).(cacheKey); ok {
			delete(c.byKey, oldest)
		}
	}
}

// Forget drops every vector of a tenant, as erasure asks for.
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

// Stats gives the counters since the start.
func (c *Cached) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheStats{Hits: c.hits, Misses: c.misses, Entries: c.order.Len(), Capacity: c.capacity}
}
