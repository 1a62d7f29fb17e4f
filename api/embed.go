// Package contract holds the HTTP contract of slipbox: the OpenAPI document
// that server types, request validation, the reference page and clients are
// made from.
package contract

import (
	_ "embed"
	"sync"

	"github.com/slipboxhq/slipbox/internal/packed"
)

//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.yaml
//go:generate go tool oapi-codegen -config ../sdk/go/oapi-codegen.yaml openapi.yaml
//go:generate ../scripts/generate-typescript.sh
//go:generate ../scripts/generate-python.sh
//go:generate go run ../tools/pack openapi.yaml mem0.yaml

// The documents are embedded compressed: they are seven times as large.
var (
	//go:embed openapi.yaml.gz
	packedOpenAPI []byte
	//go:embed mem0.yaml.gz
	packedMem0 []byte
)

// OpenAPI returns the document, in YAML, as it is served at /openapi.yaml. It is for reading only.
var OpenAPI = sync.OnceValue(func() []byte { return unpack(packedOpenAPI) })

// Mem0 returns the document of the routes for mem0's clients, in YAML. It is for reading only.
var Mem0 = sync.OnceValue(func() []byte { return unpack(packedMem0) })

func unpack(file []byte) []byte {
	raw, err := packed.Unpack(file)
	if err != nil {
		panic(err) // of a program that was built with a damaged file
	}
	return raw
}
