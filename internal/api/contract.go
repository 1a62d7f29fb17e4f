package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
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

// document is the contract, with its operations by id. Schemas are read when they are asked for: a process needs few of them, and
// all of them take a tenth of a second.
type document struct {
	table      *contract.Table
	operations map[string]*operation

	mu      sync.Mutex
	schemas map[string]*openapi3.Schema // components that were read
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
	bodyTypes     []string          // accepted media types; empty: no body is read
	bodyMust      bool
	bodyLimit     int64
	stream        bool // the body or the response is a stream: no request deadline
	bodyStreams   bool // the body is read while it arrives, not buffered

	read func() *checked // once
}

// checked is what the values of a request are checked against.
type checked struct {
	query   map[string]*openapi3.Parameter
	headers []*openapi3.Parameter
	body    *openapi3.Schema // of a JSON body; nil: none, or NDJSON
}

// checks returns what a request is checked against.
func (o *operation) checks() *checked {
	if o.read == nil {
		return &checked{}
	}
	return o.read()
}

// route returns the path in gin's syntax.
func (o *operation) route() string {
	return strings.NewReplacer("{", ":", "}", "").Replace(o.path)
}

// sharedDocument returns the embedded contract. It is read once, for all servers of the
// process, and never changed.
var sharedDocument = sync.OnceValues(loadDocument)

// loadDocument reads the embedded contract.
func loadDocument() (*document, error) { return newDocument(contract.OpenAPITable, "") }

// newDocument returns a contract whose paths are below base. It is embedded, so a test validates it and a start need not.
func newDocument(read func() (*contract.Table, error), base string) (*document, error) {
	table, err := read()
	if err != nil {
		return nil, fmt.Errorf("load the embedded contract: %w", err)
	}
	d := &document{table: table, operations: make(map[string]*operation, len(table.Operations)), schemas: map[string]*openapi3.Schema{}}
	for i := range table.Operations {
		row := &table.Operations[i]
		d.operations[row.ID] = &operation{
			id: row.ID, method: row.Method, path: base + row.Path, public: row.Public, scope: tenant.Permission(row.Scope), platform: row.Platform,
			noIdempotency: row.NoIdempotency, errors: row.Errors, bodyTypes: row.BodyTypes, bodyMust: row.BodyMust,
			bodyLimit: cmp.Or(row.BodyLimit, defaultBodyLimit), stream: row.Streams, bodyStreams: row.BodyStreams,
			read: sync.OnceValue(func() *checked { return d.checksOf(row) }),
		}
	}
	return d, nil
}

// checksOf reads the parameters and the body of an operation.
func (d *document) checksOf(row *contract.Operation) *checked {
	spec, err := d.part(fmt.Appendf(nil, `{%q:{%q:%s}}`, row.Path, strings.ToLower(row.Method), row.Source))
	if err != nil {
		panic(fmt.Errorf("contract: %s: %w", row.ID, err)) // of a program that was built with a damaged file
	}
	op := spec.Paths.Value(row.Path).GetOperation(row.Method)
	c := &checked{query: map[string]*openapi3.Parameter{}}
	for _, p := range op.Parameters {
		switch p.Value.In {
		case openapi3.ParameterInQuery:
			c.query[p.Value.Name] = p.Value
		case openapi3.ParameterInHeader:
			c.headers = append(c.headers, p.Value)
		}
	}
	if op.RequestBody != nil {
		if content := op.RequestBody.Value.Content[mediaJSON]; content != nil {
			c.body = content.Schema.Value
		}
	}
	return c
}

// schema returns a component schema.
func (d *document) schema(name string) (*openapi3.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.schemas[name]; s != nil {
		return s, nil
	}
	if d.table.Schemas[name] == nil {
		return nil, fmt.Errorf("contract: no schema %q", name)
	}
	spec, err := d.part([]byte(`{}`), name)
	if err != nil {
		return nil, fmt.Errorf("contract: schema %s: %w", name, err)
	}
	d.schemas[name] = spec.Components.Schemas[name].Value
	return d.schemas[name], nil
}

// schemaRef begins a reference to a component schema.
const schemaRef = `"#/components/schemas/`

// part reads a document of some paths, of the named schemas, and of those that they refer to.
func (d *document) part(paths []byte, names ...string) (*openapi3.T, error) {
	schemas := map[string]json.RawMessage{}
	rest := slices.Concat(names, refsOf(paths))
	for len(rest) > 0 {
		name := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if _, ok := schemas[name]; !ok {
			schemas[name] = d.table.Schemas[name]
			rest = append(rest, refsOf(schemas[name])...)
		}
	}
	raw, err := json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]string{"title": "", "version": ""}, "paths": json.RawMessage(paths), "components": map[string]any{"schemas": schemas},
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the part
	}
	return openapi3.NewLoader().LoadFromData(raw) //nolint:wrapcheck // as above
}

// refsOf returns the names of the component schemas that a text refers to.
func refsOf(text []byte) (names []string) {
	for {
		_, rest, found := bytes.Cut(text, []byte(schemaRef))
		if !found {
			return names
		}
		end := bytes.IndexByte(rest, '"')
		names, text = append(names, string(rest[:end])), rest[end:]
	}
}
