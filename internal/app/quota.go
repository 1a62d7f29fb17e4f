package app

import (
	"cmp"
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

// CheckJobs implements memory.Quota.
func (q quota) CheckJobs(ctx context.Context, s tenant.Scope, n int64) error {
	return q.quotas.Check(ctx, s, tenant.Usage{QueuedJobs: n})
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
	settle, err := b.quotas.Reserve(ctx, s, estimate(0, len(r.Body)))
	if err != nil {
		return nil, err
	}
	out, err := b.Model.Send(ctx, s, r)
	if err != nil {
		settle(0)
		return nil, err
	}
	account := out.Account
	out.Account = func(u chat.Usage) {
		settle(u.PromptTokens + u.CompletionTokens)
		account(u)
	}
	return out, nil
}

// budgetedModel refuses calls when the tenant has used its tokens of the day. The heuristic
// analyst uses none.
type budgetedModel struct {
	memory.Model
	quotas *tenant.Quotas
}

// Ask implements memory.Model.
func (b budgetedModel) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (memory.Answer, error) {
	settle, err := b.quotas.Reserve(ctx, s, estimate(c.MaxTokens, len(c.System)+len(c.Prompt)+len(c.Schema)))
	if err != nil {
		return memory.Answer{}, err
	}
	a, err := b.Model.Ask(ctx, s, c)
	settle(a.PromptTokens + a.CompletionTokens)
	return a, err
}

// Converse implements memory.Model.
func (b budgetedModel) Converse(ctx context.Context, s tenant.Scope, d memory.Dialogue) (memory.TurnResult, error) {
	bytes := 0
	for _, t := range d.Turns {
		bytes += len(t.Text)
		for _, c := range t.Calls {
			bytes += len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range d.Tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	settle, err := b.quotas.Reserve(ctx, s, estimate(d.MaxTokens, bytes))
	if err != nil {
		return memory.TurnResult{}, err
	}
	out, err := b.Model.Converse(ctx, s, d)
	settle(out.PromptTokens + out.CompletionTokens)
	return out, err
}

// What a call reserves until its use is known.
const (
	bytesPerToken = 4   // of English text, about
	answerTokens  = 512 // of an answer without a bound
)

// estimate returns the tokens that a call may use: those of its prompt, and of the longest answer.
func estimate(longest, promptBytes int) int64 {
	return int64(promptBytes/bytesPerToken) + int64(cmp.Or(longest, answerTokens))
}
