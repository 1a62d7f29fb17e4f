package rules

import (
	"cmp"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// train writes the weights of worth.tsv again.
var train = flag.Bool("train", false, "learn the weights of worth.tsv from the judged facts in the sets of EVAL_DATA")

// example is a judged candidate.
type example struct {
	set, dialogue string
	good          bool
	class, fact   string
	features      []feature
	excerpt       bool
	byRule        bool    // no weights are needed
	score         float64 // by rules
}

// judgedSets returns the conversations whose facts were judged to learn from.
func judgedSets(t *testing.T, dir string) []reviewedDialogue {
	t.Helper()
	var out []reviewedDialogue
	for _, d := range reviewedDialogues(t, dir, true) {
		if strings.HasPrefix(d.id, "conv") {
			d.betweenPeople()
		}
		out = append(out, d)
	}
	for _, d := range beamChats(t, dir) {
		for i := range d.turns {
			d.turns[i].Time = tierTime // that of the facts that were judged
		}
		out = append(out, d)
	}
	for _, file := range []string{"madial_dev.json.gz", "madial_zh_dev.json.gz"} {
		for _, d := range madialTalks(t, dir, file) {
			if learnsFrom(d.id) {
				out = append(out, d)
			}
		}
	}
	return out
}

// learnsFrom reports whether the weights may be learned from a dialogue of MADial-Bench: every second one.
func learnsFrom(id string) bool {
	n, err := strconv.Atoi(id[strings.LastIndex(id, "-")+1:])
	return err == nil && n/2%2 == 1
}

// setOf returns the data set of a dialogue, as the pages of docs/reviews call it.
func setOf(dialogue string) string {
	switch prefix, _, _ := strings.Cut(dialogue, "-"); prefix {
	case "conv":
		return "LoCoMo"
	case "beam":
		return "BEAM"
	case "madial":
		return "MADial, English"
	case "madialzh":
		return "MADial, Chinese"
	}
	return "RealMem"
}

// judged returns the examples: the candidates of the conversations that were judged.
func judged(t *testing.T, dir string) []example {
	t.Helper()
	verdicts := map[string]string{}
	for _, file := range []string{"worth_judged.tsv", "worth_excerpts.tsv"} {
		raw, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			parts := strings.Split(strings.TrimSpace(line), "\t")
			turn, _, _ := strings.Cut(parts[0], " #")
			verdicts[turn+" "+parts[1]] = parts[2]
		}
	}
	var out []example
	for _, d := range judgedSets(t, dir) {
		var before []memory.Utterance
		for _, turn := range d.turns {
			if turn.Role == memory.RoleUser {
				for _, c := range candidates(mem0.ExtractInput{Excerpts: true, Recent: before, New: []memory.Utterance{turn.Utterance}}) {
					class := verdicts[d.id+" "+turn.id+" "+drawn{text: c.fact}.hash()]
					if class == "" || standing.MatchString(c.fact) { // these are wanted in any case
						continue
					}
					out = append(out, newExample(setOf(d.id), d.id, class, &c))
				}
			}
			before = append(before, turn.Utterance)
			before = before[max(0, len(before)-3):]
		}
	}
	for _, n := range notebookCandidates(t) {
		if class := verdicts[fmt.Sprintf("%s %d %s", n.dialogue, n.turn, drawn{text: n.fact}.hash())]; class != "" {
			out = append(out, newExample("written, "+n.dialogue[:2], n.dialogue, class, &n.candidate))
		}
	}
	t.Logf("%d of %d judged facts are still found", len(out), len(verdicts))
	if 5*len(out) < 4*len(verdicts) {
		t.Errorf("the rules find %d of %d facts that were judged: judge again", len(out), len(verdicts))
	}
	return append(out, ownExamples(t)...)
}

// ownTalks returns what we wrote to learn from: a verdict, what the assistant says before, and what a person says, on
// each line.
func ownTalks(t *testing.T) [][3]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "worth_own.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var out [][3]string
	for line := range strings.Lines(string(raw)) {
		out = append(out, [3]string(strings.Split(strings.TrimRight(line, "\n"), "\t")))
	}
	return out
}

// ownCandidates returns the candidates of what a person says behind an assistant.
func ownCandidates(before, said string) []candidate {
	in := mem0.ExtractInput{New: []memory.Utterance{{Role: memory.RoleUser, Name: "Ines", Content: said, Time: tierTime}}}
	if before != "" {
		in.Recent = []memory.Utterance{{Role: memory.RoleAssistant, Content: before, Time: tierTime}}
	}
	return candidates(in)
}

// ownExamples returns examples that we wrote: those lines, and what a reader wants to know of the dialogues of
// talks_chosen.tsv.
func ownExamples(t *testing.T) []example {
	t.Helper()
	var out []example
	for i, line := range ownTalks(t) {
		for _, c := range ownCandidates(line[1], line[2]) { // nothing, where a rule refuses it
			out = append(out, newExample("own", "line "+strconv.Itoa(i), line[0], &c))
		}
	}
	for _, d := range readTalks(t, "talks_chosen.tsv") {
		for i, u := range d.turns {
			for _, c := range candidates(mem0.ExtractInput{Recent: d.turns[max(0, i-3):i], New: []memory.Utterance{u}}) {
				memo := memoryList{texts: []string{c.fact}}
				if slices.ContainsFunc(d.want, memo.has) {
					out = append(out, newExample("own", d.name, "good", &c))
				}
			}
		}
	}
	return out
}

// weight is how much an example counts. What we wrote is what must not be lost.
func (e *example) weight() float64 {
	if e.set == "own" {
		return 5
	}
	return 1
}

func newExample(set, dialogue, class string, c *candidate) example {
	e := example{set: set, dialogue: dialogue, good: class == "good", class: class, fact: c.fact, excerpt: c.excerpt}
	keep, decided := c.byRule()
	e.byRule, e.score = decided, indicator(keep)
	c.features(func(name string, value float64) { e.features = append(e.features, feature{name, value}) })
	return e
}

// learner fits a logistic regression.
type learner struct {
	penalty float64 // of squared weights
	// A feature of fewer examples, or of fewer sets, is left out.
	minExamples, minSets int
}

// fit returns the weights, learned from the examples that need them.
func (l *learner) fit(examples []example) map[string]float64 {
	examples = slices.DeleteFunc(slices.Clone(examples), func(e example) bool { return e.byRule && e.set != "own" })
	index, names := map[string]int{}, []string{}
	count, sets := map[string]int{}, map[string]map[string]bool{}
	for _, e := range examples {
		for _, f := range e.features {
			count[f.name]++
			if sets[f.name] == nil {
				sets[f.name] = map[string]bool{}
			}
			sets[f.name][e.set] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		need := l.minSets
		if strings.HasPrefix(name, "han") {
			need = 1
		}
		if count[name] >= l.minExamples && len(sets[name]) >= need {
			index[name] = len(names)
			names = append(names, name)
		}
	}
	type cell struct {
		row int
		v   float64
	}
	columns := make([][]cell, len(names))
	for i, e := range examples {
		for _, f := range e.features {
			if at, ok := index[f.name]; ok {
				columns[at] = append(columns[at], cell{i, f.value})
			}
		}
	}
	// Each weight in turn gets a step of Newton's method, until all are where they belong.
	w, sums := make([]float64, len(names)), make([]float64, len(examples))
	const rounds = 30
	for range rounds {
		for i, column := range columns {
			gradient, curve := -l.penalty*w[i], l.penalty
			if names[i] == "every fact" {
				gradient, curve = 0, 1e-6
			}
			for _, c := range column {
				p := logistic(sums[c.row])
				weight := examples[c.row].weight()
				gradient += weight * c.v * (indicator(examples[c.row].good) - p)
				curve += weight * c.v * c.v * max(p*(1-p), .01)
			}
			step := gradient / curve
			w[i] += step
			for _, c := range column {
				sums[c.row] += step * c.v
			}
		}
	}
	out := map[string]float64{}
	for i, name := range names {
		out[name] = w[i]
	}
	return out
}

func scoreOf(weights map[string]float64, e *example) float64 {
	if e.byRule {
		return e.score
	}
	sum := 0.0
	for _, f := range e.features {
		sum += weights[f.name] * f.value
	}
	return logistic(sum)
}

type scored struct {
	*example
	p float64
}

// areaUnder returns the share of pairs of a good and a bad fact of which the good one has the higher score.
func areaUnder(list []scored) float64 {
	wins, pairs := 0.0, 0.0
	for _, a := range list {
		for _, b := range list {
			if a.good && !b.good {
				pairs++
				switch cmp.Compare(a.p, b.p) {
				case 1:
					wins++
				case 0:
					wins += .5
				}
			}
		}
	}
	return wins / pairs
}

// at returns the share of good facts among those kept, and of the good ones that are kept.
func at(list []scored, threshold float64) (precision, recall float64) {
	kept, right, good := 0, 0, 0
	for _, s := range list {
		if s.good {
			good++
		}
		if s.p >= threshold {
			kept++
			if s.good {
				right++
			}
		}
	}
	return float64(right) / float64(kept), float64(right) / float64(good)
}

// leftOut returns the scores of the examples of each set by weights that are learned without the group of the example.
func (l *learner) leftOut(examples []example, group func(*example) string) map[string][]scored {
	out := map[string][]scored{}
	groups := map[string][]example{}
	for i := range examples {
		groups[group(&examples[i])] = nil
	}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		rest := slices.DeleteFunc(slices.Clone(examples), func(e example) bool { return group(&e) == g })
		w := l.fit(rest)
		for i := range examples {
			if e := &examples[i]; group(e) == g {
				out[e.set] = append(out[e.set], scored{e, scoreOf(w, e)})
			}
		}
	}
	return out
}

// bySet and byConversation are the groups that are left out. MADial-Bench is one set in two languages, and of sets with
// many short conversations a fifth of them is a group.
func bySet(e *example) string {
	first, _, _ := strings.Cut(e.set, " ")
	return first
}

func byConversation(e *example) string {
	if e.set == "LoCoMo" || e.set == "RealMem" {
		return e.dialogue
	}
	h := fnv.New32()
	_, _ = h.Write([]byte(e.dialogue))
	return strconv.Itoa(int(h.Sum32() % 5))
}

// worthLearner is what the weights are learned with; the penalty is in the middle of a plateau.
var worthLearner = learner{penalty: 5, minExamples: 5, minSets: 2}

// worthThreshold is low, because a good fact that is lost costs more than one that says little.
const worthThreshold = .4

// TestWorthIsLearned learns the weights of worth.tsv from the judged facts; with the flag -train it writes them, and
// logs how well they do where they were not learned. Without it, it checks that what is committed decides as what it learns.
func TestWorthIsLearned(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("EVAL_DATA")
	if dir == "" {
		t.Skip("EVAL_DATA is not set")
	}
	examples := judged(t, dir)
	learned := &worthModel{weights: worthLearner.fit(examples), threshold: worthThreshold}
	if *train {
		if err := os.WriteFile("worth.tsv", []byte(learned.table()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, g := range []struct {
			name string
			of   func(*example) string
		}{{"one set left out", bySet}, {"one conversation left out", byConversation}} {
			logScores(t, g.name, worthLearner.leftOut(examples, g.of))
		}
		return
	}
	committed, same := loadWorth(), 0
	for i := range examples {
		e := &examples[i]
		if (scoreOf(committed.weights, e) >= committed.threshold) == (scoreOf(learned.weights, e) >= learned.threshold) {
			same++
		}
	}
	if 100*same < 95*len(examples) {
		t.Errorf("the committed weights decide as learned ones for %d of %d: learn them with -train", same, len(examples))
	}
}

// logScores logs, for each set and together, the share that is good of all and of what is kept at thresholds, and the
// share of the good ones that is kept.
func logScores(t *testing.T, name string, sets map[string][]scored) {
	t.Helper()
	var pool []scored
	row := func(set string, list []scored) {
		var line strings.Builder
		what := "facts"
		if len(list) > 0 && list[0].excerpt {
			what = "excerpts"
		}
		fmt.Fprintf(&line, "%s | %s | %d %s | %.2f | %.3f", name, set, len(list), what, share(list), areaUnder(list))
		for _, threshold := range []float64{.3, .4, .5, .55, .6, .7} {
			precision, recall := at(list, threshold)
			fmt.Fprintf(&line, " | %.2f / %.2f", precision, recall)
		}
		t.Log(line.String())
	}
	for _, excerpts := range []bool{false, true} {
		pool = nil
		for _, set := range slices.Sorted(maps.Keys(sets)) {
			list := slices.DeleteFunc(slices.Clone(sets[set]), func(s scored) bool { return s.excerpt != excerpts })
			if len(list) == 0 {
				continue
			}
			row(set, list)
			if set != "own" {
				pool = append(pool, list...)
			}
		}
		row("all but own", pool)
	}
}

func share(list []scored) float64 {
	good := 0.0
	for _, s := range list {
		good += indicator(s.good)
	}
	return good / float64(len(list))
}

// table returns the model as parseWorth reads it.
func (m *worthModel) table() string {
	var b strings.Builder
	b.WriteString("# The weights by which facts are kept, in thousandths; go test ./internal/rules -run WorthIsLearned -train writes them.\n")
	fmt.Fprintf(&b, "threshold\t%.0f\n", 1000*m.threshold)
	for _, name := range slices.Sorted(maps.Keys(m.weights)) {
		if w := math.Round(1000 * m.weights[name]); math.Abs(w) >= 20 {
			fmt.Fprintf(&b, "%s\t%.0f\n", name, w)
		}
	}
	return b.String()
}

// What people say of themselves is kept, beside a person and beside an assistant. Nothing was learned from these.
func TestWantedFactsAreKept(t *testing.T) {
	t.Parallel()
	said := strings.SplitSeq(`I live in Bremen.|I moved to Turin last month.|I'm allergic to shellfish.|My name is Tamsin.|I'm an electrician.|
		I work at the post office in Tromsø.|My husband is called Bruno.|I have three daughters.|My grandmother turned ninety in May.|
		I have type 2 diabetes.|I take warfarin every evening.|I had my appendix removed in 2014.|I'm vegan.|I love Thai food.|I can't stand jazz.|
		I prefer the window seat.|My favorite color is teal.|I'm flying to Lima on the 9th of July.|I'm planning to open a bookshop in spring.|
		My driving test is on 14 March.|I'm getting divorced.|I speak Portuguese.|I play badminton every Tuesday.|We adopted a greyhound named Nelly.|
		I graduated from Leiden University in 2008.|I was born in Zagreb.|I'm not vegetarian any more.|I no longer work at the harbor.|I quit the choir.|
		I sold the boat.|I gave up coffee in April.|I play the cello.|I run every morning.|My phone number is 555-1234.|我住在青岛。|我搬到了南京。|我对海鲜过敏。|我是电工。|我在邮局工作。|我有三个女儿。|我有糖尿病。|
		我不吃辣。|我最喜欢的颜色是蓝色。|我七月九号飞昆明。|我在准备考研。|我会说法语。|我每周二打羽毛球。|我出生在大连。|我不再吃素了。|我辞职了。|我戒酒了。`, "|")
	for s := range said {
		for _, before := range []string{"", "I see.", "Certainly! Here are some ideas:\n1. **Walk** more.\n2. **Sleep** longer.\nWhich one do you like best?"} {
			s := strings.TrimSpace(s)
			for _, c := range ownCandidates(before, s) {
				if !loadWorth().keeps(&c) {
					t.Errorf("%q is not kept of %q, behind %q: %.2f", c.fact, s, before, loadWorth().probability(&c))
				}
			}
		}
	}
}

// What only serves the talk is not kept.
func TestTalkOfTheMomentIsNotKept(t *testing.T) {
	t.Parallel()
	const before = "Certainly! Here is the outline:\n1. **Opening**\n2. **Middle**\n3. **End**\nShall I write the first part?"
	for _, s := range []string{
		"I need the complete outline right now.", "I want to see the next version of the text.", "I will check the outline later.", "I like the order of the parts.",
		"I will use the outline to write the text.",
	} {
		if facts := extract(mem0.ExtractInput{
			Recent: []memory.Utterance{{Role: memory.RoleAssistant, Content: before}},
			New:    []memory.Utterance{{Role: memory.RoleUser, Content: s}},
		}).Facts; len(facts) > 0 {
			t.Errorf("%q is kept of %q", facts, s)
		}
	}
}

// A table of weights that cannot be read is an error, and a fact below the threshold is not kept.
func TestWorthTable(t *testing.T) {
	t.Parallel()
	if _, err := parseWorth("verb like\tmuch\n"); err == nil {
		t.Error("a weight that is no number is read")
	}
	m, err := parseWorth("# a remark\nthreshold\t500\nverb live\t2000\nverb paint\t-2000\n")
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]bool{"I live in Graz with my brother.": true, "I painted the old gate of the farm.": false} {
		for _, c := range ownCandidates("", said) {
			if got := m.keeps(&c); got != want {
				t.Errorf("%q is kept: %v", c.fact, got)
			}
		}
	}
}

// Nothing is kept of a text that somebody pastes, but of a long message about its writer, and of one with code.
func TestPastedTextsAreRefused(t *testing.T) {
	t.Parallel()
	about := strings.Repeat("The firm has advised companies in the region for twenty years. The partners publish on contract law every spring. ", 14)
	own := strings.Repeat("I work at the harbor and I like the early shift. I have lived in Bremen for nine years. ", 18)
	code := "I live in Bremen and I have a bug here:\n```go\n" + strings.Repeat("var harbor = berths[1].name\n", 60) + "```"
	for said, want := range map[string]bool{"Here it is. I founded the firm with my brother. " + about: false, own: true, code: true} {
		if facts := extract(mem0.ExtractInput{New: []memory.Utterance{{Role: memory.RoleUser, Content: said}}}).Facts; (len(facts) > 0) != want {
			t.Errorf("%d facts of %.60q", len(facts), said)
		}
	}
}
