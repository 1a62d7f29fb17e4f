package cache

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/redis"
)

// Entry names an entry of the shared cache.
type Entry struct {
	memory.Version

	Tenant uuid.UUID
	Epoch  int64 // erase epoch of its layer when it was read
}

// Entries calls fn with the entries of this installation in Redis, page by page, past the guard.
// Entries that are added or removed meanwhile may be missed or repeated. A Redis that does not
// answer is Unavailable.
func Entries(ctx context.Context, c *redis.Client, fn func([]Entry) error) error {
	const page = 1000
	prefix := keyPrefix(c.Prefix())
	for cursor := uint64(0); ; {
		var keys []string
		if err := c.Direct(ctx, func(ctx context.Context, r *goredis.Client) (err error) {
			keys, cursor, err = r.Scan(ctx, cursor, prefix+"*", page).Result()
			return err
		}); err != nil {
			return err
		}
		found := make([]Entry, 0, len(keys))
		for _, k := range keys {
			if e, ok := parseKey(strings.TrimPrefix(k, prefix)); ok {
				found = append(found, e)
			}
		}
		if err := fn(found); err != nil || cursor == 0 {
			return err
		}
	}
}

// parseKey parses what versionKey.String writes behind the prefix.
func parseKey(s string) (e Entry, ok bool) {
	parts := strings.Split(s, ":")
	if len(parts) != 5 {
		return e, false
	}
	var from int64
	for i, to := range []*uuid.UUID{0: &e.Tenant, 1: &e.Layer, 3: &e.Note} {
		if to == nil {
			continue
		}
		id, err := uuid.Parse(parts[i])
		if err != nil {
			return e, false
		}
		*to = id
	}
	for i, to := range map[int]*int64{2: &e.Epoch, 4: &from} {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			return e, false
		}
		*to = n
	}
	e.From = memory.Revision(from)
	return e, true
}
