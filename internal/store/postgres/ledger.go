package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Answer implements store.LedgerRows.
func (q *session) Answer(ctx context.Context, s tenant.Scope, k memory.Idempotency, since time.Time) (memory.Idempotency, bool, error) {
	path := store.Clean(k.Path)
	if q.in {
		q.lockByName(lockAnswer, s.Tenant().String(), s.Reader().String(), k.Method, path, k.Key)
	}
	var hash []byte
	var answer json.RawMessage
	ok, err := q.get(ctx, "SELECT body_hash, ids, at FROM idempotency WHERE tenant = $1 AND agent = $2 AND method = $3 AND path = $4 AND key = $5 AND at > $6",
		[]any{s.Tenant(), s.Reader(), k.Method, path, k.Key, since}, &hash, store.JSON(&answer), store.Time(&k.At))
	copy(k.BodyHash[:], hash)
	k.IDs = answer
	return k, ok, err
}

// purgeBatch is how many old answers are deleted with a new one.
const purgeBatch = 50

// InsertAnswer implements store.LedgerRows. It goes with the next statement.
func (q *session) InsertAnswer(_ context.Context, s tenant.Scope, k memory.Idempotency, now, before time.Time) error {
	path := store.Clean(k.Path)
	q.later("DELETE FROM idempotency WHERE tenant = $1 AND agent = $2 AND method = $3 AND path = $4 AND key = $5 AND at <= $6", s.Tenant(), s.Reader(), k.Method, path, k.Key, before)
	// Do not wait for transactions that delete the same rows.
	q.later(byPlace)
	q.later("DELETE FROM idempotency WHERE tenant = $1 AND ctid = ANY(ARRAY(SELECT ctid FROM idempotency WHERE tenant = $1 AND at <= $2 ORDER BY at LIMIT $3 FOR UPDATE SKIP LOCKED))",
		s.Tenant(), before, purgeBatch)
	q.later(byCost)
	q.later("INSERT INTO idempotency (tenant, agent, method, path, key, body_hash, ids, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		s.Tenant(), s.Reader(), k.Method, path, k.Key, k.BodyHash[:], nullJSON(k.IDs), now)
	return nil
}

// InsertAudit implements store.LedgerRows. It goes with the next statement.
func (q *session) InsertAudit(_ context.Context, s tenant.Scope, now time.Time, e memory.AuditEntry, detail string) error {
	q.later("INSERT INTO audit (tenant, id, at, actor, action, target, detail) VALUES ($1, nextval('audit_ids'), $2, $3, $4, $5, $6)",
		s.Tenant(), now, store.Clean(s.Actor()), store.Clean(e.Action), store.Clean(e.Target), orNull(detail))
	return nil
}

// moreUse adds the counts of a conflicting row of model_use m.
const moreUse = `calls = m.calls + excluded.calls, prompt_tokens = m.prompt_tokens + excluded.prompt_tokens,
 completion_tokens = m.completion_tokens + excluded.completion_tokens`

// AddModelUse implements memory.Ledger. Rows are written in the order of their keys, so that
// processes that count concurrently do not wait for each other in a circle.
func (s *Store) AddModelUse(ctx context.Context, sc tenant.Scope, use []memory.ModelUse) error {
	if err := sc.Check(); err != nil {
		return err
	}
	if len(use) == 0 {
		return nil
	}
	use = sumByKey(use)
	var collections ids
	var days, purposes []string
	var calls, prompt, completion []int64
	for _, u := range use {
		collections, days, purposes = append(collections, u.Collection), append(days, u.Day), append(purposes, u.Purpose)
		calls, prompt, completion = append(calls, u.Calls), append(prompt, u.PromptTokens), append(completion, u.CompletionTokens)
	}
	return s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		if err := store.CheckTenant(ctx, q, sc.Tenant()); err != nil {
			return err
		}
		q.HoldCollections(sc.Tenant(), collections...)
		if err := q.checkReached(ctx, sc, collections); err != nil {
			return err
		}
		q.later(`INSERT INTO model_use AS m (tenant, day, collection, purpose, calls, prompt_tokens, completion_tokens)
 SELECT $1, u.* FROM unnest($2::text[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[]) u (day, collection, purpose, calls, prompt, completion)
 ON CONFLICT (tenant, day, collection, purpose) DO UPDATE SET `+moreUse, sc.Tenant(), days, collections, purposes, calls, prompt, completion)
		return nil
	})
}

// sumByKey adds up the entries of each key, and returns them in the order of their keys.
func sumByKey(use []memory.ModelUse) []memory.ModelUse {
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

// checkReached returns NotFound unless all collections exist and are in reach; the zero id is for no
// collection.
func (q *session) checkReached(ctx context.Context, sc tenant.Scope, all ids) error {
	var p params
	text := "SELECT COUNT(*) FROM unnest(" + p.add(all) + "::uuid[]) w (id) WHERE w.id <> " + zeroID +
		" AND (SELECT 1 FROM collections c WHERE c.tenant = " + p.add(sc.Tenant()) + " AND c.id = w.id" + reachedBy(&p, sc) + " LIMIT 1) IS NULL"
	var lost int
	_, err := q.get(ctx, text, p.args, &lost)
	if err == nil && lost > 0 {
		err = fault.Missing("collection")
	}
	return err
}

// ModelUse implements store.LedgerRows.
func (q *session) ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]memory.ModelUse, error) {
	var p params
	text := "SELECT m.collection, m.purpose, m.day, m.calls, m.prompt_tokens, m.completion_tokens FROM model_use m WHERE m.tenant = " + p.add(s.Tenant()) +
		" AND m.day >= " + p.add(store.Clean(fromDay)) + " AND m.day <= " + p.add(store.Clean(toDay))
	if !s.IsWhole() {
		text += " AND (SELECT true FROM collections c WHERE c.tenant = m.tenant AND c.id = m.collection" + reachedBy(&p, s) + " LIMIT 1)"
	}
	return collect(ctx, q, text+` ORDER BY m.day, m.collection, m.purpose COLLATE "C"`, p.args, store.ScanModelUse)
}

// StoredBeside implements store.LedgerRows.
func (q *session) StoredBeside(ctx context.Context, tenantID, except uuid.UUID, now time.Time) (memory.TenantUsage, error) {
	var p params
	where := "WHERE c.tenant = " + p.add(tenantID) + " AND c.id <> " + p.add(except) + seenBy(&p, tenant.Scope{}, now)
	return q.stored(ctx, where, p.args)
}

// TenantUsage implements store.LedgerRows.
func (q *session) TenantUsage(ctx context.Context, s tenant.Scope, now time.Time) (memory.TenantUsage, error) {
	var p params
	where := "WHERE c.tenant = " + p.add(s.Tenant()) + seenBy(&p, s, now)
	u, err := q.stored(ctx, where, p.args)
	if err != nil {
		return u, err
	}
	_, err = q.get(ctx, "SELECT COUNT(*) FROM collections c JOIN jobs j ON j.tenant = c.tenant AND j.collection = c.id AND "+store.QueuedJob+" "+where, p.args, &u.QueuedJobs)
	return u, err
}

// stored sums what is stored in the collections c of a condition.
func (q *session) stored(ctx context.Context, where string, args []any) (u memory.TenantUsage, err error) {
	text := `SELECT COALESCE(SUM(h.s_notes), 0)::bigint, COALESCE(SUM(h.s_links - h.s_hidden), 0)::bigint, COUNT(*), COUNT(*) FILTER (WHERE c.parent <> ` + zeroID + `), COALESCE(SUM(h.s_bytes), 0)::bigint
 FROM collections c JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id ` + where
	_, err = q.get(ctx, text, args, &u.Notes, &u.Links, &u.Collections, &u.Forks, &u.StoredBytes)
	return u, err
}
