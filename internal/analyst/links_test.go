package analyst

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/test/must"
)

// collectLinks reads the features of judged pairs again, after a change of the features or of what they are made of.
var collectLinks = flag.String("collect-links", "", `read the features of the judged pairs again, from a file of JSON lines with their notes:
{"older", "newer", "i": the place of the older one among the neighbors, "in": the input of evolve}`)

// judgedPair is a pair of notes with the verdict of a reader who did not know the features: good, or what is bad about
// a link between them. A pair that shares no term of a keyword is never linked, and has no features.
type judgedPair struct {
	older, newer, hash, verdict string
	features                    []float64
}

// set returns the set of conversations that the pair is of.
func (p *judgedPair) set() string {
	conversation, _, _ := strings.Cut(p.newer, " ")
	switch {
	case strings.HasPrefix(conversation, "conv-"):
		return "LoCoMo"
	case strings.HasPrefix(conversation, "beam-"):
		return "BEAM"
	case conversation == "madial":
		return "MADial, English"
	case conversation == "madialzh":
		return "MADial, Chinese"
	}
	return "RealMem"
}

var linkLabels = filepath.Join("..", "eval", "reviews", "links.tsv")

func readPairs(t *testing.T) []judgedPair {
	t.Helper()
	raw := must.Get(os.ReadFile(linkLabels))(t)
	var out []judgedPair
	for line := range strings.Lines(string(raw)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		p := judgedPair{older: parts[0], newer: parts[1], hash: parts[2], verdict: parts[3]}
		for f := range strings.FieldsSeq(parts[4]) {
			x := must.Get(strconv.ParseFloat(f, 64))(t)
			p.features = append(p.features, x)
		}
		out = append(out, p)
	}
	return out
}

// collect reads the features of the pairs from a file of their notes and writes them. A pair that is not in the file has none.
func collect(t *testing.T, pairs []judgedPair, from string) {
	t.Helper()
	raw := must.Get(os.ReadFile(from))(t)
	features := map[string][]string{}
	for line := range strings.Lines(string(raw)) {
		var read struct {
			Older string           `json:"older"`
			Newer string           `json:"newer"`
			I     int              `json:"i"`
			In    amem.EvolveInput `json:"in"`
		}
		if err := json.Unmarshal([]byte(line), &read); err != nil { //nolint:musttag // the input is written by the names of its fields
			t.Fatal(err)
		}
		describeAgain(&read.In.New)
		for i := range read.In.Neighbors {
			describeAgain(&read.In.Neighbors[i])
		}
		if pair := linkedPairs(read.In)[read.I]; pair.shared > 0 {
			for _, x := range pair.features {
				features[read.Older+read.Newer] = append(features[read.Older+read.Newer], strconv.FormatFloat(roundScore(x), 'g', -1, 64))
			}
		}
	}
	var out strings.Builder
	for _, p := range pairs {
		fmt.Fprintf(&out, "%s\t%s\t%s\t%s\t%s\n", p.older, p.newer, p.hash, p.verdict, strings.Join(features[p.older+p.newer], " "))
	}
	must.Do(t, os.WriteFile(linkLabels, []byte(out.String()), 0o600))
}

func describeAgain(n *memory.Described) {
	speaker, _, ok := strings.Cut(n.Content, ": ")
	if !ok || len(speaker) > 20 {
		speaker = ""
	}
	n.Keywords = analyze(amem.AnalyzeInput{Content: n.Content, Speaker: speaker}).Keywords
}

// fitLinks returns the weights that the pairs give, except those of one set, the bias first: those under which the verdicts
// are most likely, if large weights are unlikely.
func fitLinks(pairs []judgedPair, without string) []float64 {
	const steps, rate, decay = 800, 0.5, 0.001
	w := make([]float64, len(linkFeatures)+1)
	for range steps {
		slope := make([]float64, len(w))
		rows := 0
		for _, p := range pairs {
			if len(p.features) == 0 || p.set() == without {
				continue
			}
			rows++
			miss := linkProbability(w, p.features)
			if p.verdict == "good" {
				miss--
			}
			slope[0] += miss
			for j, x := range p.features {
				slope[j+1] += miss * x
			}
		}
		for j := range w {
			step := slope[j] / float64(rows)
			if j > 0 { // not the bias
				step += decay * w[j]
			}
			w[j] -= rate * step
		}
	}
	return w
}

func linkProbability(weights, features []float64) float64 {
	sum := weights[0]
	for i, x := range features {
		sum += weights[i+1] * x
	}
	return logistic(sum)
}

// TestLinkWeights checks that the weights of links are what the judged pairs give, and that internal/eval/reviews/links.md says
// how right links are in a set that the weights are not learned from.
func TestLinkWeights(t *testing.T) {
	t.Parallel()
	if *collectLinks != "" {
		collect(t, readPairs(t), *collectLinks)
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
	page := must.Get(os.ReadFile(filepath.Join("..", "eval", "reviews", "links.md")))(t)
	check := func(set string, linked, right, good int) {
		if line := fmt.Sprintf("| %s | %d of %d | %d of %d |", set, right, linked, right, good); !strings.Contains(string(page), line) {
			t.Errorf("internal/eval/reviews/links.md does not say: %s", line)
		}
	}
	linked, right, good := 0, 0, 0
	for _, set := range []string{"LoCoMo", "RealMem", "BEAM", "MADial, English", "MADial, Chinese"} {
		weights := fitLinks(pairs, set)
		l, r, g := 0, 0, 0
		for _, p := range pairs {
			if p.set() != set {
				continue
			}
			if p.verdict == "good" {
				g++
			}
			if len(p.features) > 0 && linkProbability(weights, p.features) >= minLinked {
				l++
				if p.verdict == "good" {
					r++
				}
			}
		}
		check(set, l, r, g)
		linked, right, good = linked+l, right+r, good+g
	}
	check("all", linked, right, good)
	if right*100 < linked*90 {
		t.Errorf("%d of %d links are right where weights were not learned, want nine of ten", right, linked)
	}
}
