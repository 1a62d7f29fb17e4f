package lazyregexp

import (
	"strings"
	"testing"
)

// A pattern is compiled at its first use, Check finds one that cannot be parsed, and one that is built while the program
// runs is not kept for it.
func TestPatternsAreCompiledAtFirstUse(t *testing.T) {
	before := patterns
	defer func() { patterns = before }()
	good := MustCompile(`b(?P<vowel>[aeiou])t`)
	if got := good.ReplaceAllString("bat, bit", "${vowel}"); got != "a, i" {
		t.Errorf("%q", got)
	}
	Build(`(`)
	if err := Check(); err != nil {
		t.Error(err)
	}
	bad := MustCompile(`(`) // does not panic yet
	if err := Check(); err == nil || !strings.Contains(err.Error(), "missing closing )") {
		t.Errorf("Check: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a pattern that cannot be parsed is used")
		}
	}()
	bad.MatchString("")
}
