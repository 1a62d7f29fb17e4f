// Package contracttest reads the contracts, as they are written, for tests: which operations there are, and whether an answer is one
// that they document. It knows nothing of the code that serves them.
package contracttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	contract "github.com/slipboxhq/slipbox/api"
)

// An Operation is one of the contracts: the API's own, and that of the routes for mem0's clients.
type Operation struct {
	ID, Method, Path string
	*openapi3.Operation

	parts []string // of the path
}

// Streams reports whether the answer may be a stream of events.
func (o *Operation) Streams() bool {
	ok := o.Responses.Status(http.StatusOK)
	return ok != nil && ok.Value.Content["text/event-stream"] != nil
}

// Media returns the media types of the body; none without one.
func (o *Operation) Media() []string {
	if o.RequestBody == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(o.RequestBody.Value.Content))
}

// Body returns the schema of a body in JSON; nil without one.
func (o *Operation) Body() *openapi3.Schema {
	if !slices.Contains(o.Media(), "application/json") {
		return nil
	}
	return o.RequestBody.Value.Content["application/json"].Schema.Value
}

// Query returns the schemas of the parameters of the query by their names, and the names of those that are required.
func (o *Operation) Query() (schemas map[string]*openapi3.Schema, required []string) {
	schemas = map[string]*openapi3.Schema{}
	for _, p := range o.Parameters {
		if p.Value.In != openapi3.ParameterInQuery {
			continue
		}
		schemas[p.Value.Name] = p.Value.Schema.Value
		if p.Value.Required {
			required = append(required, p.Value.Name)
		}
	}
	return schemas, required
}

// contracts are both documents by the base of their paths, "" for the API's own, and the operations of both by their ids.
type contracts struct {
	documents  map[string]*openapi3.T
	operations []*Operation
}

var readContracts = sync.OnceValues(func() (*contracts, error) {
	c := &contracts{documents: map[string]*openapi3.T{}}
	for base, raw := range map[string][]byte{"": contract.OpenAPI(), "/mem0": contract.Mem0()} {
		spec, err := openapi3.NewLoader().LoadFromData(raw)
		if err != nil {
			return nil, fmt.Errorf("contract %q: %w", base, err)
		}
		c.documents[base] = spec
		for path, item := range spec.Paths.Map() {
			for method, op := range item.Operations() {
				c.operations = append(c.operations, &Operation{op.OperationID, method, base + path, op, strings.Split(base+path, "/")})
			}
		}
	}
	slices.SortFunc(c.operations, func(a, b *Operation) int { return strings.Compare(a.ID, b.ID) })
	return c, nil
})

func read(tb testing.TB) *contracts {
	tb.Helper()
	c, err := readContracts()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Documents returns the contracts by the base of their paths: "" for the API's own.
func Documents(tb testing.TB) map[string]*openapi3.T {
	tb.Helper()
	return read(tb).documents
}

// Schema returns a schema of the API by its name.
func Schema(tb testing.TB, name string) *openapi3.Schema {
	tb.Helper()
	s := read(tb).documents[""].Components.Schemas[name]
	if s == nil {
		tb.Fatalf("no schema %s", name)
	}
	return s.Value
}

// Operations returns the operations of both contracts, by their ids.
func Operations(tb testing.TB) []*Operation {
	tb.Helper()
	return read(tb).operations
}

// OperationNamed returns the operation with an id.
func OperationNamed(tb testing.TB, id string) *Operation {
	tb.Helper()
	all := Operations(tb)
	i := slices.IndexFunc(all, func(o *Operation) bool { return o.ID == id })
	if i < 0 {
		tb.Fatalf("no operation %s", id)
	}
	return all[i]
}

// OperationOf returns the operation of a request: of those whose paths fit, that with the fewest parameters; nil if there is none.
func OperationOf(tb testing.TB, method, path string) (found *Operation) {
	tb.Helper()
	parts := strings.Split(path, "/")
	for _, op := range Operations(tb) {
		fits := op.Method == method && slices.EqualFunc(parts, op.parts, func(got, want string) bool {
			return got == want || got != "" && strings.HasPrefix(want, "{")
		})
		if fits && (found == nil || strings.Count(op.Path, "{") < strings.Count(found.Path, "{")) {
			found = op
		}
	}
	return found
}

// Validate checks a value against a schema, with the formats that the contract uses, and reports all errors.
func Validate(schema *openapi3.Schema, value any) error {
	return schema.VisitJSON(value, openapi3.MultiErrors(), openapi3.EnableFormatValidation(),
		openapi3.WithStringFormatValidator("uuid", openapi3.NewRegexpFormatValidator("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")))
}

// Conforms checks an answer: its status is documented, it has the headers of the contract, and its body fits the schema.
func Conforms(t *testing.T, method, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code == http.StatusInternalServerError { // the other 5xx are a model's, or temporary
		t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	op := OperationOf(t, method, path)
	if op == nil || strings.HasPrefix(op.Path, "/mem0/") { // whose errors have a form of their own
		return
	}
	documented := op.Responses.Status(w.Code)
	if documented == nil {
		t.Errorf("%s answers %d, which is not documented: %s", op.ID, w.Code, w.Body)
		return
	}
	for name := range documented.Value.Headers {
		if name == "Slipbox-Revision" && w.Header().Get(name) == "" && op.ID != "bulkNotes" && !strings.HasSuffix(op.ID, "Review") {
			t.Errorf("%s: no header %s", op.ID, name)
		}
	}
	media, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	if w.Body.Len() == 0 {
		if documented.Value.Content["application/json"] != nil || documented.Value.Content["application/problem+json"] != nil {
			t.Errorf("%s answers %d without a body", op.ID, w.Code)
		}
		return
	}
	content := documented.Value.Content[media]
	if content == nil {
		t.Errorf("%s answers %d with %q", op.ID, w.Code, media)
		return
	}
	if !strings.HasSuffix(media, "json") || media == "application/x-ndjson" {
		return
	}
	var value any
	if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil {
		t.Errorf("%s: %v: %s", op.ID, err, w.Body)
		return
	}
	if err := Validate(content.Schema.Value, value); err != nil {
		t.Errorf("%s: the answer breaks its schema: %v\n%s", op.ID, err, w.Body)
	}
	if op.Extensions["x-errors"] == "openai" {
		return // an endpoint's answer passes unchanged, with its nulls
	}
	if path := findNull(value, ""); path != "" && !strings.Contains(path, "attributes") {
		t.Errorf("%s: %s is null: %s", op.ID, path, w.Body)
	}
}

// findNull returns the path of the first null: absent fields are absent, never null.
func findNull(v any, path string) string {
	switch v := v.(type) {
	case nil:
		return path
	case map[string]any:
		for k, e := range v {
			if p := findNull(e, path+"."+k); p != "" {
				return p
			}
		}
	case []any:
		for i, e := range v {
			if p := findNull(e, path+"."+strconv.Itoa(i)); p != "" {
				return p
			}
		}
	}
	return ""
}
