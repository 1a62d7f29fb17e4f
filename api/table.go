package contract

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/slipboxhq/slipbox/internal/packed"
)

//go:generate go run ../tools/contract openapi.yaml mem0.yaml

// The tables are made from the documents, which take a tenth of a second to read whole.
var (
	//go:embed openapi.table.gz
	packedOpenAPITable []byte
	//go:embed mem0.table.gz
	packedMem0Table []byte
)

// Table is a document as a gateway reads it at its start: what routes need, and the rest as text, which is read when it is needed.
type Table struct {
	Operations []Operation                `json:"operations"`
	Schemas    map[string]json.RawMessage `json:"schemas"` // the components
}

// Operation is what a route needs of an operation.
type Operation struct {
	ID            string   `json:"id"`
	Method        string   `json:"method"`
	Path          string   `json:"path"`
	Public        bool     `json:"public,omitempty"`   // no credential is required
	Scope         string   `json:"scope,omitempty"`    // "": any credential
	Platform      bool     `json:"platform,omitempty"` // platform keys are accepted besides tenants' keys
	NoIdempotency bool     `json:"no_idempotency,omitempty"`
	Errors        string   `json:"errors,omitempty"` // the form of errors; "": problem documents
	BodyTypes     []string `json:"body_types,omitempty"`
	BodyMust      bool     `json:"body_must,omitempty"`
	BodyLimit     int64    `json:"body_limit,omitempty"` // 0: the default
	BodyStreams   bool     `json:"body_streams,omitempty"`
	Streams       bool     `json:"streams,omitempty"`   // the body or the response does
	HasJSONBody   bool     `json:"json_body,omitempty"` // which a schema describes

	// Source is the operation of the document with its parameters and its body alone.
	Source json.RawMessage `json:"source"`
}

// OpenAPITable returns the table of [OpenAPI].
func OpenAPITable() (*Table, error) { return readTable(packedOpenAPITable) }

// Mem0Table returns the table of [Mem0].
func Mem0Table() (*Table, error) { return readTable(packedMem0Table) }

func readTable(file []byte) (*Table, error) {
	raw, err := packed.Unpack(file)
	if err != nil {
		return nil, fmt.Errorf("the table of a contract: %w", err)
	}
	t := new(Table)
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, fmt.Errorf("the table of a contract: %w", err)
	}
	return t, nil
}
