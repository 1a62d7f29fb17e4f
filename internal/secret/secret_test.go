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
		"card 4111.1111.1111.1111.":                                "[redacted: card number]",
		"card 4111·1111·1111·1111":                                 "[redacted: card number]",
		"card ４１１１．１１１１．１１１１．１１１１":                                 "[redacted: card number]",
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
		"order 4111 1111 1111 1112", "build 12.4111.1111.1111.1111", "v4111.1111.1111.1111.2", "0.4111111111111111", "see https://example.com/a/1234567890abcdef", "我忘了密码。", "密码：必填",
		"id 0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a11", "turkey and monkey are no keys: fine", "the pin is stuck", "[redacted: password]",
		"Key: 43fd93a3-f235-4ebc-b7fe-3b1b11f12270. Value: 9a6f8a53-2d4a-48c1-9582-cc843bb64722.",
	} {
		if found := Find(text); len(found) > 0 {
			t.Errorf("%q: %v", text, found)
		}
	}
}

// The ids of keys of AWS and the numbers of accounts are told by their form and check digits; nothing that is like them is taken.
func TestFindsFormsWithChecks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The key id is AKIA" + "IOSFODNN7EXAMPLE.":                  "The key id is [redacted: AWS access token].",
		"ASIA" + "AAAABBBBCCCC1111":                                 "[redacted: AWS access token]",
		"我的 key 是AKIA" + "1234567890ABCDEF，":                        "我的 key 是[redacted: AWS access token]，",
		"My IBAN is DE89 3704 0044 0532 0130 00, thanks":            "My IBAN is [redacted: IBAN], thanks",
		"IBAN:GB29NWBK60161331926819":                               "IBAN:[redacted: IBAN]",
		"FR14 2004 1010 0505 0001 3M02 606 ist es":                  "[redacted: IBAN] ist es",
		"BE68 5390 0754 7034 PAID":                                  "[redacted: IBAN] PAID",
		"我的账号是NL91ABNA0417164300。":                                  "我的账号是[redacted: IBAN]。",
		"NO93-8601-1117-947 or CH93 0076 2011 6238 5295 7 now":      "[redacted: IBAN] or [redacted: IBAN] now",
		"MT84MALT011000012345MTLCAST001S":                           "[redacted: IBAN]",
		"カード番号は４１１１１１１１１１１１１１１１です。":                                 "カード番号は[redacted: card number]です。",
		"بطاقتي ٤١١١ ١١١١ ١١١١ ١١١١ شكرا":                           "بطاقتي [redacted: card number] شكرا",
		"मेरा कार्ड ४१११-११११-११११-११११ है":                         "मेरा कार्ड [redacted: card number] है",
		"Ma carte : 4111\u00a01111\u00a01111\u00a01111 é":           "Ma carte : [redacted: card number] é",
		"Karte 4111\u20111111\u20111111\u20111111":                  "Karte [redacted: card number]",
		"IBAN DE89\u202f3704\u202f0044\u202f0532\u202f0130\u202f00": "IBAN [redacted: IBAN]",
	} {
		if got, _ := Redact(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"Order DE89370400440532013001 was shipped.", "DE88 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130", "XDE89370400440532013000",
		"DE893704004405320130009", "US89370400440532013000", "Track JD014600003828394829 at DHL.", "1Z999AA10123456784 from UPS",
		"RR123456785DE", "LX123456789NL arrives", "VIN WVWZZZ1JZXW000001", "GB123456789 is our VAT number", "DE136695976 is the VAT id of us",
		"ISBN 978-3-16-148410-0", "Flight LH1234 to FRA", "Room BE12 on floor 3", "AT61 is a road", "FR50 starts at 10:00", "GB20 0000 visitors came",
		"Invoice SE-2026-0001234567890123", "Ticket PL20260301123456789012345678", "IE11 2233 4455 6677 8899 00", "CH10 20 30 40 50 60 70 80 90 10 11",
		"٤١١١١١١١١١١١١١١٢", "電話は０３−１２３４−５６７８です", "2\u00a0345\u00a0678\u00a0901\u00a0234\u00a0567 €", "𝟜𝟙𝟙", "é 4111",
		"ASIA is a continent; AKIA a car.", "AKIANARU", "AKIA12345678", "akiaiosfodnn7example", "ASIAN FOOD FESTIVAL 2026 IN BERLIN", "Serial NO93860111179",
		"SAP order 4500012345, item 00010", "part number MK19-AA-2233-XK20", "commit DE8937f4b0c2a1", "Wi-Fi channel 36, BSSID 00:1A:2B:3C:4D:5E",
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
