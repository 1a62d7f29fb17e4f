package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	contract "github.com/slipboxhq/slipbox/api"
	"github.com/slipboxhq/slipbox/internal/packed"
	"github.com/slipboxhq/slipbox/test/must"
)

// The page that the gateway serves is the page of the contract as it is now, in every run.
func TestPageIsCurrent(t *testing.T) {
	t.Parallel()
	file := must.Get(os.ReadFile("page.html.gz"))(t)
	want := must.Get(packed.Unpack(file))(t)
	// The contract is read into maps, whose order differs between runs.
	for range 3 {
		name := filepath.Join(t.TempDir(), "page.html")
		must.Do(t, run([]string{name}))
		got := must.Get(os.ReadFile(name))(t)
		if !bytes.Equal(got, want) {
			t.Fatal("internal/api/docs/page.html.gz is not what its sources say: run make generate")
		}
	}
}

func bodyFields(d *document, id string) []string {
	var names []string
	for _, f := range newDocsOperation(d.operations[id], newFieldOrder(d.raw)).Body {
		names = append(names, f.Name)
	}
	return names
}

func TestFieldOrder(t *testing.T) {
	t.Parallel()
	d := must.Get(loadDocument(contract.OpenAPI()))(t)
	for id, want := range map[string][]string{
		"search":       {"query", "vector", "messages", "queries", "mode", "k", "filter"},
		"buildContext": {"query", "messages", "token_budget"},
		"createNote":   {"content", "context", "keywords", "tags"},
	} {
		if got := bodyFields(d, id); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: %q, want first %q", id, got, want)
		}
	}
	order := newFieldOrder(d.raw)
	for name, ref := range d.spec.Components.Schemas {
		for property := range ref.Value.Properties {
			if !slices.Contains(order[name], property) {
				t.Errorf("the place of %s.%s was not found", name, property)
			}
		}
		fields := order.fields(name, ref.Value)
		for i := 1; i < len(fields); i++ {
			if fields[i].Required && !fields[i-1].Required {
				t.Errorf("%s: %s is required and comes after %s", name, fields[i].Name, fields[i-1].Name)
			}
		}
	}
}

// What a reader copies has no empty parts: an object is shown with its fields, or with a name that stands for them.
func TestSamplesAreWhole(t *testing.T) {
	t.Parallel()
	d := must.Get(loadDocument(contract.OpenAPI()))(t)
	for id, o := range d.operations {
		_, answer := answerSample(o)
		for what, sample := range map[string]string{"answer": answer, "body": bodySample(o)} {
			if strings.Contains(sample, "{}") {
				t.Errorf("the sample of the %s of %s has an empty object:\n%s", what, id, sample)
			}
		}
	}
	_, found := answerSample(d.operations["search"])
	for _, want := range []string{`"note": {`, `"content": "Ada moved to Lisbon in March."`, `"revision": 42`} {
		if !strings.Contains(found, want) {
			t.Errorf("the answer of a search has no %s:\n%s", want, found)
		}
	}
}
