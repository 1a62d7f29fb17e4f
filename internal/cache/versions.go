package cache

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"
	"github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// VersionsConfig bounds a cache of versions. Zero fields take the defaults.
type VersionsConfig struct {
	// Bytes is about how much memory the level in this process may take; default 64 MiB.
	Bytes int64
	// TTL is how long Redis keeps a version, read or not; default 1 h. An erased note is out of reach at
	// once, as its layer's epoch is in the key, and out of Redis after this time.
	TTL time.Duration
}

// Versions reads through a cache: what one version says never changes, so an
// entry is never updated, and whatever is lost is read again. The rest of the
// reader is the store's own.
type Versions struct {
	memory.Reader

	redis   *Redis
	ttl     time.Duration
	local   *otter.Cache[versionKey, memory.Note]
	codec   codec
	metrics *lookupMetrics
}

// versionKey is the identity of a version, and what may make it vanish.
type versionKey struct {
	tenant uuid.UUID
	memory.Version
	epoch int64
}

func (k versionKey) String(prefix string) string {
	return prefix + ":v1:" + k.tenant.String() + ":" + k.Layer.String() + ":" + strconv.FormatInt(k.epoch, 10) + ":" +
		k.Note.String() + ":" + strconv.FormatInt(int64(k.From), 10)
}

// NewVersions puts a cache before a reader: a level in this process, and one in Redis unless it is nil.
func NewVersions(next memory.Reader, r *Redis, cfg VersionsConfig, d Deps) (*Versions, error) {
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
	metrics, err := newLookupMetrics(d.Meter)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "cache: make the metrics of lookups")
	}
	// otter is bounded by weight, evicts by frequency and recency, and lets callers that miss the same
	// key at once wait for one load, outliving the caller that leaves first.
	local, err := otter.New(&otter.Options[versionKey, memory.Note]{
		MaximumWeight: uint64(cfg.Bytes),
		Weigher:       func(_ versionKey, n memory.Note) uint32 { return size(&n) },
	})
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "cache: make the cache of versions")
	}
	return &Versions{Reader: next, redis: r, ttl: cfg.TTL, local: local, codec: codec{log: d.log()}, metrics: metrics}, nil
}

// Versions implements memory.Reader. What the view does not reach is never looked up.
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
			n = own(n)
			n.Collection = view.Collection.ID
			out = append(out, n)
		}
	}
	return out, nil
}

// reachable gives the keys that the view may see, in the same order.
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

// load asks Redis and then the store, each once, and leaves in Redis what it did not have.
func (v *Versions) load(ctx context.Context, s tenant.Scope, view memory.View, missing []versionKey) (map[versionKey]memory.Note, error) {
	found := make(map[versionKey]memory.Note, len(missing))
	asked := v.recall(ctx, missing, found)
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
			return nil, fault.New(fault.Internal, "the store gave a version that was not asked for")
		}
		n.Collection, n.Vector = uuid.Nil, nil
		found[k], fresh[k] = n, n
	}
	if asked {
		v.remember(ctx, fresh)
	}
	return found, nil
}

// recall takes from Redis what is there. It tells whether Redis answered.
func (v *Versions) recall(ctx context.Context, keys []versionKey, into map[versionKey]memory.Note) (answered bool) {
	if v.redis == nil {
		return false
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.String(v.redis.cfg.Prefix)
	}
	var values []any
	err := v.redis.do(ctx, "read", func(ctx context.Context, c *redis.Client) error {
		var err error
		values, err = c.MGet(ctx, names...).Result()
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

// remember leaves versions in Redis, in one round trip. When that fails they are read again another time.
func (v *Versions) remember(ctx context.Context, notes map[versionKey]memory.Note) {
	err := v.redis.do(ctx, "write", func(ctx context.Context, c *redis.Client) error {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for k, n := range notes {
				text, err := v.codec.encode(n)
				if err != nil {
					return err
				}
				p.Set(ctx, k.String(v.redis.cfg.Prefix), text, v.ttl)
			}
			return nil
		})
		return err
	})
	if err == nil && len(notes) > 0 {
		v.redis.markFull(ctx, false)
	}
}
