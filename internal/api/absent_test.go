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
		"refreshCollection": c + "/refresh",
		"createNote":        c + "/notes", "search": c + "/search", "createCollection": "/v1/collections", "cloneCollection": c + "/clone",
		"flushContext": b.space(t, "paged", "memgpt") + "/flush",
	}
	for id, path := range paths {
		op := b.doc.operations[id]
		required := op.written().RequestBody != nil && op.written().RequestBody.Value.Required
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
	schema := doc.operations["createToken"].checks().body
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

// The refusal of a collection says what to do, in the same words whether another tenant has it or nobody.
func TestAbsentCollection(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	theirs := strings.TrimPrefix(b.collection(t, "two", "secret"), "/v1/collections/")
	for _, ref := range []string{"diary", theirs} {
		got := b.call(t, "one", http.MethodPost, "/v1/collections/"+ref+"/notes", `{"content": "x"}`)
		const want = `"collection not found; GET /v1/collections lists what this key can use, POST /v1/collections creates one"`
		if got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", ref, got.Code, got.Body, want)
		}
	}
}
