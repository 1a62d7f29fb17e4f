package app

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/build"
	"github.com/slipboxhq/slipbox/internal/console"
	"github.com/slipboxhq/slipbox/internal/memory/jobs"
	"github.com/slipboxhq/slipbox/internal/oauth"
	"github.com/slipboxhq/slipbox/internal/redis"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// buildAPI builds the HTTP server over the services.
func (g *Gateway) buildAPI() error {
	local, err := tenant.NewLimiter(time.Now, tenant.RateConfig{})
	if err != nil {
		return err
	}
	perSecond, err := tenant.NewLimiter(time.Now, tenant.RateConfig{Window: time.Second})
	if err != nil {
		return err
	}
	agents, err := tenant.NewAgents(tenant.AgentsDeps{Store: g.Store, Keys: g.Auth.Keys, Audit: g.ledger, OnChange: g.forgetTenant})
	if err != nil {
		return err
	}
	metrics, err := telemetry.NewHTTPMetrics(g.telemetry.Meter("slipbox/api"))
	if err != nil {
		return err
	}
	guard, err := auth.NewGuard(time.Now, g.log, auth.GuardConfig{PerAddress: g.cfg.Auth.RefusalsPerAddress, PerKey: g.cfg.Auth.RefusalsPerKey})
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
	programs, err := oauth.New(oauth.Deps{
		Log: g.log, Auth: g.Auth.Authenticator, Grants: g.Auth.Grants, Guard: guard, Secret: secret, PublicURL: g.cfg.HTTP.PublicURL, Now: time.Now,
	})
	if err != nil {
		return err
	}
	page, err := console.New()
	if err != nil {
		return err
	}
	b := build.Current()
	g.api, err = api.New(api.Deps{
		Log:     g.log,
		Auth:    g.Auth.Authenticator,
		Build:   api.Build{Version: b.Version, Commit: b.Commit, Date: b.Date},
		Ready:   g.readinessChecks(),
		Metrics: g.metricsBesideAPI(),
		Console: page,

		CursorKey: cursorKey,
		Core: &api.Core{
			Collections: g.Collections, Notes: g.Notes, Blocks: g.Blocks, Files: g.Files, Agent: g.Agent, Tools: g.Tools, Hooks: g.Hooks, Recall: g.Recall, Clone: g.Clones, Imports: g.Imports,
			Jobs: g.Store, Engine: g.Engine, Upkeep: jobs.Upkeep{Store: g.Store, Embedders: g.Embedders, Policies: g.Policies, ModelFor: g.Engine.ModelFor}, Waiter: g.Waiters,
			Routes:   []route.Set{g.Layers.Routes(), g.Tiers.Routes(), g.Bank.Routes(), g.Letta.Routes()},
			Policies: g.Policies, Embedders: g.Embedders, Costs: g.Costs, Chat: g.Chat,
			Waiters: g.cfg.Limits.WaitersPerTenant,
		},
		Access: &api.Access{
			Tokens: g.Auth.Tokens, Keys: g.Auth.Keys, Grants: g.Auth.Grants, Agents: agents, Tenants: g.Tenants, Usage: g.Store, Audit: g.Store,
		},
		OAuth:   programs,
		Guard:   guard,
		Limiter: redis.NewLimiter(g.redis, local), PerSecond: perSecond, Limits: g.limits(), AtOnce: g.cfg.RequestsAtOnce(), Rest: g.cfg.Limits.FloodRest,
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

// noticeStore is shown while the store does not answer.
const noticeStore = "the store does not answer, so nothing is served: start it, or make it reachable; the log has the reason"

// noticeWrites is shown while writes cannot succeed.
const noticeWrites = "writes cannot succeed: the disk of the store is full or over its quota, or the store is read-only; make room or make it writable. Reads, searches and, in the embedded store, deletions work"

// noticeReplica is shown while the standby does not answer.
const noticeReplica = "the standby (DATABASE_REPLICA_URL) does not answer, so the database serves its reads: start it, or unset the setting"

// readinessChecks returns the checks of /readyz. The store must answer. Writes, the standby, Redis, the local encoder
// and the endpoints of models are reported, but the process is ready without them.
func (c *core) readinessChecks() []api.Check {
	checks := []api.Check{
		{Name: "store", Run: c.checks.ready, Notice: noticeStore},
		{Name: "writes", Run: c.checks.writes, Optional: true, Notice: noticeWrites},
	}
	if c.checks.replica != nil {
		checks = append(checks, api.Check{Name: "replica", Run: c.checks.replica, Optional: true, Notice: noticeReplica})
	}
	if c.redis != nil {
		checks = append(checks, api.Check{Name: "redis", Run: c.redis.Check, Optional: true})
	}
	if c.Embedders.Expected() {
		checks = append(checks, api.Check{Name: "encoder", Run: c.Embedders.Check, Optional: true, Notice: strings.Join(c.Embedders.Notices(), "; ")})
	}
	models, embedder := c.endpoints.Has()
	if models {
		checks = append(checks, api.Check{Name: "model", Run: c.endpoints.Models, Optional: true, Explains: true})
	}
	if embedder {
		checks = append(checks, api.Check{Name: "embedder", Run: c.endpoints.Embedder, Optional: true, Explains: true})
	}
	return checks
}
