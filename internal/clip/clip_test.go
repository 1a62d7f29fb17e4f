package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/clip"
)

func TestRunes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 0, ""}, {"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"记忆会增长", 2, "记忆…"}, {"记忆", 2, "记忆"}, {"a", 0, "…"},
		{"\xff\xfe\xfd", 2, "\xff\xfe…"},
	} {
		if got := clip.Runes(c.s, c.n); got != c.want {
			t.Errorf("Runes(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"aé", 2, "a"}, {"東京", 4, "東"}, {"東", 2, ""}} {
		if got := clip.Head(c.s, c.n); got != c.want {
			t.Errorf("Head(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestBytesAndHead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s, n := rapid.String().Draw(r, "s"), rapid.IntRange(3, 40).Draw(r, "n")
		for _, got := range []string{clip.Bytes(s, n), clip.Head(s, n)} {
			if len(got) > n || !utf8.ValidString(got) || !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) || len(s) <= n && got != s {
				r.Fatalf("%q of %q in %d bytes", got, s, n)
			}
		}
		if got := clip.Head(s, n); len(s) > n && len(got) < n-3 {
			r.Fatalf("%q of %q is shorter than %d bytes", got, s, n)
		}
	})
}
