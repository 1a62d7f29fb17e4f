package recalled_test

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/text/recalled"
)

// What was recalled is found by its marks in any letter case, also where one is missing.
func TestStrip(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "plain < text": "plain < text", recalled.Mark("x"): "",
		"a <slipbox-memory>b</slipbox-memory> c": "a  c",
		"a <SLIPBOX-Memory>b":                    "a",
		"a <slipbox-memory>b</Slipbox-Memory>c<slipbox-memory>d</slipbox-memory>": "a c",
		"ſlipbox <slipbox-memory": "ſlipbox <slipbox-memory",
	} {
		if got := recalled.Strip(in); got != want {
			t.Errorf("Strip(%q) = %q, want %q", in, got, want)
		}
	}
	if got := recalled.Mark(""); got != "" {
		t.Errorf("Mark of nothing is %q", got)
	}
}
