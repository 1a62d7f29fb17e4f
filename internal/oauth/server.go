package oauth

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// The paths of the authorization server, and of the resource that it issues tokens for.
const (
	pathResource  = "/mcp"
	pathAuthorize = "/oauth/authorize"
	pathToken     = "/oauth/token" //nolint:gosec // a path
	pathRegister  = "/oauth/register"
	pathRevoke    = "/oauth/revoke"

	wellKnownResource = "/.well-known/oauth-protected-resource"
	wellKnownServer   = "/.well-known/oauth-authorization-server"
	wellKnownOpenID   = "/.well-known/openid-configuration"
)

// The scopes of the protocol. Who may write may read.
const (
	scopeRead  = "read"
	scopeWrite = "write"
)

// permissions are what a scope allows, as far as the key of the holder does.
var permissions = map[string][]tenant.Permission{
	scopeRead:  {tenant.NotesRead},
	scopeWrite: {tenant.NotesRead, tenant.NotesWrite, tenant.CollectionsWrite, tenant.BaseWrite, tenant.Clone},
}

// scopesOf returns the scopes that permissions make up.
func scopesOf(granted []tenant.Permission) string {
	if slices.Contains(granted, tenant.NotesWrite) {
		return scopeRead + " " + scopeWrite
	}
	return scopeRead
}

// Grants issues codes and tokens; auth.Grants does.
type Grants interface {
	Allow(ctx context.Context, p auth.Principal, n auth.NewGrant) (code string, err error)
	Exchange(ctx context.Context, r auth.CodeExchange) (auth.Granted, error)
	Refresh(ctx context.Context, r auth.RefreshExchange) (auth.Granted, error)
	Revoke(ctx context.Context, token, clientID string, at auth.Resource) error
}

// Authenticator verifies credentials; auth.Authenticator does.
type Authenticator interface {
	Authenticate(ctx context.Context, credential string) (auth.Principal, error)
	AuthenticateAt(ctx context.Context, credential string, at auth.Resource) (auth.Principal, error)
}

// Deps are what a Server needs; all of it but Guard and PublicURL is required.
type Deps struct {
	Log    *slog.Logger
	Auth   Authenticator
	Grants Grants
	Guard  *auth.Guard // bounds refused keys, codes and refresh tokens, and registrations, of an address
	// Secret is what the ids of programs are signed with. All gateways of an installation have the same.
	Secret []byte
	// PublicURL is the address of the gateway, such as https://memory.example.com; "": there is none, and only programs on this
	// machine are served, under the address that they use.
	PublicURL string
	Now       func() time.Time
}

// Server answers the routes of the authorization server.
type Server struct {
	Deps

	clients []byte // the key of the ids of programs
}

// New returns a server.
func New(d Deps) (*Server, error) {
	if d.Log == nil || d.Auth == nil || d.Grants == nil || len(d.Secret) == 0 || d.Now == nil {
		return nil, errors.New("oauth: a logger, an authenticator, grants, a secret and a clock are required")
	}
	key, err := hkdf.Key(sha256.New, d.Secret, nil, "slipbox oauth clients 1", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("oauth: derive the key of client ids: %w", err)
	}
	d.PublicURL = strings.TrimSuffix(d.PublicURL, "/")
	return &Server{Deps: d, clients: key}, nil
}

// CheckPublicURL returns an error for what cannot be the public address of a gateway.
func CheckPublicURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	switch {
	case err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("%q is not an address such as https://memory.example.com", text)
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return fmt.Errorf("%q must begin with https, unless its host is this machine", text)
	}
	return nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Request is a request with the address of its client, which a trusted proxy may have named.
type Request struct {
	*http.Request

	From netip.Addr
}

// At returns the resource that a request asks for; false: there is none, because the gateway does not know its public address and
// the client is not on this machine.
func (s *Server) At(r *http.Request) (auth.Resource, bool) {
	issuer := s.PublicURL
	if issuer == "" {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		peer, _, _ := net.SplitHostPort(r.RemoteAddr)
		if !isLoopback(host) || !isLoopback(peer) {
			return auth.Resource{}, false
		}
		issuer = "http://" + r.Host
	}
	return auth.Resource{Issuer: issuer, URL: issuer + pathResource}, true
}

// Authenticate verifies a credential of a request for the resource: a token that was issued for it, or any other.
func (s *Server) Authenticate(ctx context.Context, credential string, r *http.Request) (auth.Principal, error) {
	at, _ := s.At(r)
	return s.Auth.AuthenticateAt(ctx, credential, at)
}

// Challenge returns the header WWW-Authenticate of a refusal; "" when programs cannot be authorized here. code is an error of
// RFC 6750, or "".
func (s *Server) Challenge(r *http.Request, code, scope string) string {
	at, ok := s.At(r)
	if !ok {
		return ""
	}
	out := `Bearer realm="slipbox", resource_metadata="` + at.Issuer + wellKnownResource + pathResource + `", scope="` + scope + `"`
	if code != "" {
		out += `, error="` + code + `"`
	}
	return out
}

// AllScopes are what a program is told to ask for.
const AllScopes = scopeRead + " " + scopeWrite

// Route is a route of the server.
type Route struct {
	Method, Path string
	Serve        func(w http.ResponseWriter, r Request)
}

// Routes returns the routes, which are those of RFC 6749, 7009, 7591, 8414 and 9728.
func (s *Server) Routes() []Route {
	var out []Route
	for _, path := range []string{wellKnownResource, wellKnownResource + pathResource} {
		out = append(out, Route{http.MethodGet, path, s.known(s.resourceMetadata)})
	}
	for _, path := range []string{wellKnownServer, wellKnownServer + pathResource} {
		out = append(out, Route{http.MethodGet, path, s.known(s.serverMetadata)})
	}
	return append(out,
		Route{http.MethodGet, wellKnownOpenID, s.known(s.openIDMetadata)},
		Route{http.MethodGet, pathAuthorize, s.known(s.showConsent)},
		Route{http.MethodPost, pathAuthorize, s.known(s.takeConsent)},
		Route{http.MethodPost, pathToken, s.known(s.token)},
		Route{http.MethodPost, pathRegister, s.known(s.register)},
		Route{http.MethodPost, pathRevoke, s.known(s.revoke)},
	)
}

// known calls a handler with the resource of the request, or answers 404.
func (s *Server) known(serve func(http.ResponseWriter, Request, auth.Resource)) func(http.ResponseWriter, Request) {
	return func(w http.ResponseWriter, r Request) {
		at, ok := s.At(r.Request)
		if !ok {
			fail(w, http.StatusNotFound, "not_found", "the gateway does not know its public address: set SLIPBOX_PUBLIC_URL")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		serve(w, r, at)
	}
}

// maxBody is the size of a body in bytes.
const maxBody = 32 << 10

func (s *Server) resourceMetadata(w http.ResponseWriter, _ Request, at auth.Resource) {
	describe(w, map[string]any{
		"resource": at.URL, "authorization_servers": []string{at.Issuer}, "scopes_supported": []string{scopeRead, scopeWrite},
		"bearer_methods_supported": []string{"header"}, "resource_name": "slipbox: memory for agents", "resource_documentation": at.Issuer + "/docs",
	})
}

func serverDescription(at auth.Resource) map[string]any {
	return map[string]any{
		"issuer": at.Issuer, "authorization_endpoint": at.Issuer + pathAuthorize, "token_endpoint": at.Issuer + pathToken,
		"registration_endpoint": at.Issuer + pathRegister, "revocation_endpoint": at.Issuer + pathRevoke,
		"jwks_uri":         at.Issuer + "/.well-known/jwks.json",
		"scopes_supported": []string{scopeRead, scopeWrite}, "response_types_supported": []string{"code"}, "response_modes_supported": []string{"query"},
		"grant_types_supported": []string{grantCode, grantRefresh}, "code_challenge_methods_supported": []string{methodS256},
		"token_endpoint_auth_methods_supported": []string{"none"}, "revocation_endpoint_auth_methods_supported": []string{"none"},
		"authorization_response_iss_parameter_supported": true, "service_documentation": at.Issuer + "/docs",
	}
}

func (s *Server) serverMetadata(w http.ResponseWriter, _ Request, at auth.Resource) {
	describe(w, serverDescription(at))
}

// openIDMetadata answers clients that look for the description under its other name. It has what they require of one; there are no
// ID tokens.
func (s *Server) openIDMetadata(w http.ResponseWriter, _ Request, at auth.Resource) {
	out := serverDescription(at)
	out["subject_types_supported"], out["id_token_signing_alg_values_supported"] = []string{"public"}, []string{"EdDSA"}
	describe(w, out)
}

// describe answers with a public document, which pages of any origin may read.
func describe(w http.ResponseWriter, doc map[string]any) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Cache-Control", "public, max-age=300")
	answer(w, http.StatusOK, doc)
}

func answer(w http.ResponseWriter, status int, doc map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) //nolint:errchkjson // texts, numbers and lists of texts
}

// fail answers with an error of the protocol.
func fail(w http.ResponseWriter, status int, code, description string) {
	answer(w, status, map[string]any{"error": code, "error_description": description})
}

// failed answers with the error that a fault is.
func (s *Server) failed(ctx context.Context, w http.ResponseWriter, err error) {
	code := fault.CodeOf(err)
	f, _ := errors.AsType[*fault.Error](err)
	switch code {
	case fault.RateLimited, fault.QuotaExceeded:
		w.Header().Set("Retry-After", retryAfter(f))
		fail(w, http.StatusTooManyRequests, "temporarily_unavailable", f.Message)
	case fault.Unauthenticated:
		fail(w, http.StatusBadRequest, "invalid_grant", f.Message)
	case fault.Forbidden:
		fail(w, http.StatusBadRequest, "invalid_scope", f.Message)
	default:
		s.Log.ErrorContext(ctx, "authorization failed", slog.Any("error", err))
		fail(w, http.StatusServiceUnavailable, "temporarily_unavailable", "try again later")
	}
}

func retryAfter(f *fault.Error) string {
	return fmt.Sprint(max(1, int(f.RetryAfter.Round(time.Second)/time.Second)))
}
