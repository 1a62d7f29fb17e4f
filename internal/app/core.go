package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/cache"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/bank"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/queue"
	wake "github.com/slipboxhq/slipbox/internal/queue/redis"
	"github.com/slipboxhq/slipbox/internal/rules"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/worker"
)

// ephemeralTTL is the life of an ephemeral collection on servers, where no
// single process' end could be its end.
const ephemeralTTL = 24 * time.Hour

// core is what a gateway and a worker have in common: the store, Redis, the
// models, and the use-cases over them.
type core struct {
	cfg Settings
	log *slog.Logger

	telemetry *telemetry.Telemetry
	store     store.Store                 // tells told of its changes
	ready     func(context.Context) error // whether the store can serve
	redis     *cache.Redis                // nil: none, everything else works as if it were away
	bus       *cache.Bus
	relay     *wake.Relay // nil without Redis

	auth      *auth.Service
	tenants   *tenant.Service
	ledger    *auth.TenantLedger
	quotas    *tenant.Quotas
	embedders *llm.Registry
	meter     *meter
	recall    *recall.Service
	services

	jobs    *worker.Worker // runs jobs; in a gateway only without Redis
	waiters *worker.Waiters
	sent    func() // ends the sending of wake-ups and news; nil: nothing is sent
}

// services are the use-cases over the store.
type services struct {
	notes       *notes.Service
	collections *notes.Collections
	clones      *clone.Service
	engine      *engine.Engine
	imports     *worker.Imports
	chat        *chat.Service
	policies    memory.Policies
	costs       *notes.Costs
	bank        *bank.Service
}

// open connects and builds everything. What it opened is released by close,
// also when it fails.
func (c *core) open(ctx context.Context, service string) error {
	var err error
	if c.telemetry, err = telemetry.Start(ctx, telemetry.Config{Service: service, Version: CurrentBuild().Version, Log: c.log, Getenv: os.Getenv}); err != nil {
		return err
	}
	c.log = c.telemetry.Logger(c.log)
	opened, ready, err := openStore(ctx, c.cfg, c.log, c.telemetry)
	if err != nil {
		return err
	}
	observed, err := store.Observe(opened, c.telemetry.Tracer("slipbox/store"), c.telemetry.Meter("slipbox/store"))
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	c.store, c.ready = store.Told(observed, c.told), ready
	deps := cache.Deps{Log: c.log, Meter: c.telemetry.Meter("slipbox/cache"), Tracer: c.telemetry.Tracers()}
	if c.cfg.RedisURL != "" {
		if c.redis, err = cache.Open(ctx, cache.Config{URL: c.cfg.RedisURL, Prefix: c.cfg.Redis.Prefix}, deps); err != nil {
			return err
		}
	}
	c.bus = cache.NewBus(c.redis, deps)
	if c.redis != nil {
		if c.relay, err = wake.NewRelay(
			wake.RelayConfig{URL: c.cfg.RedisURL, Prefix: c.cfg.Redis.Prefix},
			wake.Deps{Log: c.log, Meter: c.telemetry.Meter("slipbox/queue")},
		); err != nil {
			return err
		}
	}
	if c.auth, c.tenants, c.ledger, err = newAccess(c.store, c.cfg, time.Now, c.log, c.forget); err != nil {
		return err
	}
	if err := c.build(ctx, deps); err != nil {
		return err
	}
	return c.measure()
}

// build makes the services, from the models outward.
func (c *core) build(ctx context.Context, caching cache.Deps) error {
	var err error
	if c.quotas, err = tenant.NewQuotas(c.store, c.ledger, time.Now, tenant.QuotaConfig{}); err != nil {
		return err
	}
	c.meter = newMeter(c.store, c.log)
	models, err := c.models(ctx)
	if err != nil {
		return err
	}
	if c.policies, err = policy.All(slices.Sorted(maps.Keys(c.cfg.Models))...); err != nil {
		return err
	}
	judge, err := policy.NewRelevance()
	if err != nil {
		return err
	}
	reader, err := c.reader(caching)
	if err != nil {
		return err
	}
	reading := recall.Config{IndexBytes: c.cfg.Index.Bytes, ColdScan: c.cfg.Servers(), Encoding: c.cfg.Context.Encoding}
	if c.cfg.Cache.Bytes == 0 {
		reading.WarmNotes = -1 // there is no cache to warm
	}
	if c.recall, err = recall.New(
		recall.Deps{Store: reader, Embedders: c.embedders, Model: models.main, Judge: judge, Policies: c.policies, Log: c.log}, reading,
	); err != nil {
		return err
	}
	if err := c.useCases(models); err != nil {
		return err
	}
	c.waiters = worker.NewWaiters(c.store, worker.WaitConfig{PerTenant: c.cfg.Limits.WaitersPerTenant})
	return nil
}

// reader reads the store, versions through the cache.
func (c *core) reader(deps cache.Deps) (memory.Reader, error) {
	if c.cfg.Cache.Bytes == 0 {
		return c.store, nil
	}
	return cache.NewVersions(c.store, c.redis, cache.VersionsConfig{Bytes: c.cfg.Cache.Bytes, TTL: c.cfg.Redis.CacheTTL}, deps)
}

// useCases makes what the edges call.
func (c *core) useCases(m *models) error {
	var ephemeral time.Duration
	if c.cfg.Servers() {
		ephemeral = ephemeralTTL
	}
	var err error
	if c.notes, err = notes.New(notes.Deps{
		Store: c.store, Embedders: c.embedders, Policies: c.policies, Log: c.log, Quota: quota{c.quotas},
	}, notes.Config{}); err != nil {
		return err
	}
	if c.collections, err = notes.NewCollections(notes.CollectionsDeps{
		Store: c.store, Agents: c.store, Embedders: c.embedders, Policies: c.policies, Quota: quota{c.quotas}, EphemeralTTL: ephemeral,
	}); err != nil {
		return err
	}
	if c.clones, err = clone.New(
		clone.Deps{Store: c.store, Agents: c.store, Quota: quota{c.quotas}, Forget: c.recall.Evict},
		clone.Config{BatchSize: c.cfg.Jobs.CopyBatch, EphemeralTTL: ephemeral},
	); err != nil {
		return err
	}
	if c.engine, err = engine.New(engine.Deps{
		Store: c.store, Policies: c.policies, Model: m.main, Heuristic: rules.New(), Models: m.named, Embedders: c.embedders,
		Neighbours: c.recall, Index: c.recall, Log: c.log,
	}, engine.Config{}); err != nil {
		return err
	}
	c.imports = worker.NewImports(c.store, c.notes)
	lost, err := c.telemetry.Meter("slipbox/chat").Int64Counter("slipbox.chat.lost", metric.WithUnit("{exchange}"),
		metric.WithDescription("Exchanges of chats that could not be remembered."))
	if err != nil {
		return err
	}
	if c.chat, err = chat.New(chat.Deps{
		Recall: c.recall, Notes: c.notes, Models: m.talk, Log: c.log,
		Lost: func(ctx context.Context, _ tenant.Scope) { lost.Add(ctx, 1) },
	}, chat.Config{}); err != nil {
		return err
	}
	c.costs = notes.NewCosts(c.store)
	c.bank, err = bank.New(bank.Deps{Store: c.store, Embedders: c.embedders, Collections: c.collections, Quota: quota{c.quotas}, Log: c.log})
	return err
}

// runsJobs makes what runs jobs in this process. They have the grace time to
// end at a stop.
func (c *core) runsJobs(q queue.Config) (err error) {
	q.Prepares, q.Decides, q.Tasks = c.cfg.Jobs.AtOnce()
	q.Meter = c.telemetry.Meter("slipbox/queue")
	c.jobs, err = worker.New(
		worker.Deps{
			Store: c.store, Engine: c.engine, Clone: c.clones, Log: c.log,
			Import: c.imports.Run, Told: c.moved, Tracer: c.telemetry.Tracer("slipbox/worker"), Meter: c.telemetry.Meter("slipbox/worker"),
		},
		worker.Config{Queue: q, SweepEvery: c.cfg.Jobs.SweepInterval},
	)
	return err
}

// told hears of each commit: whoever runs jobs is woken, and the other
// processes hear of revisions.
func (c *core) told(ch store.Change) {
	if c.redis == nil {
		if c.jobs != nil && len(ch.Stages) > 0 {
			c.jobs.Wake()
		}
		return
	}
	ctx := context.Background() // neither call waits
	for _, s := range ch.Stages {
		c.relay.Wake(ctx, memory.Due{Tenant: ch.Tenant, Collection: ch.Collection}, s)
	}
	if ch.Revision > 0 {
		c.bus.Publish(ctx, cache.News{Tenant: ch.Tenant, Collection: ch.Collection, Revision: int64(ch.Revision)})
	}
}

// moved hears of each job of this process that began, moved on or ended.
func (c *core) moved(tenantID, job uuid.UUID) {
	c.waiters.Tell(job)
	c.bus.Publish(context.Background(), cache.News{Tenant: tenantID, Job: job})
}

// heard is told what happened in any process: those who wait for a job look
// again, and a loaded index reads on before somebody asks it.
func (c *core) heard(ctx context.Context, n cache.News) {
	if n.Job != uuid.Nil {
		c.waiters.Tell(n.Job)
	}
	if n.Revision > 0 && n.Tenant != uuid.Nil {
		c.recall.Refresh(ctx, wholeTenant(n.Tenant, "system:news"), n.Collection)
	}
}

// forget drops what is cached of a tenant after its state, limits or agents
// changed in this process.
func (c *core) forget(tenantID uuid.UUID) {
	c.auth.Forget(tenantID)
	c.quotas.Forget(tenantID)
	c.embedders.Forget(tenantID)
}

// start runs what works in the background until ctx ends.
func (c *core) start(ctx context.Context, background *sync.WaitGroup) {
	background.Go(func() { c.meter.run(ctx) })
	c.recall.Start()
	if c.redis == nil {
		return
	}
	background.Go(func() { c.bus.Listen(ctx, func(n cache.News) { c.heard(ctx, n) }) })
	// What is told while jobs end is sent too.
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	var senders sync.WaitGroup
	senders.Go(func() { c.bus.Run(sending) })
	senders.Go(func() { c.relay.Run(sending) })
	c.sent = func() { stop(); senders.Wait() }
}

// stop writes what is still counted and sends what is still told, once
// nothing runs any more.
func (c *core) stop(ctx context.Context) error {
	err := c.recall.Stop(ctx)
	c.meter.flush(ctx)
	if c.sent != nil {
		c.sent()
	}
	return err
}

// close releases what open took, in reverse order.
func (c *core) close(ctx context.Context) error {
	errs := []error{c.redis.Close()}
	if c.relay != nil {
		errs = append(errs, c.relay.Close())
	}
	if c.telemetry != nil { // which looks at the store once more
		if err := c.telemetry.Shutdown(ctx); err != nil { // whoever is to take it may be gone
			c.log.WarnContext(ctx, "the last telemetry was not taken", "error", err)
		}
	}
	if c.embedders != nil {
		errs = append(errs, c.embedders.Close())
	}
	if c.store != nil {
		errs = append(errs, c.store.Close())
	}
	return errors.Join(errs...)
}

// models are the analysts of a process.
type models struct {
	main  memory.Model
	named map[string]memory.Model // by the names that collections choose from
	talk  chat.Models
}

func (c *core) models(ctx context.Context) (*models, error) {
	observer, err := llm.NewObserver(c.telemetry.Tracer("slipbox/llm"), c.telemetry.Meter("slipbox/llm"))
	if err != nil {
		return nil, err
	}
	deps := llm.Deps{Log: c.log, Meter: c.meter, Clock: time.Now, Observer: observer}
	if c.embedders, err = llm.NewRegistry(deps, c.cfg.LLM); err != nil {
		return nil, err
	}
	for _, n := range c.embedders.Notices() {
		c.log.WarnContext(ctx, "a setting is served by something else", "notice", n)
	}
	m := &models{named: map[string]memory.Model{}, talk: chat.Models{Named: map[string]chat.Model{}}}
	if m.main, err = c.model(deps, c.cfg.LLM); err != nil {
		return nil, err
	}
	if m.talk.Main, err = c.talk(deps, c.cfg.LLM); err != nil {
		return nil, err
	}
	for name := range c.cfg.Models {
		if m.named[name], err = c.model(deps, c.cfg.LLMFor(name, Environ())); err != nil {
			return nil, fmt.Errorf("model %s: %w", name, err)
		}
		talk, err := c.talk(deps, c.cfg.LLMFor(name, Environ()))
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", name, err)
		}
		if talk != nil {
			m.talk.Named[name] = talk
		}
	}
	return m, nil
}

// talk makes the model for chats that settings ask for; nil where they ask for none.
func (c *core) talk(deps llm.Deps, cfg llm.Config) (chat.Model, error) {
	t, err := llm.NewTalk(deps, cfg)
	if err != nil || t == nil {
		return nil, err
	}
	return budgetedTalk{Model: t, quotas: c.quotas}, nil
}

// model makes the analyst that settings ask for; an endpoint's tokens are
// held to the tenant's budget.
func (c *core) model(deps llm.Deps, cfg llm.Config) (memory.Model, error) {
	deps.Rules = rules.New()
	m, err := llm.NewModel(deps, cfg)
	if err != nil {
		return nil, err
	}
	if m.Analyst() == memory.AnalystModel {
		return budgeted{Model: m, quotas: c.quotas}, nil
	}
	return m, nil
}
