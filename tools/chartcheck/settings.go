package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The variables of the product that are not settings of the chart.
var (
	envTag = regexp.MustCompile(`\benv:"([A-Z][A-Z0-9_]*)[^"]*"([^` + "`" + `]*)`)
	// byChart are set by the chart from other values.
	byChart = []string{"SLIPBOX_ADDR", "SLIPBOX_WORKER_ADDR", "SLIPBOX_METRICS_ADDR", "SLIPBOX_DATA", "SLIPBOX_STOP_TIMEOUT", "SLIPBOX_INDEX_BYTES"}
)

// checkSettings compares the settings in the chart's schema with the variables that the code below
// root/internal reads. The schema must allow every variable except secrets, and nothing else.
func checkSettings(schemaFile, root string) ([]string, error) {
	raw, err := os.ReadFile(schemaFile)
	if err != nil {
		return nil, err
	}
	var schema struct {
		Definitions struct {
			Settings struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"settings"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("%s: %w", schemaFile, err)
	}
	allowed := schema.Definitions.Settings.Properties
	if len(allowed) == 0 {
		return nil, fmt.Errorf("%s has no definitions.settings.properties", schemaFile)
	}

	read, err := variables(os.DirFS(root))
	if err != nil {
		return nil, err
	}
	var mistakes []string
	bad := func(format string, args ...any) {
		mistakes = append(mistakes, schemaFile+": definitions.settings: "+fmt.Sprintf(format, args...))
	}
	for name, secret := range read {
		_, ok := allowed[name]
		switch {
		case ok && secret:
			bad("%s is a secret; take it out", name)
		case ok && slices.Contains(byChart, name):
			bad("%s is set by the chart itself; take it out", name)
		case !ok && !secret && !slices.Contains(byChart, name):
			bad("%s is missing; add it", name)
		}
	}
	for name := range allowed {
		if _, ok := read[name]; !ok && strings.HasPrefix(name, "SLIPBOX_") {
			bad("%s is read nowhere; take it out", name)
		}
	}
	slices.Sort(mistakes)
	return mistakes, nil
}

// variables returns the environment variables of the settings, and whether each is a secret.
func variables(root fs.FS) (map[string]bool, error) {
	out := map[string]bool{}
	err := fs.WalkDir(root, "internal", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		for _, m := range envTag.FindAllStringSubmatch(string(src), -1) {
			out[m[1]] = strings.Contains(m[2], `secret:"`)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("no env tag was found: the check looks for the wrong thing")
	}
	return out, err
}
