package app

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/cache"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/worker"
)

// buildAPI makes the HTTP edge over the services.
func (g *Gateway) buildAPI() error {
	local, err := tenant.NewLimiter(time.Now, tenant.RateConfig{})
	if err != nil {
		return err
	}
	agents, err := tenant.NewAgents(tenant.AgentsDeps{Store: g.store, Audit: g.ledger, OnChange: g.forget})
	if err != nil {
		return err
	}
	metrics, err := telemetry.NewHTTPMetrics(g.telemetry.Meter("slipbox/api"))
	if err != nil {
		return err
	}
	secret, err := wrappingSecret(g.cfg)
	if err != nil {
		return err
	}
	cursorKey, err := hkdf.Key(sha256.New, secret, nil, "slipbox cursors", sha256.Size)
	if err != nil {
		return fmt.Errorf("derive the key of cursors: %w", err)
	}
	b := CurrentBuild()
	g.api, err = api.New(api.Deps{
		Log:     g.log,
		Auth:    g.auth.Authenticator,
		Build:   api.Build{Version: b.Version, Commit: b.Commit, Date: b.Date},
		Ready:   g.readiness(),
		Metrics: g.telemetry.MetricsHandler(),

		CursorKey: cursorKey,
		Core: &api.Core{
			Collections: g.collections, Notes: g.notes, Recall: g.recall, Clone: g.clones, Imports: g.imports,
			Jobs: g.store, Reviews: g.engine, Upkeep: worker.Upkeep{Store: g.store, Embedders: g.embedders}, Waiter: g.waiters,
			Policies: g.policies, Acts: g.engine, Costs: g.costs, Bank: g.bank, Chat: g.chat,
			Waiters: g.cfg.Limits.WaitersPerTenant,
		},
		Access: &api.Access{
			Tokens: g.auth.Tokens, Keys: g.auth.Keys, Agents: agents, Tenants: g.tenants, Usage: g.store, Audit: g.store,
		},
		Limiter: cache.NewLimiter(g.redis, local), RequestsPerMinute: g.cfg.Limits.RequestsPerMinute,
		HTTPMetrics: metrics, Tracer: g.telemetry.Tracer("slipbox/api"), Propagator: g.telemetry.Propagator(),
	}, g.cfg.HTTP)
	if err != nil {
		return err
	}
	if missing := g.api.Unmounted(); len(missing) > 0 {
		return fmt.Errorf("operations of the contract without a handler: %v", missing)
	}
	return nil
}

// readiness of a process: the store answers; Redis and the local encoder are
// named, and missed by nobody.
func (c *core) readiness() []api.Check {
	checks := []api.Check{{Name: "store", Run: c.ready}}
	if c.redis != nil {
		checks = append(checks, api.Check{Name: "redis", Run: c.redis.Check, Optional: true})
	}
	if c.embedders.Expected() {
		checks = append(checks, api.Check{Name: "encoder", Run: c.embedders.Check, Optional: true, Notice: strings.Join(c.embedders.Notices(), "; ")})
	}
	return checks
}
