package rules

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// collectLinks reads the features of judged pairs again, which takes some minutes: after a change of the features or of
// what they are made of.
var collectLinks = flag.Bool("collect-links", false, "read the features of testdata/links.tsv again, by the data and the encoders")

// judgedPair is a pair of notes with the verdict of a reader who did not know the features: good, or what is bad about
// a link between them. A pair without a telling word in common is never linked, and has no features.
type judgedPair struct {
	older, newer, hash, verdict string
	features                    []float64
}

// set returns the set of conversations that the pair is of.
func (p *judgedPair) set() string {
	return setOf(strings.Fields(p.newer)[0])
}

var linkLabels = filepath.Join("testdata", "links.tsv")

func readPairs(t *testing.T) []judgedPair {
	t.Helper()
	raw, err := os.ReadFile(linkLabels)
	if err != nil {
		t.Fatal(err)
	}
	var out []judgedPair
	for line := range strings.Lines(string(raw)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		p := judgedPair{older: parts[0], newer: parts[1], hash: parts[2], verdict: parts[3]}
		for f := range strings.FieldsSeq(parts[4]) {
			x, err := strconv.ParseFloat(f, 64)
			if err != nil {
				t.Fatal(err)
			}
			p.features = append(p.features, x)
		}
		out = append(out, p)
	}
	return out
}

// collect reads the features of the pairs from the conversations and writes them.
func collect(t *testing.T, pairs []judgedPair) {
	t.Helper()
	around := map[string]*neighborhood{}
	for _, dialogues := range chosenSets(t, os.Getenv("EVAL_DATA")) {
		for _, n := range neighborhoods(t, dialogues) {
			around[n.id] = &n
		}
	}
	writePairs(t, pairs, around)
}

// writePairs writes the file of judged pairs, with the features that their notes have among their neighbors.
func writePairs(t *testing.T, pairs []judgedPair, around map[string]*neighborhood) {
	t.Helper()
	var out strings.Builder
	for _, p := range pairs {
		n := around[p.newer]
		i := slices.Index(n.ids, p.older)
		if i < 0 || pairHash(n.in.Neighbors[i].Content, n.in.New.Content) != p.hash {
			t.Logf("no longer neighbors, which keep their features: %s and %s", p.older, p.newer)
		} else if pair := linkedPairs(n.in)[i]; len(pair.telling) > 0 {
			p.features = pair.features
		} else {
			p.features = nil
		}
		var features []string
		for _, x := range p.features {
			features = append(features, strconv.FormatFloat(math.Round(x*1000)/1000, 'g', -1, 64))
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\t%s\t%s\n", p.older, p.newer, p.hash, p.verdict, strings.Join(features, " "))
	}
	if err := os.WriteFile(linkLabels, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fitLinks returns the weights that the pairs give, except those of one set.
func fitLinks(pairs []judgedPair, without string) []float64 {
	var rows [][]float64
	var good []bool
	for _, p := range pairs {
		if len(p.features) > 0 && p.set() != without {
			rows, good = append(rows, p.features), append(good, p.verdict == "good")
		}
	}
	return fitLogistic(rows, good)
}

// TestLinkWeights checks that the weights of links are what the judged pairs give, and that docs/reviews/links.md says
// how right links are in a set that the weights are not learned from.
func TestLinkWeights(t *testing.T) {
	t.Parallel()
	if *collectLinks {
		collect(t, readPairs(t))
	}
	pairs := readPairs(t)
	weights := fitLinks(pairs, "")
	same := math.Abs(weights[0]-linkBias) < 0.01
	for i, f := range linkFeatures {
		same = same && math.Abs(weights[i+1]-f.weight) < 0.01
	}
	if !same {
		t.Errorf("the judged pairs give other weights, the bias first: %.2f", weights)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reviews", "links.md"))
	if err != nil {
		t.Fatal(err)
	}
	linked, right, good := 0, 0, 0
	check := func(set string, linked, right, good int) {
		if line := fmt.Sprintf("| %s | %d of %d | %d of %d |", set, right, linked, right, good); !strings.Contains(string(page), line) {
			t.Errorf("docs/reviews/links.md does not say: %s", line)
		}
	}
	for _, set := range []string{"LoCoMo", "RealMem", "BEAM", "MADial, English", "MADial, Chinese"} {
		weights := fitLinks(pairs, set)
		l, r, g := 0, 0, 0
		for _, p := range pairs {
			if p.set() != set {
				continue
			}
			is := len(p.features) > 0 && probability(weights[0], weights[1:], p.features) >= minLinked
			l, g = l+boolInt(is), g+boolInt(p.verdict == "good")
			r += boolInt(is && p.verdict == "good")
		}
		check(set, l, r, g)
		linked, right, good = linked+l, right+r, good+g
	}
	check("all", linked, right, good)
	if right*100 < linked*90 {
		t.Errorf("%d of %d links are right where weights were not learned, want nine of ten", right, linked)
	}
}
