package auth

import (
	"crypto/rand"
	"fmt"

	"github.com/slipboxhq/slipbox/internal/seal"
)

// wrapPurpose is the purpose for which the private keys of signing keys are sealed; their owner is the kid.
const wrapPurpose = "slipbox signing keys 1"

// errWrapped means that a wrapped key cannot be decrypted.
var errWrapped = fmt.Errorf("the signing key was %w", seal.ErrSealed)

// newSecret generates a random value for Config.Secret.
func newSecret() ([]byte, error) {
	secret := make([]byte, minSecret)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("read random bytes: %w", err)
	}
	return secret, nil
}
