package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// wrapVersion is the first byte of every wrapped key, so that the format can change.
const wrapVersion = 1

// wrapper encrypts the private keys of signing keys with AES-256-GCM, under a key
// derived from the configured secret (HKDF-SHA-256).
type wrapper struct{ aead cipher.AEAD }

func newWrapper(secret []byte) (wrapper, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "slipbox signing keys 1", 32)
	if err != nil {
		return wrapper{}, fmt.Errorf("derive the wrapping key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return wrapper{}, fmt.Errorf("create the wrapping cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return wrapper{}, fmt.Errorf("create the wrapping cipher: %w", err)
	}
	return wrapper{aead: aead}, nil
}

// seal encrypts a private key. Decrypting requires the same kid.
func (w wrapper) seal(kid string, private []byte) []byte {
	//nolint:gosec // the cipher generates a random nonce and prepends it
	return w.aead.Seal([]byte{wrapVersion}, nil, private, []byte(kid))
}

// errWrapped means that a wrapped key cannot be decrypted: the secret or the kid
// is another, or the key is damaged. The three causes are indistinguishable.
var errWrapped = errors.New("the signing key was wrapped with another secret, such as that of a gateway with another wrapping key, or is damaged")

// open decrypts a private key that seal encrypted.
func (w wrapper) open(kid string, wrapped []byte) ([]byte, error) {
	if len(wrapped) == 0 || wrapped[0] != wrapVersion {
		return nil, errWrapped
	}
	private, err := w.aead.Open(nil, nil, wrapped[1:], []byte(kid))
	if err != nil {
		return nil, errWrapped
	}
	return private, nil
}

// NewSecret generates a random value for Config.Secret.
func NewSecret() ([]byte, error) {
	secret := make([]byte, MinSecret)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("read random bytes: %w", err)
	}
	return secret, nil
}
