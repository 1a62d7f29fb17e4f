package api

import (
	"net/http"
	"strings"
	"testing"
)

// An operation accepts a request without a body exactly if its contract says that the body is
// optional. Found by fuzzing: lines were required.
func TestAbsentBodies(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "absent")
	paths := map[string]string{
		"bulkNotes": c + "/notes/bulk", "importNotes": c + "/import", "consolidateCollection": c + "/consolidate", "reembedCollection": c + "/reembed",
		"createNote": c + "/notes", "search": c + "/search", "createCollection": "/v1/collections", "cloneCollection": c + "/clone",
	}
	for id, path := range paths {
		op := b.doc.operations[id]
		required := op.doc.RequestBody != nil && op.doc.RequestBody.Value.Required
		got := b.call(t, "one", http.MethodPost, path, "")
		if refused := got.Code >= http.StatusBadRequest; refused != required {
			t.Errorf("%s: the contract asks for a body: %t; without one: %d %s", id, required, got.Code, got.Body)
		}
	}
}

// Found by fuzzing: the limits of a token request were not in the contract.
func TestTokenScopesInContract(t *testing.T) {
	t.Parallel()
	doc, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	schema := doc.operations["createToken"].body
	for _, n := range []int{0, 1} {
		scopes := make([]any, n)
		for i := range scopes {
			scopes[i] = "notes:read"
		}
		err := checkSchema(schema, map[string]any{"scopes": scopes}, 0, "")
		if refused := err != nil && strings.HasPrefix(err.Error(), "invalid: scopes"); refused != (n == 0) {
			t.Errorf("%d scopes: %v", n, err)
		}
	}
}
