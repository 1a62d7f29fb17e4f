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
	Hash        [32]byte // see keyText.hash
	Permissions []tenant.Permission
	Agent       uuid.UUID    // zero: not bound to an agent
	AgentName   string       // set on reads
	Limit       tenant.Limit // whose memory it is for; never changed
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

// GrantID identifies a grant. It includes the tenant, so that an id alone never finds one.
type GrantID struct{ Tenant, Grant uuid.UUID }

// Grant is what the holder of an API key lets a program do. It ends with the key. Of its secrets only hashes are stored.
type Grant struct {
	ID          GrantID
	Key         uuid.UUID // of the holder
	Agent       uuid.UUID // that the key is bound to; zero: none
	Client      string    // name of the program, as it says
	ClientHash  [32]byte  // of its id
	Redirect    string    // where the code was sent
	Resource    string    // URL of what its tokens are for
	Permissions []tenant.Permission
	Limit       tenant.Limit
	Challenge   string   // of PKCE, S256
	Code        [32]byte // of the code, also when it was exchanged
	Family      [32]byte // of what all refresh tokens have in common
	Refresh     [32]byte // of the refresh token that is accepted
	CreatedAt   time.Time
	UsedAt      time.Time // when tokens were issued last; zero: the code was not exchanged
	ExpiresAt   time.Time // of the code, then of the refresh token
}

// GrantStore stores grants. A scope that is bound to an agent sees those of the agent's keys, and a limited scope none.
type GrantStore interface {
	// CreateGrant adds a grant of a key that the scope reaches, and removes those of the tenant that have expired. QuotaExceeded
	// when there are most of them.
	CreateGrant(ctx context.Context, s tenant.Scope, g Grant, most int, audit memory.AuditEntry) error
	// GrantByID is called before a scope exists. It returns NotFound when the grant is absent.
	GrantByID(ctx context.Context, id GrantID) (Grant, error)
	// ListGrants returns a page of those that have issued tokens and have not expired, ordered by id, after an id.
	ListGrants(ctx context.Context, s tenant.Scope, after uuid.UUID, limit int) ([]Grant, error)
	// UpdateGrant reads a grant, calls fn to modify it, and writes it.
	UpdateGrant(ctx context.Context, s tenant.Scope, id uuid.UUID, fn func(*Grant) error) (Grant, error)
	DeleteGrant(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) error
}
