package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// replayed finds the answer kept under a key.
func (q *session) replayed(ctx context.Context, sc tenant.Scope, k memory.Idempotency, now time.Time) (memory.Idempotency, bool, error) {
	var hash []byte
	var at int64
	var answer string
	ok, err := q.get(ctx, "SELECT body_hash, ids, at FROM idempotency WHERE tenant = ? AND agent = ? AND method = ? AND path = ? AND key = ? AND at > ?",
		[]any{blob(sc.Tenant()), blob(sc.Agent()), k.Method, k.Path, k.Key, purgeBefore(now)}, &hash, &answer, &at)
	if err != nil || !ok {
		return k, false, err
	}
	if !bytes.Equal(hash, k.BodyHash[:]) {
		return k, false, fault.New(fault.IdempotencyReuse, "the idempotency key was used with another body")
	}
	k.IDs, k.At = rawOf(answer), timeOf(at)
	return k, true, nil
}

// remember keeps an answer, and drops those of the tenant that are too old.
func (q *session) remember(ctx context.Context, sc tenant.Scope, k memory.Idempotency, now time.Time) error {
	if err := store.CheckKey(k); err != nil {
		return err
	}
	if _, err := q.exec(ctx, "DELETE FROM idempotency WHERE tenant = ? AND at <= ?", blob(sc.Tenant()), purgeBefore(now)); err != nil {
		return err
	}
	_, err := q.exec(ctx, "INSERT INTO idempotency (tenant, agent, method, path, key, body_hash, ids, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		blob(sc.Tenant()), blob(sc.Agent()), k.Method, k.Path, k.Key, k.BodyHash[:], string(k.IDs), micros(now))
	return err
}

// Replayed implements memory.Ledger.
func (s *Store) Replayed(ctx context.Context, sc tenant.Scope, k memory.Idempotency) (out memory.Idempotency, ok bool, err error) {
	if err := sc.Check(); err != nil {
		return out, false, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		out, ok, err = q.replayed(ctx, sc, k, s.now())
		return err
	})
	return out, ok, err
}

// audit writes an entry; one without an action is none.
func (q *session) audit(ctx context.Context, sc tenant.Scope, now time.Time, e memory.AuditEntry) error {
	if e.Action == "" {
		return nil
	}
	detail, err := store.Object("detail", e.Detail)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO audit (tenant, id, at, actor, action, target, detail)
 SELECT ?1, COALESCE((SELECT id FROM audit WHERE tenant = ?1 ORDER BY id DESC LIMIT 1), 0) + 1, ?2, ?3, ?4, ?5, ?6`,
		blob(sc.Tenant()), micros(now), sc.Actor(), e.Action, e.Target, detail)
	return err
}

// Audit implements memory.Ledger.
func (s *Store) Audit(ctx context.Context, sc tenant.Scope, e memory.AuditEntry) error {
	if err := sc.Check(); err != nil {
		return err
	}
	return s.writing(ctx, func(ctx context.Context, q *session) error {
		if err := q.checkTenant(ctx, sc.Tenant()); err != nil {
			return err
		}
		return q.audit(ctx, sc, s.now(), e)
	})
}

// ListAudit implements memory.Ledger.
func (s *Store) ListAudit(ctx context.Context, sc tenant.Scope, aq memory.AuditQuery) (out []memory.AuditEntry, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	text := "SELECT id, at, actor, action, target, detail FROM audit WHERE tenant = ?"
	args := []any{blob(sc.Tenant())}
	if aq.Before > 0 {
		text += " AND id < ?"
		args = append(args, aq.Before)
	}
	if aq.Action != "" {
		text += " AND action = ?"
		args = append(args, aq.Action)
	}
	if aq.Target != "" {
		text += " AND target = ?"
		args = append(args, aq.Target)
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		return q.each(ctx, text+" ORDER BY id DESC LIMIT ?", append(args, limit(aq.Limit)), func(rows *sql.Rows) error {
			var e memory.AuditEntry
			var at int64
			var detail string
			if err := rows.Scan(&e.ID, &at, &e.Actor, &e.Action, &e.Target, &detail); err != nil {
				return err
			}
			e.At = timeOf(at)
			e.Detail, err = store.ObjectOf(detail)
			out = append(out, e)
			return err
		})
	})
	return out, err
}

// AddModelUse implements memory.Ledger.
func (s *Store) AddModelUse(ctx context.Context, sc tenant.Scope, use []memory.ModelUse) error {
	if err := sc.Check(); err != nil {
		return err
	}
	if len(use) == 0 {
		return nil
	}
	return s.writing(ctx, func(ctx context.Context, q *session) error {
		if err := q.checkTenant(ctx, sc.Tenant()); err != nil {
			return err
		}
		for _, u := range use {
			if u.Collection != uuid.Nil {
				if _, err := q.reach(ctx, sc, u.Collection); err != nil {
					return err
				}
			}
			_, err := q.exec(ctx, `INSERT INTO model_use (tenant, day, collection, purpose, calls, prompt_tokens, completion_tokens) VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, prompt_tokens = prompt_tokens + excluded.prompt_tokens,
 completion_tokens = completion_tokens + excluded.completion_tokens`,
				blob(sc.Tenant()), u.Day, blob(u.Collection), u.Purpose, u.Calls, u.PromptTokens, u.CompletionTokens)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ModelUse implements memory.Ledger. A scope bound to an agent sees what was
// used for the collections that it reaches.
func (s *Store) ModelUse(ctx context.Context, sc tenant.Scope, fromDay, toDay string) (out []memory.ModelUse, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	text := "SELECT m.collection, m.purpose, m.day, m.calls, m.prompt_tokens, m.completion_tokens FROM model_use m WHERE m.tenant = ? AND m.day >= ? AND m.day <= ?"
	args := []any{blob(sc.Tenant()), fromDay, toDay}
	if sc.HasAgent() {
		text += " AND EXISTS (SELECT 1 FROM collections c WHERE c.tenant = m.tenant AND c.id = m.collection AND c.agent IN (?, zeroblob(16)))"
		args = append(args, blob(sc.Agent()))
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		return q.each(ctx, text+" ORDER BY m.day, m.collection, m.purpose", args, func(rows *sql.Rows) error {
			var u memory.ModelUse
			err := rows.Scan(&u.Collection, &u.Purpose, &u.Day, &u.Calls, &u.PromptTokens, &u.CompletionTokens)
			out = append(out, u)
			return err
		})
	})
	return out, err
}

// TenantUsage implements memory.Ledger. Notes and links are those stored, so a
// fork counts only what it changed.
func (s *Store) TenantUsage(ctx context.Context, sc tenant.Scope) (u memory.TenantUsage, err error) {
	if err := sc.Check(); err != nil {
		return u, err
	}
	text := `SELECT COALESCE(SUM(h.s_notes), 0), COALESCE(SUM(h.s_links), 0), COUNT(*), COALESCE(SUM(c.parent <> zeroblob(16)), 0), COALESCE(SUM(h.s_bytes), 0)` +
		" FROM collections c JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id WHERE c.tenant = ? AND " + visibleCollections
	args := []any{blob(sc.Tenant()), micros(s.now())}
	if sc.HasAgent() {
		text += " AND c.agent IN (?, zeroblob(16))"
		args = append(args, blob(sc.Agent()))
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		_, err := q.get(ctx, text, args, &u.Notes, &u.Links, &u.Collections, &u.Forks, &u.StoredBytes)
		return err
	})
	return u, err
}

// Answered implements memory.Tx.
func (t *tx) Answered(ctx context.Context, k memory.Idempotency) (memory.Idempotency, bool, error) {
	return t.q.replayed(ctx, t.scope, k, t.now)
}

// Remember implements memory.Tx.
func (t *tx) Remember(ctx context.Context, k memory.Idempotency) error {
	return t.q.remember(ctx, t.scope, k, t.now)
}
