package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// jsonOperations returns the operations of the contract that have a JSON body.
func jsonOperations(t *testing.T) map[string]*operation {
	t.Helper()
	doc := must.Get(sharedDocument())(t)
	out := map[string]*operation{}
	for id, op := range doc.operations {
		if op.checks().body != nil {
			out[id] = op
		}
	}
	return out
}

// wrongElements are wrong in every list and object, each as text of about n bytes.
func wrongElements(n int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s+",", n/(len(s)+1)) + s }
	return map[string]string{
		"numbers":        `[` + repeat(`1`) + `]`,
		"texts":          `[` + repeat(`""`) + `]`,
		"nulls":          `[` + repeat(`null`) + `]`,
		"lists":          `[` + repeat(`[]`) + `]`,
		"objects":        `[` + repeat(`{"a":{}}`) + `]`,
		"nested lists":   `[` + repeat(strings.Repeat("[", 50)+strings.Repeat("]", 50)) + `]`,
		"unknown fields": `{` + numbered(n) + `}`,
		"one text":       `"` + strings.Repeat("x", n) + `"`,
		"escapes":        `"` + strings.Repeat(`\u0041`, n/6) + `"`,
		"one number":     strings.Repeat("1", n),
		"NUL":            `"` + strings.Repeat("x", n) + `\u0000"`,
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":1`, i)
	}
	return b.String()
}

// A wrong body of any operation is refused, and costs little more memory than itself. Each field of
// an operation is tried with lists, objects and texts beyond their limits that are wrong in every
// element. Operations whose bodies have the same form and limit take turns with the largest. TestHostileRequests
// of cmd/gateway tries larger bodies, and measures the process.
func TestWrongBodiesAreCheap(t *testing.T) { //nolint:paralleltest // measures allocations
	ops := jsonOperations(t)
	handlers := map[string]handler{}
	for id := range ops {
		handlers[id] = noContent
	}
	b := newBench(t, DefaultConfig(), handlers)
	small, part, mebibyte := wrongElements(48<<10), wrongElements(192<<10), wrongElements(1<<20-64<<10)
	tried := map[string]bool{}
	first := func(form string) bool {
		again := tried[form]
		tried[form] = true
		return !again
	}
	for id, op := range ops {
		path := strings.NewReplacer("{", "", "}", "").Replace(op.path)
		credential := "all"
		if b.do(request(op.method, path, strings.NewReader("{}"))).Code == http.StatusForbidden {
			credential = "operator"
		}
		send := func(body string) (status int, allocated int64) {
			var before, after runtime.MemStats
			r := request(op.method, path, strings.NewReader(body), "Authorization", "Bearer "+credential)
			runtime.ReadMemStats(&before)
			w := b.do(r)
			runtime.ReadMemStats(&after)
			return w.Code, int64(after.TotalAlloc - before.TotalAlloc)
		}
		check := func(what, body string, refused bool) {
			status, allocated := send(body)
			if status >= http.StatusInternalServerError || refused && status < http.StatusBadRequest {
				t.Errorf("%s, %s of %d bytes: status %d", id, what, len(body), status)
			}
			if limit := int64(12*len(body) + 4<<20); allocated > limit {
				t.Errorf("%s, %s of %d bytes: status %d, allocated %d MiB", id, what, len(body), status, allocated>>20)
			}
		}
		free := op.checks().body.AdditionalProperties.Has != nil && *op.checks().body.AdditionalProperties.Has
		bodies := small
		if first(fmt.Sprint(op.bodyLimit, free)) {
			bodies = mebibyte
		}
		for what, text := range bodies {
			check(what+" as the body", text, !free || text[0] != '{')
			check(what+" as an unknown field", `{"unknown":`+text+`}`, !free || what == "NUL")
		}
		for name, prop := range op.checks().body.Properties {
			form := *prop.Value
			form.Description, form.Example = "", nil
			if text, err := form.MarshalJSON(); err != nil || !first(string(text)) {
				continue
			}
			for what, text := range part {
				long := what == "one text" && prop.Value.Type.Permits(openapi3.TypeString) && (prop.Value.MaxLength == nil || *prop.Value.MaxLength > uint64(len(text)))
				refused := !isOpen(prop.Value) && !long && what != "escapes" || what == "NUL" || strings.Contains(what, "lists") || what == "numbers" || what == "nulls" || what == "objects"
				check(what+" as "+name, fmt.Sprintf(`{%q:%s}`, name, text), refused)
			}
		}
		if status, _ := send(strings.Repeat(" ", int(op.bodyLimit)+1)); status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: a body over the limit: %d", id, status)
		}
	}
}

// isOpen reports whether a schema accepts anything, or objects with any fields.
func isOpen(s *openapi3.Schema) bool {
	return len(s.AllOf) == 0 && len(s.Properties) == 0 && s.Items == nil &&
		(s.Type == nil || s.Type.Permits(openapi3.TypeObject))
}

// Bodies that clients send have far fewer values than a body may have.
func TestOrdinaryBodiesMayHaveTheirValues(t *testing.T) {
	t.Parallel()
	ops := jsonOperations(t)
	for what, tc := range map[string]struct {
		id, head, part, tail string
		size                 int
	}{
		"exchanges": {"importBank", `{"name":"Ann","history":{"2023-05-01":[`, `{"query":"Hello there, how was the museum?","response":"Lovely, thank you for asking!"}`, `]}}`, 16 << 20},
		"tools":     {"createChatCompletion", `{"messages":[{"role":"user","content":"a"}],"tools":[`, `{"type":"function","function":{"name":"look_up","parameters":{"type":"object","properties":{"place":{"type":"string"},"unit":{"type":"string","enum":["c","f"]}},"required":["place"]}}}`, `]}`, 512 << 10},
		"text":      {"createNote", `{"content":"`, `aaaaaaaa`, `"}`, memory.MaxContentBytes},
	} {
		n := tc.size / len(tc.part)
		body := tc.head + strings.TrimSuffix(strings.Repeat(tc.part+",", n), ",") + tc.tail
		if what == "text" {
			body = tc.head + strings.Repeat(tc.part, n) + tc.tail
		}
		if _, err := checkBody(t.Context(), ops[tc.id].checks().body, []byte(body)); err != nil {
			t.Errorf("%s in %d bytes: %v", what, len(body), err)
		}
	}
}

// The walk over pieces accepts what the validator accepts, and names a field that the validator
// names, with its reason.
func TestPiecesAreValidatedAsAWhole(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	accepted, refused := 0, 0
	for id, op := range jsonOperations(t) {
		for range 300 {
			value := randomValue(rng, op.checks().body, 0)
			text := must.Get(json.MarshalIndent(value, "", [...]string{"", " "}[rng.IntN(2)]))(t)
			parsed, err := parseJSON(text)
			if err == nil {
				err = checkSchema(op.checks().body, parsed, 0, "")
			}
			if err == nil {
				accepted++
			} else {
				refused++
			}
			for _, size := range []int{0, 40} {
				_, got := checkPieces(t.Context(), op.checks().body, text, size)
				if fault.CodeOf(got) != fault.CodeOf(err) {
					t.Fatalf("%s: %s\nwhole: %v\nin pieces of %d: %v", id, text, err, size, got)
				}
				all, _ := errors.AsType[*fault.Error](err)
				one, _ := errors.AsType[*fault.Error](got)
				if all != nil && len(all.Fields) <= maxProblemFields && !slices.Contains(all.Fields, one.Fields[0]) {
					t.Fatalf("%s: %s\nwhole: %v\nin pieces of %d: %v", id, text, all.Fields, size, one.Fields)
				}
			}
		}
	}
	if accepted < 500 || refused < 500 {
		t.Errorf("%d accepted, %d refused: the test shows too little", accepted, refused)
	}
}

// randomValue returns a value that mostly matches a schema.
func randomValue(rng *rand.Rand, s *openapi3.Schema, depth int) any {
	if rng.IntN(60) == 0 {
		return [...]any{nil, true, 1.5, "x\"\\ü", []any{}, map[string]any{}, []any{1, "a"}, map[string]any{"é,": 1}}[rng.IntN(8)]
	}
	for _, part := range s.AllOf {
		return randomValue(rng, part.Value, depth)
	}
	if len(s.Enum) > 0 {
		return s.Enum[rng.IntN(len(s.Enum))]
	}
	types := s.Type.Slice()
	if len(types) == 0 {
		return [...]any{1, "a", []any{"b", 2}}[rng.IntN(3)]
	}
	switch types[rng.IntN(len(types))] {
	case openapi3.TypeObject:
		out := map[string]any{}
		for name, prop := range s.Properties {
			if depth < 5 && (rng.IntN(3) == 0 || slices.Contains(s.Required, name) && rng.IntN(30) > 0) {
				out[name] = randomValue(rng, prop.Value, depth+1)
			}
		}
		if more := s.AdditionalProperties.Schema; more != nil {
			for i := range rng.IntN(40) {
				out[fmt.Sprint("n", i)] = randomValue(rng, more.Value, depth+1)
			}
		} else if rng.IntN(20) == 0 || len(s.Properties) == 0 {
			out["unknown"] = map[string]any{"b": []any{1, 2, "]"}}
		}
		return out
	case openapi3.TypeArray:
		out := []any{}
		for range rng.IntN(4) + int(s.MinItems) {
			out = append(out, randomValue(rng, s.Items.Value, depth+1))
		}
		if s.MaxItems != nil && *s.MaxItems < 200 && len(out) > 0 && rng.IntN(30) == 0 && depth < 3 {
			for range *s.MaxItems {
				out = append(out, out[0])
			}
		}
		return out
	case openapi3.TypeString:
		if s.Format == "uuid" {
			return "01a1fdda-ccd6-713d-97db-eda78326c93a"
		}
		return "2026-01-01"
	case openapi3.TypeBoolean:
		return true
	case openapi3.TypeNull:
		return nil
	}
	return 1
}

// Large texts have the refusals of small ones for what is wrong with the JSON itself.
func TestLargeTextsAreRefusedAsSmallOnes(t *testing.T) {
	t.Parallel()
	op := jsonOperations(t)["createChatCompletion"]
	for _, text := range []string{
		`{"messages":[{"role":"user"}]`, `{"messages":[{"role":"user"}]} {}`, `{"messages":[{"a":1,"a":2}]}`, `{"messages":[{"a":1,"\u0061":2}]}`,
		`{"messages":[{}],"x":{"y":[{"b":1},{"b":1,"c":{"b":2},"b":3}]}}`, `{"messages":[{"a":"\u0000"}]}`, `{"messages":[{"a\u0000":1}]}`,
		`{"messages":[{}],"x\u0000":1}`, `{"messages":[{}],"x":["\u0000"]}`, `{"messages":[{"a":"\ud800"}]}`, "{\"messages\":[{\"a\":\"\xff\"}]}",
		`{"messages":[{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}]}`, `{"messages":[{"a":01}]}`, `[]`, `"x"`, `null`, ``, `{`, `{"a":}`,
	} {
		_, small := checkBody(t.Context(), op.checks().body, []byte(text))
		_, large := checkPieces(t.Context(), op.checks().body, []byte(text), 0)
		_, padded := checkBody(t.Context(), op.checks().body, []byte(text+strings.Repeat(" ", maxFullReport)))
		if small == nil || fault.CodeOf(small) != fault.CodeOf(large) || fault.CodeOf(small) != fault.CodeOf(padded) {
			t.Errorf("%.80s: small %v, in pieces %v, padded %v", text, small, large, padded)
		}
	}
	for _, text := range []string{`{"messages":[{"a":1,"b":{"a":1}}],"b":[{"a":1},{"a":2}]}`, " { \"messages\" : [ { } ] , \"a\":\"a\\\":\" }\n"} {
		if _, err := checkPieces(t.Context(), op.checks().body, []byte(text), 0); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Validation ends with the request's time.
func TestValidationEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	op := jsonOperations(t)["createChatCompletion"]
	body := `{"messages":[` + strings.Repeat(`{"role":"user"},`, 1500) + `{"role":"user"}]}`
	ctx, cancel := context.WithCancel(t.Context())
	must.Get(checkBody(ctx, op.checks().body, []byte(body)))(t)
	cancel()
	if _, err := checkBody(ctx, op.checks().body, []byte(body)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The walk knows all keywords of the contract that apply to objects and arrays.
func TestWalkKnowsTheContractsKeywords(t *testing.T) {
	t.Parallel()
	seen := map[*openapi3.Schema]bool{}
	var look func(name string, s *openapi3.Schema)
	look = func(name string, s *openapi3.Schema) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		if len(s.PrefixItems)+len(s.PatternProperties)+len(s.DependentRequired)+len(s.DependentSchemas) > 0 || s.Const != nil ||
			s.Contains != nil || s.PropertyNames != nil || s.If != nil || s.Discriminator != nil {
			t.Errorf("%s has a keyword that the walk does not check", name)
		}
		for key, p := range s.Properties {
			look(join(name, key), p.Value)
		}
		for _, p := range slices.Concat(s.AllOf, openapi3.SchemaRefs{s.Items, s.AdditionalProperties.Schema}) {
			if p != nil {
				look(name, p.Value)
			}
		}
	}
	for id, op := range jsonOperations(t) {
		look(id, op.checks().body)
	}
}

// Many short notes fit into the budget of a bulk.
func TestBulkOfShortNotes(t *testing.T) {
	t.Parallel()
	notes := strings.Repeat(`{"content":"a","tags":["b","c","d"],"keywords":["e","f"],"attributes":{"g":1,"h":[2,3]},"kind":"fact"}`+"\n", memory.MaxBulkLines)
	scan, err := scanJSON(t.Context(), []byte(notes[:strings.IndexByte(notes, '\n')]), 0)
	if cost := scan.cost * memory.MaxBulkLines; err != nil || cost > bulkBudget([]byte(notes), memory.MaxBulkLines) {
		t.Errorf("short notes cost %d: %v", cost, err)
	}
}

// A body may have as many values as its size allows, where an object counts as three: decoded, each takes many times its text.
func TestTooManyValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value   string
		fit, no int
	}{"numbers": {"1", 149_000, 151_000}, "objects": {"{}", 46_000, 47_500}} {
		list := func(n int) []byte { return []byte("[" + strings.Repeat(c.value+",", n-1) + c.value + "]") }
		if _, err := scanJSON(t.Context(), list(c.fit), 0); err != nil {
			t.Errorf("%d %s: %v", c.fit, name, err)
		}
		if _, err := scanJSON(t.Context(), list(c.no), 0); !fault.Is(err, fault.Invalid) {
			t.Errorf("%d %s: %v", c.no, name, err)
		}
	}
}
