package api

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/oauth"
)

// mountOAuth mounts the routes of the authorization server. Like /mcp they have contracts of their own: those of the protocol.
func (s *Server) mountOAuth() {
	for _, route := range s.oauth.Routes() {
		s.engine.Handle(route.Method, route.Path, func(c *gin.Context) {
			ctx, cancel := context.WithTimeout(c.Request.Context(), s.cfg.RequestTimeout)
			defer cancel()
			from, _ := netip.ParseAddr(c.ClientIP()) // zero: none, such as over a socket
			s.warnOfProxy(c)
			route.Serve(c.Writer, oauth.Request{Request: c.Request.WithContext(ctx), From: from})
		})
	}
}

// challenge returns what a client without a valid credential is told.
func (s *Server) challenge(c *gin.Context) string {
	if s.oauth != nil && c.GetBool(keyResource) {
		code := ""
		if c.GetHeader("Authorization") != "" {
			code = "invalid_token"
		}
		if text := s.oauth.Challenge(c.Request, code, oauth.AllScopes); text != "" {
			return text
		}
	}
	return `Bearer realm="slipbox"`
}

func (h *access) listGrants(c *gin.Context) error {
	page, next, err := pageOf(h.Server, c, func(after string, limit int) ([]auth.Grant, error) {
		id, err := parseAfter(after)
		if err != nil {
			return nil, err
		}
		return h.Grants.List(c.Request.Context(), scope(c), id, limit)
	}, func(g *auth.Grant) string { return g.ID.Grant.String() }, wireGrant)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.GrantList{Items: page, NextCursor: next})
}

func (h *access) deleteGrant(c *gin.Context) error {
	id, err := pathID(c, "grant")
	if err == nil {
		err = h.Grants.Delete(c.Request.Context(), scope(c), id)
	}
	if err != nil {
		return uniformNotFound(err, "grant")
	}
	return noContent(c)
}

func wireGrant(g *auth.Grant) wire.Grant {
	out := wire.Grant{
		ID: g.ID.Grant, Client: wire.Optional(g.Client), RedirectURI: g.Redirect, Resource: g.Resource, Scopes: wireScopes(g.Permissions),
		APIKey: g.Key, External: wireLimit(g.Limit), CreatedAt: wire.Time(g.CreatedAt), UsedAt: wire.Time(g.UsedAt), ExpiresAt: wire.Time(g.ExpiresAt),
	}
	return out
}
