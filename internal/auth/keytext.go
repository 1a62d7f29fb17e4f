package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// The text of a key is sb_<env>_<tenant>_<id>_<secret>: the UUID of the tenant
// (or "platform"), the UUID of the key, and 32 random bytes, each in lower-case
// base32 without padding. So the text consists of [a-z0-9_], a double click
// selects all of it, and a key has exactly one spelling.
const (
	keyPrefix      = "sb"
	platformTenant = "platform"
	secretBytes    = 32
)

var keyEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// errKeyText is returned for any text that is not a key. It does not say which
// part is wrong.
var errKeyText = errors.New("not the text of an API key")

// keyText is a parsed key.
type keyText struct {
	env    string
	tenant uuid.UUID // zero: platform
	id     uuid.UUID
	secret [secretBytes]byte
}

// newKeyText returns a key with a random secret.
func newKeyText(env string, tenant, id uuid.UUID) keyText {
	k := keyText{env: env, tenant: tenant, id: id}
	_, _ = rand.Read(k.secret[:]) // never fails
	return k
}

// prefix returns the public part of the text, which is stored: all but the secret.
func (k keyText) prefix() string {
	owner := platformTenant
	if k.tenant != uuid.Nil {
		owner = keyEncoding.EncodeToString(k.tenant[:])
	}
	return strings.Join([]string{keyPrefix, k.env, owner, keyEncoding.EncodeToString(k.id[:])}, "_")
}

// text returns the whole text of the key, which is shown once.
func (k keyText) text() string { return k.prefix() + "_" + keyEncoding.EncodeToString(k.secret[:]) }

// hash returns the hash of the secret, which is stored. The secret has 256 random
// bits, so one round of SHA-256 is enough: a dictionary attack is impossible.
// It covers the limit of the key: what does not know the limit, or has lost it, does not
// accept the key.
func (k keyText) hash(limit tenant.Limit) [sha256.Size]byte {
	return sha256.Sum256(append(k.secret[:], limit.Text()...))
}

// parseKeyText parses a text that keyText.text returns, and refuses any other.
func parseKeyText(s string) (keyText, error) {
	parts := strings.Split(s, "_")
	if len(parts) != 5 || parts[0] != keyPrefix || !envText.MatchString(parts[1]) {
		return keyText{}, errKeyText
	}
	k := keyText{env: parts[1]}
	if parts[2] != platformTenant {
		if !decodeExactly(k.tenant[:], parts[2]) || k.tenant == uuid.Nil {
			return keyText{}, errKeyText
		}
	}
	if !decodeExactly(k.id[:], parts[3]) || k.id == uuid.Nil || !decodeExactly(k.secret[:], parts[4]) {
		return keyText{}, errKeyText
	}
	return k, nil
}

// decodeExactly decodes s into dst and reports whether s is the canonical
// encoding. The decoder alone would ignore the spare bits of the last character,
// and line breaks.
func decodeExactly(dst []byte, s string) bool {
	if len(s) != keyEncoding.EncodedLen(len(dst)) {
		return false
	}
	b, err := keyEncoding.DecodeString(s)
	if err != nil || len(b) != len(dst) || keyEncoding.EncodeToString(b) != s {
		return false
	}
	copy(dst, b)
	return true
}
