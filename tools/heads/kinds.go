package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/slipboxhq/slipbox/internal/said"
)

// kindsLines are those of kinds.tsv, each a labeled sentence: what it is, its language, the dialogue that it comes from ("own": it was
// written for this file), and its words.
//
//go:embed kinds.tsv
var kindsLines string

// kindNames are what the network says of a sentence, in the order of the fields of said.Kinds.
var kindNames = [kindCount]string{"happened", "states", "supposed", "handed", "quoted", "refused"}

const (
	isHappened = iota
	isStates
	isSupposed
	isHanded
	isQuoted
	isRefused
	kindCount
)

// kindExample is a sentence with what it is. What has no weight is not known of it.
type kindExample struct {
	text, lang, source string
	in                 []float32 // with the vector of learnedFrom
	read               []float32 // with that of readBy
	is, weight         [kindCount]float32
	believed           bool
	worth              float64 // by the head of worth, of a sentence of a dialogue
}

// isLabeled reports whether the sentence is one of kinds.tsv.
func (e *kindExample) isLabeled() bool { return e.source != sourcePlain && e.weight[isHanded] > 0 }

// The sources of examples that are of no dialogue.
const (
	sourceOwn   = "own"
	sourcePlain = "plain"
)

// labeled returns an example of a label of kinds.tsv.
func labeled(label, lang, source, words string) kindExample {
	e := kindExample{text: words, lang: lang, source: source, believed: isBelieved(source)}
	for i := range e.weight {
		e.weight[i] = 1
	}
	switch label {
	case "happened":
		e.is[isHappened], e.is[isStates] = 1, 1
	case "fact":
		e.is[isStates] = 1
	case "plan":
		e.is[isStates], e.weight[isHappened] = 1, .5
	case "supposed", "forget": // what is said is not told
		e.is[isSupposed] = 1
	case "handed":
		e.is[isHanded] = 1
	case "quoted":
		e.is[isQuoted] = 1
		e.weight[isHappened], e.weight[isStates] = 0, 0
	case "refused": // what a model says in place of an answer
		e.weight = [kindCount]float32{isRefused: 1}
		e.is[isRefused] = 1
	case "answer": // what it says in an answer about somebody who cannot do something, or apologizes
		e.weight = [kindCount]float32{isRefused: 1}
	case "kept": // an event or a fact
		e.is[isStates] = 1
		e.weight[isHappened] = 0
	case "opinion":
		e.weight[isStates] = .5
	case "announced", "fragment", "routine": // "By the way:", "In July.", "I had lunch."
		e.weight[isStates] = 0
	}
	return e
}

// kindExamples returns all examples, with their vectors: the labeled sentences, plain sentences and what introduces them, and
// of dialogues the sentences of facts, with as many others.
func kindExamples(files []string, cache string) ([]kindExample, error) {
	var all []kindExample
	for line := range strings.Lines(kindsLines) {
		p := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		all = append(all, labeled(p[0], p[1], p[2], p[3]))
	}
	all = append(all, introduced()...)
	for _, f := range files {
		some, err := ofDialogues(f)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	var texts []string
	for i := range all {
		texts = append(texts, all[i].text)
	}
	made, err := learnedFrom.vectors(texts, cache)
	if err != nil {
		return nil, err
	}
	read, err := readBy.vectors(texts, cache)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].in, all[i].read = said.KindInput(all[i].text, made[i]), said.KindInput(all[i].text, read[i])
	}
	return all, nil
}

// introduced returns plain sentences, what introduces sentences, and plain sentences behind what supposes or announces them. Alone
// they are neither supposed nor said by somebody else.
func introduced() (out []kindExample) {
	all := plainSentences()
	for _, lang := range sortedKeys(all) {
		of := all[lang]
		for label, as := range map[string]string{"handed": "handed", "told": "announced", "keep": "kept"} {
			for _, s := range of[label] {
				out = append(out, labeled(as, lang, sourcePlain, s))
			}
		}
		for label, as := range map[string]string{"supposed": "supposed", "told": "fact"} {
			for i, begin := range of[label] {
				for k := range 2 {
					out = append(out, labeled(as, lang, sourcePlain, begin+" "+of["keep"][(7*i+3*k)%len(of["keep"])]))
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b kindExample) int { return cmp.Compare(a.text, b.text) })
	return out
}

// Weights of what the labels of dialogues say of sentences: one labeler each noted what is worth keeping.
const (
	factWeight  = .55
	otherWeight = .27
	longest     = 300 // bytes of a sentence
)

// lasting are the classes of facts that did not happen. Those of others may have: a move is of the class "home".
var lasting = []string{"plan", "preference", "habit", "skill", "instruction", "relation"}

// ofDialogues returns what persons say in the dialogues of a file: the sentences of facts, and about as many others.
func ofDialogues(path string) (out []kindExample, err error) {
	all, err := dialoguesOf(path)
	if err != nil {
		return nil, err
	}
	for i := range all {
		d := &all[i]
		for _, e := range d.examples() {
			if e.assistant || len(e.text) > longest || !e.kept && hashed(e.text)%3 > 0 {
				continue
			}
			k := kindExample{text: e.text, lang: d.Lang, source: d.ID, believed: isBelieved(d.ID), worth: e.worth}
			k.weight[isStates] = otherWeight
			if e.kept {
				k.is[isStates], k.weight[isStates] = 1, factWeight
			}
			switch {
			case e.class == "event" && !e.word:
				k.is[isHappened], k.weight[isHappened] = 1, factWeight
			case !e.kept:
				k.weight[isHappened] = otherWeight / 2
			case slices.Contains(lasting, e.class):
				k.weight[isHappened] = otherWeight
			}
			out = append(out, k)
		}
	}
	return out, nil
}

// hashed returns a number for a text that is the same every time.
func hashed(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h ^ h>>15
}

// perceptron is the network of kinds while it is trained.
type perceptron struct {
	inputs, hidden int
	params         [4][]float32 // of the first layer and its bias, of the second and its bias
	random         uint64
}

// Constants of the training, chosen on folds of the labeled sentences.
const (
	hiddenUnits = 64
	members     = 6  // networks that begin otherwise, whose mean is one of as many times the units
	refusing    = 16 // units of one more, that tells refusals alone: what they are like says nothing of what persons say
	kindPasses  = 12
	kindRate    = 2e-3
	kindDecay   = 1e-2
	kindBatch   = 32
)

func (p *perceptron) next() uint64 {
	p.random = p.random*6364136223846793005 + 1442695040888963407
	return p.random >> 33
}

func newPerceptron(inputs, units int, seed uint64) *perceptron {
	p := &perceptron{inputs: inputs, hidden: units, random: seed}
	for i, n := range []int{inputs * units, units, units * kindCount, kindCount} {
		p.params[i] = make([]float32, n)
	}
	p.fill(0, inputs)
	p.fill(2, units)
	return p
}

// fill sets parameters to small numbers.
func (p *perceptron) fill(which, fan int) {
	for i := range p.params[which] {
		p.params[which][i] = (float32(p.next()%(1<<24))/(1<<23) - 1) / float32(math.Sqrt(float64(fan)))
	}
}

// run returns the kinds of an input, and sets the hidden layer.
func (p *perceptron) run(in, hidden []float32) (out [kindCount]float32) {
	for j := range hidden {
		sum := p.params[1][j]
		for i, w := range p.params[0][j*p.inputs : (j+1)*p.inputs] {
			sum += in[i] * w
		}
		hidden[j] = max(0, sum)
	}
	for c := range out {
		sum := p.params[3][c]
		for j, h := range hidden {
			sum += h * p.params[2][c*p.hidden+j]
		}
		out[c] = float32(1 / (1 + math.Exp(-float64(sum))))
	}
	return out
}

// learn adds the gradients of an example.
func (p *perceptron) learn(e *kindExample, grads *[4][]float32, hidden, back []float32) {
	out := p.run(e.in, hidden)
	clear(back)
	for c := range out {
		g := (out[c] - e.is[c]) * e.weight[c] / kindBatch
		grads[3][c] += g
		for j, h := range hidden {
			grads[2][c*p.hidden+j] += g * h
			if h > 0 {
				back[j] += g * p.params[2][c*p.hidden+j]
			}
		}
	}
	for j, g := range back {
		grads[1][j] += g
		row := grads[0][j*p.inputs : (j+1)*p.inputs]
		for i, v := range e.in {
			row[i] += g * v
		}
	}
}

// fitKinds trains members and joins them, so that what is near a border depends less on where training began, and leads the network to the
// encoder by which sentences are read.
func fitKinds(train []*kindExample) *perceptron {
	var each [members + 1]*perceptron
	var wait sync.WaitGroup
	for i := range each {
		wait.Go(func() {
			units := hiddenUnits
			if i == members {
				units = refusing
			}
			each[i] = newPerceptron(len(train[0].in), units, uint64(i+1)) //nolint:gosec // small
			each[i].descend(toldOf(train, func(kind int) bool { return (kind == isRefused) == (i == members) }), kindPasses, kindRate)
		})
	}
	wait.Wait()
	all := &perceptron{inputs: each[0].inputs, hidden: members*hiddenUnits + refusing}
	for _, m := range each {
		all.params[0] = append(all.params[0], m.params[0]...)
		all.params[1] = append(all.params[1], m.params[1]...)
	}
	all.params[3] = make([]float32, kindCount)
	for c := range kindCount {
		for i, m := range each {
			share := float32(1) / members
			switch {
			case (c == isRefused) != (i == members):
				share = 0
			case i == members:
				share = 1
			}
			for _, w := range m.params[2][c*m.hidden : (c+1)*m.hidden] {
				all.params[2] = append(all.params[2], w*share)
			}
			all.params[3][c] += m.params[3][c] * share
		}
	}
	all.carry(train)
	return all
}

// toldOf returns the examples of which some kinds are known, and of each only those.
func toldOf(train []*kindExample, some func(kind int) bool) (out []*kindExample) {
	for _, e := range train {
		told := *e
		for c := range told.weight {
			if !some(c) {
				told.weight[c] = 0
			}
		}
		if told.weight != [kindCount]float32{} {
			out = append(out, &told)
		}
	}
	return out
}

// descend learns from examples, in a number of passes, by Adam with decay (I. Loshchilov and F. Hutter, ICLR 2019). The order is shuffled
// the same way every time.
func (p *perceptron) descend(train []*kindExample, passes int, most float64) {
	var grads, mean, square [4][]float32
	for i := range p.params {
		grads[i], mean[i], square[i] = make([]float32, len(p.params[i])), make([]float32, len(p.params[i])), make([]float32, len(p.params[i]))
	}
	hidden, back := make([]float32, p.hidden), make([]float32, p.hidden)
	order := slices.Clone(train)
	steps, step := passes*((len(train)+kindBatch-1)/kindBatch), 0
	for range passes {
		for i := len(order) - 1; i > 0; i-- {
			j := int(p.next() % uint64(i+1)) //nolint:gosec // small
			order[i], order[j] = order[j], order[i]
		}
		for batch := range slices.Chunk(order, kindBatch) {
			for _, e := range batch {
				p.learn(e, &grads, hidden, back)
			}
			step++
			rate := most * (1 - float64(step)/float64(steps+1))
			first, second := 1-math.Pow(.9, float64(step)), 1-math.Pow(.999, float64(step))
			for i := range p.params {
				for k, g := range grads[i] {
					mean[i][k] = .9*mean[i][k] + .1*g
					square[i][k] = .999*square[i][k] + .001*g*g
					by := float64(mean[i][k])/first/(math.Sqrt(float64(square[i][k])/second)+1e-8) + kindDecay*float64(p.params[i][k])
					p.params[i][k] -= float32(rate * by)
				}
				clear(grads[i])
			}
		}
	}
}

// quantize returns the weights as the file holds them.
func (p *perceptron) quantize() *said.Network {
	n := &said.Network{}
	for j := range n.Rows {
		row, most := p.params[0][j*p.inputs:(j+1)*p.inputs], 1e-9
		for _, w := range row {
			most = max(most, math.Abs(float64(w)))
		}
		for i, w := range row {
			n.Rows[j][i] = int8(math.Round(float64(w) / most * 127))
		}
		n.Scales[j], n.Bias[j] = float32(most/127), p.params[1][j]
	}
	for c := range n.Out {
		copy(n.Out[c][:], p.params[2][c*p.hidden:])
		n.OutBy[c] = p.params[3][c]
	}
	return n
}

// runKinds compares the network on what is left out, and writes its weights.
func runKinds(data, cache, write string) error {
	files, err := filepath.Glob(filepath.Join(data, "*.jsonl"))
	if err != nil {
		return err
	}
	all, err := kindExamples(files, cache)
	if err != nil {
		return err
	}
	inputs := map[string]int{}
	for i := range all {
		inputs[all[i].source]++
	}
	fmt.Printf("%d sentences: %d of kinds.tsv and plain.tsv, written for them, the others of %d dialogues\n", len(all), inputs[sourceOwn]+inputs[sourcePlain], len(inputs)-2)

	if write != "" {
		learned := fitKinds(chosen(all, func(e *kindExample) bool { return !e.believed }))
		if err := os.WriteFile(write, learned.quantize().Bytes(), 0o644); err != nil { //nolint:gosec // a file of the repository
			return err
		}
	}
	isOwn := func(e *kindExample) bool { return e.source == sourceOwn }
	isBelieved := func(e *kindExample) bool { return e.believed }
	judge("believed", all, isBelieved, isBelieved)
	judgeFolds("own, by quarters", all, isOwn)
	for _, writer := range leftOut {
		of := func(e *kindExample) bool { return strings.HasPrefix(e.source, writer+"-") }
		judge("without "+writer, all, of, of)
	}
	languages := map[string]int{}
	for i := range all {
		languages[all[i].lang]++
	}
	for i := range leftOutLanguages {
		var some []string
		for k, lang := range sortedKeys(languages) {
			if k%leftOutLanguages == i && lang != "en" {
				some = append(some, lang)
			}
		}
		of := func(e *kindExample) bool { return slices.Contains(some, e.lang) }
		judge("without "+strings.Join(some, " "), all, of, of)
	}
	return nil
}

// What is left out in turn: writers of the corpus, by the beginning of their files, and languages, in so many groups.
var leftOut = []string{"town", "tech", "chinese", "languages", "people"}

const leftOutLanguages = 4

// chosen returns the examples that fit.
func chosen(all []kindExample, fits func(*kindExample) bool) (out []*kindExample) {
	for i := range all {
		if fits(&all[i]) {
			out = append(out, &all[i])
		}
	}
	return out
}

// judge trains without some examples and believed ones, and says how well it tells the kinds of some: of labeled sentences, and of
// those of dialogues.
func judge(name string, all []kindExample, tested, without func(*kindExample) bool) {
	n := fitKinds(chosen(all, func(e *kindExample) bool { return !e.believed && !without(e) })).quantize()
	run := func(e *kindExample) [kindCount]float64 { return n.Run(e.read) }
	reportKinds(name, chosen(all, func(e *kindExample) bool { return tested(e) && e.isLabeled() }), run)
	reportKinds("  of dialogues", chosen(all, func(e *kindExample) bool { return tested(e) && e.worth > 0 }), run)
}

// judgeFolds trains without a quarter of some examples at a time.
func judgeFolds(name string, all []kindExample, of func(*kindExample) bool) {
	const folds = 4
	got := map[*kindExample][kindCount]float64{}
	for fold := range uint32(folds) {
		out := func(e *kindExample) bool { return of(e) && hashed(e.text)%folds == fold }
		n := fitKinds(chosen(all, func(e *kindExample) bool { return !e.believed && !out(e) })).quantize()
		for _, e := range chosen(all, out) {
			got[e] = n.Run(e.read)
		}
	}
	reportKinds(name, chosen(all, of), func(e *kindExample) [kindCount]float64 { return got[e] })
}

// kindThresholds are those of the product.
var kindThresholds = [kindCount]float64{said.LeastHappened, said.LeastStates, said.LeastSupposed, said.LeastHanded, said.LeastQuoted, said.LeastRefused}

// reportKinds writes of each kind the area under the curve, and precision and recall at the product's threshold.
func reportKinds(name string, test []*kindExample, run func(*kindExample) [kindCount]float64) {
	fmt.Printf("%-24s %5d", name, len(test))
	for c := range kindCount {
		var scores, good []float64
		right, wrong, missed := 0., 0., 0.
		for _, e := range test {
			if e.weight[c] == 0 {
				continue
			}
			got := run(e)[c]
			is, above := e.is[c] == 1, got >= kindThresholds[c]
			if is {
				good = append(good, got)
			} else {
				scores = append(scores, got)
			}
			switch {
			case is && above:
				right++
			case above:
				wrong++
			case is:
				missed++
			}
		}
		if len(good) == 0 || len(scores) == 0 {
			fmt.Printf(" | %s -", kindNames[c])
			continue
		}
		fmt.Printf(" | %s %.3f p %.2f r %.2f", kindNames[c], areaOf(good, scores), right/max(1, right+wrong), right/max(1, right+missed))
	}
	if len(test) > 0 && test[0].worth > 0 {
		reportWorth(test, run)
	}
	fmt.Println()
}

// reportWorth writes the area of the head of worth, of the network, and of both together, on sentences of dialogues, and how
// many of both are facts for the product. The head has learned from the first files.
func reportWorth(test []*kindExample, run func(*kindExample) [kindCount]float64) {
	fmt.Print(" | worth:")
	for _, share := range []float64{1, 0, said.HeadShare} {
		var good, bad []float64
		for _, e := range test {
			worth := said.Both(e.worth, run(e)[isStates])
			switch share {
			case 0:
				worth = run(e)[isStates]
			case 1:
				worth = e.worth
			}
			if e.is[isStates] == 1 {
				good = append(good, worth)
			} else {
				bad = append(bad, worth)
			}
		}
		fmt.Printf(" %.3f (%.2f, %.2f)", areaOf(good, bad), shareAbove(good), shareAbove(bad))
	}
}

// shareAbove returns the share of worths that are those of facts.
func shareAbove(worths []float64) float64 {
	n := 0.
	for _, w := range worths {
		if w >= leastWorth {
			n++
		}
	}
	return n / float64(len(worths))
}

// areaOf returns the area under the curve: the share of pairs in which the good one is higher.
func areaOf(good, bad []float64) float64 {
	slices.Sort(bad)
	sum := 0.
	for _, g := range good {
		below, _ := slices.BinarySearch(bad, g)
		sum += float64(below)
	}
	return sum / float64(len(good)) / float64(len(bad))
}
