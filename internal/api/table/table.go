// Package table makes the table of a document of the HTTP contract, which a gateway reads at its start. tools/contract writes those of
// the embedded documents; the package internal/api makes that of a set of routes with a document of its own.
package table

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	contract "github.com/slipboxhq/slipbox/api"
)

// Of returns the table of a document in YAML or JSON.
func Of(document []byte) (*contract.Table, error) {
	spec, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("read a contract: %w", err)
	}
	t := &contract.Table{Schemas: map[string]json.RawMessage{}}
	for name, schema := range spec.Components.Schemas {
		if t.Schemas[name], err = json.Marshal(schema); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
	}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			row, err := rowOf(method, path, op)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			t.Operations = append(t.Operations, row)
		}
	}
	slices.SortFunc(t.Operations, func(a, b contract.Operation) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(t.Operations); i++ {
		if t.Operations[i-1].ID == t.Operations[i].ID {
			return nil, fmt.Errorf("operationId %q is used twice", t.Operations[i].ID)
		}
	}
	return t, nil
}

func rowOf(method, path string, op *openapi3.Operation) (contract.Operation, error) {
	row := contract.Operation{
		ID: op.OperationID, Method: method, Path: path,
		Public: op.Security != nil && len(*op.Security) == 0,
		Scope:  textOf(op, "x-scope"), Platform: isSet(op, "x-platform"), NoIdempotency: textOf(op, "x-idempotency") == "refused",
		Errors: textOf(op, "x-errors"), BodyStreams: isSet(op, "x-body-stream"),
	}
	if row.ID == "" {
		return row, errors.New("no operationId")
	}
	row.Streams = row.BodyStreams || isSet(op, "x-answer-stream")
	if ok := op.Responses.Status(http.StatusOK); ok != nil && ok.Value.Content["text/event-stream"] != nil {
		row.Streams = true
	}
	if limit, ok := op.Extensions["x-body-limit"]; ok {
		n, ok := limit.(float64)
		if !ok {
			return row, fmt.Errorf("x-body-limit is %T", limit)
		}
		row.BodyLimit = int64(n)
	}
	source := openapi3.Operation{Responses: openapi3.NewResponses()} // an answer that validation asks for
	for _, p := range op.Parameters {
		source.Parameters = append(source.Parameters, &openapi3.ParameterRef{Value: p.Value})
	}
	if op.RequestBody != nil {
		row.BodyMust = op.RequestBody.Value.Required
		body := &openapi3.RequestBody{Content: openapi3.Content{}}
		for media, content := range op.RequestBody.Value.Content {
			row.BodyTypes = append(row.BodyTypes, media)
			if media == "application/json" {
				row.HasJSONBody = true
				body.Content[media] = &openapi3.MediaType{Schema: content.Schema}
			}
		}
		slices.Sort(row.BodyTypes)
		source.RequestBody = &openapi3.RequestBodyRef{Value: body}
	}
	var err error
	row.Source, err = json.Marshal(&source)
	return row, err
}

func textOf(op *openapi3.Operation, extension string) string {
	text, _ := op.Extensions[extension].(string)
	return text
}

func isSet(op *openapi3.Operation, extension string) bool {
	set, _ := op.Extensions[extension].(bool)
	return set
}
