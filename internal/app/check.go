package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/cache"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/redis"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// problemCache is an entry of the shared cache that contradicts the store.
const problemCache store.ProblemKind = "cache"

// CheckResult is the result of Check.
type CheckResult struct {
	Problems []store.Problem // empty when the store is sound
	Notes    []string        // for information; nothing to repair
}

// Check verifies the whole store and, on servers, the cache in Redis. It changes nothing.
func Check(ctx context.Context, cfg Settings, log *slog.Logger) (CheckResult, error) {
	st, err := openToolStore(ctx, cfg, log)
	if err != nil {
		return CheckResult{}, err
	}
	defer func() { _ = st.Close() }()
	var out CheckResult
	if out.Problems, err = st.Verify(ctx); err != nil || cfg.RedisURL == "" {
		return out, err
	}
	r, err := redis.Open(ctx, redis.Config{URL: cfg.RedisURL, Prefix: cfg.Redis.Prefix, Timeout: cfg.Redis.Timeout}, redis.Deps{})
	if err != nil {
		return out, err
	}
	defer r.Close() //nolint:errcheck // it was only read
	if err := r.Check(ctx); err != nil {
		return out, err
	}
	seen := 0
	if err := cache.Entries(ctx, r, func(found []cache.Entry) error {
		seen += len(found)
		problems, err := unknownVersions(ctx, st, found)
		out.Problems = append(out.Problems, problems...)
		return err
	}); err != nil {
		return out, err
	}
	out.Notes = append(out.Notes, "redis caches "+wording.Count(seen, "version", "versions"))
	states, err := r.WakeStates(ctx)
	for _, s := range states {
		out.Notes = append(out.Notes, "wake-ups of "+s.String())
	}
	return out, err
}

// unknownVersions reports cached versions that the store lacks, although it has their collection
// in the same erase epoch. That happens when the database was restored to an earlier time. A
// version of the same number may then have other content.
func unknownVersions(ctx context.Context, st store.Store, found []cache.Entry) ([]store.Problem, error) {
	type layer struct {
		tenant, collection uuid.UUID
		epoch              int64
	}
	byLayer := map[layer][]memory.Version{}
	for _, v := range found {
		l := layer{v.Tenant, v.Layer, v.Epoch}
		byLayer[l] = append(byLayer[l], v.Version)
	}
	var out []store.Problem
	for l, keys := range byLayer {
		s := wholeTenant(l.tenant, operatorCLI)
		v, err := st.OpenView(ctx, s, l.collection.String(), memory.At{})
		if fault.Is(err, fault.NotFound) {
			continue // its entries cannot be reached, and expire
		}
		if err != nil {
			return out, err
		}
		if v.Layers[0].EraseEpoch != l.epoch {
			continue // as above
		}
		notes, err := st.Versions(ctx, s, v, keys)
		if err != nil {
			return out, err
		}
		held := make(map[memory.Version]bool, len(notes))
		for i := range notes {
			held[notes[i].Version()] = true
		}
		for _, k := range keys {
			if !held[k] {
				out = append(out, store.Problem{
					Kind: problemCache, Tenant: l.tenant, Collection: l.collection,
					Detail: fmt.Sprintf("redis caches version %d of note %s, which the store does not hold", k.From, k.Note),
				})
			}
		}
	}
	return out, nil
}

// Remedy returns what to do about the problems.
func (c CheckResult) Remedy(cfg Settings) string {
	cached := 0
	for _, p := range c.Problems {
		if p.Kind == problemCache {
			cached++
		}
	}
	var out []string
	switch {
	case len(c.Problems) == cached:
	case cfg.Servers():
		out = append(out, "stop gateways and workers and restore a sound dump of the database")
	default:
		out = append(out, "stop the gateway and restore a sound backup into an empty directory (`gateway restore FILE --data DIR`)")
	}
	if cached > 0 {
		out = append(out, fmt.Sprintf("after the database is restored, remove the keys %s:v1:* from Redis, which is only a cache, and restart gateways and workers", cfg.Redis.Prefix))
	}
	return strings.Join(out, "; ")
}
