package secret

import (
	"slices"
	"strings"
	"testing"
)

// key returns a text of a length that looks random. Tests have no keys in one piece, so that nobody takes them for real ones.
func key(prefix string, n int) string {
	const letters = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW"
	return prefix + strings.Repeat(letters, n/len(letters)+1)[:n]
}

// C262: what is a secret, and what only looks like one.
func TestFind(t *testing.T) {
	t.Parallel()
	aws := "AKIA" + "Z7QX3MNP5RSTUVWY"
	id, random := strings.Repeat("a2b", 9)[:26], strings.Repeat("7qx", 18)[:52]
	for text, want := range map[string]string{
		"My key is " + aws + ".":                                   "[redacted: AWS access token]",
		"use " + key("ghp_", 36) + ", please":                      "[redacted: GitHub personal access token]",
		"my API key is " + key("sk-", 24):                          "[redacted: API key]",
		"my API key is 43fd93a3-f235-4ebc-b7fe-3b1b11f12270":       "[redacted: key]",
		"SLIPBOX_KEY=sb_live_" + id + "_" + id + "_" + random:      "SLIPBOX_KEY=[redacted: slipbox key]",
		`{"api_key": "sb_dev_platform_` + id + "_" + random + `"}`: `"[redacted: slipbox key]"`,
		"my password is hunter2, remember it":                      "[redacted: password]",
		"My password is swordfish.":                                "[redacted: password]",
		"db_password=Tr0ub4dor":                                    "[redacted: password]",
		"我的密码是abc12345，别忘了":                                        "[redacted: password]",
		"the PIN is 4821":                                          "[redacted: PIN]",
		"card 4111 1111 1111 1111 please":                          "[redacted: card number]",
		"card 4111-1111-1111-1111, cvv 123":                        "[redacted: card code]",
		"378282246310005":                                          "[redacted: card number]",
		"postgres://bob:s3cretpw@db/x":                             "[redacted: password in a URL]",
		"-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\nAB12":       "[redacted: private key]",
	} {
		got, kinds := Redact(text)
		if !strings.Contains(got, want) || len(kinds) == 0 {
			t.Errorf("%q: %q %v, want %s", text, got, kinds, want)
		}
		if again, more := Redact(got); again != got || more != nil {
			t.Errorf("%q is redacted again: %q", got, again)
		}
	}
	for _, text := range []string{
		"", "The weather is nice today.", "My password is too long.", "The password was changed.", "I forgot my password!", "password: required",
		"The password is 8-character long", "The key is to listen.", "We met on 2023-05-08 at 19:30:00.", "Call me at +49 170 1234567.",
		"order 4111 1111 1111 1112", "0.4111111111111111", "see https://example.com/a/1234567890abcdef", "我忘了密码。", "密码：必填",
		"id 0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a11", "turkey and monkey are no keys: fine", "the pin is stuck", "[redacted: password]",
		"Key: 43fd93a3-f235-4ebc-b7fe-3b1b11f12270. Value: 9a6f8a53-2d4a-48c1-9582-cc843bb64722.",
	} {
		if found := Find(text); len(found) > 0 {
			t.Errorf("%q: %v", text, found)
		}
	}
}

// A secret in two messages.
func TestHalves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b, kind string
		first      int
	}{
		{"it is AKIAZ7QX3M", "NP5RSTUVWY ok", "AWS access token", 10},
		{"4111 1111", "1111 1111", Card, 9},
		{"My password is", "hunter2", Password, 0},
		{"See you at", "7:30 then", "", 0},
	} {
		if first, second, kind := Halves(c.a, c.b); kind != c.kind || first != c.first || kind != "" && second == 0 {
			t.Errorf("%q %q: %d %d %q", c.a, c.b, first, second, kind)
		}
	}
	if MayContinue("hello there") || !MayContinue(" 1111 1111") {
		t.Error("what may continue a secret")
	}
}

// Any text is redacted in one pass: in order, within its bounds, and without anything left.
func FuzzRedact(f *testing.F) {
	f.Add("my password is hunter2 and 4111 1111 1111 1111")
	f.Add(strings.Repeat("key: abcD1234567890xyz ", 20))
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for _, x := range Find(s) {
			if x.Start < at || x.End <= x.Start || x.End > len(s) || x.Kind == "" {
				t.Fatalf("%q: %v", s, x)
			}
			at = x.End
		}
	})
}

func TestReport(t *testing.T) {
	t.Parallel()
	Note(t.Context(), Card) // without a report
	ctx, r := WithReport(t.Context())
	Note(ctx, Password, Card)
	Note(ctx, Card)
	if got := r.Kinds(); !slices.Equal(got, []string{Card, Password}) {
		t.Errorf("%v", got)
	}
}

// C261: without its marks a text has neither them nor the names of kinds; an open bracket is no mark.
func TestUnmark(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "No mark [here].": "No mark [here].", Mark(Key) + Mark(Card) + "x": "x", "a " + Mark(PIN) + " b": "a  b", "open " + markStart + "x": "open " + markStart + "x",
	} {
		if got := Unmark(text); got != want {
			t.Errorf("%q is %q without marks, want %q", text, got, want)
		}
	}
}
