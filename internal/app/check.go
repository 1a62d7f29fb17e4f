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
	wake "github.com/slipboxhq/slipbox/internal/queue/redis"
	"github.com/slipboxhq/slipbox/internal/redis"
	"github.com/slipboxhq/slipbox/internal/store"
)

// problemCache is an entry of the shared cache that the store does not bear out.
const problemCache store.ProblemKind = "cache"

// Checked is what Check found.
type Checked struct {
	Problems []store.Problem // empty: all is well
	Notes    []string        // worth knowing, and nothing to mend
}

// Check verifies the whole store, and the Redis of servers, and changes nothing.
func Check(ctx context.Context, cfg Settings, log *slog.Logger) (Checked, error) {
	st, err := openTool(ctx, cfg, log)
	if err != nil {
		return Checked{}, err
	}
	defer func() { _ = st.Close() }()
	var out Checked
	if out.Problems, err = st.Verify(ctx); err != nil || cfg.RedisURL == "" {
		return out, err
	}
	r, err := redis.Open(ctx, redis.Config{URL: cfg.RedisURL, Prefix: cfg.Redis.Prefix}, redis.Deps{})
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
	out.Notes = append(out.Notes, fmt.Sprintf("redis caches %d versions", seen))
	states, err := wake.States(ctx, cfg.RedisURL, cfg.Redis.Prefix)
	for _, s := range states {
		out.Notes = append(out.Notes, "wake-ups of "+s.String())
	}
	return out, err
}

// unknownVersions names the entries whose version the store does not hold,
// although it holds their collection as it was when they were read. That
// happens when the database was taken back to an earlier time; a version of the
// same number may then say something else.
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
			continue // nobody reaches its entries, and they end by themselves
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

// Remedy says what to do about problems.
func (c Checked) Remedy(cfg Settings) string {
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
		out = append(out, fmt.Sprintf("after the database was restored remove the keys %s:v1:* from Redis, which is only a cache, and restart gateways and workers", cfg.Redis.Prefix))
	}
	return strings.Join(out, "; ")
}
