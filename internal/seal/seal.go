// Package seal encrypts what the store keeps and must not read: the private keys of signing keys, and the secrets of
// tools. The key is derived from the secret of the installation, another one for each purpose.
//
// It imports no other package of this module. internal/auth and internal/memory/policy/memgpt/agent/tools call it.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// version is the first byte of every sealed value, so that the format can change.
const version = 1

// Sealer encrypts with AES-256-GCM, under a key derived by HKDF-SHA-256.
type Sealer struct{ aead cipher.AEAD }

// New returns a sealer for a purpose. What one seals, no sealer of another secret or purpose opens.
func New(secret []byte, purpose string) (Sealer, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, 32)
	if err != nil {
		return Sealer{}, fmt.Errorf("derive the wrapping key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Sealer{}, fmt.Errorf("create the wrapping cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return Sealer{}, fmt.Errorf("create the wrapping cipher: %w", err)
	}
	return Sealer{aead: aead}, nil
}

// Seal encrypts. Opening requires the same owner.
func (s Sealer) Seal(owner string, plain []byte) []byte {
	//nolint:gosec // the cipher generates a random nonce and prepends it
	return s.aead.Seal([]byte{version}, nil, plain, []byte(owner))
}

// ErrSealed means that a value cannot be opened: the secret, the purpose or the owner is another, or the value is
// damaged. The causes are indistinguishable.
var ErrSealed = errors.New("sealed with another secret, such as that of a gateway with another wrapping key, or damaged")

// Open decrypts what Seal has encrypted.
func (s Sealer) Open(owner string, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 || sealed[0] != version {
		return nil, ErrSealed
	}
	plain, err := s.aead.Open(nil, nil, sealed[1:], []byte(owner))
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}
