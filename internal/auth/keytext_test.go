package auth

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestKeyTextRoundTrip(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^sb_live_([a-z2-7]{26}|platform)_[a-z2-7]{26}_[a-z2-7]{52}$`)
	for _, owner := range []uuid.UUID{uuid.Nil, uuid.Must(uuid.NewV7())} {
		k := newKeyText("live", owner, uuid.Must(uuid.NewV7()))
		if !form.MatchString(k.text()) {
			t.Errorf("text %q is not of the form %s", k.text(), form)
		}
		got, err := parseKeyText(k.text())
		if err != nil || got != k {
			t.Errorf("parsed %+v, %v; want %+v", got, err, k)
		}
		if strings.Contains(k.prefix(), k.text()[len(k.prefix())+1:]) {
			t.Error("the prefix contains the secret")
		}
	}
}

func TestKeySecretsDiffer(t *testing.T) {
	t.Parallel()
	owner, id := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	a := newKeyText("live", owner, id)
	b := newKeyText("live", owner, id)
	if a.secret == b.secret || a.hash(tenant.Limit{}) == b.hash(tenant.Limit{}) {
		t.Error("two keys share a secret")
	}
}

// The hash of a key covers whose memory it is for, each id in its place.
func TestHashCoversTheLimit(t *testing.T) {
	t.Parallel()
	k := newKeyText("live", uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()))
	seen := map[[32]byte]tenant.Limit{}
	for _, l := range []tenant.Limit{
		{}, {User: "a"}, {Agent: "a"}, {App: "a"}, {Run: "a"}, {User: "a", Agent: "a"}, {User: "aa"}, {User: "a", App: "a"}, {Agent: "a", App: "a"}, {User: "A"},
	} {
		if other, ok := seen[k.hash(l)]; ok {
			t.Errorf("%+v and %+v have one hash", l, other)
		}
		seen[k.hash(l)] = l
	}
}

func TestParseKeyTextRefuses(t *testing.T) {
	t.Parallel()
	k := newKeyText("live", uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()))
	good := k.text()
	parts := strings.Split(good, "_")
	with := func(i int, s string) string {
		p := append([]string(nil), parts...)
		p[i] = s
		return strings.Join(p, "_")
	}
	for name, s := range map[string]string{
		"empty":             "",
		"prefix only":       k.prefix(),
		"other start":       with(0, "sk"),
		"no environment":    with(1, ""),
		"upper environment": with(1, "LIVE"),
		"long environment":  with(1, strings.Repeat("a", 17)),
		"other tenant word": with(2, "platforms"),
		"short tenant":      with(2, parts[2][:25]),
		"zero tenant":       with(2, strings.Repeat("a", 26)),
		"upper tenant":      with(2, strings.ToUpper(parts[2])),
		"zero id":           with(3, strings.Repeat("a", 26)),
		"spare bits in id":  with(3, parts[3][:25]+"b"),
		"spare bits":        with(4, parts[4][:51]+"b"),
		"short secret":      with(4, parts[4][:51]),
		"long secret":       good + "a",
		"more parts":        good + "_a",
		"line break":        with(4, parts[4][:20]+"\n"+parts[4][20:51]),
		"space before":      " " + good,
		"space after":       good + " ",
		"NUL":               good + "\x00",
		"upper secret":      with(4, strings.ToUpper(parts[4])),
		"padding":           with(4, parts[4][:51]+"="),
	} {
		if got, err := parseKeyText(s); err == nil {
			t.Errorf("%s: %q was parsed as %+v", name, s, got)
		}
	}
}

// FuzzParseKeyText checks that a text is parsed only in its canonical spelling.
func FuzzParseKeyText(f *testing.F) {
	k := newKeyText("live", uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()))
	p := newKeyText("test", uuid.Nil, uuid.Must(uuid.NewV7()))
	for _, s := range []string{k.text(), p.text(), k.prefix(), "sb_live___", "sb_live_platform_a_a", strings.ToUpper(k.text()), ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseKeyText(s)
		if err != nil {
			if got != (keyText{}) {
				t.Fatalf("a refused text returned %+v", got)
			}
			return
		}
		if got.text() != s {
			t.Fatalf("%q was parsed as %q", s, got.text())
		}
		if got.id == uuid.Nil || !strings.HasPrefix(s, got.prefix()+"_") {
			t.Fatalf("%q has id %s and prefix %q", s, got.id, got.prefix())
		}
	})
}

// FuzzClaims checks that decoding claims never panics, and that decoded claims
// can be encoded and decoded again.
func FuzzClaims(f *testing.F) {
	f.Add([]byte(`{"iss":"a","aud":"b","sub":"key:0190a5e0-0000-7000-8000-000000000001","tenant":"platform","scopes":["operator"],"iat":1,"nbf":1,"exp":2,"jti":"0190a5e0-0000-7000-8000-000000000001"}`))
	f.Add([]byte(`{"iss":null}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c, again claims
		if err := c.UnmarshalJSON(b); err != nil {
			return
		}
		written := must.Get(c.MarshalJSON())(t)
		if err := again.UnmarshalJSON(written); err != nil {
			t.Fatalf("%s was decoded, but its encoding %s was not: %v", b, written, err)
		}
	})
}
