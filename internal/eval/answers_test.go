package eval

import (
	"math"
	"strings"
	"testing"
)

// The official F1 of LoCoMo: stems, counted as often as they occur, without punctuation and articles (C083, C190).
func TestOfficialF1(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer, gold, category string
		want                   float64
	}{
		{"The blue kilns", "a blue kiln.", "single-hop", 1},
		{"blue blue", "blue", "temporal", 2.0 / 3}, // counted once
		{"red", "blue", "single-hop", 0},
		{"", "blue", "single-hop", 0},
		{"pottery, camping", "camping, painting", "multi-hop", 0.5}, // each part by its best
		{"yes", "yes; because she said so", "open-domain", 1},
		{"It is not mentioned.", "", "adversarial", 1},
		{"blue", "", "adversarial", 0},
	} {
		if got := officialF1(c.answer, c.gold, c.category); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("F1 of %q for %q (%s) is %v, want %v", c.answer, c.gold, c.category, got, c.want)
		}
	}
}

func TestBLEU1(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer, gold string
		want         float64
	}{
		{"blue kiln", "blue kiln", 1}, {"blue blue", "blue", 0.5}, {"blue", "blue kiln", math.Exp(-1)}, {"", "blue", 0},
	} {
		if got := bleu1(c.answer, c.gold); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("BLEU-1 of %q for %q is %v, want %v", c.answer, c.gold, got, c.want)
		}
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()
	const memory = "## Episodes\n### Sunday 2026-03-01 09:30 UTC\n[1] Ada: The kiln is blue. It is hot.\n[2] Ben: I like bread!"
	if got := extract(memory, "What color is the kiln?"); got != "Ada: The kiln is blue" {
		t.Errorf("extracted %q", got)
	}
	if got := extract("", "What?"); got != "" {
		t.Errorf("extracted %q from nothing", got)
	}
}

// A history of any length goes to a model in messages that the API takes, with nothing left out.
func TestSplit(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("äbc", 60_000)
	parts := split(text, "\n\nQuestion: x")
	if strings.Join(parts, "") != text+"\n\nQuestion: x" {
		t.Error("the parts are not the text")
	}
	for i, p := range parts {
		if len(p) > contentLimit {
			t.Errorf("part %d has %d bytes", i, len(p))
		}
	}
}

func TestChunks(t *testing.T) {
	t.Parallel()
	turns := []Turn{{ID: "a", Rendered: "one two"}, {ID: "b", Rendered: "three"}, {ID: "c", Rendered: "four five six seven"}, {ID: "d", Rendered: "eight"}}
	texts, covers := chunks(turns, 3)
	if len(texts) != 3 || texts[0] != "one two\nthree\n" || len(covers[0]) != 2 || covers[1][0] != "c" {
		t.Errorf("%q cover %v", texts, covers)
	}
}
