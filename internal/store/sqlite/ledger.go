package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Answer implements store.LedgerRows.
func (q *session) Answer(ctx context.Context, s tenant.Scope, k memory.Idempotency, since time.Time) (memory.Idempotency, bool, error) {
	var hash []byte
	var ids json.RawMessage
	ok, err := q.get(ctx, "SELECT body_hash, ids, at FROM idempotency WHERE tenant = ? AND agent = ? AND method = ? AND path = ? AND key = ? AND at > ?",
		[]any{s.Tenant(), s.Reader(), k.Method, k.Path, k.Key, since}, &hash, store.JSON(&ids), store.Time(&k.At))
	copy(k.BodyHash[:], hash)
	k.IDs = ids
	return k, ok, err
}

// InsertAnswer implements store.LedgerRows.
func (q *session) InsertAnswer(ctx context.Context, s tenant.Scope, k memory.Idempotency, now, before time.Time) error {
	if _, err := q.exec(ctx, "DELETE FROM idempotency WHERE tenant = ? AND at <= ?", s.Tenant(), before); err != nil {
		return err
	}
	_, err := q.exec(ctx, "INSERT INTO idempotency (tenant, agent, method, path, key, body_hash, ids, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		s.Tenant(), s.Reader(), k.Method, k.Path, k.Key, k.BodyHash[:], k.IDs, now)
	return err
}

// InsertAudit implements store.LedgerRows.
func (q *session) InsertAudit(ctx context.Context, s tenant.Scope, now time.Time, e memory.AuditEntry, detail string) error {
	_, err := q.exec(ctx, `INSERT INTO audit (tenant, id, at, actor, action, target, detail)
 SELECT ?1, COALESCE((SELECT id FROM audit WHERE tenant = ?1 ORDER BY id DESC LIMIT 1), 0) + 1, ?2, ?3, ?4, ?5, ?6`,
		s.Tenant(), now, s.Actor(), e.Action, e.Target, detail)
	return err
}

// AddModelUse implements memory.Ledger.
func (s *Store) AddModelUse(ctx context.Context, sc tenant.Scope, use []memory.ModelUse) error {
	if err := sc.Check(); err != nil {
		return err
	}
	if len(use) == 0 {
		return nil
	}
	return s.noting(ctx, ofJob(sc.Tenant()), func(ctx context.Context, q *session) error {
		if err := store.CheckTenant(ctx, q, sc.Tenant()); err != nil {
			return err
		}
		for _, u := range use {
			if u.Collection != uuid.Nil {
				if _, err := store.Reach(ctx, q, sc, u.Collection); err != nil {
					return err
				}
			}
			_, err := q.exec(ctx, `INSERT INTO model_use (tenant, day, collection, purpose, calls, prompt_tokens, completion_tokens) VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, prompt_tokens = prompt_tokens + excluded.prompt_tokens,
 completion_tokens = completion_tokens + excluded.completion_tokens`,
				sc.Tenant(), u.Day, u.Collection, u.Purpose, u.Calls, u.PromptTokens, u.CompletionTokens)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ModelUse implements store.LedgerRows.
func (q *session) ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]memory.ModelUse, error) {
	text := "SELECT m.collection, m.purpose, m.day, m.calls, m.prompt_tokens, m.completion_tokens FROM model_use m WHERE m.tenant = ? AND m.day >= ? AND m.day <= ?"
	args := []any{s.Tenant(), fromDay, toDay}
	if !s.IsWhole() {
		reached, reachedArgs := reachedBy(s)
		text += " AND EXISTS (SELECT 1 FROM collections c WHERE c.tenant = m.tenant AND c.id = m.collection" + reached + ")"
		args = append(args, reachedArgs...)
	}
	return collect(ctx, q, text+" ORDER BY m.day, m.collection, m.purpose", args, store.ScanModelUse)
}

// StoredBeside implements store.LedgerRows.
func (q *session) StoredBeside(ctx context.Context, tenantID, except uuid.UUID, now time.Time) (u memory.TenantUsage, err error) {
	seen, args := seenCollections(tenant.Scope{}, now)
	return q.stored(ctx, "WHERE c.tenant = ? AND c.id <> ?"+seen, append([]any{tenantID, except}, args...))
}

// TenantUsage implements store.LedgerRows.
func (q *session) TenantUsage(ctx context.Context, s tenant.Scope, now time.Time) (memory.TenantUsage, error) {
	seen, args := seenCollections(s, now)
	where, args := "WHERE c.tenant = ?"+seen, append([]any{s.Tenant()}, args...)
	u, err := q.stored(ctx, where, args)
	if err != nil {
		return u, err
	}
	// Without the name of the index SQLite reads all jobs of the tenant, for each collection.
	_, err = q.get(ctx, "SELECT COUNT(*) FROM collections c CROSS JOIN jobs j INDEXED BY jobs_waiting ON j.tenant = c.tenant AND j.collection = c.id AND "+store.QueuedJob+" "+where, args, &u.QueuedJobs)
	return u, err
}

// stored sums what is stored in the collections c of a condition.
func (q *session) stored(ctx context.Context, where string, args []any) (u memory.TenantUsage, err error) {
	_, err = q.get(ctx, `SELECT COALESCE(SUM(h.s_notes), 0), COALESCE(SUM(h.s_links - h.s_hidden), 0), COUNT(*), COALESCE(SUM(c.parent <> zeroblob(16)), 0), COALESCE(SUM(h.s_bytes), 0)
 FROM collections c JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id `+where, args, &u.Notes, &u.Links, &u.Collections, &u.Forks, &u.StoredBytes)
	return u, err
}
