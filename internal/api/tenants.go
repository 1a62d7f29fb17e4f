package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (h *access) createTenant(c *gin.Context, body wire.TenantInput) error {
	l := valueOr(body.Limits, wire.Limits{})
	t, err := h.Tenants.Create(c.Request.Context(), principal(c).Operator, tenant.NewTenant{Name: body.Name, AllowedHosts: body.AllowedHosts, Limits: tenant.Limits{
		RequestsPerMinute: valueOr(l.RequestsPerMinute, 0), Notes: valueOr(l.Notes, 0), Collections: valueOr(l.Collections, 0),
		Forks: valueOr(l.Forks, 0), StoredBytes: valueOr(l.StoredBytes, 0), ModelTokensPerDay: valueOr(l.ModelTokensPerDay, 0),
		RequestsPerSecond: valueOr(l.RequestsPerSecond, 0), QueuedJobs: valueOr(l.QueuedJobs, 0), ParseSecondsPerHour: valueOr(l.ParseSecondsPerHour, 0),
	}})
	if err != nil {
		return err
	}
	return reply(c, http.StatusCreated, wireTenant(&t))
}

func (h *access) listTenants(c *gin.Context) error {
	page, next, err := pageOf(h.Server, c, func(after string, limit int) ([]tenant.Tenant, error) {
		return h.Tenants.List(c.Request.Context(), principal(c).Operator, after, limit)
	}, func(t *tenant.Tenant) string { return t.Name }, wireTenant)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.TenantList{Items: page, NextCursor: next})
}

func (h *access) patchTenant(c *gin.Context, body wire.TenantPatch) error {
	var hosts *[]string
	if body.AllowedHosts != nil {
		hosts = &body.AllowedHosts
	}
	l := valueOr(body.Limits, wire.LimitsPatch{})
	p := tenant.Patch{AllowedHosts: hosts, Limits: tenant.LimitsPatch{
		RequestsPerMinute: limitPatch(l.RequestsPerMinute), Notes: limitPatch(l.Notes), Collections: limitPatch(l.Collections),
		Forks: limitPatch(l.Forks), StoredBytes: limitPatch(l.StoredBytes), ModelTokensPerDay: limitPatch(l.ModelTokensPerDay),
		RequestsPerSecond: limitPatch(l.RequestsPerSecond), QueuedJobs: limitPatch(l.QueuedJobs), ParseSecondsPerHour: limitPatch(l.ParseSecondsPerHour),
	}}
	return h.tenant(func(ctx context.Context, op tenant.Operator, ref string) (tenant.Tenant, error) {
		return h.Tenants.Patch(ctx, op, ref, p)
	})(c)
}

func (h *access) deleteTenant(c *gin.Context, ref string) error {
	return h.core.remove(c, func(ctx context.Context) ([]uuid.UUID, error) {
		return nil, uniformNotFound(h.Tenants.Delete(ctx, principal(c).Operator, ref), "tenant") // no rows are left for jobs
	})
}

// tenant returns the handler that calls act for the tenant of the path and answers with the tenant.
func (h *access) tenant(act func(context.Context, tenant.Operator, string) (tenant.Tenant, error)) handler {
	return onRef("tenant", func(c *gin.Context, ref string) error {
		t, err := act(c.Request.Context(), principal(c).Operator, ref)
		if err != nil {
			return uniformNotFound(err, "tenant")
		}
		return reply(c, http.StatusOK, wireTenant(&t))
	})
}

// limitPatch returns nil for an absent field, and zero (unlimited) for null.
func limitPatch(n nullable.Nullable[int64]) *int64 {
	if !n.IsSpecified() {
		return nil
	}
	if n.IsNull() {
		return new(int64)
	}
	return new(n.MustGet())
}

func wireTenant(t *tenant.Tenant) wire.Tenant {
	return wire.Tenant{ID: t.ID, Name: t.Name, State: wire.TenantState(t.State), Limits: wireLimits(t.Limits), AllowedHosts: append([]string{}, t.Hosts()...), CreatedAt: wire.Time(t.CreatedAt)}
}

func wireLimits(l tenant.Limits) wire.Limits {
	return wire.Limits{
		RequestsPerMinute: wire.Optional(l.RequestsPerMinute), Notes: wire.Optional(l.Notes), Collections: wire.Optional(l.Collections),
		Forks: wire.Optional(l.Forks), StoredBytes: wire.Optional(l.StoredBytes), ModelTokensPerDay: wire.Optional(l.ModelTokensPerDay),
		RequestsPerSecond: wire.Optional(l.RequestsPerSecond), QueuedJobs: wire.Optional(l.QueuedJobs), ParseSecondsPerHour: wire.Optional(l.ParseSecondsPerHour),
	}
}
