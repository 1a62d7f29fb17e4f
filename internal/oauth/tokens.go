package oauth

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
)

// form reads the form of a request in which no parameter is repeated. It answers the request when there is none.
func form(w http.ResponseWriter, r Request) (url.Values, bool) {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(strings.ToLower(media)) != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		fail(w, http.StatusBadRequest, "invalid_request", "the body must be a form (application/x-www-form-urlencoded)")
		return nil, false
	}
	if name := repeated(r.PostForm); name != "" {
		fail(w, http.StatusBadRequest, "invalid_request", name+" is repeated")
		return nil, false
	}
	return r.PostForm, true
}

// repeated returns a parameter of the protocol that is repeated.
func repeated(in url.Values) string {
	for _, name := range []string{
		"client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "code_challenge", "code_challenge_method", "resource",
		"grant_type", "code", "code_verifier", "refresh_token", "token",
	} {
		if len(in[name]) > 1 {
			return name
		}
	}
	return ""
}

// formOf reads the form of a request, and the program that it is of. It answers the request when there is none.
func (s *Server) formOf(w http.ResponseWriter, r Request) (url.Values, client, bool) {
	in, ok := form(w, r)
	if !ok {
		return nil, client{}, false
	}
	c, err := s.client(in.Get("client_id"))
	if err != nil {
		fail(w, http.StatusUnauthorized, "invalid_client", err.Error())
		return nil, client{}, false
	}
	return in, c, true
}

// token issues tokens for a code or a refresh token.
func (s *Server) token(w http.ResponseWriter, r Request, at auth.Resource) {
	in, c, ok := s.formOf(w, r)
	if !ok {
		return
	}
	if resource := in.Get("resource"); resource != "" && !isResource(resource, at) {
		fail(w, http.StatusBadRequest, "invalid_target", "the resource is "+at.URL)
		return
	}
	var exchange func(ctx context.Context) (auth.Granted, error)
	var secret string
	switch in.Get("grant_type") {
	case grantCode:
		secret = in.Get("code")
		exchange = func(ctx context.Context) (auth.Granted, error) {
			return s.Grants.Exchange(ctx, auth.CodeExchange{
				Code: secret, ClientID: c.ID, Redirect: in.Get("redirect_uri"), Verifier: in.Get("code_verifier"), At: at,
			})
		}
	case grantRefresh:
		secret = in.Get("refresh_token")
		perms, known := asked(in.Get("scope"))
		if !known {
			fail(w, http.StatusBadRequest, "invalid_scope", "the scopes are read and write")
			return
		}
		exchange = func(ctx context.Context) (auth.Granted, error) {
			return s.Grants.Refresh(ctx, auth.RefreshExchange{RefreshToken: secret, ClientID: c.ID, Permissions: perms, At: at})
		}
	default:
		fail(w, http.StatusBadRequest, "unsupported_grant_type", "the grant types are authorization_code and refresh_token")
		return
	}
	var got auth.Granted
	_, err := s.Guard.Authenticate(r.Context(), func(ctx context.Context, _ string) (p auth.Principal, err error) {
		got, err = exchange(ctx)
		return p, err
	}, secret, r.From)
	if err != nil {
		s.failed(r.Context(), w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	answer(w, http.StatusOK, map[string]any{
		"access_token": got.AccessToken, "token_type": "Bearer", "expires_in": int(got.ExpiresIn / time.Second), "refresh_token": got.RefreshToken,
		"scope": scopesOf(got.Scopes),
	})
}

// asked returns the permissions of the scopes that a refresh asks for; nil for none, which means those of the grant.
func asked(text string) (perms []tenant.Permission, known bool) {
	for name := range strings.FieldsSeq(text) {
		more, ok := permissions[name]
		if !ok {
			return nil, false
		}
		perms = append(perms, more...)
	}
	slices.Sort(perms)
	return slices.Compact(perms), true
}

// isResource reports whether a program means the resource (RFC 8707).
func isResource(text string, at auth.Resource) bool { return strings.TrimSuffix(text, "/") == at.URL }

// revoke ends a grant (RFC 7009). A token that is not known is not an error.
func (s *Server) revoke(w http.ResponseWriter, r Request, at auth.Resource) {
	in, c, ok := s.formOf(w, r)
	if !ok {
		return
	}
	if in.Get("token") == "" {
		fail(w, http.StatusBadRequest, "invalid_request", "token is required")
		return
	}
	if err := s.Grants.Revoke(r.Context(), in.Get("token"), c.ID, at); err != nil {
		s.failed(r.Context(), w, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}
