package cache

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/redis"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// forgetPage is how many keys Redis looks at in one step of a scan.
const forgetPage = 1000

// heldLayer is a layer that something is kept of, with the erase epoch that it was read in.
type heldLayer struct {
	tenant, layer uuid.UUID
	epoch         int64
}

func (h heldLayer) String() string {
	return h.tenant.String() + ":" + h.layer.String() + ":" + strconv.FormatInt(h.epoch, 10)
}

// setKey is the key of the set of the keys of a layer's versions.
func setKey(prefix string, tenantID, layer uuid.UUID) string {
	return prefix + ":v1-of:" + tenantID.String() + ":" + layer.String()
}

// layersKey is the key of the sorted set of the layers that Redis has versions of, by the time in ms when all have expired.
func layersKey(prefix string) string { return prefix + ":v1-layers" }

// Forget removes the versions of a layer from Redis, after rows of its log were removed; of all layers of the tenant if layer
// is zero.
func Forget(ctx context.Context, r *redis.Client, tenantID, layer uuid.UUID) error {
	if layer != uuid.Nil {
		return forgetKeys(ctx, r, tenantID, layer, "")
	}
	return eachMember(ctx, r, layersKey(r.Prefix()), tenantID.String()+":*", true, func(members []string) error {
		for _, m := range members {
			if h, ok := parseLayer(m); ok {
				if err := forgetKeys(ctx, r, h.tenant, h.layer, ""); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// forgetKeys removes the versions of a layer whose keys begin with a text.
func forgetKeys(ctx context.Context, r *redis.Client, tenantID, layer uuid.UUID, begin string) error {
	set := setKey(r.Prefix(), tenantID, layer)
	return eachMember(ctx, r, set, "", false, func(keys []string) error {
		var gone []string
		for _, k := range keys {
			if strings.HasPrefix(k, begin) {
				gone = append(gone, k)
			}
		}
		if len(gone) == 0 {
			return nil
		}
		return r.Direct(ctx, func(ctx context.Context, c *goredis.Client) error {
			return errors.Join(c.Unlink(ctx, gone...).Err(), c.SRem(ctx, set, gone).Err())
		})
	})
}

// eachMember calls fn with the members of a set, page by page; of a sorted one without their scores.
func eachMember(ctx context.Context, r *redis.Client, key, match string, sorted bool, fn func([]string) error) error {
	for cursor := uint64(0); ; {
		var page []string
		err := r.Direct(ctx, func(ctx context.Context, c *goredis.Client) (err error) {
			if !sorted {
				page, cursor, err = c.SScan(ctx, key, cursor, match, forgetPage).Result()
				return err
			}
			page, cursor, err = c.ZScan(ctx, key, cursor, match, forgetPage).Result()
			for i := range len(page) / 2 { //nolint:mnd // each is followed by its score
				page[i] = page[2*i]
			}
			page = page[:len(page)/2]
			return err
		})
		if err != nil {
			return err
		}
		if err := fn(page); err != nil || cursor == 0 {
			return err
		}
	}
}

// parseLayer parses what heldLayer.String returns.
func parseLayer(s string) (h heldLayer, ok bool) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 { //nolint:mnd // tenant, layer, epoch
		return h, false
	}
	var errs [3]error
	h.tenant, errs[0] = uuid.Parse(parts[0])
	h.layer, errs[1] = uuid.Parse(parts[1])
	h.epoch, errs[2] = strconv.ParseInt(parts[2], 10, 64)
	return h, errors.Join(errs[:]...) == nil
}

// Sweep drops what this process holds of layers that are gone, or that have lost notes since it was read, as far as
// only includes them. reach returns a scope that reaches all of a tenant.
func (v *Versions) Sweep(ctx context.Context, reach func(tenant uuid.UUID) tenant.Scope, only memory.Due) error {
	held := map[heldLayer]bool{}
	hold := func(h heldLayer) {
		if only.Includes(h.tenant, h.layer) {
			held[h] = true
		}
	}
	for k := range v.local.Keys() {
		hold(k.layer())
	}
	for k := range v.links.Keys() {
		for _, h := range k.layers() {
			hold(h)
		}
	}
	gone, err := v.gone(ctx, reach, held)
	if err != nil || len(gone) == 0 {
		return err
	}
	for k := range v.local.Keys() {
		if gone[k.layer()] {
			v.local.Invalidate(k)
		}
	}
	for k := range v.links.Keys() {
		for _, h := range k.layers() {
			if gone[h] {
				v.links.Invalidate(k)
			}
		}
	}
	return nil
}

// SweepRedis is Sweep for what Redis has. One of the processes that call it every so often does the work.
func (v *Versions) SweepRedis(ctx context.Context, reach func(tenant uuid.UUID) tenant.Scope, every time.Duration) error {
	if !v.redis.Available() {
		return nil
	}
	prefix := v.redis.Prefix()
	mine := false
	if err := v.redis.Direct(ctx, func(ctx context.Context, r *goredis.Client) (err error) {
		// The next look of this process comes after the mark has expired.
		mine, err = r.SetNX(ctx, prefix+":v1-swept", 1, every*9/10).Result()
		if err == nil && mine {
			err = r.ZRemRangeByScore(ctx, layersKey(prefix), "-inf", strconv.FormatInt(time.Now().UnixMilli(), 10)).Err()
		}
		return err
	}); err != nil || !mine {
		return err
	}
	return eachMember(ctx, v.redis, layersKey(prefix), "", true, func(members []string) error {
		held := map[heldLayer]bool{}
		for _, m := range members {
			if h, ok := parseLayer(m); ok {
				held[h] = true
			}
		}
		gone, err := v.gone(ctx, reach, held)
		if err != nil {
			return err
		}
		for h := range gone {
			if err := forgetKeys(ctx, v.redis, h.tenant, h.layer, keyPrefix(prefix)+h.String()+":"); err != nil {
				return err
			}
			if err := v.redis.Direct(ctx, func(ctx context.Context, r *goredis.Client) error {
				return r.ZRem(ctx, layersKey(prefix), h.String()).Err()
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// gone returns which of the layers are gone, or have lost notes since.
func (v *Versions) gone(ctx context.Context, reach func(uuid.UUID) tenant.Scope, held map[heldLayer]bool) (map[heldLayer]bool, error) {
	byTenant := map[uuid.UUID][]uuid.UUID{}
	for h := range held {
		byTenant[h.tenant] = append(byTenant[h.tenant], h.layer)
	}
	states := map[uuid.UUID]map[uuid.UUID]memory.LayerState{}
	for t, layers := range byTenant {
		var err error
		if states[t], err = v.LayerStates(ctx, reach(t), layers); err != nil {
			return nil, err
		}
	}
	out := map[heldLayer]bool{}
	for h := range held {
		if now, ok := states[h.tenant][h.layer]; !ok || h.epoch < now.EraseEpoch {
			out[h] = true
		}
	}
	return out, nil
}
