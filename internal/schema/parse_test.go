package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/schema"
)

// bomb returns a schema with n definitions, each of which names the next one twice.
func bomb(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	defs = append(defs, fmt.Sprintf(`"d%d":{"type":"string"}`, n))
	return `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
}

// nestedBomb hides the definitions below those of the first level.
func nestedBomb(n int) string {
	inner := `{"type":"string"}`
	at := "#/$defs/x"
	var refs []string
	for range n {
		refs = append(refs, at)
		at += "/$defs/x"
	}
	for i := n - 1; i >= 0; i-- {
		next := ""
		if i+1 < n {
			next = fmt.Sprintf(`,"anyOf":[{"$ref":%q},{"$ref":%q}]`, refs[i+1], refs[i+1])
		}
		inner = `{"$defs":{"x":` + inner + `}` + next + `}`
	}
	return `{"type":"object","$defs":{"x":` + inner + `}}`
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		`{"type":"object"}`, `{"type":"object","properties":{"id":{"type":"string","pattern":"^a+$"},"list":{"type":"array","items":{"$ref":"#/$defs/x~1y"}}},"$defs":{"x/y":{"enum":[1,2]}}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false}`, bomb(5),
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"$ref":"#/properties/b"}]},"b":{"type":"null"}}}`,
	} {
		doc, compiled, err := schema.Parse(json.RawMessage(good))
		if err != nil || doc == nil || compiled == nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	deep := strings.Repeat(`{"not":`, 40) + `{}` + strings.Repeat(`}`, 40)
	for bad, want := range map[string]string{
		``: "no JSON", `{`: "no JSON", `7`: "JSON schema", `[]`: "JSON schema", `{}`: "JSON schema", `{"type":"string"}`: "JSON schema", `{"type":["object"]}`: "JSON schema",
		`{"type":"object","properties":[]}`:                                                     "properties",
		`{"type":"object","$ref":"http://127.0.0.1:1/schema"}`:                                  "no other document is loaded",
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`:                    "no other document is loaded",
		`{"type":"object","properties":{"a":{"$ref":"other.json#/x"}}}`:                         "no other document is loaded",
		`{"type":"object","properties":{"a":{"$ref":7}}}`:                                       "no other document is loaded",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`:                          "names nothing",
		`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`:                        "recursive",
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`:                                     "no other document",
		`{"type":"object","$schema":"http://127.0.0.1:1/meta"}`:                                 "$schema must be",
		`{"type":"object","$id":"http://127.0.0.1:1/x"}`:                                        "$id is not supported",
		`{"type":"object","properties":{"a":{"$dynamicRef":"#x"}}}`:                             "$dynamicRef",
		`{"type":"object","properties":{"a":{"$anchor":"x"}}}`:                                  "$anchor",
		`{"type":"object","properties":{"a":` + deep + `}}`:                                     "levels deep",
		`{"type":"object","properties":{"a":{"type":"strong"}}}`:                                "is no JSON schema",
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                                  "is no JSON schema",
		`{"type":"object","properties":{"a":{"pattern":"((a{999}){999}){999}"}}}`:               "is no JSON schema",
		`{"type":"object","description":"` + strings.Repeat("x", schema.MaxBytes) + `"}`:        "bytes",
		`{"type":"object","properties":{"a":{"enum":[` + strings.Repeat(`[],`, 2_100) + `1]}}}`: "too large",
		bomb(9):        "too large",
		bomb(60):       "deep",
		nestedBomb(20): "",
	} {
		_, _, err := schema.Parse(json.RawMessage(bad))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("%.100s: %v, want %q", bad, err, want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	_, s, err := schema.Parse(json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	err = s.Validate(map[string]any{"days": "three", "other": 1.0})
	if err == nil {
		t.Fatal("it fits")
	}
	for _, want := range []string{"missing property 'city'", "/days: got string, want integer", "'other' not allowed"} {
		if got := schema.Explain(err); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if got := schema.Explain(json.Unmarshal([]byte("{"), &struct{}{})); got == "" {
		t.Error("another error")
	}
}

// FuzzParse: a text is compiled as a schema or refused, and what is compiled checks values.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"type":"object"}`, bomb(3), bomb(30), nestedBomb(4), `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, `{"type":"object","allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"required":["b"]}}}`} {
		f.Add(s, `{"a":[1,"x",{"b":null}]}`)
	}
	f.Fuzz(func(t *testing.T, raw, value string) {
		_, s, err := schema.Parse(json.RawMessage(raw))
		var v any
		if err != nil || json.Unmarshal([]byte(value), &v) != nil {
			return
		}
		if err := s.Validate(v); err != nil && schema.Explain(err) == "" {
			t.Error("no explanation")
		}
	})
}
