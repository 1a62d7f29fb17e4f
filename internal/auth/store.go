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
	Prefix      string   // the public start of the text, up to and including the id
	Hash        [32]byte // SHA-256 of the secret, which has 256 bits of entropy
	Permissions []tenant.Permission
	Agent       uuid.UUID // zero: not bound to an agent
	AgentName   string    // set on reads
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero: never
	RevokedAt   time.Time // zero: not revoked; may be in the future (rotation with overlap)
	RotatedTo   uuid.UUID // the key that replaces it; zero: none
}

// KeyStore stores API keys.
type KeyStore interface {
	CreateKey(ctx context.Context, s tenant.Scope, k Key, audit memory.AuditEntry) error
	// KeyByID is called before a scope exists, with the tenant of the key text.
	// It returns NotFound when the key is absent.
	KeyByID(ctx context.Context, tenantID, id uuid.UUID) (Key, error)
	// ListKeys returns a page ordered by id, starting after the given id.
	ListKeys(ctx context.Context, s tenant.Scope, after uuid.UUID, limit int) ([]Key, error)
	// UpdateKey reads a key, calls fn to modify it, and writes it with the audit row.
	UpdateKey(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*Key) error) (Key, error)
	// CreateOperatorKey stores a platform key.
	CreateOperatorKey(ctx context.Context, op tenant.Operator, k Key) error
	// ListOperatorKeys returns a page ordered by id, starting after the given id.
	ListOperatorKeys(ctx context.Context, op tenant.Operator, after uuid.UUID, limit int) ([]Key, error)
	// UpdateOperatorKey modifies a platform key. It returns NotFound for any other key.
	UpdateOperatorKey(ctx context.Context, op tenant.Operator, id uuid.UUID, fn func(*Key) error) (Key, error)
}

// SigningKey is an Ed25519 key pair for tokens. The private key is encrypted with
// Config.Secret before it is stored.
type SigningKey struct {
	KID       string
	Public    []byte
	Wrapped   []byte
	CreatedAt time.Time
	RetiresAt time.Time // no longer signs after this; zero: still signs
	ExpiresAt time.Time // no longer verifies after this; zero: still verifies
}

// SigningKeyStore stores signing keys. They and the tenant directory are the only
// data that belong to no tenant.
type SigningKeyStore interface {
	SigningKeys(ctx context.Context) ([]SigningKey, error) // newest first
	// AddSigningKey inserts k and retires the other keys at k.CreatedAt: they verify for
	// verifyFor longer. It does nothing when the newest kid is not sawNewest, that is when
	// another key was added since the caller read the keys.
	AddSigningKey(ctx context.Context, k SigningKey, sawNewest string, verifyFor time.Duration) error
}
