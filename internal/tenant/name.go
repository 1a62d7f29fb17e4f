package tenant

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// MaxName is the maximum length of a name in bytes, MaxDisplayName that of a
// display name in characters.
const (
	MaxName        = 128
	MaxDisplayName = 256
)

// NameRule is the reason of a refused name.
const NameRule = "must be 1 to 128 of a-z, 0-9, _ . -, beginning with a letter or digit"

// CheckName returns Invalid, for the given field, unless name is a valid name
// of a tenant, an agent or a collection. A name matches
// [a-z0-9][a-z0-9_.-]{0,127} and is not a UUID in any spelling, so a reference
// is either an id or a name.
func CheckName(field, name string) error {
	if name == "" {
		return fault.InvalidField(field, "must not be empty")
	}
	if len(name) > MaxName {
		return fault.InvalidField(field, "must have at most %d characters", MaxName)
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && strings.IndexByte("_.-", c) >= 0 {
			continue
		}
		return fault.InvalidField(field, "%s", NameRule)
	}
	if _, err := uuid.Parse(name); err == nil {
		return fault.InvalidField(field, "must not be a UUID")
	}
	return nil
}

// CheckDisplayName returns Invalid, for the given field, when a display name
// is too long, is not UTF-8, or contains control characters. Every script is
// allowed; "" means no display name.
func CheckDisplayName(field, name string) error {
	if !utf8.ValidString(name) {
		return fault.InvalidField(field, "must be valid UTF-8")
	}
	if utf8.RuneCountInString(name) > MaxDisplayName {
		return fault.InvalidField(field, "must have at most %d characters", MaxDisplayName)
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return fault.InvalidField(field, "must not contain control characters")
	}
	return nil
}
