package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (h *access) createToken(c *gin.Context, body wire.TokenRequest) error {
	t, err := h.Tokens.Exchange(c.Request.Context(), principal(c), auth.TokenRequest{
		Agent: valueOr(body.Agent, ""), Scopes: scopeNames(body.Scopes), TTL: time.Duration(valueOr(body.TTLSeconds, 0)) * time.Second,
		Limit: tenant.Limit(external(body.External)),
	})
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.Token{
		AccessToken: t.AccessToken, TokenType: wire.TokenTokenTypeBearer, ExpiresIn: int(t.ExpiresIn / time.Second),
		Agent: wire.Optional(t.AgentName), External: wireLimit(t.Limit), Scopes: wireScopes(t.Scopes),
	})
}

// jwksMaxAge is how long other verifiers may cache the key set. It is shorter than the time that a
// signing key remains valid after its successor took over; verifiers read the set again when they
// meet an unknown kid.
const jwksMaxAge = "public, max-age=300"

func (h *access) getJWKS(c *gin.Context) error {
	set, err := h.Tokens.JWKS(c.Request.Context())
	if err != nil {
		return err
	}
	c.Header("Cache-Control", jwksMaxAge)
	return reply(c, http.StatusOK, wire.JWKS{Keys: each(set.Keys, func(k *auth.JWK) wire.JWK {
		return wire.JWK{
			Kty: wire.JWKKty(k.KeyType), Crv: wire.JWKCrv(k.Curve), Kid: k.KeyID, Alg: wire.JWKAlg(k.Algorithm), Use: wire.JWKUse(k.Use), X: k.X,
		}
	})})
}

// scopeNames keeps nil, which means all scopes, apart from an empty list, which is refused.
func scopeNames(in []wire.Scope) []string {
	if in == nil {
		return nil
	}
	return named[string](in)
}

func wireScopes(in []tenant.Permission) []wire.Scope { return named[wire.Scope](in) }
