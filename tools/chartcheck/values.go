package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// whole values are documented as one value, with any content.
var whole = []string{"resources", "settings"}

// checkValues checks that the chart's page documents each value as `path.of.value`.
func checkValues(valuesFile, pageFile string) ([]string, error) {
	raw, err := os.ReadFile(valuesFile)
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(pageFile)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(raw, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", valuesFile, err)
	}
	paths := leaves("", values)
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s holds no values", valuesFile)
	}
	var mistakes []string
	for _, path := range paths {
		if !strings.Contains(string(page), "`"+path+"`") {
			mistakes = append(mistakes, fmt.Sprintf("%s: the value %s is not described", pageFile, path))
		}
	}
	return mistakes, nil
}

func leaves(prefix string, values map[string]any) (out []string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		below, ok := values[key].(map[string]any)
		if !ok || len(below) == 0 || slices.Contains(whole, key) {
			out = append(out, prefix+key)
			continue
		}
		out = append(out, leaves(prefix+key+".", below)...)
	}
	return out
}
