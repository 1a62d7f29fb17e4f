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
func newSecret() []byte {
	secret := make([]byte, minSecret)
	_, _ = rand.Read(secret) // never fails
	return secret
}
