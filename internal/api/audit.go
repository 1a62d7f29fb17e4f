package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AuditReader reads the audit log of a tenant; memory.Ledger has it.
type AuditReader interface {
	ListAudit(ctx context.Context, s tenant.Scope, q memory.AuditQuery) ([]memory.AuditEntry, error)
}

func (h *access) listAudit(c *gin.Context) error {
	if scope(c).HasAgent() {
		// Entries name what other agents did, so the log is not filtered by agent.
		return fault.New(fault.Forbidden, "the audit log covers the whole tenant, but the credential is bound to an agent")
	}
	page, next, err := pageOf(h.Server, c, func(after string, limit int) ([]memory.AuditEntry, error) {
		q := memory.AuditQuery{Action: query(c).Get("action"), Target: query(c).Get("target"), Limit: limit}
		if after != "" {
			var err error
			if q.Before, err = strconv.ParseInt(after, 10, 64); err != nil {
				return nil, badCursor("is not a cursor of this listing")
			}
		}
		return h.Audit.ListAudit(c.Request.Context(), scope(c), q)
	}, func(e *memory.AuditEntry) string { return strconv.FormatInt(e.ID, 10) }, wireAudit)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.AuditList{Items: page, NextCursor: next})
}

func wireAudit(e *memory.AuditEntry) wire.AuditEntry {
	return wire.AuditEntry{
		ID: e.ID, At: wire.Time(e.At), Actor: e.Actor, Action: e.Action, Target: wire.Optional(e.Target), Detail: e.Detail,
	}
}
