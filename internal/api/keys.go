package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (h *access) createAPIKey(c *gin.Context, body wire.APIKeyInput) error {
	k, err := h.Keys.Create(c.Request.Context(), scope(c), auth.NewKey{
		Name: valueOr(body.DisplayName, ""), Scopes: scopeNames(body.Scopes), Agent: valueOr(body.Agent, ""),
		TTL: time.Duration(valueOr(body.TTLSeconds, 0)) * time.Second, Limit: tenant.Limit(external(body.External)),
	})
	if err != nil {
		return err
	}
	return replyCreatedKey(c, &k)
}

func (h *access) listAPIKeys(c *gin.Context) error {
	page, next, err := pageOf(h.Server, c, func(after string, limit int) ([]auth.Key, error) {
		id, err := parseAfter(after)
		if err != nil {
			return nil, err
		}
		return h.Keys.List(c.Request.Context(), scope(c), auth.KeyQuery{Agent: query(c).Get("agent"), After: id, Limit: limit})
	}, func(k *auth.Key) string { return k.ID.String() }, wireKey)
	if err != nil {
		return uniformNotFound(err, "agent")
	}
	return reply(c, http.StatusOK, wire.APIKeyList{Items: page, NextCursor: next})
}

func (h *access) rotateAPIKey(c *gin.Context) error {
	id, err := keyPath(c)
	if err != nil {
		return err
	}
	body, err := bind[wire.RotateRequest](c)
	if err != nil {
		return err
	}
	var overlap *time.Duration
	if body.OverlapSeconds != nil {
		overlap = new(time.Duration(*body.OverlapSeconds) * time.Second)
	}
	k, err := h.Keys.Rotate(c.Request.Context(), scope(c), id, overlap)
	if err != nil {
		return uniformNotFound(err, "API key")
	}
	return replyCreatedKey(c, &k)
}

func (h *access) revokeAPIKey(c *gin.Context) error {
	id, err := keyPath(c)
	if err != nil {
		return err
	}
	if _, err := h.Keys.Revoke(c.Request.Context(), scope(c), id); err != nil {
		return uniformNotFound(err, "API key")
	}
	return noContent(c)
}

func keyPath(c *gin.Context) (uuid.UUID, error) {
	id, err := pathID(c, "api_key")
	return id, uniformNotFound(err, "API key")
}

// replyCreatedKey is the only answer that contains the text of a key.
func replyCreatedKey(c *gin.Context, k *auth.CreatedKey) error {
	return reply(c, http.StatusCreated, wire.APIKeyCreated{
		ID: k.ID.String(), Key: k.Text, Prefix: k.Prefix, Scopes: wireScopes(k.Permissions),
		Agent: wire.Optional(k.AgentName), External: wireLimit(k.Limit), ExpiresAt: wire.OptionalTime(k.ExpiresAt),
	})
}

func wireKey(k *auth.Key) wire.APIKey {
	return wire.APIKey{
		ID: k.ID.String(), Prefix: k.Prefix, DisplayName: wire.Optional(k.Name), Scopes: wireScopes(k.Permissions),
		Agent: wire.Optional(k.AgentName), External: wireLimit(k.Limit), CreatedAt: wire.Time(k.CreatedAt),
		ExpiresAt: wire.OptionalTime(k.ExpiresAt), RevokedAt: wire.OptionalTime(k.RevokedAt),
	}
}
