package memory

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Match is the value of an If-Match header (RFC 9110 §13.1.1): "", "*", or a
// list of entity tags. Comparison is strong, so a weak tag never matches.
type Match string

// Holds tells whether the condition allows a write to what has the tag.
func (m Match) Holds(etag string) bool {
	text := strings.TrimSpace(string(m))
	if text == "" || text == "*" {
		return true
	}
	for t := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(t) == etag {
			return true
		}
	}
	return false
}

// Check returns a Precondition fault unless the condition allows a write to what has the tag.
func (m Match) Check(what, etag string) error {
	if m.Holds(etag) {
		return nil
	}
	return fault.New(fault.Precondition, "the %s has changed since it was read; its entity tag is %s", what, etag)
}
