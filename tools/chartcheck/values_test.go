package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestValuesAreDescribed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	values, page := filepath.Join(dir, "values.yaml"), filepath.Join(dir, "README.md")
	if err := os.WriteFile(values, []byte("a: 1\nb: {c: [], d: {}, resources: {x: 1}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"`a`, `b.c`, `b.d`, `b.resources`": nil,
		"`b.c`, b.d, `a`":                  {page + ": the value b.d is not described", page + ": the value b.resources is not described"},
	} {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := checkValues(values, page)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}
