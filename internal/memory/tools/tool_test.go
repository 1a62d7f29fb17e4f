package tools

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outbound"
)

// Secrets are found in every form in which a service may send them back, and in separate words.
func TestMasker(t *testing.T) {
	t.Parallel()
	const key, odd = "sk-12345678-äß/+&=", `quote"back\slash`
	mask := masker(map[string]string{"key": key, "Authorization": "Bearer abcdefgh1234", "odd": odd, "short": "x"})
	quoted, err := json.Marshal(map[string]string{"key": key, "odd": odd})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		key, "a " + key + " b", string(quoted), "?k=" + url.QueryEscape(key), "/" + url.PathEscape(key), base64.StdEncoding.EncodeToString([]byte(key)),
		base64.RawURLEncoding.EncodeToString([]byte(key)), "Bearer abcdefgh1234", "token: abcdefgh1234", odd,
		"TOKEN: ABCDEFGH1234", hex.EncodeToString([]byte(key)), strings.ToUpper(hex.EncodeToString([]byte(key))),
		base64.StdEncoding.EncodeToString([]byte("u:" + key)), base64.StdEncoding.EncodeToString([]byte("me:" + key)),
		base64.URLEncoding.EncodeToString([]byte("user:" + key + ":more")),
	} {
		got := mask(s)
		for _, leak := range []string{"12345678", "abcdefgh1234", `quote"back`, "slash", base64.StdEncoding.EncodeToString([]byte(key))[:12],
			"ABCDEFGH1234", hex.EncodeToString([]byte("12345678")), "NjfLTEyMzQ1Njc4", "MTIzNDU2Nz", "EyMzQ1Njc4", "xMjM0NTY3O"} {
			if strings.Contains(got, leak) {
				t.Errorf("%q became %q", s, got)
			}
		}
		if !strings.Contains(got, "[secret ") {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := mask("an x in a text, Bearer of news"); got != "an x in a text, Bearer of news" {
		t.Errorf("harmless text became %q", got)
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	spec, secrets := first(), map[string]string{}
	create := Change{
		Description: new("The weather."), URL: new("https://example.com/a"), Headers: map[string]string{"Authorization": "Bearer {{key}}", "X-Token": "literal-token", "Accept": "a/b"},
		Secrets: map[string]*string{"key": new("key-value-1")},
	}
	if err := create.apply(&spec, secrets); err != nil {
		t.Fatal(err)
	}
	if spec.Headers["X-Token"] != "{{X-Token}}" || spec.Headers["Accept"] != "a/b" || strings.Join(spec.Secrets, ",") != "X-Token,key" || secrets["X-Token"] != "literal-token" || spec.Method != first().Method {
		t.Errorf("%+v, %v", spec, secrets)
	}
	sent, err := fill(spec.Headers, secrets)
	if err != nil || sent["Authorization"] != "Bearer key-value-1" || sent["X-Token"] != "literal-token" {
		t.Errorf("%v, %v", sent, err)
	}
	if _, err := fill(spec.Headers, nil); err == nil || strings.Contains(err.Error(), "value-1") {
		t.Errorf("missing secrets: %v", err)
	}
	// What is not changed stays; a secret that no header names goes.
	if err := (&Change{Secrets: map[string]*string{"key": new("key-value-2")}}).apply(&spec, secrets); err != nil || secrets["key"] != "key-value-2" || secrets["X-Token"] == "" {
		t.Errorf("%v, %v", secrets, err)
	}
	if err := (&Change{Headers: map[string]string{"Authorization": "Bearer {{key}}"}}).apply(&spec, secrets); err != nil || len(secrets) != 1 || len(spec.Secrets) != 1 {
		t.Errorf("%v, %v", secrets, err)
	}
	if err := (&Change{URL: new("https://example.com:443/b")}).apply(&spec, secrets); err != nil || len(secrets) != 1 {
		t.Errorf("another path: %v, %v", secrets, err)
	}
	// Another host gets nothing that was entrusted to this one.
	moved, kept := spec, map[string]string{"key": "key-value-2"}
	if err := (&Change{URL: new("https://evil.example/")}).apply(&moved, kept); err == nil || !strings.Contains(err.Error(), "secrets.key") || len(kept) != 0 {
		t.Errorf("another host: %v, %v", kept, err)
	}
	if err := (&Change{URL: new("http://example.com/b")}).apply(&spec, map[string]string{"key": "key-value-2"}); err == nil {
		t.Error("without encryption")
	}
	for name, c := range map[string]Change{
		"description": {Description: new("  ")}, "parameters": {Parameters: json.RawMessage(`{"type":"object","properties":{"request_heartbeat":{}}}`)}, "method": {Method: new("HEAD")},
		"timeout_ms": {TimeoutMS: new(maxTimeout + 1)}, "max_bytes": {MaxBytes: new(0)}, "approval": {Approval: new(memory.ToolApproval("sometimes"))},
		"headers.Host": {Headers: map[string]string{"Host": "evil"}}, "headers.X": {Headers: map[string]string{"X": "a\nb"}}, "secrets.none": {Headers: map[string]string{"X": "{{none}}"}},
		"secrets.a b": {Secrets: map[string]*string{"a b": new("12345678")}}, "secrets.key": {Secrets: map[string]*string{"key": new("short")}},
		"secrets.other": {Secrets: map[string]*string{"other": new("not in a header")}},
	} {
		s, all := spec, map[string]string{"key": "key-value-2"}
		s.URL = "https://example.com/a"
		base := Change{Description: new("x"), URL: new("https://example.com/a"), Headers: map[string]string{"Authorization": "{{key}}"}}
		if err := base.apply(&s, all); err != nil {
			t.Fatal(err)
		}
		if err := c.apply(&s, all); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFunction(t *testing.T) {
	t.Parallel()
	for _, parameters := range []string{`{"type":"object"}`, `{"type":"object","properties":{"n":{"const":12345678901234567890}},"additionalProperties":false}`} {
		f, err := Function(&memory.HTTPTool{Name: "x", Spec: memory.HTTPToolSpec{Description: "d", Parameters: json.RawMessage(parameters)}})
		if err != nil || !strings.Contains(string(f.Parameters), `"request_heartbeat":{"description"`) || strings.Contains(parameters, "const") != strings.Contains(string(f.Parameters), "12345678901234567890") {
			t.Errorf("%s, %v", f.Parameters, err)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	mask := masker(map[string]string{"key": "secret-value"})
	for _, c := range []struct {
		status       int
		media, body  string
		want, failed string
	}{
		{200, "application/json", `{"a":1}`, `{"a":1}`, ""},
		{204, "", "", "", ""},
		{200, "", "plain secret-value", "plain [secret key]", ""},
		{200, "application/json", `{"a":`, "", "broken JSON"},
		{200, "application/problem+json", `nope`, "", "broken JSON"},
		{200, "image/png", "\x89PNG\r\n\xff", "", "no text (image/png)"},
		{200, "text/secret-value", "a\x00b", "", "no text (text/[secret key])"},
		{500, "text/plain", "stack of secret-value", "", "answered 500: stack of [secret key]"},
		{404, "", "", "", "answered 404: (empty)"},
		{503, "", strings.Repeat("é", 1_000), "", strings.Repeat("é", 500) + "…"},
		{302, "", "x", "", "answered 302"},
	} {
		got, err := read(&outbound.Response{Status: c.status, MediaType: c.media, Body: []byte(c.body)}, mask)
		if got != c.want || (err == nil) != (c.failed == "") || err != nil && !strings.Contains(err.Error(), c.failed) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
