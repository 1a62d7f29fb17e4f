package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("internal/config/config.go", "type C struct {\n"+
		"A string `yaml:\"a\" env:\"SLIPBOX_A\"`\n"+
		"B string `env:\"SLIPBOX_B,required\"` // secret:\"true\" is not a tag here\n"+
		"K string `yaml:\"k\" env:\"SLIPBOX_KEY\" secret:\"true\"`\n"+
		"D string `env:\"SLIPBOX_DATA\"`\n}\n")
	write("internal/config/config_test.go", "type T struct { X string `env:\"SLIPBOX_TEST\"` }\n")
	schema := func(names ...string) string {
		properties := []string{`"OTEL_X": {}`}
		for _, n := range names {
			properties = append(properties, `"`+n+`": {}`)
		}
		return `{"definitions": {"settings": {"properties": {` + strings.Join(properties, ", ") + `}}}}`
	}
	for name, c := range map[string]struct {
		names []string
		want  []string
	}{
		"all":         {[]string{"SLIPBOX_A", "SLIPBOX_B"}, nil},
		"one missing": {[]string{"SLIPBOX_A"}, []string{"SLIPBOX_B is missing; add it"}},
		"a secret":    {[]string{"SLIPBOX_A", "SLIPBOX_B", "SLIPBOX_KEY"}, []string{"SLIPBOX_KEY is a secret; take it out"}},
		"the chart's": {[]string{"SLIPBOX_A", "SLIPBOX_B", "SLIPBOX_DATA"}, []string{"SLIPBOX_DATA is set by the chart itself; take it out"}},
		"read by none": {
			[]string{"SLIPBOX_A", "SLIPBOX_B", "SLIPBOX_TEST"},
			[]string{"SLIPBOX_TEST is read nowhere; take it out"},
		},
	} {
		file := strings.ReplaceAll(name, " ", "-") + ".json"
		write(file, schema(c.names...))
		got, err := checkSettings(filepath.Join(root, file), root)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			_, got[i], _ = strings.Cut(got[i], "definitions.settings: ")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	write("none.json", "{}")
	if _, err := checkSettings(filepath.Join(root, "none.json"), root); err == nil {
		t.Error("a schema without settings was accepted")
	}
}
