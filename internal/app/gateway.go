package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/build"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// Gateway serves the API: over the embedded store, with its jobs in this process, or over Postgres
// as one of several.
type Gateway struct {
	*core

	api      *api.Server
	listener net.Listener
	metrics  net.Listener // of metrics and health alone; nil: they are served with the API
	release  func()       // unlocks the data directory; nil on servers
}

// NewGateway builds a gateway. It listens and opens the store; it locks the data directory of an
// embedded store and migrates it. Nothing is served and no job runs before Run. The caller must
// call Run or Close.
func NewGateway(ctx context.Context, cfg Settings, log *slog.Logger) (_ *Gateway, err error) {
	g := &Gateway{core: &core{cfg: cfg, log: log}}
	var undo func()
	defer func() {
		if err != nil {
			g.release = undo
			err = errors.Join(err, g.Close())
		}
	}()
	if !cfg.Servers() {
		if g.release, undo, err = takeData(cfg.Data); err != nil {
			return nil, err
		}
	}
	if g.listener, err = listen(ctx, cfg.Addr, "--addr or SLIPBOX_ADDR"); err != nil {
		return nil, err
	}
	if cfg.MetricsAddr != "" {
		if g.metrics, err = listen(ctx, cfg.MetricsAddr, "SLIPBOX_METRICS_ADDR"); err != nil {
			return nil, err
		}
	}
	if err := g.connect(ctx, "slipbox-gateway"); err != nil {
		return nil, err
	}
	if g.redis == nil {
		if err := g.buildWorker(queue.Config{Grace: cfg.StopTimeout / 2}); err != nil {
			return nil, err
		}
	}
	if err := g.buildAPI(); err != nil {
		return nil, err
	}
	return g, nil
}

// listen listens on an address that a setting or a flag names.
func listen(ctx context.Context, addr, name string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "cannot listen on %s; stop what listens there, or choose another address with %s", addr, name)
	}
	return l, nil
}

// URL returns the base URL of the gateway.
func (g *Gateway) URL() string { return "http://" + g.listener.Addr().String() }

// Close releases what NewGateway acquired, in reverse order. Run calls it.
func (g *Gateway) Close() error {
	var errs []error
	for _, l := range []net.Listener{g.listener, g.metrics} {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	errs = append(errs, g.disconnect(ctx))
	if g.release != nil {
		g.release()
	}
	return errors.Join(errs...)
}

// closeTimeout bounds the sending of the last traces.
const closeTimeout = 5 * time.Second

// Serve builds and runs a gateway until ctx ends. It writes the first key and the demo's commands
// to stdout.
func Serve(ctx context.Context, cfg Settings, log *slog.Logger, stdout io.Writer, demo bool) error {
	if demo && cfg.Servers() {
		return fault.New(fault.Conflict, "--demo is for the embedded store; unset DATABASE_URL to try it")
	}
	g, err := NewGateway(ctx, cfg, log)
	if err != nil {
		return err
	}
	return g.Run(ctx, stdout, demo)
}

// Run serves until ctx ends. Then requests in flight finish, streams end, jobs go back to the queue
// and everything is released, within StopTimeout.
func (g *Gateway) Run(ctx context.Context, stdout io.Writer, demo bool) error {
	demoKey, err := g.beforeServing(ctx, stdout, demo)
	if err != nil {
		return errors.Join(err, g.Close())
	}
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var background sync.WaitGroup
	g.startBackground(work, &background)
	if g.jobs != nil {
		background.Go(func() { g.jobs.Run(work) })
	}
	server := newServer(g.api, g.log)
	served := make(chan error, 2)
	go func() { served <- server.Serve(netutil.LimitListener(g.listener, g.cfg.HTTP.Connections)) }()
	health := newServer(g.healthHandler(), g.log)
	if g.metrics != nil {
		go func() { served <- health.Serve(g.metrics) }()
	}
	g.log.InfoContext(ctx, "serving", g.logAttrs()...)
	var failed error
	if demo {
		background.Go(func() {
			if err := g.runDemo(work, stdout, demoKey); err != nil && work.Err() == nil {
				g.log.ErrorContext(work, "the demo could not be prepared", "error", err)
			}
		})
	}
	select {
	case <-ctx.Done():
	case err := <-served:
		failed = fmt.Errorf("serve: %w", err)
	}
	g.log.InfoContext(context.WithoutCancel(ctx), "stopping: requests finish, jobs go back to the queue")
	g.api.Drain() // ends the requests that wait for jobs
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.cfg.StopTimeout)
	defer cancel()
	err = shutdown(stop, server)
	stopWork()
	background.Wait()
	err = errors.Join(err, shutdown(stop, health))
	if !g.cfg.Servers() {
		_, removeErr := g.jobs.RemoveEphemeral(stop)
		err = errors.Join(err, removeErr)
	}
	err = errors.Join(failed, err, g.flushBackground(stop), g.Close())
	g.log.InfoContext(stop, "stopped")
	return err
}

// maxHeaderBytes bounds the request line and the headers of a request, which are read before anything is
// known of the caller. It has room for the longest query that the contract allows, where a character can
// take twelve bytes, and for what proxies add. net/http takes 4 KiB more, and answers 431.
const maxHeaderBytes = 256 << 10

// newServer returns an HTTP server with the limits of all processes.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// shutdown stops the server. It waits for running requests until ctx ends, then closes them.
func shutdown(ctx context.Context, server *http.Server) error {
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were still running: %w", err), server.Close())
	}
	return nil
}

// logAttrs returns the attributes of the first log line.
func (g *Gateway) logAttrs() []any {
	out := []any{"url", g.URL(), "version", build.Current().Version}
	if g.metrics != nil {
		out = append(out, "metrics", "http://"+g.metrics.Addr().String()+"/metrics")
	}
	if !g.cfg.Servers() {
		return append(out, "data", g.cfg.Data)
	}
	return append(out, "store", "postgres", "redis", g.redis != nil, "jobs_here", g.jobs != nil)
}

// beforeServing prepares the store before the first request, and returns the demo's key. stdout is where a person reads the first key;
// nil: none is made.
func (g *Gateway) beforeServing(ctx context.Context, stdout io.Writer, demo bool) (demoKey string, err error) {
	if g.cfg.HTTP.PublicURL != "" {
		g.log.InfoContext(ctx, "programs connect by OAuth", "url", strings.TrimSuffix(g.cfg.HTTP.PublicURL, "/")+"/mcp")
	} else {
		g.log.InfoContext(ctx, "programs connect by OAuth from this machine only: "+noPublicURL)
	}
	if g.cfg.Servers() {
		return "", g.ensureSigningKey(ctx)
	}
	if err := g.recoverJobs(ctx); err != nil {
		return "", err
	}
	if err := g.firstStart(ctx, stdout); err != nil {
		return "", err
	}
	if err := g.ensureSigningKey(ctx); err != nil || !demo {
		return "", err
	}
	return g.createDemoKey(ctx)
}

// recoverJobs releases the jobs that an earlier process of an embedded store had leased, and
// deletes the ephemeral collections that it left when it was killed.
func (g *Gateway) recoverJobs(ctx context.Context) error {
	voided, err := g.jobs.Recover(ctx)
	if err != nil {
		return fmt.Errorf("free the jobs of an earlier process: %w", err)
	}
	removed, err := g.jobs.RemoveEphemeral(ctx)
	if err != nil {
		return fmt.Errorf("remove ephemeral collections of an earlier process: %w", err)
	}
	if voided > 0 || removed > 0 {
		g.log.InfoContext(ctx, "recovered from an earlier process", "jobs", voided, "ephemeral_collections", removed)
	}
	return nil
}

// firstStart creates the default tenant, and prints a key for it unless people have had one.
func (g *Gateway) firstStart(ctx context.Context, stdout io.Writer) error {
	op := grant.Operator("operator:first-start")
	t, err := g.Tenants.Get(ctx, op, DefaultTenant)
	if fault.Is(err, fault.NotFound) {
		t, err = g.Tenants.Create(ctx, op, tenant.NewTenant{Name: DefaultTenant})
	}
	if err != nil {
		return fmt.Errorf("make the first tenant: %w", err)
	}
	if stdout == nil {
		return nil
	}
	s := wholeTenant(t.ID, op.Actor())
	keys, err := g.keysOf(ctx, s)
	if err != nil || slices.ContainsFunc(keys, func(k auth.Key) bool { return k.Name != mcpKeyName }) {
		return err
	}
	k, err := g.Auth.Keys.Create(ctx, s, auth.NewKey{Name: "first key"})
	if err != nil {
		return fmt.Errorf("create the first key: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "The permanent admin key of tenant %q. It is shown once: keep it. `gateway key create --tenant %s` creates another.\nkey: %s\n\n",
		DefaultTenant, DefaultTenant, k.Text)
	return err
}

// ensureSigningKey creates the key that signs tokens, before the first token needs it. A store
// restored from a backup has a key of another secret; replacing that may have to wait for a moment.
// Until then everything works except issuing tokens.
func (g *Gateway) ensureSigningKey(ctx context.Context) error {
	err := g.Auth.Tokens.EnsureSigningKey(ctx)
	if fault.Is(err, fault.Unavailable) {
		g.log.WarnContext(ctx, "tokens cannot be signed yet; a new signing key is made within a minute", "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the signing key: %w", err)
	}
	return nil
}
