package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	contract "github.com/slipboxhq/slipbox/api"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// defaultBodyLimit is the maximum size of request bodies in bytes, unless the contract sets another
// one for an operation.
const defaultBodyLimit = 1 << 20

// maxBufferedBody is the largest body, in bytes, that the contract admits and that is read into memory.
const maxBufferedBody = 32 << 20

// document is the contract, with its operations by id.
type document struct {
	raw        []byte
	spec       *openapi3.T
	operations map[string]*operation
}

// operation holds what the middleware needs from one operation of the contract.
type operation struct {
	id            string
	method        string
	path          string            // as in the document: /v1/collections/{collection}
	public        bool              // no credential is required
	scope         tenant.Permission // "": any credential
	platform      bool              // platform keys are accepted besides tenants' keys
	noIdempotency bool              // refuses Idempotency-Key
	open          bool              // ignores parameters that it does not know
	errors        string            // the form of errors; "": problem documents
	query         map[string]*openapi3.Parameter
	headers       []*openapi3.Parameter
	body          *openapi3.Schema // of a JSON body; nil: none, or NDJSON
	bodyTypes     []string         // accepted media types; empty: no body is read
	bodyMust      bool
	bodyLimit     int64
	stream        bool // the body or the response is a stream: no request deadline
	bodyStreams   bool // the body is read while it arrives, not buffered
	doc           *openapi3.Operation
}

// route returns the path in gin's syntax.
func (o *operation) route() string {
	return strings.NewReplacer("{", ":", "}", "").Replace(o.path)
}

// sharedDocument returns the embedded contract. It is read once, for all servers of the
// process, and never changed.
var sharedDocument = sync.OnceValues(loadDocument)

// Prepare reads the embedded contract, which [New] waits for. A process that calls it at its start, on another processor, serves
// sooner.
func Prepare() { _, _ = sharedDocument() } // New returns the error

// loadDocument reads the embedded contract.
func loadDocument() (*document, error) { return newDocument(contract.OpenAPI(), "") }

// newDocument reads a contract whose paths are below base. It is embedded, so a test validates it and a start need not.
func newDocument(raw []byte, base string) (*document, error) {
	loader := openapi3.NewLoader()
	spec, err := loader.LoadFromData(raw)
	if err != nil {
		return nil, fmt.Errorf("load the embedded contract: %w", err)
	}
	d := &document{raw: raw, spec: spec, operations: map[string]*operation{}}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			o, err := newOperation(method, base+path, op)
			if err != nil {
				return nil, err
			}
			if d.operations[o.id] != nil {
				return nil, fmt.Errorf("contract: operationId %q is used twice", o.id)
			}
			d.operations[o.id] = o
		}
	}
	return d, nil
}

func newOperation(method, path string, op *openapi3.Operation) (*operation, error) {
	if op.OperationID == "" {
		return nil, fmt.Errorf("contract: %s %s has no operationId", method, path)
	}
	o := &operation{
		id: op.OperationID, method: method, path: path, doc: op,
		public:    op.Security != nil && len(*op.Security) == 0,
		query:     map[string]*openapi3.Parameter{},
		bodyLimit: defaultBodyLimit,
	}
	o.scope = tenant.Permission(extString(op, "x-scope"))
	o.platform, _ = op.Extensions["x-platform"].(bool)
	o.noIdempotency = extString(op, "x-idempotency") == "refused"
	o.errors = extString(op, "x-errors")
	if v, ok := op.Extensions["x-body-limit"]; ok {
		f, err := extNumber(v)
		if err != nil {
			return nil, fmt.Errorf("contract: %s: x-body-limit: %w", o.id, err)
		}
		o.bodyLimit = int64(f)
	}
	if v, ok := op.Extensions["x-body-stream"].(bool); ok {
		o.stream, o.bodyStreams = v, v
	}
	if v, ok := op.Extensions["x-answer-stream"].(bool); ok {
		o.stream = v
	}
	if ok := op.Responses.Status(http.StatusOK); ok != nil && ok.Value.Content["text/event-stream"] != nil {
		o.stream = true
	}
	for _, p := range op.Parameters {
		switch p.Value.In {
		case openapi3.ParameterInQuery:
			o.query[p.Value.Name] = p.Value
		case openapi3.ParameterInHeader:
			o.headers = append(o.headers, p.Value)
		}
	}
	if op.RequestBody != nil {
		o.bodyMust = op.RequestBody.Value.Required
		for mt, content := range op.RequestBody.Value.Content {
			o.bodyTypes = append(o.bodyTypes, mt)
			if mt == mediaJSON {
				o.body = content.Schema.Value
			}
		}
		sort.Strings(o.bodyTypes)
	}
	return o, nil
}

// schema returns a component schema.
func (d *document) schema(name string) (*openapi3.Schema, error) {
	ref := d.spec.Components.Schemas[name]
	if ref == nil || ref.Value == nil {
		return nil, fmt.Errorf("contract: no schema %q", name)
	}
	return ref.Value, nil
}

func extString(op *openapi3.Operation, name string) string {
	s, _ := op.Extensions[name].(string)
	return s
}

func extNumber(v any) (float64, error) {
	switch n := v.(type) {
	case float64:
		return n, nil
	case int:
		return float64(n), nil
	case int64:
		return float64(n), nil
	case uint64:
		return float64(n), nil
	case json.Number:
		return n.Float64()
	}
	return 0, fmt.Errorf("%T is not a number", v)
}
