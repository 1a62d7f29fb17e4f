package app

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/worker"
)

// services are the use-cases that the API serves.
type services struct {
	notes       *memory.Notes
	collections *memory.Collections
	clones      *clone.Service
	engine      *engine.Engine
	imports     *worker.Imports
}

// buildAPI makes the HTTP edge over the services.
func (a *App) buildAPI(sv services) error {
	limiter, err := tenant.NewLimiter(time.Now, tenant.RateConfig{})
	if err != nil {
		return err
	}
	agents, err := tenant.NewAgents(tenant.AgentsDeps{Store: a.store, Audit: a.ledger, OnChange: a.forget})
	if err != nil {
		return err
	}
	metrics, err := telemetry.NewHTTPMetrics(a.telemetry.Meter("slipbox/api"))
	if err != nil {
		return err
	}
	secret, err := wrappingSecret(a.cfg)
	if err != nil {
		return err
	}
	cursorKey, err := hkdf.Key(sha256.New, secret, nil, "slipbox cursors", sha256.Size)
	if err != nil {
		return fmt.Errorf("derive the key of cursors: %w", err)
	}
	b := CurrentBuild()
	a.api, err = api.New(api.Deps{
		Log:     a.log,
		Auth:    a.auth.Authenticator,
		Build:   api.Build{Version: b.Version, Commit: b.Commit, Date: b.Date},
		Ready:   []api.Check{{Name: "store", Run: a.store.Ping}},
		Metrics: a.telemetry.MetricsHandler(),

		CursorKey: cursorKey,
		Core: &api.Core{
			Collections: sv.collections, Notes: sv.notes, Recall: a.recall, Clone: sv.clones, Imports: sv.imports,
			Jobs: a.store, Reviews: sv.engine, Upkeep: worker.Upkeep{Store: a.store}, Waiter: a.waiters,
			Waiters: a.cfg.Limits.WaitersPerTenant,
		},
		Access: &api.Access{
			Tokens: a.auth.Tokens, Keys: a.auth.Keys, Agents: agents, Tenants: a.tenants, Usage: a.store, Audit: a.store,
		},
		Limiter: limiter, RequestsPerMinute: a.cfg.Limits.RequestsPerMinute,
		HTTPMetrics: metrics, Tracer: a.telemetry.Tracer("slipbox/api"), Propagator: a.telemetry.Propagator(),
	}, a.cfg.HTTP)
	if err != nil {
		return err
	}
	if missing := a.api.Unmounted(); len(missing) > 0 {
		return fmt.Errorf("operations of the contract without a handler: %v", missing)
	}
	return nil
}

// ensureSigningKey makes the key that signs tokens, so that the first token
// and the first look at the key set need not. A store that came from a backup
// holds one of another secret; its replacement may have to wait for a moment,
// and everything but the exchange of tokens works until then.
func (a *App) ensureSigningKey(ctx context.Context) error {
	err := a.auth.Tokens.EnsureSigningKey(ctx)
	if fault.Is(err, fault.Unavailable) {
		a.log.WarnContext(ctx, "tokens cannot be signed yet; a new signing key is made within a minute", "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the signing key: %w", err)
	}
	return nil
}
