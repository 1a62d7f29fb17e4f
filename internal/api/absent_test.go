package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/apptest"
)

// An operation accepts a request without a body exactly if its contract says that the body is
// optional. Found by fuzzing: lines were required.
func TestAbsentBodies(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "absent")
	paths := map[string]string{
		"bulkNotes": c + "/notes/bulk", "importNotes": c + "/import", "consolidateCollection": c + "/consolidate", "reembedCollection": c + "/reembed",
		"refreshCollection": c + "/refresh",
		"createNote":        c + "/notes", "search": c + "/search", "createCollection": "/v1/collections", "cloneCollection": c + "/clone",
		"flushContext": b.Space(t, "paged", "memgpt") + "/flush",
	}
	for id, path := range paths {
		op := contracttest.OperationNamed(t, id)
		required := op.RequestBody != nil && op.RequestBody.Value.Required
		got := b.Call(t, "one", http.MethodPost, path, "")
		if refused := got.Code >= http.StatusBadRequest; refused != required {
			t.Errorf("%s: the contract asks for a body: %t; without one: %d %s", id, required, got.Code, got.Body)
		}
	}
}

// The refusal of a collection says what to do, in the same words whether another tenant has it or nobody.
func TestAbsentCollection(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	theirs := strings.TrimPrefix(b.Collection(t, "two", "secret"), "/v1/collections/")
	for _, ref := range []string{"diary", theirs} {
		got := b.Call(t, "one", http.MethodPost, "/v1/collections/"+ref+"/notes", `{"content": "x"}`)
		const want = `"collection not found; GET /v1/collections lists what this key can use, POST /v1/collections creates one"`
		if got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", ref, got.Code, got.Body, want)
		}
	}
}
