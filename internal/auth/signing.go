package auth

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/seal"
)

const (
	// verifyFor is how long a retired key still verifies: the maximum lifetime of
	// a token, twice, to allow for clocks and caches that lag.
	verifyFor = 2 * MaxTokenTTL
	// reloadAfter bounds how often an unknown kid makes the keys reload.
	reloadAfter = time.Second
	// replaceAfter bounds how often a key that cannot be decrypted is replaced.
	// Otherwise two processes with different secrets would replace it in turns.
	replaceAfter = time.Minute
)

// wrapPurpose is the purpose for which the private keys of signing keys are sealed; their owner is the kid.
const wrapPurpose = "slipbox signing keys 1"

// errWrapped means that a wrapped key cannot be decrypted.
var errWrapped = fmt.Errorf("the signing key was %w", seal.ErrSealed)

var errUnknownKID = errors.New("no signing key has this kid")

// keyring caches the signing keys of the store. All of them verify, the newest
// signs.
type keyring struct {
	store SigningKeyStore
	clock memory.Clock
	log   *slog.Logger
	wrap  seal.Sealer
	ttl   time.Duration
	age   time.Duration

	mu       sync.Mutex
	keys     []SigningKey // newest first, only valid ones
	sawKID   string       // the kid of the newest key in the store, valid or not
	loadedAt time.Time
	signer   signer // the newest key, decrypted
}

// signer is a decrypted signing key.
type signer struct {
	kid     string
	private ed25519.PrivateKey
}

func newKeyring(deps Deps, cfg Config) (*keyring, error) {
	w, err := seal.New(cfg.Secret, wrapPurpose)
	if err != nil {
		return nil, err
	}
	return &keyring{
		store: deps.SigningKeys, clock: deps.Clock, log: deps.Logger, wrap: w, ttl: cfg.StatusTTL, age: cfg.SigningKeyAge,
	}, nil
}

// verificationKey returns the public key with the given kid, or errUnknownKID when
// there is none that still verifies.
func (r *keyring) verificationKey(ctx context.Context, kid string) (ed25519.PublicKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	// Another process may have created a key just now: reload on an unknown kid.
	for _, maxAge := range []time.Duration{r.ttl, reloadAfter} {
		if err := r.load(ctx, now, maxAge); err != nil {
			return nil, err
		}
		for _, k := range r.keys {
			if k.KID == kid && k.verifiesAt(now) {
				return ed25519.PublicKey(k.Public), nil
			}
		}
	}
	return nil, errUnknownKID
}

// verificationKeys returns the keys that verify now, newest first.
func (r *keyring) verificationKeys(ctx context.Context) ([]SigningKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	if err := r.load(ctx, now, r.ttl); err != nil {
		return nil, err
	}
	out := make([]SigningKey, 0, len(r.keys))
	for _, k := range r.keys {
		if k.verifiesAt(now) {
			out = append(out, k)
		}
	}
	return out, nil
}

// signingKey returns the key to sign with. It creates one when there is none, when
// the newest is too old, or when the newest cannot be decrypted.
func (r *keyring) signingKey(ctx context.Context) (signer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	if err := r.load(ctx, now, r.ttl); err != nil {
		return signer{}, err
	}
	if newest, ok := r.newest(); ok && newest.signsAt(now) && now.Sub(newest.CreatedAt) < r.age {
		s, err := r.decrypt(newest)
		if err == nil {
			return s, nil
		}
		if now.Sub(newest.CreatedAt) < replaceAfter {
			e := fault.New(fault.Unavailable, "tokens cannot be signed now")
			e.Err, e.RetryAfter = err, replaceAfter
			return signer{}, e
		}
		r.log.WarnContext(ctx, "the signing key cannot be decrypted; creating another", "kid", newest.KID, "error", err)
	}
	return r.rotate(ctx, now)
}

// rotate adds a new signing key, unless another process just did, and returns
// the newest.
func (r *keyring) rotate(ctx context.Context, now time.Time) (signer, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return signer{}, fault.Wrap(err, fault.Internal, "cannot generate a signing key")
	}
	kid := thumbprint(public)
	k := SigningKey{
		KID: kid, Public: public, Wrapped: r.wrap.Seal(kid, private.Seed()), CreatedAt: now.UTC().Truncate(time.Microsecond),
	}
	if err := r.store.AddSigningKey(ctx, k, r.sawKID, verifyFor); err != nil {
		return signer{}, err
	}
	if err := r.load(ctx, now, 0); err != nil {
		return signer{}, err
	}
	newest, ok := r.newest()
	if !ok {
		return signer{}, fault.New(fault.Internal, "the signing key was not stored")
	}
	if newest.KID == kid {
		r.log.InfoContext(ctx, "signing key created", "kid", kid)
	}
	s, err := r.decrypt(newest)
	return s, fault.Wrap(err, fault.Unavailable, "tokens cannot be signed now")
}

// decrypt decrypts a key and caches the last one.
func (r *keyring) decrypt(k SigningKey) (signer, error) {
	if r.signer.kid == k.KID {
		return r.signer, nil
	}
	seed, err := r.wrap.Open(k.KID, k.Wrapped)
	if err != nil {
		return signer{}, err
	}
	if len(seed) != ed25519.SeedSize {
		return signer{}, errWrapped
	}
	private := ed25519.NewKeyFromSeed(seed)
	if !bytes.Equal(private[ed25519.SeedSize:], k.Public) {
		return signer{}, errWrapped
	}
	r.signer = signer{kid: k.KID, private: private}
	return r.signer, nil
}

// load reads the keys from the store when they are older than maxAge.
func (r *keyring) load(ctx context.Context, now time.Time, maxAge time.Duration) error {
	if !r.loadedAt.IsZero() && isFresh(r.loadedAt, now, maxAge) {
		return nil
	}
	keys, err := r.store.SigningKeys(ctx)
	if err != nil {
		return err
	}
	r.sawKID = ""
	if len(keys) > 0 {
		r.sawKID = keys[0].KID
	}
	// The kid is the thumbprint of the key. Ignore rows where it is not: this
	// program did not write them. ed25519 panics for a key of another length.
	keys = slices.DeleteFunc(slices.Clone(keys), func(k SigningKey) bool {
		return len(k.Public) != ed25519.PublicKeySize || k.KID != thumbprint(k.Public)
	})
	r.keys, r.loadedAt = keys, now
	return nil
}

func (r *keyring) newest() (SigningKey, bool) {
	if len(r.keys) == 0 {
		return SigningKey{}, false
	}
	return r.keys[0], true
}

func (k *SigningKey) signsAt(now time.Time) bool {
	return k.RetiresAt.IsZero() || now.Before(k.RetiresAt)
}

func (k *SigningKey) verifiesAt(now time.Time) bool {
	return k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt)
}

// thumbprint returns the thumbprint of a public key (RFC 7638, RFC 8037).
func thumbprint(public []byte) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(public) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
