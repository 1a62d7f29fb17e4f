package archtest

import (
	"errors"
	"slices"
	"strings"
)

//go:generate go run ../../tools/packagemap ../../docs/architecture/packages.md

// The table of the map in a document is between these lines.
const (
	tableBegin = "<!-- package map: written by make generate -->\n"
	tableEnd   = "<!-- end of package map -->\n"
)

// table returns the map as a Markdown table: below each layer its packages, in the order of the map.
func table() string {
	var b strings.Builder
	b.WriteString("| package | owns | may import, besides leaves |\n|---|---|---|\n")
	byLayer := map[Layer][]Package{}
	var layers []Layer
	for _, p := range Map() {
		if byLayer[p.Layer] == nil {
			layers = append(layers, p.Layer)
		}
		byLayer[p.Layer] = append(byLayer[p.Layer], p)
	}
	for _, l := range layers {
		b.WriteString("| **" + string(l) + "** | | |\n")
		writeRows(&b, byLayer[l])
	}
	return b.String()
}

func writeRows(b *strings.Builder, packages []Package) {
	for _, p := range packages {
		var may []string
		rest, shared := p.May, policyMay()
		isPolicy := len(rest) >= len(shared) && slices.Equal(rest[:len(shared)], shared)
		if isPolicy {
			may, rest = []string{"as policies"}, rest[len(shared):]
		}
		for _, m := range rest {
			if name, ok := strings.CutPrefix(m, "layer:"); ok {
				may = append(may, "every "+name)
			} else {
				may = append(may, "`"+m+"`")
			}
		}
		if p.Strict && !isPolicy {
			may = append(may, "no other leaf")
		}
		b.WriteString("| `" + p.Path + "` | " + p.Owns + " | " + strings.Join(may, ", ") + " |\n")
	}
}

// ReplaceTable returns a document with the current table between its marks. It fails when a
// mark is missing.
func ReplaceTable(document string) (string, error) {
	before, rest, ok := strings.Cut(document, tableBegin)
	if !ok {
		return "", errors.New("the mark before the package map is missing")
	}
	_, after, ok := strings.Cut(rest, tableEnd)
	if !ok {
		return "", errors.New("the mark after the package map is missing")
	}
	return before + tableBegin + "\n" + table() + "\n" + tableEnd + after, nil
}
