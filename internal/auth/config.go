package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds that no setting can pass.
const (
	MaxTokenTTL   = time.Hour
	MaxLeeway     = 30 * time.Second
	MaxStatusTTL  = 5 * time.Second
	MaxKeyOverlap = 30 * 24 * time.Hour
	// MaxKeyTTL is the longest life that can be asked for a key; one without
	// expiry lives until it is revoked.
	MaxKeyTTL = 100 * 365 * 24 * time.Hour
	// MinSecret is the least length in bytes of Config.Secret.
	MinSecret = 32
)

// Config of credentials. Zero fields mean the defaults.
type Config struct {
	// Env is the second part of a key's text, [a-z0-9]{1,16}; default "live".
	// A key of another environment is refused.
	Env string
	// Issuer and Audience are the claims iss and aud; default "slipbox".
	Issuer, Audience string
	// Secret wraps the private halves of signing keys; required, at least 32
	// random bytes. With another secret than before, a new signing key is made
	// and tokens of the old one live on until they expire.
	Secret []byte
	// TokenTTL is the life of a token when none is asked for; default 15
	// minutes, at most MaxTokenTTL.
	TokenTTL time.Duration
	// Leeway is how far the claims nbf and iat may lie ahead of this process'
	// clock; default 5 s, at most MaxLeeway. exp has no leeway.
	Leeway time.Duration
	// StatusTTL is how old the known state of a key, a tenant or the set of
	// signing keys may be; default and at most 5 s. It bounds how long a
	// revoked key works on in other processes; in this one it ends at once.
	StatusTTL time.Duration
	// StatusSize is how many keys (and as many tenants) are remembered; default 10,000.
	StatusSize int
	// SigningKeyAge is after how long a new signing key takes over; default 30 days.
	SigningKeyAge time.Duration
	// KeyOverlap is how long a rotated key works on when the caller does not
	// say; default 24 hours, at most MaxKeyOverlap.
	KeyOverlap time.Duration
}

var envText = regexp.MustCompile(`^[a-z0-9]{1,16}$`)

// withDefaults fills zero fields and reports every one out of range.
func (c Config) withDefaults() (Config, error) {
	var errs []error
	text := func(field *string, def string) {
		if *field == "" {
			*field = def
		}
	}
	span := func(name string, field *time.Duration, def, most time.Duration) {
		if *field == 0 {
			*field = def
		}
		if *field < 0 || *field > most {
			errs = append(errs, fmt.Errorf("auth: %s must be positive and at most %s", name, most))
		}
	}
	text(&c.Env, "live")
	text(&c.Issuer, "slipbox")
	text(&c.Audience, "slipbox")
	span("TokenTTL", &c.TokenTTL, 15*time.Minute, MaxTokenTTL)
	span("Leeway", &c.Leeway, 5*time.Second, MaxLeeway)
	span("StatusTTL", &c.StatusTTL, MaxStatusTTL, MaxStatusTTL)
	span("SigningKeyAge", &c.SigningKeyAge, 30*24*time.Hour, 10*365*24*time.Hour)
	span("KeyOverlap", &c.KeyOverlap, 24*time.Hour, MaxKeyOverlap)
	if !envText.MatchString(c.Env) {
		errs = append(errs, fmt.Errorf("auth: Env must match %s", envText))
	}
	if len(c.Secret) < MinSecret {
		errs = append(errs, fmt.Errorf("auth: Secret must have at least %d bytes", MinSecret))
	}
	if c.StatusSize == 0 {
		c.StatusSize = 10_000
	}
	if c.StatusSize < 0 {
		errs = append(errs, errors.New("auth: StatusSize must be positive"))
	}
	return c, errors.Join(errs...)
}

// Deps are what credentials are kept in and read from; all are required.
type Deps struct {
	Keys        KeyStore
	SigningKeys SigningKeyStore
	Directory   tenant.Directory
	Agents      AgentStore
	Clock       memory.Clock
	Logger      *slog.Logger
}

// Service is everything about credentials, built over one knowledge of their
// state, so that revoking through Keys is seen by Authenticator at once.
type Service struct {
	Keys          *Keys
	Tokens        *Tokens
	Authenticator *Authenticator

	status *status
}

// New makes a Service. It starts nothing and reads nothing.
func New(deps Deps, cfg Config) (*Service, error) {
	if deps.Keys == nil || deps.SigningKeys == nil || deps.Directory == nil || deps.Agents == nil || deps.Clock == nil || deps.Logger == nil {
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
	known := newStatus(deps, cfg)
	tokens := newTokens(deps, cfg, ring)
	return &Service{
		Keys:          &Keys{deps: deps, cfg: cfg, status: known},
		Tokens:        tokens,
		Authenticator: &Authenticator{cfg: cfg, clock: deps.Clock, status: known, tokens: tokens},
		status:        known,
	}, nil
}

// Forget drops what is remembered of a tenant and its keys, so that a
// suspension or a deleted agent is seen at once. It fits
// tenant.ServiceDeps.OnChange.
func (s *Service) Forget(tenantID uuid.UUID) { s.status.forgetTenant(tenantID) }
