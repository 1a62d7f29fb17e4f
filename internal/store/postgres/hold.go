package postgres

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Rows are locked in one order everywhere, so that transactions never wait for each other in a
// circle: tenant, agent, head, collection, job. A write locks the head of its collection first, and
// then perhaps jobs; a transaction that holds the row of a collection does not lock its head. Each
// lock is a statement of its own, so that later statements see what was committed while it waited.

// HoldTenant implements store.Locks.
func (q *session) HoldTenant(id uuid.UUID) {
	q.later("SELECT 1 FROM tenants WHERE id = $1 FOR KEY SHARE", id)
}

// HoldAgent implements store.Locks.
func (q *session) HoldAgent(tenantID, id uuid.UUID) {
	q.later("SELECT 1 FROM agents WHERE tenant = $1 AND id = $2 FOR KEY SHARE", tenantID, id)
}

// LockAgent implements store.Locks.
func (q *session) LockAgent(tenantID, id uuid.UUID) {
	q.later("SELECT 1 FROM agents WHERE tenant = $1 AND id = $2 FOR UPDATE", tenantID, id)
}

// LockKey implements store.Locks.
func (q *session) LockKey(tenantID, id uuid.UUID) {
	q.later("SELECT 1 FROM api_keys WHERE tenant = $1 AND id = $2 FOR UPDATE", tenantID, id)
}

// LockTool implements store.Locks.
func (q *session) LockTool(tenantID, id uuid.UUID) {
	q.later("SELECT 1 FROM tools WHERE tenant = $1 AND id = $2 FOR UPDATE", tenantID, id)
}

// LockWebhook implements store.Locks.
func (q *session) LockWebhook(tenantID, id uuid.UUID) {
	q.later("SELECT 1 FROM webhooks WHERE tenant = $1 AND id = $2 FOR UPDATE", tenantID, id)
}

// LockGrant implements store.Locks.
func (q *session) LockGrant(tenantID, id uuid.UUID) {
	q.later("SELECT 1 FROM grants WHERE tenant = $1 AND id = $2 FOR UPDATE", tenantID, id)
}

// LockUsage implements store.Locks.
func (q *session) LockUsage(tenantID uuid.UUID) { q.lockByName(lockUsage, tenantID.String()) }

// LockSigningKeys implements store.Locks. Readers are not kept waiting.
func (q *session) LockSigningKeys() {
	q.later("LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE")
}

// HoldCollections implements store.CollectionLocks.
func (q *session) HoldCollections(tenantID uuid.UUID, all ...uuid.UUID) {
	all = slices.SortedFunc(slices.Values(all), memory.CompareIDs)
	q.later("SELECT 1 FROM unnest($2::uuid[]) k (id) CROSS JOIN LATERAL (SELECT 1 FROM collections WHERE tenant = $1 AND id = k.id FOR KEY SHARE) c", tenantID, all)
}

// LockCollection implements store.CollectionLocks.
func (q *session) LockCollection(tenantID, id uuid.UUID) {
	q.later("SELECT 1 FROM collections WHERE tenant = $1 AND id = $2 FOR UPDATE", tenantID, id)
}

// LockHead implements store.CollectionLocks.
func (q *session) LockHead(tenantID, collection uuid.UUID) {
	q.later("SELECT 1 FROM collection_heads WHERE tenant = $1 AND collection = $2 FOR NO KEY UPDATE", tenantID, collection)
}

// LockJob implements store.CollectionLocks.
func (q *session) LockJob(tenantID, id uuid.UUID) {
	q.later("SELECT 1 FROM jobs WHERE tenant = $1 AND id = $2 FOR UPDATE", tenantID, id)
}

// Kinds of advisory locks; they seed the hash of what is locked.
const (
	lockDecide = iota + 1
	lockAnswer
	lockUsage
)

// lockByName waits for the transactions that hold the name. Two names with the same hash wait for
// each other, which does no harm.
func (q *session) lockByName(kind int64, name ...string) {
	q.later("SELECT pg_advisory_xact_lock(hashtextextended($1, $2))", strings.Join(name, "\n"), kind)
}
