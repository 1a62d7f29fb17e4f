package encoder

import (
	"path/filepath"
	"strings"
	"testing"
)

// golden is the output of the reference implementation for a text (tools/encoder/golden.py).
type golden struct {
	Text      string   `json:"text"`
	Times     int      `json:"times"` // how often Text is repeated, 0 for once
	IDs       []int32  `json:"ids"`
	Words     [][2]int `json:"words"`
	Truncated bool     `json:"truncated"`
	Vector    []byte   `json:"vector"`
	Hidden    []byte   `json:"hidden"` // the last layer, for some texts
}

func readGolden(tb testing.TB) []golden {
	tb.Helper()
	var out []golden
	readJSON(tb, filepath.Join("testdata", "golden.json"), &out)
	if len(out) != 60 {
		tb.Fatalf("%d golden texts, want 60", len(out))
	}
	for i := range out {
		out[i].Text = strings.Repeat(out[i].Text, max(1, out[i].Times))
	}
	return out
}

func goldenTexts(tb testing.TB) []string {
	tb.Helper()
	var out []string
	for _, g := range readGolden(tb) {
		out = append(out, g.Text)
	}
	return out
}

// excerpt returns a text as messages show it.
func excerpt(text string) string {
	r := []rune(text)
	return string(r[:min(len(r), 60)])
}
