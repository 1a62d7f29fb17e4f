package reference

import (
	"math"
	"slices"
	"testing"
)

// Examples of the paper, rule by rule.
func TestStem(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "ties": "ti", "caress": "caress", "cats": "cat", "feed": "feed", "plastered": "plaster",
		"bled": "bled", "motoring": "motor", "sing": "sing", "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop", "tanned": "tan",
		"falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail", "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat",
		"conditional": "condit", "rational": "ration", "valenci": "valenc", "digitizer": "digit", "radically": "radic", "vietnamization": "vietnam",
		"predication": "predic", "operator": "oper", "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope", "callousness": "callous",
		"formality": "formal", "sensitivity": "sensit", "sensibility": "sensibl", "triplicate": "triplic", "formative": "form", "formalize": "formal",
		"electrical": "electr", "goodness": "good", "revival": "reviv", "allowance": "allow", "inference": "infer", "airliner": "airlin", "adjustable": "adjust",
		"replacement": "replac", "adjustment": "adjust", "dependent": "depend", "adoption": "adopt", "homologous": "homolog", "communism": "commun", "activate": "activ",
		"effective": "effect", "bowdlerize": "bowdler", "probate": "probat", "rate": "rate", "cease": "ceas", "controlling": "control", "roll": "roll",
		"is": "is", "mp3s": "mp3s", "": "",
	} {
		if got := Stem(word); got != want {
			t.Errorf("Stem(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestStemmed(t *testing.T) {
	t.Parallel()
	if got, want := Stemmed("What did Nora's sisters bake on the 2nd?"), []string{"nora", "sister", "bake", "2nd"}; !slices.Equal(got, want) {
		t.Errorf("terms %v, want %v", got, want)
	}
}

func TestBM25(t *testing.T) {
	t.Parallel()
	score := BM25([][]string{{"a", "b"}, {"a", "a", "c", "c"}, {}})
	got := score([]string{"a", "a", "b", "x"})
	// Two documents of three have "a"; lengths 2, 4 and 0, on average 2.
	a, b := math.Log(1+1.5/2.5), math.Log(1+2.5/1.5)
	want := []float64{2*a + b, 2 * a * 2 * 2.2 / (2 + 1.2*1.75), 0}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("document %d scores %v, want %v", i, got[i], want[i])
		}
	}
	if got := Rank(got); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("ranked %v", got)
	}
}

func TestTFIDF(t *testing.T) {
	t.Parallel()
	got := TFIDF([][]string{{"a"}, {"a", "b"}, {"c"}})([]string{"a"})
	a, b := math.Log(4.0/3)+1, math.Log(4.0/2)+1
	for i, want := range []float64{a, a * a / math.Hypot(a, b), 0} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("document %d scores %v, want %v", i, got[i], want)
		}
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	got := Windows([][]string{{"a"}, {"b"}, {"c"}, {"d"}}, []string{"1", "1", "1", "2"}, 1)
	for i, want := range [][]string{{"a", "b"}, {"a", "b", "c"}, {"b", "c"}, {"d"}} {
		if !slices.Equal(got[i], want) {
			t.Errorf("window %d is %v, want %v", i, got[i], want)
		}
	}
}

// A turn beside the match beats one far from it, and equal ones stay in order.
func TestBlend(t *testing.T) {
	t.Parallel()
	turns := [][]string{{"x"}, {"y"}, {"apple"}, {"z"}, {"q"}, {"x"}}
	scores := Blend(turns, []string{"1", "1", "2", "2", "2", "3"})([]string{"apple"})
	if got, want := Rank(scores), []int{2, 3, 4, 0, 1, 5}; !slices.Equal(got, want) {
		t.Errorf("ranked %v by %v, want %v", got, scores, want)
	}
}
