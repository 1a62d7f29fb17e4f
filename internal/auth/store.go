package auth

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Key is a stored API key; the secret itself is never stored.
type Key struct {
	ID          uuid.UUID
	Tenant      uuid.UUID // zero for a platform (operator) key
	Name        string
	Prefix      string   // the public beginning, up to and including the id
	Hash        [32]byte // SHA-256 of the secret, which has 256 bits of entropy
	Permissions []tenant.Permission
	Agent       uuid.UUID // zero: not bound to an agent
	AgentName   string    // filled on reads
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero: never
	RevokedAt   time.Time // zero: not revoked; may lie ahead (rotation with overlap)
	RotatedTo   uuid.UUID // the key that replaces it; zero: none
}

// KeyStore keeps API keys.
type KeyStore interface {
	CreateKey(ctx context.Context, s tenant.Scope, k Key, audit memory.AuditEntry) error
	// KeyByID is asked before a scope exists; the tenant is read from the key text.
	// NotFound when absent.
	KeyByID(ctx context.Context, tenantID, id uuid.UUID) (Key, error)
	ListKeys(ctx context.Context, s tenant.Scope, after uuid.UUID, limit int) ([]Key, error) // by id
	UpdateKey(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*Key) error) (Key, error)
	// CreateOperatorKey stores a platform key.
	CreateOperatorKey(ctx context.Context, op tenant.Operator, k Key) error
	ListOperatorKeys(ctx context.Context, op tenant.Operator, after uuid.UUID, limit int) ([]Key, error) // by id
	// UpdateOperatorKey changes a platform key; NotFound for any other.
	UpdateOperatorKey(ctx context.Context, op tenant.Operator, id uuid.UUID, fn func(*Key) error) (Key, error)
}

// SigningKey is an Ed25519 key pair for tokens. The private half is wrapped
// by the configured secret before it reaches the store.
type SigningKey struct {
	KID       string
	Public    []byte
	Wrapped   []byte
	CreatedAt time.Time
	RetiresAt time.Time // no longer signs after this; zero: still signs
	ExpiresAt time.Time // no longer verifies after this; zero: still verifies
}

// SigningKeyStore keeps signing keys; with the tenant directory it is the only
// thing read across tenants.
type SigningKeyStore interface {
	SigningKeys(ctx context.Context) ([]SigningKey, error) // newest first
	// AddSigningKey inserts k and retires the others at k.CreatedAt, unless one was added since
	// the caller looked (newest differs from sawNewest): then it does nothing.
	AddSigningKey(ctx context.Context, k SigningKey, sawNewest string, verifyFor time.Duration) error
}
