package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// A key reads sb_<env>_<tenant>_<id>_<secret>: the tenant (or "platform") and
// the key's id as UUIDs and the secret as 32 random bytes, each in lower-case
// base32 without padding, so that the whole is [a-z0-9_], survives a double
// click, and has exactly one spelling.
const (
	keyStart       = "sb"
	platformTenant = "platform"
	secretBytes    = 32
)

var keyEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// errKeyText is the one answer to a text that is no key; it says nothing of
// which part is wrong.
var errKeyText = errors.New("not the text of an API key")

// keyText is a parsed key.
type keyText struct {
	env    string
	tenant uuid.UUID // zero: platform
	id     uuid.UUID
	secret [secretBytes]byte
}

// newKeyText draws a secret.
func newKeyText(env string, tenant, id uuid.UUID) (keyText, error) {
	k := keyText{env: env, tenant: tenant, id: id}
	if _, err := rand.Read(k.secret[:]); err != nil {
		return keyText{}, fmt.Errorf("read random bytes: %w", err)
	}
	return k, nil
}

// prefix is what may be shown and is stored: all but the secret.
func (k keyText) prefix() string {
	owner := platformTenant
	if k.tenant != uuid.Nil {
		owner = keyEncoding.EncodeToString(k.tenant[:])
	}
	return strings.Join([]string{keyStart, k.env, owner, keyEncoding.EncodeToString(k.id[:])}, "_")
}

// text is the whole key, which is shown once.
func (k keyText) text() string { return k.prefix() + "_" + keyEncoding.EncodeToString(k.secret[:]) }

// hash is what is stored of the secret. The secret has 256 random bits, so one
// round of SHA-256 suffices: there is nothing to guess by trying words.
func (k keyText) hash() [sha256.Size]byte { return sha256.Sum256(k.secret[:]) }

// parseKeyText accepts exactly what text produces, and nothing else.
func parseKeyText(s string) (keyText, error) {
	parts := strings.Split(s, "_")
	if len(parts) != 5 || parts[0] != keyStart || !envText.MatchString(parts[1]) {
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

// decodeExactly fills to from its only spelling: base32 leaves spare bits in
// the last character, which must be zero, and the decoder skips line breaks,
// which must not be there.
func decodeExactly(to []byte, s string) bool {
	if len(s) != keyEncoding.EncodedLen(len(to)) {
		return false
	}
	b, err := keyEncoding.DecodeString(s)
	if err != nil || len(b) != len(to) || keyEncoding.EncodeToString(b) != s {
		return false
	}
	copy(to, b)
	return true
}
