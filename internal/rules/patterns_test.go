package rules

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// Every pattern of this package, and of the policies that it answers for, can be parsed.
func TestPatternsCanBeParsed(t *testing.T) {
	t.Parallel()
	if err := lazyregexp.Check(); err != nil {
		t.Error(err)
	}
}
