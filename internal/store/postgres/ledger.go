package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// replayed finds the answer kept under a key. In a transaction it waits for
// others that use the key, until they have answered or given up, and keeps
// later ones waiting: of two requests at once the second finds the answer of
// the first, in whatever process.
func (q *session) replayed(ctx context.Context, sc tenant.Scope, k memory.Idempotency, now time.Time) (memory.Idempotency, bool, error) {
	if store.CheckKey(k) != nil {
		return k, false, nil //nolint:nilerr // nothing is kept under such a key
	}
	path := store.Clean(k.Path)
	if q.in {
		q.lockName(lockAnswer, sc.Tenant().String(), sc.Agent().String(), k.Method, path, k.Key)
	}
	var hash []byte
	var at time.Time
	var answer *string
	ok, err := q.get(ctx, "SELECT body_hash, ids, at FROM idempotency WHERE tenant = $1 AND agent = $2 AND method = $3 AND path = $4 AND key = $5 AND at > $6",
		[]any{sc.Tenant(), sc.Agent(), k.Method, path, k.Key, purgeBefore(now)}, &hash, &answer, &at)
	if err != nil || !ok {
		return k, false, err
	}
	if !bytes.Equal(hash, k.BodyHash[:]) {
		return k, false, fault.New(fault.IdempotencyReuse, "the idempotency key was used with another body")
	}
	k.IDs, k.At = rawOf(answer), at.UTC()
	return k, true, nil
}

// purgeBatch is how many old answers go with a new one.
const purgeBatch = 50

// remember keeps an answer under a key that was not found by replayed, and
// drops some of the tenant's that are too old. It goes with the next statement.
func (q *session) remember(_ context.Context, sc tenant.Scope, k memory.Idempotency, now time.Time) error {
	if err := store.CheckKey(k); err != nil {
		return err
	}
	path := store.Clean(k.Path)
	own := []any{sc.Tenant(), sc.Agent(), k.Method, path, k.Key, purgeBefore(now)}
	q.later("DELETE FROM idempotency WHERE tenant = $1 AND agent = $2 AND method = $3 AND path = $4 AND key = $5 AND at <= $6", own...)
	// Others that purge are not waited for.
	q.later("DELETE FROM idempotency WHERE tenant = $1 AND ctid = ANY(ARRAY(SELECT ctid FROM idempotency WHERE tenant = $1 AND at <= $2 LIMIT $3 FOR UPDATE SKIP LOCKED))",
		sc.Tenant(), purgeBefore(now), purgeBatch)
	q.later("INSERT INTO idempotency (tenant, agent, method, path, key, body_hash, ids, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		sc.Tenant(), sc.Agent(), k.Method, path, k.Key, k.BodyHash[:], raw(k.IDs), now)
	return nil
}

// Replayed implements memory.Ledger.
func (s *Store) Replayed(ctx context.Context, sc tenant.Scope, k memory.Idempotency) (out memory.Idempotency, ok bool, err error) {
	if err := sc.Check(); err != nil {
		return out, false, err
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out, ok, err = q.replayed(ctx, sc, k, s.now())
		return err
	})
	return out, ok, err
}

// audit writes an entry with the next statement; one without an action is none.
func (q *session) audit(_ context.Context, sc tenant.Scope, now time.Time, e memory.AuditEntry) error {
	if e.Action == "" {
		return nil
	}
	detail, err := object("detail", e.Detail)
	if err != nil {
		return err
	}
	q.later("INSERT INTO audit (tenant, id, at, actor, action, target, detail) VALUES ($1, nextval('audit_ids'), $2, $3, $4, $5, $6)",
		sc.Tenant(), now, store.Clean(sc.Actor()), store.Clean(e.Action), store.Clean(e.Target), detail)
	return nil
}

// Audit implements memory.Ledger.
func (s *Store) Audit(ctx context.Context, sc tenant.Scope, e memory.AuditEntry) error {
	if err := sc.Check(); err != nil {
		return err
	}
	return s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		q.holdTenant(sc.Tenant())
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
	var p params
	text := "SELECT id, at, actor, action, target, detail FROM audit WHERE tenant = " + p.add(sc.Tenant())
	if aq.Before > 0 {
		text += " AND id < " + p.add(aq.Before)
	}
	if aq.Action != "" {
		text += " AND action = " + p.add(store.Clean(aq.Action))
	}
	if aq.Target != "" {
		text += " AND target = " + p.add(store.Clean(aq.Target))
	}
	text += " ORDER BY id DESC LIMIT " + p.add(limit(aq.Limit))
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out = nil
		return q.each(ctx, text, p.args, func(rows pgx.Rows) error {
			var e memory.AuditEntry
			var detail *string
			if err := rows.Scan(&e.ID, &e.At, &e.Actor, &e.Action, &e.Target, &detail); err != nil {
				return err
			}
			e.At = e.At.UTC()
			e.Detail, err = objectOf(detail)
			out = append(out, e)
			return err
		})
	})
	return out, err
}

// moreUse adds what a conflicting row of model_use m counts.
const moreUse = `calls = m.calls + excluded.calls, prompt_tokens = m.prompt_tokens + excluded.prompt_tokens,
 completion_tokens = m.completion_tokens + excluded.completion_tokens`

// AddModelUse implements memory.Ledger. The rows are taken in the order of
// their keys, so that processes that count at once do not wait in a circle.
func (s *Store) AddModelUse(ctx context.Context, sc tenant.Scope, use []memory.ModelUse) error {
	if err := sc.Check(); err != nil {
		return err
	}
	if len(use) == 0 {
		return nil
	}
	use = summed(use)
	var collections ids
	var days, purposes []string
	var calls, prompt, completion []int64
	for _, u := range use {
		collections, days, purposes = append(collections, u.Collection), append(days, u.Day), append(purposes, u.Purpose)
		calls, prompt, completion = append(calls, u.Calls), append(prompt, u.PromptTokens), append(completion, u.CompletionTokens)
	}
	return s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		q.holdTenant(sc.Tenant())
		if err := q.checkTenant(ctx, sc.Tenant()); err != nil {
			return err
		}
		q.holdCollections(sc.Tenant(), collections...)
		if err := q.reachAll(ctx, sc, collections); err != nil {
			return err
		}
		q.later(`INSERT INTO model_use AS m (tenant, day, collection, purpose, calls, prompt_tokens, completion_tokens)
 SELECT $1, u.* FROM unnest($2::text[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[]) u (day, collection, purpose, calls, prompt, completion)
 ON CONFLICT (tenant, day, collection, purpose) DO UPDATE SET `+moreUse, sc.Tenant(), days, collections, purposes, calls, prompt, completion)
		return nil
	})
}

// summed adds up entries of one key, in the order of keys.
func summed(use []memory.ModelUse) []memory.ModelUse {
	type key struct {
		collection   uuid.UUID
		day, purpose string
	}
	sum := make(map[key]memory.ModelUse, len(use))
	for _, u := range use {
		u.Day, u.Purpose = store.Clean(u.Day), store.Clean(u.Purpose)
		k := key{u.Collection, u.Day, u.Purpose}
		t := sum[k]
		u.Calls, u.PromptTokens, u.CompletionTokens = u.Calls+t.Calls, u.PromptTokens+t.PromptTokens, u.CompletionTokens+t.CompletionTokens
		sum[k] = u
	}
	out := make([]memory.ModelUse, 0, len(sum))
	for _, u := range sum {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b memory.ModelUse) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), bytes.Compare(a.Collection[:], b.Collection[:]), cmp.Compare(a.Purpose, b.Purpose))
	})
	return out
}

// reachAll refuses collections that are not there or out of reach; the zero id
// stands for none.
func (q *session) reachAll(ctx context.Context, sc tenant.Scope, all ids) error {
	var p params
	text := "SELECT COUNT(*) FROM unnest(" + p.add(all) + "::uuid[]) w (id) WHERE w.id <> " + zeroID +
		" AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.tenant = " + p.add(sc.Tenant()) + " AND c.id = w.id" + reached(&p, sc) + ")"
	var lost int
	_, err := q.get(ctx, text, p.args, &lost)
	if err == nil && lost > 0 {
		err = fault.Missing("collection")
	}
	return err
}

// ModelUse implements memory.Ledger. A scope bound to an agent sees what was
// used for the collections that it reaches.
func (s *Store) ModelUse(ctx context.Context, sc tenant.Scope, fromDay, toDay string) (out []memory.ModelUse, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	var p params
	text := "SELECT m.collection, m.purpose, m.day, m.calls, m.prompt_tokens, m.completion_tokens FROM model_use m WHERE m.tenant = " + p.add(sc.Tenant()) +
		" AND m.day >= " + p.add(store.Clean(fromDay)) + " AND m.day <= " + p.add(store.Clean(toDay))
	if sc.HasAgent() {
		text += " AND EXISTS (SELECT 1 FROM collections c WHERE c.tenant = m.tenant AND c.id = m.collection" + reached(&p, sc) + ")"
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out = nil
		return q.each(ctx, text+` ORDER BY m.day, m.collection, m.purpose COLLATE "C"`, p.args, func(rows pgx.Rows) error {
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
	var p params
	text := `SELECT COALESCE(SUM(h.s_notes), 0)::bigint, COALESCE(SUM(h.s_links), 0)::bigint, COUNT(*), COUNT(*) FILTER (WHERE c.parent <> ` + zeroID + `), COALESCE(SUM(h.s_bytes), 0)::bigint` +
		" FROM collections c JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id WHERE c.tenant = " + p.add(sc.Tenant()) + seen(&p, sc, s.now())
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		_, err := q.get(ctx, text, p.args, &u.Notes, &u.Links, &u.Collections, &u.Forks, &u.StoredBytes)
		return err
	})
	return u, err
}

// Answered implements memory.Tx.
func (t *tx) Answered(_ context.Context, k memory.Idempotency) (memory.Idempotency, bool, error) {
	return t.q.replayed(t.bare, t.scope, k, t.now)
}

// Remember implements memory.Tx.
func (t *tx) Remember(_ context.Context, k memory.Idempotency) error {
	return t.q.remember(t.bare, t.scope, k, t.now)
}

// purgeBefore is the age at which idempotency keys go.
func purgeBefore(now time.Time) time.Time { return now.Add(-memory.IdempotencyTTL) }
