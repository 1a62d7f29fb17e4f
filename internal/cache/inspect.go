package cache

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Facts are what an operator may want to know of the server. Version and
// Policy are "" when its user may not ask.
type Facts struct {
	Version string
	Policy  string        // maxmemory-policy
	Skew    time.Duration // of its clock against this process'; above 0: it is ahead
}

// Facts asks the server, as Check does and with the same errors.
func (r *Redis) Facts(ctx context.Context) (Facts, error) {
	if err := r.Check(ctx); err != nil {
		return Facts{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	before := time.Now()
	at, err := r.client.Time(ctx).Result()
	if err != nil {
		return Facts{}, fault.Wrap(err, fault.Unavailable, "redis: %s", explain(err))
	}
	f := Facts{Skew: at.Sub(before.Add(time.Since(before) / 2))}
	for _, s := range []string{"server", "memory"} {
		info, err := r.info(ctx, s)
		if err != nil {
			return Facts{}, fault.Wrap(err, fault.Unavailable, "redis: %s", explain(err))
		}
		f.Version, f.Policy = f.Version+info["redis_version"], f.Policy+info["maxmemory_policy"]
	}
	return f, nil
}

// CachedVersion names an entry of the shared cache.
type CachedVersion struct {
	memory.Version

	Tenant uuid.UUID
	Epoch  int64 // erase epoch of its layer when it was read
}

// Cached calls fn with the entries of this installation, some at a time, past
// the guard. What comes or goes meanwhile may be missed, or told twice.
func (r *Redis) Cached(ctx context.Context, fn func([]CachedVersion) error) error {
	const page = 1000
	begin := r.cfg.Prefix + ":v1:"
	for cursor := uint64(0); ; {
		keys, next, err := r.scan(ctx, cursor, begin+"*", page)
		if err != nil {
			return fault.Wrap(err, fault.Unavailable, "redis: %s", explain(err))
		}
		found := make([]CachedVersion, 0, len(keys))
		for _, k := range keys {
			if v, ok := parseKey(strings.TrimPrefix(k, begin)); ok {
				found = append(found, v)
			}
		}
		if err := fn(found); err != nil {
			return err
		}
		if next == 0 {
			return nil
		}
		cursor = next
	}
}

func (r *Redis) scan(ctx context.Context, cursor uint64, match string, page int64) (keys []string, next uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return r.client.Scan(ctx, cursor, match, page).Result()
}

// parseKey reads what versionKey.String writes behind the prefix.
func parseKey(s string) (v CachedVersion, ok bool) {
	parts := strings.Split(s, ":")
	if len(parts) != 5 {
		return v, false
	}
	var from int64
	for i, to := range []*uuid.UUID{0: &v.Tenant, 1: &v.Layer, 3: &v.Note} {
		if to == nil {
			continue
		}
		id, err := uuid.Parse(parts[i])
		if err != nil {
			return v, false
		}
		*to = id
	}
	for i, to := range map[int]*int64{2: &v.Epoch, 4: &from} {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			return v, false
		}
		*to = n
	}
	v.From = memory.Revision(from)
	return v, true
}
