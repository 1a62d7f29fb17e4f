package postgres

import (
	"strings"

	"github.com/google/uuid"
)

// Rows are locked in one order everywhere, so that transactions wait for each
// other and never in a circle: tenant, agent, head, collection, job. A write
// takes its collection's head first, and then perhaps jobs; who holds the row of
// a collection does not ask for its head. Each lock is a statement of its own:
// what is read after it was waited for is new.

// holdTenant keeps a tenant from being removed until the transaction ends.
func (q *session) holdTenant(tenantID uuid.UUID) {
	q.later("SELECT 1 FROM tenants WHERE id = $1 FOR KEY SHARE", tenantID)
}

// holdAgent keeps an agent from being removed.
func (q *session) holdAgent(tenantID, id uuid.UUID) {
	q.later("SELECT 1 FROM agents WHERE tenant = $1 AND id = $2 FOR KEY SHARE", tenantID, id)
}

// holdCollections keeps collections from being deleted, and their floors from
// being raised. Their writers are not waited for, nor do they wait.
func (q *session) holdCollections(tenantID uuid.UUID, all ...uuid.UUID) {
	q.later("SELECT 1 FROM collections WHERE tenant = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR KEY SHARE", tenantID, all)
}

// takeCollection waits for everyone who holds the collection.
func (q *session) takeCollection(tenantID, id uuid.UUID) {
	q.later("SELECT 1 FROM collections WHERE tenant = $1 AND id = $2 FOR UPDATE", tenantID, id)
}

// Kinds of advisory locks; they seed the hash of what is locked.
const (
	lockDecide = iota + 1
	lockAnswer
)

// lockName waits for the transactions that hold the name. Two names with one
// hash wait for each other, which does no harm.
func (q *session) lockName(kind int64, name ...string) {
	q.later("SELECT pg_advisory_xact_lock(hashtextextended($1, $2))", strings.Join(name, "\n"), kind)
}
