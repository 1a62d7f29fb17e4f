package wording_test

import (
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/wording"
)

func TestOr(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := wording.Or(list...); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 rows", 1: "1 row", 2: "2 rows", -1: "-1 rows"} {
		if got := wording.Count(n, "row", "rows"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	valid := []string{"query", "token_budget", "k", "min_score"}
	for name, want := range map[string]string{
		"qeury": "query", "Query": "query", "tokenBudget": "token_budget", "token-budgets": "token_budget", "minscore": "min_score",
		"colour": "", "q": "", "": "", strings.Repeat("query", 20): "",
	} {
		if got := wording.Nearest(name, valid); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
