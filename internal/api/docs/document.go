package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaSSE    = "text/event-stream"
)

// document is the contract, with its operations by id.
type document struct {
	raw        []byte
	spec       *openapi3.T
	operations map[string]*operation
}

// operation is what the page shows of an operation. It is read again here, because internal/api
// cannot be built before the page is written.
type operation struct {
	id        string
	method    string
	path      string           // as in the document: /v1/collections/{collection}
	scope     string           // "": any credential
	public    bool             // no credential is required
	stream    bool             // the body or the answer is a stream
	body      *openapi3.Schema // of a JSON body; nil: none, or NDJSON
	bodyTypes []string         // accepted media types in order
	doc       *openapi3.Operation
}

func loadDocument(raw []byte) (*document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, fmt.Errorf("load the contract: %w", err)
	}
	d := &document{raw: raw, spec: spec, operations: map[string]*operation{}}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			d.operations[op.OperationID] = newOperation(method, path, op)
		}
	}
	return d, nil
}

func newOperation(method, path string, op *openapi3.Operation) *operation {
	o := &operation{
		id: op.OperationID, method: method, path: path, doc: op,
		public: op.Security != nil && len(*op.Security) == 0,
	}
	o.scope, _ = op.Extensions["x-scope"].(string)
	o.stream, _ = op.Extensions["x-body-stream"].(bool)
	if ok := op.Responses.Status(http.StatusOK); ok != nil && ok.Value.Content[mediaSSE] != nil {
		o.stream = true
	}
	if op.RequestBody != nil {
		content := op.RequestBody.Value.Content
		o.bodyTypes = slices.Sorted(maps.Keys(content))
		if c := content[mediaJSON]; c != nil {
			o.body = c.Schema.Value
		}
	}
	return o
}
