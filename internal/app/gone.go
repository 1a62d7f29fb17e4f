package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/cache"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outage"
	"github.com/slipboxhq/slipbox/internal/redis"
	"github.com/slipboxhq/slipbox/internal/snapshot"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

const (
	// sweepTimeout bounds what a deletion waits for: the look for files of a deleted agent's collections, and Redis.
	sweepTimeout = 5 * time.Second
	// goneBuffer is how many deletions wait for a look. Of those beyond it, the next sweep takes care.
	goneBuffer = 256
)

// reach returns the scope that reads what indexes and caches are checked against.
func reach(id uuid.UUID) tenant.Scope { return wholeTenant(id, "system:index") }

// forgetReads drops what reads have kept and is no longer true, or must leave no trace.
func (c *core) forgetReads(ch store.Change) {
	if ch.Usage {
		c.Recall.ForgetUsage(ch.Collection)
	}
	if ch.Erased || ch.Deleted && ch.Agent == uuid.Nil {
		c.forgetCached(ch.Tenant, ch.Collection)
	}
	switch {
	case ch.Erased:
		c.Recall.Evict(ch.Tenant, ch.Collection)
	case !ch.Deleted:
	case ch.Collection != uuid.Nil:
		c.Recall.Evict(ch.Tenant, ch.Collection)
	case ch.Agent != uuid.Nil:
		ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
		defer cancel()
		if err := c.Recall.Sweep(ctx, memory.Due{Tenant: ch.Tenant}); err != nil {
			c.log.Warn("the snapshots of an agent's indexes are not removed yet; the next minute does it", slog.Any("error", err))
		}
	default:
		c.Recall.EvictTenant(ch.Tenant)
	}
}

// forgetCached removes the versions of a collection, or of a tenant if it is zero, from the cache in Redis.
func (c *core) forgetCached(tenantID, collection uuid.UUID) {
	if c.versions == nil || c.redis == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	if err := cache.Forget(ctx, c.redis, tenantID, collection); err != nil {
		c.log.Warn("versions in Redis could not be removed; they leave it within a minute after it answers again", slog.Any("error", err))
	}
}

// evict drops what was read of a collection whose rows are removed.
func (c *core) evict(tenantID, collection uuid.UUID) {
	c.Recall.Evict(tenantID, collection)
	c.forgetCached(tenantID, collection)
}

// lookAt has what this process holds of a collection, or of a tenant if it is zero, checked soon. It does not block.
func (c *core) lookAt(d memory.Due) {
	select {
	case c.gone <- d:
	default:
	}
}

// sweepGone drops what this process and Redis hold of what was deleted or erased, until ctx ends: soon after this process or another
// one says so, and at each interval what a process deleted that could not say it.
func (c *core) sweepGone(ctx context.Context) {
	every := time.NewTicker(c.cfg.Jobs.SweepInterval)
	defer every.Stop()
	sweeps := outage.New(c.log, nil, "what was deleted by other processes cannot be looked for", "what was deleted by other processes is looked for again")
	only := map[memory.Due]bool{{}: true}
	for {
		var errs []error
		for d := range only {
			errs = append(errs, c.sweep(ctx, d))
		}
		sweeps.Report(ctx, errors.Join(errs...))
		clear(only)
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			only[memory.Due{}] = true
		case d := <-c.gone:
			only[d] = true
			for len(c.gone) > 0 {
				only[<-c.gone] = true
			}
		}
	}
}

// sweep drops what this process holds of what was deleted or erased, as far as only includes it. Without only, it does so for what
// Redis holds too, and ends deletions of tenants that were interrupted.
func (c *core) sweep(ctx context.Context, only memory.Due) error {
	errs := []error{c.Recall.Sweep(ctx, only)}
	if c.versions != nil {
		errs = append(errs, c.versions.Sweep(ctx, reach, only))
		if only == (memory.Due{}) {
			errs = append(errs, c.versions.SweepRedis(ctx, reach, c.cfg.Jobs.SweepInterval))
		}
	}
	if only == (memory.Due{}) {
		errs = append(errs, c.Store.EndTenantDeletions(ctx, grant.Operator("system:sweep")))
	}
	if only.Collection == uuid.Nil {
		errs = append(errs, c.forgetGoneTenants(ctx, only.Tenant))
	}
	return errors.Join(errs...)
}

// forgetGoneTenants drops the embeddings, and all else that is cached, of tenants that are gone; only of one if it is not zero.
func (c *core) forgetGoneTenants(ctx context.Context, only uuid.UUID) error {
	for _, id := range c.Embedders.Tenants() {
		if only != uuid.Nil && id != only {
			continue
		}
		switch _, err := c.Store.TenantByID(ctx, id); {
		case fault.Is(err, fault.NotFound):
			c.forgetTenant(id)
		case err != nil:
			return err
		}
	}
	return nil
}

// forgetEverywhere removes what is not in the store of a tenant that a command has deleted: its files below the directory of this
// machine, and what Redis has, if the settings name one. Serving processes are told.
func forgetEverywhere(ctx context.Context, cfg Settings, log *slog.Logger, id uuid.UUID) error {
	var errs []error
	if dir := indexDir(cfg); dir != "" {
		errs = append(errs, snapshot.At(dir).RemoveTenant(id))
	}
	if cfg.RedisURL != "" {
		r, err := redis.Open(ctx, redis.Config{URL: cfg.RedisURL, Prefix: cfg.Redis.Prefix, Timeout: cfg.Redis.Timeout}, redis.Deps{Log: log})
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, cache.Forget(ctx, r, id, uuid.Nil))
		redis.NewBus(r).Send(ctx, redis.News{Tenant: id, Gone: true})
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
