package cache

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/redis"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// VersionsConfig bounds a cache of versions. Zero fields take the defaults.
type VersionsConfig struct {
	// Bytes is roughly how much memory the versions in this process may use; default 64 MiB. Links may use
	// one eighth of it in addition.
	Bytes int64
	// TTL is how long Redis keeps a version, read or not; default 1 h. An erased note cannot be
	// reached from then on, as its layer's erase epoch is in the key; Forget and SweepRedis remove it.
	TTL time.Duration
}

// Deps are what the package needs from its surroundings; all may be nil.
type Deps struct {
	Log   *slog.Logger
	Meter metric.Meter
}

// Versions answers [memory.Reader.Versions] from a cache, and outgoing links from the level of this
// process. Neither a version nor what a view shows ever changes, so an entry is never updated, and a
// missing one is read from the store. All other methods are the store's.
type Versions struct {
	memory.Reader

	redis   *redis.Client
	ttl     time.Duration
	local   *otter.Cache[versionKey, memory.Note]
	links   *otter.Cache[linksKey, []memory.Link]
	codec   codec
	metrics *lookupMetrics
}

// versionKey is the identity of a version, together with the erase epoch that can make it unreachable.
type versionKey struct {
	tenant uuid.UUID
	memory.Version
	epoch int64
}

func (k versionKey) layer() heldLayer { return heldLayer{k.tenant, k.Layer, k.epoch} }

func (k versionKey) String(prefix string) string {
	return keyPrefix(prefix) + k.layer().String() + ":" + k.Note.String() + ":" + strconv.FormatInt(int64(k.From), 10)
}

// keyPrefix begins every key of the cache in Redis. A new form of the values gets a new number.
func keyPrefix(prefix string) string { return prefix + ":v1:" }

// NewVersions puts a cache in front of a reader: a level in this process, and one in Redis unless
// r is nil.
func NewVersions(next memory.Reader, r *redis.Client, cfg VersionsConfig, d Deps) (*Versions, error) {
	if next == nil {
		return nil, fault.New(fault.Internal, "cache: a reader is required")
	}
	if cfg.Bytes < 0 || cfg.TTL < 0 {
		return nil, fault.New(fault.Internal, "cache: settings must not be negative")
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = 64 << 20
	}
	if cfg.TTL == 0 {
		cfg.TTL = time.Hour
	}
	log := d.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	metrics, err := newLookupMetrics(d.Meter)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "cache: make the metrics of lookups")
	}
	// otter is bounded by weight and evicts by frequency and recency. Callers that miss the same key
	// at the same time share one load, which continues when the first of them leaves.
	local, err := otter.New(&otter.Options[versionKey, memory.Note]{
		MaximumWeight: uint64(cfg.Bytes),
		Weigher:       func(_ versionKey, n memory.Note) uint32 { return noteBytes(&n) },
	})
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "cache: make the cache of versions")
	}
	links, err := newLinksCache(cfg.Bytes)
	if err != nil {
		return nil, err
	}
	return &Versions{Reader: next, redis: r, ttl: cfg.TTL, local: local, links: links, codec: codec{log: log}, metrics: metrics}, nil
}

// Versions implements memory.Reader. Versions that the view does not reach are never looked up.
func (v *Versions) Versions(ctx context.Context, s tenant.Scope, view memory.View, keys []memory.Version) ([]memory.Note, error) {
	if err := view.Check(s); err != nil {
		return nil, err
	}
	wanted := reachable(s, &view, keys)
	if len(wanted) == 0 {
		return []memory.Note{}, ctx.Err()
	}
	missed := 0
	found, err := v.local.BulkGet(ctx, wanted, otter.BulkLoaderFunc[versionKey, memory.Note](
		func(ctx context.Context, missing []versionKey) (map[versionKey]memory.Note, error) {
			missed += len(missing)
			return v.load(ctx, s, view, missing)
		}))
	if err != nil {
		return nil, err
	}
	v.metrics.add(ctx, levelProcess, max(0, len(wanted)-missed), missed)
	out := make([]memory.Note, 0, len(wanted))
	for _, k := range wanted {
		if n, ok := found[k]; ok {
			n = n.Copy()
			n.Collection = view.Collection.ID
			out = append(out, n)
		}
	}
	return out, nil
}

// reachable returns the keys that the view may see, in the same order.
func reachable(s tenant.Scope, view *memory.View, keys []memory.Version) []versionKey {
	out := make([]versionKey, 0, len(keys))
	for _, k := range keys {
		for _, l := range view.Layers {
			if l.Collection == k.Layer && k.From <= l.Bound {
				out = append(out, versionKey{tenant: s.Tenant(), Version: k, epoch: l.EraseEpoch})
				break
			}
		}
	}
	return out
}

// load asks Redis and then the store, once each, and stores in Redis what was missing there.
func (v *Versions) load(ctx context.Context, s tenant.Scope, view memory.View, missing []versionKey) (map[versionKey]memory.Note, error) {
	found := make(map[versionKey]memory.Note, len(missing))
	answered := v.fetch(ctx, missing, found)
	epochs := make(map[memory.Version]versionKey, len(missing))
	rest := make([]memory.Version, 0, len(missing))
	for _, k := range missing {
		if _, ok := found[k]; !ok {
			epochs[k.Version] = k
			rest = append(rest, k.Version)
		}
	}
	if len(rest) == 0 {
		return found, nil
	}
	notes, err := v.Reader.Versions(ctx, s, view, rest)
	if err != nil {
		return nil, err
	}
	fresh := make(map[versionKey]memory.Note, len(notes))
	for _, n := range notes {
		k, ok := epochs[n.Version()]
		if !ok {
			return nil, fault.New(fault.Internal, "the store returned a version that was not requested")
		}
		n.Collection, n.Vector = uuid.Nil, nil
		found[k], fresh[k] = n, n
	}
	if answered {
		v.keep(ctx, fresh)
	}
	return found, nil
}

// fetch adds what Redis has, and reports whether Redis answered.
func (v *Versions) fetch(ctx context.Context, keys []versionKey, into map[versionKey]memory.Note) (answered bool) {
	if v.redis == nil {
		return false
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.String(v.redis.Prefix())
	}
	var values []any
	err := v.redis.Do(ctx, "read", func(ctx context.Context, r *goredis.Client) error {
		var err error
		values, err = r.MGet(ctx, names...).Result()
		return err
	})
	if err != nil || len(values) != len(keys) {
		return false
	}
	for i, k := range keys {
		text, ok := values[i].(string)
		if !ok {
			continue
		}
		if n, ok := v.codec.decode(ctx, k.Version, text); ok {
			into[k] = n
		}
	}
	v.metrics.add(ctx, levelRedis, len(into), len(keys)-len(into))
	return true
}

// keep stores versions in Redis, in one round trip. When that fails they are read from the store
// again another time.
func (v *Versions) keep(ctx context.Context, notes map[versionKey]memory.Note) {
	if len(notes) == 0 {
		return
	}
	//nolint:errcheck // the guard counts and logs it
	v.redis.Store(ctx, func(ctx context.Context, r *goredis.Client) error {
		_, err := r.Pipelined(ctx, func(p goredis.Pipeliner) error {
			layers := layersKey(v.redis.Prefix())
			for k, n := range notes {
				text, err := v.codec.encode(n)
				if err != nil {
					return err
				}
				// First what finds it again, should this process die in between. A version that was kept before may live as long.
				kept := setKey(v.redis.Prefix(), k.tenant, k.Layer)
				p.SAdd(ctx, kept, k.String(v.redis.Prefix()))
				p.Expire(ctx, kept, 2*v.ttl)
				p.ZAdd(ctx, layers, goredis.Z{Score: float64(time.Now().Add(2 * v.ttl).UnixMilli()), Member: k.layer().String()})
				p.Set(ctx, k.String(v.redis.Prefix()), text, v.ttl)
			}
			p.Expire(ctx, layers, 2*v.ttl)
			return nil
		})
		return err
	})
}
