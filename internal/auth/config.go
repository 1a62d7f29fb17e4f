package auth

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds that settings cannot exceed.
const (
	MaxTokenTTL   = time.Hour
	MaxLeeway     = 30 * time.Second
	MaxStatusTTL  = 5 * time.Second
	MaxKeyOverlap = 30 * 24 * time.Hour
	// MaxKeyTTL is the maximum lifetime that can be requested for a key. A key
	// without expiry is valid until it is revoked.
	MaxKeyTTL = 100 * 365 * 24 * time.Hour
	// minSecret is the minimum length of Config.Secret in bytes.
	minSecret = 32
)

// Config configures the credentials. A zero field means its default.
type Config struct {
	// Env is the second part of a key's text, [a-z0-9]{1,16}; default "live".
	// A key of another environment is refused.
	Env string
	// Issuer and Audience are the claims iss and aud; default "slipbox".
	Issuer, Audience string
	// Secret encrypts the private keys of signing keys; required, at least 32
	// random bytes. After the secret was changed, a new signing key is created,
	// and tokens of the old one stay valid until they expire.
	Secret []byte
	// TokenTTL is the lifetime of a token when none is requested; default 15
	// minutes, at most MaxTokenTTL.
	TokenTTL time.Duration
	// Leeway is how far the claims nbf and iat may be ahead of the clock of this
	// process; default 5 s, at most MaxLeeway. exp has no leeway.
	Leeway time.Duration
	// StatusTTL is how old the cached state of a key, a tenant or the signing
	// keys may be; default and maximum 5 s. It bounds how long a revoked key is
	// still accepted by other processes; this process refuses it immediately.
	StatusTTL time.Duration
	// StatusSize is how many keys (and as many tenants) are cached; default 10,000.
	StatusSize int
	// SigningKeyAge is the age at which a signing key is replaced by a new one;
	// default 30 days.
	SigningKeyAge time.Duration
	// KeyOverlap is how long a rotated key stays valid when the caller does not
	// choose; default 24 hours, at most MaxKeyOverlap.
	KeyOverlap time.Duration
}

var envText = regexp.MustCompile(`^[a-z0-9]{1,16}$`)

// withDefaults sets zero fields to their defaults and reports every field that
// is out of range.
func (c Config) withDefaults() (Config, error) {
	var errs []error
	text := func(field *string, def string) {
		if *field == "" {
			*field = def
		}
	}
	duration := func(name string, field *time.Duration, def, limit time.Duration) {
		if *field == 0 {
			*field = def
		}
		if *field < 0 || *field > limit {
			errs = append(errs, fmt.Errorf("auth: %s must be positive and at most %s", name, limit))
		}
	}
	text(&c.Env, "live")
	text(&c.Issuer, "slipbox")
	text(&c.Audience, "slipbox")
	duration("TokenTTL", &c.TokenTTL, 15*time.Minute, MaxTokenTTL)
	duration("Leeway", &c.Leeway, 5*time.Second, MaxLeeway)
	duration("StatusTTL", &c.StatusTTL, MaxStatusTTL, MaxStatusTTL)
	duration("SigningKeyAge", &c.SigningKeyAge, 30*24*time.Hour, 10*365*24*time.Hour)
	duration("KeyOverlap", &c.KeyOverlap, 24*time.Hour, MaxKeyOverlap)
	if !envText.MatchString(c.Env) {
		errs = append(errs, fmt.Errorf("auth: Env must match %s", envText))
	}
	if len(c.Secret) < minSecret {
		errs = append(errs, fmt.Errorf("auth: Secret must have at least %d bytes", minSecret))
	}
	c.StatusSize = cmp.Or(c.StatusSize, 10_000)
	if c.StatusSize < 0 {
		errs = append(errs, errors.New("auth: StatusSize must be positive"))
	}
	return c, errors.Join(errs...)
}

// Deps are the dependencies of a Service; all are required.
type Deps struct {
	Keys        KeyStore
	SigningKeys SigningKeyStore
	Grants      GrantStore
	Directory   tenant.Directory
	Agents      AgentStore
	Clock       memory.Clock
	Logger      *slog.Logger
}

// Service combines everything about credentials. Its parts share one cache of
// their state, so Authenticator refuses a key as soon as Keys revoked it.
type Service struct {
	Keys          *Keys
	Tokens        *Tokens
	Grants        *Grants
	Authenticator *Authenticator

	status *statusCache
}

// New returns a Service. It starts no goroutine and reads nothing.
func New(deps Deps, cfg Config) (*Service, error) {
	if deps.Keys == nil || deps.SigningKeys == nil || deps.Grants == nil || deps.Directory == nil || deps.Agents == nil || deps.Clock == nil || deps.Logger == nil {
		return nil, errors.New("auth: every field of Deps is required")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	ring, err := newKeyring(deps, cfg)
	if err != nil {
		return nil, err
	}
	cache := newStatusCache(deps, cfg)
	tokens := newTokens(deps, cfg, ring)
	return &Service{
		Keys:          &Keys{deps: deps, cfg: cfg, status: cache},
		Tokens:        tokens,
		Grants:        &Grants{deps: deps, status: cache, tokens: tokens},
		Authenticator: &Authenticator{cfg: cfg, clock: deps.Clock, status: cache, tokens: tokens},
		status:        cache,
	}, nil
}

// Forget drops the cached state of a tenant, its keys and its agents, so that a
// suspension or a deleted agent takes effect immediately. It is meant for
// tenant.ServiceDeps.OnChange and tenant.AgentsDeps.OnChange.
func (s *Service) Forget(tenantID uuid.UUID) { s.status.forgetTenant(tenantID) }
