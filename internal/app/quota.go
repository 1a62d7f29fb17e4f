package app

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// quota checks the tenant's quotas before the core adds something.
type quota struct{ quotas *tenant.Quotas }

// CheckNotes implements memory.Quota.
func (q quota) CheckNotes(ctx context.Context, s tenant.Scope, n, bytes int64) error {
	return q.quotas.Check(ctx, s, tenant.Usage{Notes: n, StoredBytes: bytes})
}

// CheckCollections implements memory.Quota.
func (q quota) CheckCollections(ctx context.Context, s tenant.Scope, fork bool) error {
	ask := tenant.Usage{Collections: 1}
	if fork {
		ask.Forks = 1
	}
	return q.quotas.Check(ctx, s, ask)
}

// budgetedChatModel refuses chats when the tenant has used its tokens of the day.
type budgetedChatModel struct {
	chat.Model
	quotas *tenant.Quotas
}

// Send implements chat.Model.
func (b budgetedChatModel) Send(ctx context.Context, s tenant.Scope, r chat.Request) (*chat.Response, error) {
	if err := b.quotas.Check(ctx, s, tenant.Usage{ModelTokens: 1}); err != nil {
		return nil, err
	}
	return b.Model.Send(ctx, s, r)
}

// budgetedModel refuses calls when the tenant has used its tokens of the day. The heuristic
// analyst uses none.
type budgetedModel struct {
	memory.Model
	quotas *tenant.Quotas
}

// Ask implements memory.Model.
func (b budgetedModel) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (memory.Answer, error) {
	if err := b.quotas.Check(ctx, s, tenant.Usage{ModelTokens: 1}); err != nil {
		return memory.Answer{}, err
	}
	return b.Model.Ask(ctx, s, c)
}
