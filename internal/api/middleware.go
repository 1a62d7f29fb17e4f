package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Keys of the values that middleware stores in the gin context. Handlers read them through the
// accessors in request.go only.
const (
	keyRequestID = "slipbox.request_id"
	keyPrincipal = "slipbox.principal"
	keyQuery     = "slipbox.query"
	keyBody      = "slipbox.body"
	keyStatus    = "slipbox.status" // status for the log, if it differs from the sent one
	keyCode      = "slipbox.code"   // code of the fault in the response
	// keyCredential holds a function that verifies the credential again.
	keyCredential = "slipbox.verify"
	keyUnlogged   = "slipbox.unlogged" // whether the log has the request in a summary only
	keyErrors     = "slipbox.errors"   // form of the operation's errors
	keyTurn       = "slipbox.turn"     // what ends the request's turn
	keyResource   = "slipbox.resource" // whether tokens of grants are accepted
)

const headerRequestID = "X-Request-ID"

// identify sets the request id: the client's X-Request-Id if it is short and printable, or else a
// new one.
func (s *Server) identify(c *gin.Context) {
	id := c.Request.Header.Get(headerRequestID)
	if !plainID(id) {
		id = newID()
	}
	c.Set(keyRequestID, id)
	c.Header(headerRequestID, id)
}

func plainID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for _, b := range []byte(id) {
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !letter && !strings.ContainsRune("._-", rune(b)) {
			return false
		}
	}
	return true
}

func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.NewString() // the clock failed, the random source did not
	}
	return id.String()
}

// boundWaits limits how long a client may take to read a response: the time to make it, and as long
// again. And it limits the wait for a body, which net/http reads before it sends an answer, until
// serve decides that the body is wanted. Both are set for each request of a connection.
func (s *Server) boundWaits(c *gin.Context) {
	control := http.NewResponseController(c.Writer)
	_ = control.SetWriteDeadline(time.Now().Add(2 * s.cfg.RequestTimeout))
	if c.Request.ContentLength != 0 { // else a pending read detects that the client leaves
		_ = control.SetReadDeadline(time.Now().Add(s.cfg.RefusalTimeout))
	}
}

// accessLog writes one line per request, without paths that contain names or query strings that
// contain text.
func (s *Server) accessLog(c *gin.Context) {
	start := s.now()
	c.Next()
	attrs := []slog.Attr{
		slog.String("request_id", requestID(c)),
		slog.String("method", telemetry.KnownMethod(c.Request.Method)),
		slog.String("route", c.FullPath()),
		slog.Int("status", statusOf(c)),
		slog.Int("bytes", max(0, c.Writer.Size())),
		slog.Duration("duration", s.now().Sub(start)),
	}
	if p := principal(c); !p.Scope.IsZero() {
		attrs = append(attrs, slog.String("tenant", p.Scope.Tenant().String()))
	}
	level := slog.LevelInfo
	if c.FullPath() == "/healthz" || c.FullPath() == "/readyz" || c.FullPath() == "/metrics" {
		level = slog.LevelDebug // probes are frequent
	}
	if c.GetBool(keyUnlogged) {
		level = slog.LevelDebug
	}
	s.log.LogAttrs(c.Request.Context(), level, "request", attrs...)
}

// recover turns a panic into a 500 problem. It passes on http.ErrAbortHandler, as net/http expects.
func (s *Server) recover(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v)
		}
		s.log.ErrorContext(c.Request.Context(), "panic", slog.String("request_id", requestID(c)),
			slog.String("route", c.FullPath()), slog.Any("value", v), slog.String("stack", string(debug.Stack())))
		s.fail(c, fmt.Errorf("panic: %v", v))
	}()
	c.Next()
}

func (s *Server) securityHeaders(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
}

// checkOrigin refuses values that are not an origin.
func checkOrigin(o string) error {
	if o == "*" {
		return nil
	}
	u, err := url.Parse(o)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" {
		return fmt.Errorf("%q is not an origin such as https://app.example.com", o)
	}
	return nil
}

// checkNetwork refuses values that are neither an IP address nor a network.
func checkNetwork(text string) error {
	_, err := netip.ParseAddr(text)
	if err == nil {
		return nil
	}
	if _, err := netip.ParsePrefix(text); err != nil {
		return fmt.Errorf("%q is not an address such as 10.1.2.3 or a network such as 10.0.0.0/8", text)
	}
	return nil
}

// cors answers browsers of the configured origins. Credentials are sent in headers, so cookies are
// not allowed.
func (s *Server) cors(c *gin.Context) {
	origin := c.Request.Header.Get("Origin")
	if len(s.cfg.CORSOrigins) == 0 || origin == "" {
		return
	}
	h := c.Writer.Header()
	h.Add("Vary", "Origin")
	all := slices.Contains(s.cfg.CORSOrigins, "*")
	if !all && !slices.Contains(s.cfg.CORSOrigins, origin) {
		return
	}
	if all {
		origin = "*"
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers",
		"ETag, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Slipbox-Citations, Slipbox-Job, Slipbox-Redacted, Slipbox-Revision, X-Request-Id")
	if c.Request.Method != http.MethodOptions || c.Request.Header.Get("Access-Control-Request-Method") == "" {
		return
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Slipbox-Collection, Slipbox-Create, Slipbox-External, X-API-Key, X-Request-Id")
	h.Set("Access-Control-Max-Age", "600")
	c.AbortWithStatus(http.StatusNoContent)
}

func (s *Server) noRoute(c *gin.Context) {
	refusesAsOpenAI(c)
	chooseErrors(c)
	path := c.Request.URL.EscapedPath()
	// Paths of mem0 end with a slash.
	if bare := strings.TrimRight(path, "/"); bare != path && bare != "" && c.GetString(keyErrors) != errorsMem0 {
		s.fail(c, fault.New(fault.NotFound, "no such route; a path has no slash at its end: %s; see /docs", clip.Runes(bare, maxProblemText/2)))
		return
	}
	s.fail(c, fault.New(fault.NotFound, "no such route; see /docs"))
}

func (s *Server) noMethod(c *gin.Context) {
	refusesAsOpenAI(c)
	chooseErrors(c)
	s.fail(c, fault.New(fault.NotAllowed, "the route does not support %s; it supports %s", clip.Runes(c.Request.Method, maxProblemText), c.Writer.Header().Get("Allow")))
}

// authenticate finds the principal of a request.
func (s *Server) authenticate(c *gin.Context) error {
	if p, ok := calledByTool(c); ok {
		c.Set(keyPrincipal, p)
		return nil
	}
	credential, err := credentialOf(c.Request.Header)
	if err != nil {
		return err
	}
	from, _ := netip.ParseAddr(c.ClientIP()) // zero: none, such as over a socket
	s.warnOfProxy(c)
	verify := s.verifier(c)
	p, err := s.guard.Authenticate(c.Request.Context(), verify, credential, from)
	if err != nil {
		c.Set(keyUnlogged, fault.Is(err, fault.RateLimited))
		return err
	}
	c.Set(keyPrincipal, p)
	c.Set(keyCredential, func(ctx context.Context) error {
		_, err := verify(ctx, credential)
		return err
	})
	return nil
}

// verifier returns what verifies the credential of a request. Tokens of grants are for one route.
func (s *Server) verifier(c *gin.Context) auth.Verifier {
	if s.oauth == nil || !c.GetBool(keyResource) {
		return s.auth.Authenticate
	}
	r := c.Request
	return func(ctx context.Context, credential string) (auth.Principal, error) {
		return s.oauth.Authenticate(ctx, credential, r)
	}
}

// stillAccepted returns what looks at the credential of a request again: its error is why it is refused by now, such as because its
// key was revoked. A store that cannot be asked refuses nothing.
func stillAccepted(c *gin.Context) func() error {
	check, ok := c.Value(keyCredential).(func(context.Context) error)
	if !ok {
		return func() error { return nil } // a tool's request, which ends with the one that it is part of
	}
	ctx := c.Request.Context()
	return func() error {
		if err := check(ctx); fault.Is(err, fault.Unauthenticated) {
			return err
		}
		return nil
	}
}

// warnOfProxy writes one line when a proxy that is not trusted names the client: all clients behind it count as one
// address.
func (s *Server) warnOfProxy(c *gin.Context) {
	if c.GetHeader("X-Forwarded-For") == "" || c.ClientIP() != c.RemoteIP() {
		return
	}
	s.proxyNamed.Do(func() {
		s.log.LogAttrs(c.Request.Context(), slog.LevelWarn,
			"X-Forwarded-For came from a peer that is not a trusted proxy; if it is yours, name it in SLIPBOX_TRUSTED_PROXIES: "+
				"until then all clients behind it share one address and its limits", slog.String("peer", c.RemoteIP()))
	})
}

// authorize checks that the credential has the operation's scope.
func authorize(c *gin.Context, op *operation) error {
	p := principal(c)
	if op.scope == tenant.OperatorPerm {
		if p.Operator.IsZero() {
			return fault.New(fault.Forbidden, "the credential lacks the scope %q", op.scope)
		}
		return nil
	}
	if op.platform && !p.Operator.IsZero() {
		return nil
	}
	if p.Scope.IsZero() {
		return fault.New(fault.Forbidden, "a platform key cannot read a tenant's data")
	}
	if op.scope == "" {
		return nil
	}
	return tenant.Check(p.Scope, op.scope)
}

// credentialOf returns the credential of a request. The clients of mem0, among others, write Token where the standard has Bearer.
// Two different credentials are refused, so that neither wins silently.
func credentialOf(h http.Header) (string, error) {
	var found []string
	for _, v := range h.Values("Authorization") {
		scheme, credential, _ := strings.Cut(v, " ")
		credential = strings.TrimSpace(credential)
		if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "Token") || credential == "" {
			return "", fault.New(fault.Unauthenticated, "the Authorization header must be: Bearer <token or key>")
		}
		found = append(found, credential)
	}
	found = append(found, h.Values("X-Api-Key")...)
	found = slices.Compact(found)
	switch {
	case len(found) == 0 || found[0] == "":
		return "", fault.New(fault.Unauthenticated, "a credential is required: send the header Authorization: Bearer <token or key>")
	case len(found) > 1:
		return "", fault.New(fault.Unauthenticated, "more than one credential was given")
	}
	return found[0], nil
}
