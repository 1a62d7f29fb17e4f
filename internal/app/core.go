package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipboxhq/slipbox/internal/analyst"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/build"
	"github.com/slipboxhq/slipbox/internal/cache"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/document"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/files"
	"github.com/slipboxhq/slipbox/internal/memory/hooks"
	"github.com/slipboxhq/slipbox/internal/memory/jobs"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered/layers"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent/tools"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/letta"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank/bank"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos/tiers"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/outbound"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/redis"
	"github.com/slipboxhq/slipbox/internal/seal"
	"github.com/slipboxhq/slipbox/internal/snapshot"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/worker"
)

// ephemeralTTL is the lifetime of an ephemeral collection on servers. Without servers such a
// collection ends with the gateway's process; on servers there are several processes.
const ephemeralTTL = 24 * time.Hour

// embeddedBatch is the number of notes in a changeset of a bulk on the embedded store, which has
// one writer: they hold it for about 5 ms, as long as an fsync may take, and not for 70 ms as 500 would.
const embeddedBatch = 32

// core is the part that a gateway and a worker share: Redis, the models, and the use-cases
// over the store.
type core struct {
	cfg Settings
	log *slog.Logger

	telemetry *telemetry.Telemetry
	checks    storeChecks
	redis     *redis.Client // nil without Redis; everything works without it
	bus       *redis.Bus
	wakeups   *redis.Wakeups  // nil without Redis
	versions  *cache.Versions // nil without a cache
	gone      chan memory.Due // what may be deleted, or has lost notes

	written store.Store     // Store, without a look for expired notes
	plans   *store.Planning // Store, where collections are planned
	expiry  *notes.Service  // retires them; nil while the process starts
	ledger  *auth.TenantLedger
	quotas  *tenant.Quotas
	meter   *meter

	endpoints llm.Watch // of models and of the embedder
	Services

	jobs        *worker.Worker // runs jobs; in a gateway only without Redis
	stopSenders func()         // stops sending wake-ups and news; nil when nothing is sent
}

// Services are the store, the models and the use-cases over them. They are exported for
// callers in the same process, such as benchmarks; the API is built over them too.
type Services struct {
	Store     store.Store // calls onCommit after each write
	Auth      *auth.Service
	Tenants   *tenant.Service
	Embedders *llm.Registry
	Policies  memory.PolicySet
	Recall    *recall.Service

	Notes       *notes.Service
	Blocks      *notes.Blocks
	Files       *files.Service
	Tools       *tools.Service
	Hooks       *hooks.Service
	Agent       *agent.Service
	Collections *notes.Collections
	Clones      *clone.Service
	Engine      *engine.Engine
	Imports     *notes.Imports
	Chat        *chat.Service
	Costs       *notes.Costs
	Bank        *bank.Service
	Layers      *layers.Service
	Tiers       *tiers.Service
	Letta       *letta.Service
	Waiters     *jobs.Waiters
}

// connect connects and builds everything. The caller must call disconnect, also when connect fails.
func (c *core) connect(ctx context.Context, service string) error {
	var err error
	if c.telemetry, err = telemetry.Start(ctx, telemetry.Config{Service: service, Version: build.Current().Version, Log: c.log, Getenv: os.Getenv}); err != nil {
		return err
	}
	c.log = c.telemetry.Logger(c.log)
	if unknown := c.cfg.UnknownVariables; len(unknown) > 0 {
		c.log.WarnContext(ctx, "variables that are no settings are ignored", "variables", strings.Join(unknown, ", "))
	}
	for _, line := range c.cfg.Unused() {
		c.log.WarnContext(ctx, "a setting has no effect", "setting", line)
	}
	opened, checks, err := openStore(ctx, c.cfg, c.log, c.telemetry)
	if err != nil {
		return err
	}
	observed, err := store.Observe(opened, c.telemetry.Tracer("slipbox/store"), c.telemetry.Meter("slipbox/store"))
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	c.gone = make(chan memory.Due, goneBuffer)
	c.written = store.ScreenSecrets(store.LimitWrites(store.NotifyOnCommit(observed, c.onCommit), c.storageLimits))
	c.plans = store.PlanCollections(store.RetireExpired(c.written, time.Now, c.retireExpired))
	c.Store, c.checks = c.plans, checks
	if c.cfg.RedisURL != "" {
		deps := redis.Deps{Log: c.log, Meter: c.telemetry.Meter("slipbox/cache"), Tracer: c.telemetry.Tracers()}
		if c.redis, err = redis.Open(ctx, redis.Config{URL: c.cfg.RedisURL, Prefix: c.cfg.Redis.Prefix, Timeout: c.cfg.Redis.Timeout}, deps); err != nil {
			return err
		}
		if c.wakeups, err = redis.NewWakeups(c.redis, c.telemetry.Meter("slipbox/queue")); err != nil {
			return err
		}
	}
	c.bus = redis.NewBus(c.redis)
	if c.Auth, c.Tenants, c.ledger, err = newAccess(c.Store, c.cfg, time.Now, c.log, c.forgetTenant); err != nil {
		return err
	}
	if err := c.buildModelsAndServices(ctx); err != nil {
		return err
	}
	return c.registerMetrics()
}

// buildModelsAndServices builds the models, then the services over them.
func (c *core) buildModelsAndServices(ctx context.Context) error {
	var err error
	if c.quotas, err = tenant.NewQuotas(c.Store, c.ledger, time.Now, tenant.QuotaConfig{Defaults: c.limits()}); err != nil {
		return err
	}
	c.meter = newMeter(c.Store, c.log)
	models, err := c.buildModels(ctx)
	if err != nil {
		return err
	}
	if c.Policies, err = policies.All(append(c.cfg.ModelNames(), slices.Sorted(maps.Keys(c.cfg.ModelHandles()))...)...); err != nil {
		return err
	}
	judge, err := policy.NewJudge()
	if err != nil {
		return err
	}
	reader, err := c.cachedReader()
	if err != nil {
		return err
	}
	reading := recall.Config{IndexBytes: c.cfg.Index.Bytes, ColdScan: c.cfg.Servers(), Encoding: c.cfg.Context.Encoding, RerankAlways: c.cfg.LLM.RerankAlways}
	if c.cfg.Cache.Bytes == 0 {
		reading.WarmNotes = -1 // there is no cache to warm
	}
	if !c.cfg.Servers() {
		reading.KeepUsage = time.Minute // no other process counts
	}
	deps := recall.Deps{Reach: reach, Store: reader, Embedders: c.Embedders, Model: models.main, Judge: judge, Policies: c.Policies, Log: c.log, Tracer: c.telemetry.Tracer("slipbox/recall")}
	if ranker := llm.NewReranker(llm.Deps{Log: c.log, Clock: time.Now}, c.cfg.LLM); ranker != nil { // else a nil that is not nil
		deps.Reranker = ranker
	}
	if err := c.openSnapshots(&deps); err != nil {
		return err
	}
	if c.Recall, err = recall.New(deps, reading); err != nil {
		return err
	}
	if err := c.buildServices(models); err != nil {
		return err
	}
	waiting := jobs.WaitConfig{PerTenant: c.cfg.Limits.WaitersPerTenant}
	if c.cfg.Servers() {
		waiting.Notified = c.bus.Listening // false without Redis: other processes run jobs too
	}
	c.Waiters = jobs.NewWaiters(c.Store, waiting)
	return nil
}

// indexDir returns the directory of snapshots of indexes: that of the settings, else one beside an
// embedded store. Servers keep none unless a setting names a directory.
func indexDir(cfg Settings) string {
	if cfg.Index.Dir == "" && !cfg.Servers() {
		return filepath.Join(cfg.Data, "index")
	}
	return cfg.Index.Dir
}

// openSnapshots opens the directory of snapshots of indexes, if there is one.
func (c *core) openSnapshots(deps *recall.Deps) (err error) {
	dir := indexDir(c.cfg)
	if dir == "" {
		return nil
	}
	if deps.Snapshots, err = snapshot.Open(dir); err != nil {
		return fault.Wrap(err, fault.Unavailable, "cannot use the directory %s for snapshots of indexes; check its owner and mode, or set index.dir", dir)
	}
	return nil
}

// cachedReader returns a reader of the store that reads versions through the cache.
func (c *core) cachedReader() (memory.Reader, error) {
	if c.cfg.Cache.Bytes == 0 {
		return c.Store, nil
	}
	var err error
	c.versions, err = cache.NewVersions(c.Store, c.redis, cache.VersionsConfig{Bytes: c.cfg.Cache.Bytes, TTL: c.cfg.Redis.CacheTTL},
		cache.Deps{Log: c.log, Meter: c.telemetry.Meter("slipbox/cache")})
	return c.versions, err
}

// buildServices builds the use-cases that the API calls.
func (c *core) buildServices(m *models) error {
	var ephemeral time.Duration
	if c.cfg.Servers() {
		ephemeral = ephemeralTTL
	}
	var err error
	writing := notes.Config{}
	if !c.cfg.Servers() {
		writing.BatchSize = embeddedBatch
	}
	if c.Notes, err = notes.New(notes.Deps{
		Store: c.Store, Embedders: c.Embedders, Policies: c.Policies, Log: c.log, Quota: quota{c.quotas},
	}, writing); err != nil {
		return err
	}
	if c.expiry, err = notes.New(notes.Deps{Store: c.written, Embedders: c.Embedders, Policies: c.Policies, Log: c.log}, writing); err != nil {
		return err
	}
	c.Blocks = notes.NewBlocks(c.Notes)
	if c.Collections, err = notes.NewCollections(notes.CollectionsDeps{
		Store: c.Store, Plans: c.plans, Agents: c.Store, Embedders: c.Embedders, Policies: c.Policies, Quota: quota{c.quotas}, EphemeralTTL: ephemeral,
	}); err != nil {
		return err
	}
	if c.Files, err = files.New(files.Deps{
		Store: c.Store, Notes: c.Notes, Collections: c.Collections, Recall: c.Recall, Parse: document.NewParser(document.DefaultCache()).Parse, Quota: c.quotas,
	}, files.Config{}); err != nil {
		return err
	}
	if c.Clones, err = clone.New(
		clone.Deps{Store: c.Store, Agents: c.Store, Policies: c.Policies, Quota: quota{c.quotas}, Forget: c.evict},
		clone.Config{BatchSize: c.cfg.Jobs.CopyBatch, EphemeralTTL: ephemeral},
	); err != nil {
		return err
	}
	if c.Engine, err = engine.New(engine.Deps{
		Store: c.Store, Policies: c.Policies, Model: m.main, Heuristic: analyst.NewWith(c.Embedders.Sentences()), Models: m.named, Embedders: c.Embedders,
		Nearest: c.Recall, Index: c.Recall, Log: c.log,
	}, engine.Config{}); err != nil {
		return err
	}
	if c.Tools, err = tools.New(tools.Deps{Store: c.Store, Policies: c.Policies}); err != nil {
		return err
	}
	if c.Hooks, err = c.newHooks(); err != nil {
		return err
	}
	if c.Agent, err = agent.New(agent.Deps{
		Store: c.Store, Notes: c.Notes, Blocks: c.Blocks, Recall: c.Recall, Files: c.Files, Tools: c.Tools, Policies: c.Policies, Models: c.Engine,
		Publish: c.publishDelta(),
	}, agent.Config{Encoding: c.cfg.Context.Encoding}); err != nil {
		return err
	}
	c.Tiers = &tiers.Service{Store: c.Store, Clock: time.Now}
	c.Layers = &layers.Service{Store: c.Store, Actor: c.Engine, Persons: c.Notes, Quota: quota{c.quotas}, Clock: time.Now}
	c.Imports = notes.NewImports(c.Store, c.Notes)
	lost, err := c.telemetry.Meter("slipbox/chat").Int64Counter("slipbox.chat.lost", metric.WithUnit("{exchange}"),
		metric.WithDescription("Exchanges of chats that could not be stored."))
	if err != nil {
		return err
	}
	if c.Chat, err = chat.New(chat.Deps{
		Recall: c.Recall, Notes: c.Notes, Models: m.chat, Log: c.log,
		Lost: func(ctx context.Context, _ tenant.Scope) { lost.Add(ctx, 1) },
	}, chat.Config{
		Timeout: c.cfg.Chat.Timeout, WholeTimeout: min(c.cfg.HTTP.RequestTimeout, c.cfg.Chat.Timeout),
		Limits: chat.Limits{MaxChoices: c.cfg.Chat.MaxChoices, MaxTokens: c.cfg.Chat.MaxTokens, RemoteImages: c.cfg.Chat.RemoteImages},
	}); err != nil {
		return err
	}
	c.Costs = notes.NewCosts(c.Store)
	if c.Letta, err = letta.New(letta.Deps{Store: c.Store, Collections: c.Collections, Blocks: c.Blocks, Imports: c.Imports, Agent: c.Agent}); err != nil {
		return err
	}
	c.Bank, err = bank.New(bank.Deps{Store: c.Store, Notes: c.Notes, Collections: c.Collections, Quota: quota{c.quotas}})
	return err
}

// newHooks builds the service of the tenants' webhooks.
func (c *core) newHooks() (*hooks.Service, error) {
	secret, err := wrappingSecret(c.cfg)
	if err != nil {
		return nil, err
	}
	sealer, err := seal.New(secret, hooks.Purpose)
	if err != nil {
		return nil, err
	}
	allowed, err := outbound.ParseHosts(c.cfg.Outbound.AllowHosts...)
	if err != nil {
		return nil, err
	}
	return hooks.New(hooks.Deps{Store: c.Store, Directory: c.Store, Client: outbound.New(outbound.Config{Allow: allowed}), Sealer: sealer}, hooks.Config{})
}

// buildWorker builds the worker that runs jobs in this process. At a stop, running jobs have
// the grace time to end.
func (c *core) buildWorker(q queue.Config) (err error) {
	q.Prepares, q.Decides, q.Tasks = c.cfg.Jobs.AtOnce()
	q.Share, q.Rest = c.cfg.Limits.InForce().JobShare, c.cfg.Limits.FloodRest
	q.Meter = c.telemetry.Meter("slipbox/queue")
	c.jobs, err = worker.New(
		worker.Deps{
			Store: c.Store, Engine: c.Engine, Clone: c.Clones, Log: c.log,
			Import: c.Imports.Run, File: c.Files.Run, Step: c.Agent.RunStep, Hook: c.Hooks.Run, Retire: c.expiry.RetireExpired, Tracer: c.telemetry.Tracer("slipbox/worker"), Meter: c.telemetry.Meter("slipbox/worker"),
		},
		worker.Config{Queue: q, SweepEvery: c.cfg.Jobs.SweepInterval, ModelTimeout: c.cfg.LLM.Timeout},
	)
	return err
}

// retireExpired retires the expired notes of a collection before a caller reads it, who may not write.
func (c *core) retireExpired(ctx context.Context, s tenant.Scope, collection uuid.UUID) error {
	if c.expiry == nil {
		return nil
	}
	return c.expiry.RetireExpired(ctx, wholeTenant(s.Tenant(), "system:expiry"), collection)
}

// onCommit is called after each commit. It drops what reads have kept and is no longer true, wakes those
// who wait for a job and the runners of jobs, and publishes what changed to the other processes.
func (c *core) onCommit(ch store.Change) {
	if c.Recall != nil { // nil while the process starts
		c.forgetReads(ch)
	}
	if ch.Deleted || ch.Erased {
		c.lookAt(memory.Due{Tenant: ch.Tenant, Collection: ch.Collection})
		c.bus.Publish(context.Background(), redis.News{Tenant: ch.Tenant, Collection: ch.Collection, Gone: true})
	}
	c.Waiters.Notify(ch.Collection, false)
	for _, j := range ch.Jobs {
		c.Waiters.Notify(j.ID, j.Ended)
	}
	if c.redis == nil {
		for _, s := range ch.Stages {
			if c.jobs != nil {
				c.jobs.Notify(memory.Due{Tenant: ch.Tenant, Collection: ch.Collection}, s)
			}
		}
		return
	}
	ctx := context.Background() // neither call blocks
	for _, s := range ch.Stages {
		c.wakeups.Send(ctx, memory.Due{Tenant: ch.Tenant, Collection: ch.Collection}, s)
	}
	news := redis.News{Tenant: ch.Tenant, Collection: ch.Collection, Revision: int64(ch.Revision)}
	for _, j := range ch.Jobs {
		news.Job, news.Unended = j.ID, !j.Ended
		c.bus.Publish(ctx, news)
		news.Revision = 0 // published already
	}
	if news.Revision > 0 {
		c.bus.Publish(ctx, news)
	}
}

// onNews handles news from any process: it wakes those who wait for the job or watch the collection, and updates a
// loaded index before the next search.
func (c *core) onNews(ctx context.Context, n redis.News) {
	c.Waiters.Notify(n.Collection, false)
	if n.Delta != nil && c.Agent != nil {
		c.Agent.Receive(*n.Delta)
	}
	if n.Job != uuid.Nil {
		c.Waiters.Notify(n.Job, !n.Unended)
	}
	if n.Gone {
		c.lookAt(memory.Due{Tenant: n.Tenant, Collection: n.Collection})
	}
	if n.Revision > 0 && n.Tenant != uuid.Nil {
		c.Recall.Refresh(ctx, wholeTenant(n.Tenant, "system:news"), n.Collection)
	}
}

// publishDelta sends the steps that are generated now to all processes; nil without Redis: there is no other process.
func (c *core) publishDelta() func(memory.RunDelta) {
	if c.redis == nil {
		return nil
	}
	return func(h memory.RunDelta) { c.bus.Publish(context.Background(), redis.News{Delta: &h}) } // does not block
}

// storageLimits returns the limits of a tenant that is near one of them.
func (c *core) storageLimits(ctx context.Context, s tenant.Scope) (*memory.StorageLimits, error) {
	if c.quotas == nil {
		return nil, nil //nolint:nilnil // nothing serves yet
	}
	l, near, err := c.quotas.Near(ctx, s)
	if err != nil || !near {
		return nil, err
	}
	return &memory.StorageLimits{Notes: l.Notes, Collections: l.Collections, Forks: l.Forks, StoredBytes: l.StoredBytes}, nil
}

// limits returns the limits of tenants that have none of their own.
func (c *core) limits() tenant.Limits {
	l := c.cfg.Limits.InForce()
	return tenant.Limits{
		RequestsPerMinute: l.RequestsPerMinute, RequestsPerSecond: l.RequestsPerSecond, ModelTokensPerDay: l.ModelTokensPerDay, QueuedJobs: l.QueuedJobs,
		ParseSecondsPerHour: l.ParseSecondsPerHour,
	}
}

// forgetTenant drops what this process has cached about a tenant. It is called after the
// tenant's state, limits or agents changed in this process.
func (c *core) forgetTenant(tenantID uuid.UUID) {
	c.Auth.Forget(tenantID)
	c.quotas.Forget(tenantID)
	c.Embedders.Forget(tenantID)
}

// startBackground starts the background work, which runs until ctx ends.
func (c *core) startBackground(ctx context.Context, background *sync.WaitGroup) {
	c.serveProfiles(ctx, background)
	background.Go(func() { c.meter.run(ctx) })
	c.Recall.Start()
	background.Go(func() { c.sweepGone(ctx) })
	if c.redis == nil {
		return
	}
	background.Go(func() { c.bus.Listen(ctx, func(n redis.News) { c.onNews(ctx, n) }) })
	// The senders outlive ctx, to send what ending jobs publish.
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	var senders sync.WaitGroup
	senders.Go(func() { c.bus.Run(sending) })
	senders.Go(func() { c.wakeups.Run(sending) })
	c.stopSenders = func() { stop(); senders.Wait() }
}

// flushBackground writes the model use counted so far and sends the last messages. It is called when
// nothing runs anymore.
func (c *core) flushBackground(ctx context.Context) error {
	err := c.Recall.Stop(ctx)
	c.meter.flush(ctx)
	if c.stopSenders != nil {
		c.stopSenders()
	}
	return err
}

// disconnect releases what open acquired, in reverse order.
func (c *core) disconnect(ctx context.Context) error {
	errs := []error{c.redis.Close()}
	if c.telemetry != nil {
		// Before the store is closed: the last metrics read it. The collector may be gone.
		if err := c.telemetry.Shutdown(ctx); err != nil {
			c.log.WarnContext(ctx, "the last telemetry could not be sent", "error", err)
		}
	}
	if c.Embedders != nil {
		errs = append(errs, c.Embedders.Close())
	}
	if c.Store != nil {
		errs = append(errs, c.Store.Close())
	}
	return errors.Join(errs...)
}

// models are the models of a process.
type models struct {
	main  memory.Model
	named map[string]memory.Model // by the names that collections choose from
	chat  chat.Models
}

func (c *core) buildModels(ctx context.Context) (*models, error) {
	observer, err := llm.NewObserver(c.telemetry.Tracer("slipbox/llm"), c.telemetry.Meter("slipbox/llm"))
	if err != nil {
		return nil, err
	}
	deps := llm.Deps{Log: c.log, Meter: c.meter, Clock: time.Now, Observer: observer, Watch: &c.endpoints}
	if c.Embedders, err = llm.NewRegistry(deps, c.cfg.LLM); err != nil {
		return nil, err
	}
	for _, n := range c.Embedders.Notices() {
		c.log.WarnContext(ctx, "a setting cannot be used; something else serves", "notice", n)
	}
	m := &models{named: map[string]memory.Model{}, chat: chat.Models{Named: map[string]chat.Model{}}}
	if m.main, err = c.noteModel(deps, c.cfg.LLM); err != nil {
		return nil, err
	}
	if m.chat.Main, err = c.chatModel(deps, c.cfg.LLM); err != nil {
		return nil, err
	}
	for name := range c.cfg.Models {
		if name != chat.AnyModel {
			if m.named[name], err = c.noteModel(deps, c.cfg.LLMFor(name, Environ())); err != nil {
				return nil, fmt.Errorf("model %s: %w", name, err)
			}
		}
		talk, err := c.chatModel(deps, c.cfg.LLMFor(name, Environ()))
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", name, err)
		}
		if talk != nil {
			m.chat.Named[name] = talk
		}
	}
	for handle, name := range c.cfg.ModelHandles() {
		if m.named[handle] = m.main; name != "" {
			m.named[handle] = m.named[name]
		}
	}
	return m, nil
}

// chatModel builds the model for chats. It is nil when the settings name none.
func (c *core) chatModel(deps llm.Deps, cfg llm.Config) (chat.Model, error) {
	t, err := llm.NewChatProxy(deps, cfg)
	if err != nil || t == nil {
		return nil, err
	}
	return budgetedChatModel{Model: t, quotas: c.quotas}, nil
}

// noteModel builds the model that policies ask. The tokens of an endpoint count against the
// tenant's budget.
func (c *core) noteModel(deps llm.Deps, cfg llm.Config) (memory.Model, error) {
	deps.Rules = analyst.NewWith(c.Embedders.Sentences())
	m, err := llm.NewModel(deps, cfg)
	if err != nil {
		return nil, err
	}
	if m.Analyst() == memory.AnalystModel {
		return budgetedModel{Model: m, quotas: c.quotas}, nil
	}
	return m, nil
}
