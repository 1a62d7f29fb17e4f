package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/oauth"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Config holds the settings of the HTTP edge.
type Config struct {
	// RequestTimeout limits a request; after it the answer is 504. Event streams and streamed
	// uploads are exempt. Default 60 s.
	RequestTimeout time.Duration `yaml:"request_timeout" env:"SLIPBOX_REQUEST_TIMEOUT"`
	// RefusalTimeout limits how long the answer to a request waits for a body that is not used, such
	// as that of a request without a valid credential. Default 5 s.
	RefusalTimeout time.Duration `yaml:"refusal_timeout" env:"SLIPBOX_REFUSAL_TIMEOUT"`
	// TrustedProxies are addresses, or networks such as 10.0.0.0/8, whose X-Forwarded-For names the
	// client. Default none: the address of a client is that of its connection.
	TrustedProxies []string `yaml:"trusted_proxies" env:"SLIPBOX_TRUSTED_PROXIES"`
	// Connections is how many clients are connected concurrently; further ones wait. Default 10,000.
	Connections int `yaml:"connections" env:"SLIPBOX_HTTP_CONNECTIONS"`
	// BodyBytes is the size of all request bodies in memory at the same time. A request over it is refused with
	// 503. Together with what they are decoded to, bodies take up to four times as much. Default 256 MiB.
	BodyBytes int64 `yaml:"body_bytes" env:"SLIPBOX_BODY_BYTES"`
	// BodyBytesPerTenant is the same for the requests of one tenant, with 429. Default 64 MiB.
	BodyBytesPerTenant int64 `yaml:"body_bytes_per_tenant" env:"SLIPBOX_BODY_BYTES_PER_TENANT"`
	// PublicURL is the address of the gateway for its clients, such as https://memory.example.com. With it, programs connect to
	// /mcp by OAuth; without it, only those on the gateway's own machine. Default none.
	PublicURL string `yaml:"public_url" env:"SLIPBOX_PUBLIC_URL"`
	// CORSOrigins may call the API from a browser; "*" allows every origin. Default none: no CORS
	// headers are sent.
	CORSOrigins []string `yaml:"cors_origins" env:"SLIPBOX_CORS_ORIGINS"`
	// EmbeddingNames are further names of the embedder in requests for embeddings, such as text-embedding-3-small, which
	// programs have built in. Its vectors are those of this gateway under each name. Default none.
	EmbeddingNames []string `yaml:"embedding_names" env:"SLIPBOX_EMBEDDING_NAMES"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		RequestTimeout: 60 * time.Second, RefusalTimeout: 5 * time.Second, Connections: 10_000,
		BodyBytes: 256 << 20, BodyBytesPerTenant: 64 << 20,
	}
}

// Validate returns an error that names every problem.
func (c Config) Validate() error {
	var errs []error
	if c.RequestTimeout <= 0 {
		errs = append(errs, errors.New("request_timeout: must be positive"))
	}
	if c.RefusalTimeout <= 0 {
		errs = append(errs, errors.New("refusal_timeout: must be positive"))
	}
	if c.Connections < 1 {
		errs = append(errs, errors.New("connections: must be 1 or more"))
	}
	for _, p := range c.TrustedProxies {
		if err := checkNetwork(p); err != nil {
			errs = append(errs, fmt.Errorf("trusted_proxies: %w", err))
		}
	}
	if c.BodyBytesPerTenant <= maxBufferedBody {
		errs = append(errs, fmt.Errorf("body_bytes_per_tenant: must be above %d, the largest body of a route", maxBufferedBody))
	}
	if c.BodyBytes < c.BodyBytesPerTenant {
		errs = append(errs, fmt.Errorf("body_bytes: must be %d or more, as body_bytes_per_tenant", c.BodyBytesPerTenant))
	}
	if err := oauth.CheckPublicURL(c.PublicURL); err != nil {
		errs = append(errs, fmt.Errorf("public_url: %w", err))
	}
	for _, o := range c.CORSOrigins {
		if err := checkOrigin(o); err != nil {
			errs = append(errs, fmt.Errorf("cors_origins: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Build describes the build at /version.
type Build struct {
	Version string
	Commit  string
	Date    string // RFC 3339
}

// Authenticator resolves the credential of a request header to a principal. Unauthenticated if it
// is not valid.
type Authenticator interface {
	Authenticate(ctx context.Context, credential string) (auth.Principal, error)
}

// Check is one condition of readiness. Its error is logged, and shown only if it explains. A failed optional check is
// reported as degraded, and the process stays ready.
type Check struct {
	Name     string
	Run      func(ctx context.Context) error
	Optional bool
	// Notice is shown while the check fails: its effect and how to fix it; "": none. What is degraded is not shown while
	// something is down.
	Notice   string
	Explains bool // the message of the fault is the notice
}

// Deps are the dependencies of Server. Log and Auth are required.
type Deps struct {
	Log     *slog.Logger
	Auth    Authenticator
	Build   Build
	Ready   []Check      // for /readyz; the optional ones may fail
	Metrics http.Handler // serves /metrics; nil: an empty exposition
	Console http.Handler // serves /console, a page outside the contract; nil: there is none
	Now     func() time.Time
	// CursorKey seals cursors; any length. Processes with the same key accept each other's cursors,
	// also after a restart. Empty: a random key, so cursors are valid only in this process.
	CursorKey []byte
	Core      *Core         // nil: its routes are not mounted
	Access    *Access       // nil: its routes are not mounted
	OAuth     *oauth.Server // nil: its routes are not mounted

	Guard   *auth.Guard // bounds refused credentials; nil: nothing does
	Limiter Limiter     // counts requests per tenant and minute; nil: unlimited
	// PerSecond counts requests per tenant and second, in this process; nil: unlimited.
	PerSecond Limiter
	// Limits are those of tenants without their own.
	Limits tenant.Limits
	// AtOnce is how many requests of one tenant are worked on concurrently while other tenants send requests too;
	// further ones wait. Those that wait for a job or a model, and streams, do not count. 0: no limit.
	AtOnce int
	// Rest is a step of the rest of a turn of a tenant that floods (fair.Rest). 0: none.
	Rest        time.Duration
	HTTPMetrics Recorder                      // nil: nothing is recorded
	Tracer      trace.Tracer                  // nil: no spans
	Propagator  propagation.TextMapPropagator // nil: the caller's trace is not continued
}

// Server serves the routes. It starts no goroutines and does not listen: it is an http.Handler that
// internal/app serves.
type Server struct {
	log     *slog.Logger
	auth    Authenticator
	build   Build
	ready   *Readiness
	metrics http.Handler
	console http.Handler
	now     func() time.Time
	cfg     Config

	doc      *document
	docsPage []byte // the reference page
	// docsPolicy is its Content-Security-Policy.
	docsPolicy string
	engine     *gin.Engine
	mounted    map[string]bool

	bodies   *inFlight
	cursors  *cursors
	draining chan struct{} // closed by drain
	drain    func()

	oauth      *oauth.Server
	guard      *auth.Guard
	proxyNamed sync.Once // the warning about a proxy that is not trusted was written
	limiter    Limiter
	perSecond  Limiter
	limits     tenant.Limits
	turns      *fair.Gate // of requests that are worked on
	recorder   Recorder
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
}

// New returns a server with every route mounted.
func New(deps Deps, cfg Config) (*Server, error) {
	if deps.Log == nil || deps.Auth == nil {
		return nil, errors.New("api: a logger and an authenticator are required")
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	doc, err := sharedDocument()
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	page, err := docsHTML()
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	policy, err := newDocsPolicy(page)
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	s := &Server{
		log: deps.Log, auth: deps.Auth, build: deps.Build, ready: NewReadiness(deps.Log, deps.Ready), metrics: deps.Metrics, console: deps.Console, now: deps.Now,
		cfg: cfg, doc: doc, docsPage: page, docsPolicy: policy, mounted: map[string]bool{}, bodies: newInFlight(cfg.BodyBytes, cfg.BodyBytesPerTenant),
		turns: fair.NewGate(cfg.Connections, deps.AtOnce).Resting(deps.Rest),
		oauth: deps.OAuth, guard: deps.Guard, limiter: deps.Limiter, perSecond: deps.PerSecond, limits: deps.Limits,
		recorder: deps.HTTPMetrics, tracer: deps.Tracer, propagator: deps.Propagator,
	}
	if err := s.limits.Check("limits"); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	if s.tracer == nil {
		s.tracer = noop.NewTracerProvider().Tracer("")
	}
	if s.propagator == nil {
		s.propagator = propagation.NewCompositeTextMapPropagator()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.cursors, err = newCursors(deps.CursorKey, s.now); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	s.draining = make(chan struct{})
	s.drain = sync.OnceFunc(func() { close(s.draining) })
	if s.engine, err = newEngine(cfg.TrustedProxies); err != nil {
		return nil, fmt.Errorf("api: trusted_proxies: %w", err)
	}
	s.engine.Use(s.identify, s.boundWaits, s.observe, s.accessLog, s.recover, s.securityHeaders, s.cors)
	s.engine.NoRoute(s.noRoute)
	s.engine.NoMethod(s.noMethod)
	if err := s.mountPublic(); err != nil {
		return nil, err
	}
	var core *core
	if deps.Core != nil {
		if core, err = s.mountCore(*deps.Core); err != nil {
			return nil, err
		}
		s.mountMCP()
	}
	if deps.OAuth != nil {
		s.mountOAuth()
	}
	if deps.Access != nil {
		if err := s.mountAccess(*deps.Access, core); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		// The request may have had a Content-Length, too, which net/http removes. A proxy that believes it sees another end
		// of the request, so what follows is not served (RFC 9112 6.1).
		w.Header().Set("Connection", "close")
	}
	s.engine.ServeHTTP(w, r)
}

// newEngine returns a gin engine without its automatic behavior: no redirects, no default
// middleware. Only trusted proxies may name the client's address.
func newEngine(trusted []string) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode) // process-wide in gin; removes its banner
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	e.UseRawPath = true // an encoded slash belongs to an id, not to the path
	e.UnescapePathValues = true
	e.ForwardedByClientIP = len(trusted) > 0
	e.RemoteIPHeaders = []string{"X-Forwarded-For"}
	err := e.SetTrustedProxies(trusted)
	return e, err
}

// handler serves one operation. It either writes a response, or returns an error and writes
// nothing; the error becomes the problem document.
type handler func(c *gin.Context) error

// mount routes an operation of the contract to h, after authentication, authorization and
// validation. An operation that is unknown or already mounted is an error.
func (s *Server) mount(operationID string, h handler) error {
	return s.mountOperation(s.doc, operationID, h)
}

// mountOperation is mount for an operation of any contract.
func (s *Server) mountOperation(doc *document, operationID string, h handler) error {
	op := doc.operations[operationID]
	if op == nil {
		return fmt.Errorf("api: the contract has no operation %q", operationID)
	}
	if s.mounted[operationID] {
		return fmt.Errorf("api: operation %q is mounted twice", operationID)
	}
	s.mounted[operationID] = true
	serve := func(c *gin.Context) {
		c.Set(keyErrors, op.errors)
		if err := s.serve(c, op, h); err != nil {
			s.fail(c, err)
		}
	}
	s.engine.Handle(op.method, op.route(), serve)
	if op.method == http.MethodGet && !op.stream {
		// The same handler: net/http discards the body (RFC 9110, 9.3.2).
		s.engine.HEAD(op.route(), serve)
	}
	return nil
}

// mountAll mounts handlers and reports all problems together.
func (s *Server) mountAll(handlers map[string]handler) error {
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(handlers)) {
		errs = append(errs, s.mount(id, handlers[id]))
	}
	return errors.Join(errs...)
}

// Unmounted returns the operations of the contract that no handler serves.
func (s *Server) Unmounted() []string {
	var out []string
	for id := range s.doc.operations {
		if !s.mounted[id] {
			out = append(out, id)
		}
	}
	sort.Strings(out)
	return out
}

// serve runs the phases that all operations share, the cheapest refusal first: authentication, rate
// limit, authorization, validation, then the handler.
func (s *Server) serve(c *gin.Context, op *operation, h handler) error {
	control := http.NewResponseController(c.Writer)
	bodyEnds := time.Now().Add(s.cfg.RequestTimeout)
	if op.stream {
		_ = control.SetWriteDeadline(time.Time{}) // an event has its own; the answer to an upload is short
	} else {
		ctx, cancel := context.WithTimeout(c.Request.Context(), s.cfg.RequestTimeout)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
	}
	nameOperation(c, op)
	if !op.public {
		if err := s.authenticate(c); err != nil {
			return err
		}
		if err := s.limit(c); err != nil {
			return err
		}
		if err := authorize(c, op); err != nil {
			return err
		}
	}
	if err := op.takeExternal(c); err != nil {
		return err
	}
	query, err := op.checkParameters(c.Request)
	if err != nil {
		return err
	}
	c.Set(keyQuery, query)
	if len(op.bodyTypes) > 0 && c.Request.ContentLength != 0 {
		// A context does not interrupt a read, so the body has a deadline of its own.
		_ = control.SetReadDeadline(bodyEnds)
	}
	body := &share{of: s.bodies, tenant: principal(c).Scope.Tenant()}
	defer body.release()
	if err := op.readBody(c, body); err != nil {
		return err
	}
	if len(op.bodyTypes) > 0 && !op.bodyStreams {
		// From now on, a pending read only detects that the client leaves. Of a streamed body that is refused, net/http reads the rest.
		_ = control.SetReadDeadline(time.Time{})
	}
	if err := s.takeTurn(c, op); err != nil {
		return err
	}
	defer endTurn(c)
	if op.method != http.MethodGet {
		reportSecrets(c)
	}
	return h(c)
}
