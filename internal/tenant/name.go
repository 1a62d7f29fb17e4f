package tenant

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// MaxName is the longest name in bytes, MaxDisplayName the longest display
// name in characters.
const (
	MaxName        = 128
	MaxDisplayName = 256
)

// CheckName refuses what may not name a tenant, an agent or a collection
// (Invalid, for the given field): names are [a-z0-9][a-z0-9_.-]{0,127} and
// never the text of a UUID in any of its spellings, so that an id and a name
// cannot be mistaken for each other.
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
		return fault.InvalidField(field, "must match [a-z0-9][a-z0-9_.-]{0,%d}", MaxName-1)
	}
	if _, err := uuid.Parse(name); err == nil {
		return fault.InvalidField(field, "must not be a UUID")
	}
	return nil
}

// CheckDisplayName refuses a display name that is too long, not UTF-8, or
// holds control characters (Invalid, for the given field). Any script is fine,
// and so is none: "" means no display name.
func CheckDisplayName(field, name string) error {
	if !utf8.ValidString(name) {
		return fault.InvalidField(field, "must be valid UTF-8")
	}
	if utf8.RuneCountInString(name) > MaxDisplayName {
		return fault.InvalidField(field, "must have at most %d characters", MaxDisplayName)
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return fault.InvalidField(field, "must not hold control characters")
	}
	return nil
}
