package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/internal/worker"
)

// App is a whole gateway over the embedded store.
type App struct {
	cfg     Settings
	log     *slog.Logger
	release func() // of the data directory

	store     store.Store
	auth      *auth.Service
	tenants   *tenant.Service
	ledger    *auth.TenantLedger
	quotas    *tenant.Quotas
	embedders *llm.Registry
	meter     *meter
	recall    *recall.Service
	worker    *worker.Worker
	waiters   *worker.Waiters
	telemetry *telemetry.Telemetry
	api       *api.Server

	listener net.Listener
}

// New builds a gateway: it takes the data directory, opens and migrates the
// store, and listens. Nothing is served and no job runs before Run. Close
// must be called if Run is not.
func New(ctx context.Context, cfg Settings, log *slog.Logger) (_ *App, err error) {
	if err := makeDataDir(cfg.Data); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.release, err = holdData(cfg.Data); err != nil {
		return nil, err
	}
	if a.listener, err = listen(ctx, cfg.Addr); err != nil {
		return nil, err
	}
	opened, err := openData(ctx, cfg, time.Now, log, true)
	if err != nil {
		return nil, err
	}
	a.store = store.Told(opened, a.told)
	if a.telemetry, err = telemetry.Start(ctx, telemetry.Config{Version: CurrentBuild().Version, Getenv: os.Getenv}); err != nil {
		return nil, err
	}
	if a.auth, a.tenants, a.ledger, err = newAccess(a.store, cfg, time.Now, log, a.forget); err != nil {
		return nil, err
	}
	if err := a.build(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "cannot listen on %s; stop what listens there, or choose another address with --addr", addr)
	}
	return l, nil
}

// build makes the services, from the models outward to the API.
func (a *App) build(ctx context.Context) error {
	var err error
	if a.quotas, err = tenant.NewQuotas(a.store, a.ledger, time.Now, tenant.QuotaConfig{}); err != nil {
		return err
	}
	a.meter = newMeter(a.store, a.log)
	llmDeps := llm.Deps{Log: a.log, Meter: a.meter, Clock: time.Now}
	if a.embedders, err = llm.NewRegistry(llmDeps, a.cfg.LLM); err != nil {
		return err
	}
	for _, n := range a.embedders.Notices() {
		a.log.WarnContext(ctx, "a setting is served by something else", "notice", n)
	}
	model, err := a.model(llmDeps, a.cfg.LLM)
	if err != nil {
		return err
	}
	models := map[string]memory.Model{}
	for name := range a.cfg.Models {
		if models[name], err = a.model(llmDeps, a.cfg.LLMFor(name, Environ())); err != nil {
			return fmt.Errorf("model %s: %w", name, err)
		}
	}
	amem, err := policy.NewAMem(slices.Sorted(maps.Keys(a.cfg.Models))...)
	if err != nil {
		return err
	}
	judge, err := policy.NewRelevance()
	if err != nil {
		return err
	}
	policies := memory.NewPolicySet(amem, policy.NewNone())
	if a.recall, err = recall.New(
		recall.Deps{Store: a.store, Embedders: a.embedders, Model: model, Judge: judge, Log: a.log},
		recall.Config{IndexBytes: a.cfg.Index.Bytes},
	); err != nil {
		return err
	}
	notes, err := memory.NewNotes(memory.NotesDeps{
		Store: a.store, Embedders: a.embedders, Log: a.log, Quota: quota{a.quotas},
	}, memory.NotesConfig{})
	if err != nil {
		return err
	}
	collections, err := memory.NewCollections(memory.CollectionsDeps{
		Store: a.store, Agents: a.store, Embedders: a.embedders, Policies: policies, Quota: quota{a.quotas},
	})
	if err != nil {
		return err
	}
	clones, err := clone.New(
		clone.Deps{Store: a.store, Agents: a.store, Quota: quota{a.quotas}, Forget: a.recall.Evict},
		clone.Config{BatchSize: a.cfg.Jobs.CopyBatch})
	if err != nil {
		return err
	}
	eng, err := engine.New(engine.Deps{
		Store: a.store, Policies: policies, Model: model, Heuristic: llm.NewHeuristic(), Models: models, Embedders: a.embedders,
		Neighbours: worker.Neighbours{Recall: a.recall}, Index: a.recall, Log: a.log,
	}, engine.Config{})
	if err != nil {
		return err
	}
	imports := worker.NewImports(a.store, notes, time.Now)
	a.waiters = worker.NewWaiters(a.store, worker.WaitConfig{PerTenant: a.cfg.Limits.WaitersPerTenant})
	if a.worker, err = worker.New(
		worker.Deps{
			Store: a.store, Engine: eng, Clone: clones, Log: a.log,
			Tasks: map[memory.JobKind]worker.Task{memory.JobImport: imports.Run},
			Told:  func(_, job uuid.UUID) { a.waiters.Tell(job) },
		},
		worker.Config{
			Queue:      queue.Config{Prepares: a.cfg.Jobs.Workers, Decides: a.cfg.Jobs.Workers, Tasks: 2, Grace: a.cfg.StopTimeout / 2},
			SweepEvery: a.cfg.Jobs.SweepInterval,
		},
	); err != nil {
		return err
	}
	return a.buildAPI(services{notes: notes, collections: collections, clones: clones, engine: eng, imports: imports})
}

// model makes the analyst that settings ask for; an endpoint's tokens are
// held to the tenant's budget.
func (a *App) model(deps llm.Deps, cfg llm.Config) (memory.Model, error) {
	m, err := llm.NewModel(deps, cfg)
	if err != nil {
		return nil, err
	}
	if m.Analyst() == memory.AnalystModel {
		return budgeted{Model: m, quotas: a.quotas}, nil
	}
	return m, nil
}

// told hears of each commit: jobs run in this process.
func (a *App) told(c store.Change) {
	if len(c.Stages) > 0 {
		a.worker.Wake()
	}
}

// forget drops what is cached of a tenant after its state, limits or agents
// changed in this process.
func (a *App) forget(tenantID uuid.UUID) {
	a.auth.Forget(tenantID)
	a.quotas.Forget(tenantID)
	a.embedders.Forget(tenantID)
}

// URL is where the gateway listens.
func (a *App) URL() string { return "http://" + a.listener.Addr().String() }

// firstStart makes the default tenant and prints one key for it, when there
// is no tenant of that name yet.
func (a *App) firstStart(ctx context.Context, stdout io.Writer) error {
	op := grant.Operator("operator:first-start")
	_, err := a.tenants.Get(ctx, op, DefaultTenant)
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	t, err := a.tenants.Create(ctx, op, tenant.NewTenant{Name: DefaultTenant})
	if err != nil {
		return fmt.Errorf("make the first tenant: %w", err)
	}
	s := wholeTenant(t.ID, op.Actor())
	k, err := a.auth.Keys.Create(ctx, s, auth.NewKey{Name: "first key"})
	if err != nil {
		return fmt.Errorf("make the first key: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "The first key of tenant %q, with all its rights. It is shown once; `gateway key create --tenant %s` makes another.\nkey: %s\n\n",
		DefaultTenant, DefaultTenant, k.Text)
	return err
}

// Close releases what New took, in reverse order. It is called by Run.
func (a *App) Close() error {
	var errs []error
	if a.listener != nil {
		if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	if a.release != nil {
		a.release()
	}
	return errors.Join(errs...)
}
