package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// The samples of the reference page are built from the contract, so they cannot drift from it.

const sampleID = "019a9c3e-6f1b-7c44-9d2a-3b1f0c5e8a77"

// sampleValues are shown for properties and parameters of these names.
var sampleValues = map[string]any{
	"collection": "research", "agent": "ada", "name": "research", "tenant": "acme", "content": "Ada moved to Lisbon in March.",
	"context": "Where Ada lives.", "query": "where does Ada live", "relation": "related", "revision": 42, "head_revision": 42,
	"note": sampleID, "job": sampleID, "review": sampleID, "api_key": sampleID, "key": "sb_live_…", "prefix": "sb_live_…",
	"policy": "amem", "embedder": "all-MiniLM-L6-v2@384", "score": 0.83, "confidence": 0.95, "importance": 0.5, "took_ms": 0.7,
	"expires_in": 3600, "request_id": sampleID, "category": "Uncategorized", "line": 1, "status": 201, "limit": 50, "ttl_seconds": 600,
	"keyword": "Lisbon", "tag": "travel", "attributes": map[string]any{"project": "move"},
}

// parameterSample is what "Try it" fills in for a path parameter.
func parameterSample(p *openapi3.Parameter) string {
	if v, ok := sampleValues[p.Name]; ok && p.In == openapi3.ParameterInPath {
		return fmt.Sprint(v)
	}
	return ""
}

// bodySample is a body of the operation, "" for one without.
func bodySample(o *operation) string {
	switch {
	case slices.Contains(o.bodyTypes, mediaNDJSON):
		return `{"content": "Ada moved to Lisbon in March."}` + "\n"
	case o.body != nil:
		return indented(requestSample(o.body))
	}
	return ""
}

// curlSample is a request that can be pasted into a shell with SLIPBOX_URL and SLIPBOX_KEY in its
// environment.
func curlSample(o *operation) string {
	path := o.path
	for _, p := range o.doc.Parameters {
		if p.Value.In == openapi3.ParameterInPath {
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", fmt.Sprint(sampleValues[p.Value.Name]))
		}
		if p.Value.In == openapi3.ParameterInQuery && p.Value.Required {
			path += "?" + p.Value.Name + "=" + sampleID
		}
	}
	parts := []string{"curl"}
	if o.method != "GET" {
		parts[0] += " -X " + o.method
	}
	if o.stream && len(o.bodyTypes) == 0 {
		parts[0] += " -N"
	}
	parts[0] += fmt.Sprintf(` "$SLIPBOX_URL%s"`, path)
	if !o.public {
		parts = append(parts, `-H "Authorization: Bearer $SLIPBOX_KEY"`)
	}
	switch {
	case slices.Contains(o.bodyTypes, mediaNDJSON):
		parts = append(parts, `-H "Content-Type: application/x-ndjson"`, `--data-binary @notes.ndjson`)
	case o.body != nil:
		body := bodySample(o)
		parts = append(parts, `-H "Content-Type: application/json"`, "-d '"+strings.NewReplacer("'", `'\''`, "\n", "\n  ").Replace(body)+"'")
	}
	return strings.Join(parts, " \\\n  ")
}

// answerSample is a body of the first status of success that has one in JSON.
func answerSample(o *operation) (status, sample string) {
	for _, status := range []string{"200", "201", "202"} {
		ref := o.doc.Responses.Value(status)
		if ref == nil {
			continue
		}
		if content := ref.Value.Content[mediaJSON]; content != nil {
			return status, indented(sampleOf(content.Schema.Value, "", 0))
		}
	}
	return "", ""
}

// requestSample is the schema's own example, else what is required, else every field.
func requestSample(s *openapi3.Schema) any {
	if len(s.Examples) > 0 {
		return s.Examples[0]
	}
	out := map[string]any{}
	for name, ref := range s.Properties {
		if len(s.Required) == 0 || slices.Contains(s.Required, name) {
			out[name] = sampleOf(ref.Value, name, 1)
		}
	}
	return out
}

// rareFields are absent from the usual answer.
var rareFields = []string{"degraded", "notices", "error", "embedding", "deleted", "explain", "next_cursor", "revoked_at", "truncated"}

// maxSampleDepth keeps recursive schemas short.
const maxSampleDepth = 6

func sampleOf(s *openapi3.Schema, name string, depth int) any {
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return sampleOf(s.AnyOf[0].Value, name, depth)
	case len(s.AllOf) > 0:
		return sampleOf(s.AllOf[0].Value, name, depth) // it has a description of its own, and nothing else
	case s.Type != nil && s.Type.Includes(openapi3.TypeObject):
		return objectSample(s, name, depth)
	case s.Type != nil && s.Type.Includes(openapi3.TypeArray):
		if depth > maxSampleDepth || s.Items == nil {
			return []any{}
		}
		return []any{sampleOf(s.Items.Value, strings.TrimSuffix(name, "s"), depth+1)}
	}
	switch s.Format {
	case "uuid":
		return sampleID
	case "date-time":
		return "2026-03-01T09:30:00Z"
	case "date":
		return "2026-03-01"
	}
	if v, ok := sampleValues[name]; ok {
		return v
	}
	switch {
	case s.Type == nil:
		return "…"
	case s.Default != nil:
		return s.Default
	case s.Type.Includes(openapi3.TypeInteger), s.Type.Includes(openapi3.TypeNumber):
		return 1
	case s.Type.Includes(openapi3.TypeBoolean):
		return false
	}
	return "…"
}

// objectSample has the required fields, and the usual ones at the top or where none is required. An object whose names are free has one.
func objectSample(s *openapi3.Schema, name string, depth int) any {
	if len(s.Properties) == 0 {
		if v, ok := sampleValues[name]; ok {
			return v
		}
		if more := s.AdditionalProperties.Schema; more != nil {
			return map[string]any{"…": sampleOf(more.Value, "", depth+1)}
		}
		return map[string]any{"…": "…"}
	}
	out := map[string]any{}
	if depth > maxSampleDepth {
		return out
	}
	for prop, ref := range s.Properties {
		usual := (depth < 2 || len(s.Required) == 0) && !slices.Contains(rareFields, prop)
		if usual || slices.Contains(s.Required, prop) {
			out[prop] = sampleOf(ref.Value, prop, depth+1)
		}
	}
	return out
}

// indented renders JSON. Fields that identify a thing come first.
func indented(v any) string {
	var buf bytes.Buffer
	writeSample(&buf, v, "")
	return buf.String()
}

func writeSample(buf *bytes.Buffer, v any, indent string) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			buf.WriteString("{}")
			return
		}
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Slice(keys, func(i, j int) bool {
			if a, b := weight(keys[i]), weight(keys[j]); a != b {
				return a < b
			}
			return keys[i] < keys[j]
		})
		buf.WriteString("{")
		for i, k := range keys {
			if i > 0 {
				buf.WriteString(",")
			}
			fmt.Fprintf(buf, "\n%s  %q: ", indent, k)
			writeSample(buf, v[k], indent+"  ")
		}
		buf.WriteString("\n" + indent + "}")
	case []any:
		buf.WriteString("[")
		for i, e := range v {
			if i > 0 {
				buf.WriteString(", ")
			}
			writeSample(buf, e, indent)
		}
		buf.WriteString("]")
	default:
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			text.WriteString(`"…"`) // values come from the contract, which is JSON
		}
		buf.Write(bytes.TrimSpace(text.Bytes()))
	}
}

func weight(key string) int {
	order := []string{"id", "name", "key", "note", "query", "hits", "items", "line", "kind", "role", "content", "state"}
	if i := slices.Index(order, key); i >= 0 {
		return i
	}
	return len(order)
}
