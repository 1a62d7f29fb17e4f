// Package contract holds the HTTP contract of slipbox: the OpenAPI document
// that server types, request validation, the reference page and clients are
// made from. It depends on nothing.
package contract

import _ "embed"

//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.yaml
//go:generate go tool oapi-codegen -config ../sdk/go/oapi-codegen.yaml openapi.yaml
//go:generate ../scripts/generate-typescript.sh
//go:generate ../scripts/generate-python.sh

// OpenAPI is the document, in YAML, as it is served at /openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Mem0 is the document of the routes for mem0's clients, in YAML.
//
//go:embed mem0.yaml
var Mem0 []byte
