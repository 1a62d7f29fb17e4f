package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Base implements the operations of a store that both engines do alike, on the rows of one
// transaction. An engine embeds it, and implements itself what its SQL does in one statement.
type Base struct {
	transactions Transactions
	now          func() time.Time
}

// NewBase returns a Base over an engine's transactions. now is the time of a transaction, in UTC
// and whole microseconds.
func NewBase(t Transactions, now func() time.Time) Base { return Base{t, now} }

// Transactions runs functions on sessions of an engine.
type Transactions interface {
	// Reading runs fn with a session of a tenant, zero for rows of no tenant. What one statement reads is
	// of one commit; an engine that reads layers by a statement each reads all of fn in one. fn may run more than once.
	Reading(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, Session) error) error
	// ReadingPast is Reading for rows that layers have up to their bounds, and that were not erased at their epochs. The session may
	// be one of a server that is behind, but has these.
	ReadingPast(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, fn func(context.Context, Session) error) error
	// Writing runs fn in one write transaction. An error rolls back; ErrRollback does so without
	// being returned. fn may run more than once.
	Writing(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, Session) error) error
	// Freeing is Writing for what erases, frees space or ends a right. An engine keeps space for it that other
	// writes cannot take, so that it succeeds on a full disk, and clears the traces of what it deleted, unless it is NothingErased.
	Freeing(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, Session) error) error
}

// read returns what fn reads of the tenant of a scope.
func read[V any](ctx context.Context, b *Base, s tenant.Scope, fn func(context.Context, Session) (V, error)) (v V, err error) {
	if err := s.Check(); err != nil {
		return v, err
	}
	return readTenant(ctx, b, s.Tenant(), fn)
}

// readView is read for rows of a view, which the scope has opened.
func readView[V any](ctx context.Context, b *Base, s tenant.Scope, view *memory.View, fn func(context.Context, Session) (V, error)) (v V, err error) {
	if err := view.Check(s); err != nil {
		return v, err
	}
	return readTenant(ctx, b, s.Tenant(), fn)
}

// readTenant returns what fn reads of a tenant, zero for rows of no tenant.
func readTenant[V any](ctx context.Context, b *Base, tenantID uuid.UUID, fn func(context.Context, Session) (V, error)) (v V, err error) {
	err = b.transactions.Reading(ctx, tenantID, func(ctx context.Context, q Session) error {
		v, err = fn(ctx, q)
		return err
	})
	return v, err
}

// write is Transactions.Writing for the tenant of a scope.
func (b *Base) write(ctx context.Context, s tenant.Scope, fn func(context.Context, Session) error) error {
	if err := s.Check(); err != nil {
		return err
	}
	return b.transactions.Writing(ctx, s.Tenant(), fn)
}

// free is Transactions.Freeing for the tenant of a scope.
func (b *Base) free(ctx context.Context, s tenant.Scope, fn func(context.Context, Session) error) error {
	if err := s.Check(); err != nil {
		return err
	}
	return b.transactions.Freeing(ctx, s.Tenant(), fn)
}

// ErrRollback rolls a transaction back without an error: there is nothing to keep.
var ErrRollback = errors.New("nothing to keep")

// Session reads and writes rows within one transaction. What is not in Conn has its own SQL in each engine.
type Session interface {
	Locks
	// OthersWait reports whether other tenants wait for the transaction to end.
	OthersWait(tenantID uuid.UUID) bool
	// NothingErased says that a transaction that frees has deleted nothing of which traces may be left.
	NothingErased()
	Conn
	TenantRemoval
	CollectionRows
	JobRows
	ReviewRows
	AttachmentRows
	DeliveryRows
	LedgerRows
	SpoolRows
	NoteRows
	LinkRows
}

// Locks keep rows from changing until the transaction ends. The embedded engine has one writer
// at a time and needs none of them.
type Locks interface {
	// HoldTenant keeps a tenant from being removed.
	HoldTenant(id uuid.UUID)
	// HoldAgent keeps an agent from being deleted.
	HoldAgent(tenantID, id uuid.UUID)
	// LockAgent waits for all who hold the agent.
	LockAgent(tenantID, id uuid.UUID)
	// LockKey waits for all who change the key.
	LockKey(tenantID, id uuid.UUID)
	// LockUsage waits for all who add to what the tenant stores under a limit. It is the last lock of a
	// transaction. The next statement sees what they added.
	LockUsage(tenantID uuid.UUID)
	// LockTool waits for all who change the tool, or attach it.
	LockTool(tenantID, id uuid.UUID)
	// LockWebhook waits for all who change the webhook.
	LockWebhook(tenantID, id uuid.UUID)
	// LockGrant waits for all who change the grant.
	LockGrant(tenantID, id uuid.UUID)
	// LockSigningKeys waits for all who add a signing key.
	LockSigningKeys()
	CollectionLocks
}

// CollectionLocks keep collections from changing until the transaction ends.
type CollectionLocks interface {
	// HoldCollections keeps collections from being deleted, and their floors from being raised.
	// Their writers are not waited for, nor do they wait.
	HoldCollections(tenantID uuid.UUID, ids ...uuid.UUID)
	// LockCollection waits for all who hold the collection.
	LockCollection(tenantID, id uuid.UUID)
	// LockHead waits for the writers of a collection and makes later ones wait. The next statement
	// sees all that was written before.
	LockHead(tenantID, collection uuid.UUID)
	// LockJob waits for all who change the job.
	LockJob(tenantID, id uuid.UUID)
}
