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

func (h *access) createAPIKey(c *gin.Context) error {
	body, err := bind[wire.APIKeyInput](c)
	if err != nil {
		return err
	}
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
	position, limit, err := h.page(c)
	if err != nil {
		return err
	}
	q := auth.KeyQuery{Agent: query(c).Get("agent"), Limit: limit + 1}
	if position != "" {
		if q.After, err = uuid.Parse(position); err != nil {
			return badCursor("is not a cursor of this listing")
		}
	}
	keys, err := h.Keys.List(c.Request.Context(), scope(c), q)
	if err != nil {
		return uniformNotFound(err, "agent")
	}
	keys, next := cutPage(keys, limit, func(k auth.Key) string { return k.ID.String() })
	out := wire.APIKeyList{Items: each(keys, wireKey)}
	if out.NextCursor, err = h.nextCursor(c, next); err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
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
