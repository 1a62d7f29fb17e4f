// Command heads trains what internal/said knows of sentences, and says how well it tells what it did not learn from:
//
//	go run ./tools/heads [-parts worth,kinds,held,together] [-data corpus/dialogues] [-vectors FILE]
//	go run ./tools/heads -parts worth [-files assistant,chinese,…] -write internal/said/head.bin
//	go run ./tools/heads -parts kinds -kinds internal/said/kinds.bin
//
// worth is the head of what is worth keeping, over the form of a sentence and hashed parts of its words. The head of the repository
// has learned from the first files of the corpus, which are the default; -files "" takes all. Believed dialogues are learned from no
// more, and are reported apart; the head that is there is older, and has learned from those of the first files, too. The
// dialogues have few of the plain sentences that people write to an assistant, and hardly any text that is handed over for work
// or supposed. plain.tsv has some in each language; half of it is left out at a time.
//
// kinds is the network over vectors that tells what happened, what is supposed, what hands over a text for work and what somebody else
// says. It learns from kinds.tsv, in which each line has a label, a language, a source ("own" or a dialogue) and a sentence, from
// plain.tsv, and from all dialogues that are not believed. It needs the encoder (make encoder); -vectors keeps vectors for the next run.
// The labels are happened, fact, plan, chatter, opinion, request, question, supposed, handed, quoted, routine (daily doings),
// fragment (an answer that is nothing alone), trace (a line of what a program reports), forget (a wish that something is forgotten),
// refused (what a model says in place of an answer) and answer (what a model says of somebody who refuses or cannot do something).
//
// held says what the product makes of held.tsv, from which nothing was learned or chosen.
//
// together says how many facts that end another one are shown together with it, and what a cosine alone would find.
package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/said"
)

// firstFiles are what the names of the first files begin with.
const firstFiles = "assistant,chinese,languages,people"

// isBelieved reports whether a dialogue only measures.
func isBelieved(id string) bool { return (&eval.Labeled{ID: id}).Believed() }

func main() {
	data := flag.String("data", "corpus/dialogues", "folder with the labeled dialogues")
	begin := flag.String("files", firstFiles, "of that folder, by the beginning of their names; \"\": all")
	write := flag.String("write", "", "file to write the weights to, learned from all files")
	kinds := flag.String("kinds", "", "file to write the weights of the network of kinds to")
	cache := flag.String("vectors", "", "file that keeps vectors")
	parts := flag.String("parts", "worth,kinds,held", "what is done: the head of worth, the network of kinds, held turns")
	flag.Parse()

	for part := range strings.SplitSeq(*parts, ",") {
		var err error
		switch part {
		case "worth":
			err = run(*data, *begin, *write)
		case "kinds":
			err = runKinds(*data, *cache, *kinds)
		case "held":
			err = runHeld()
		case "together":
			err = runTogether(*data)
		default:
			err = fmt.Errorf("no part is called %q", part)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "heads:", err)
			os.Exit(1)
		}
	}
}

// run compares the head on each file left out, and writes the weights.
func run(data, begin, write string) error {
	files, err := filepath.Glob(filepath.Join(data, "*.jsonl"))
	files = slices.DeleteFunc(files, func(file string) bool {
		return !slices.ContainsFunc(strings.Split(begin, ","), func(name string) bool { return strings.HasPrefix(filepath.Base(file), name) })
	})
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no dialogues in %s", data)
	}
	all, err := plainExamples(files)
	if err != nil {
		return err
	}
	names := []string{"plain-0", "plain-1"}
	for _, f := range files {
		names = append(names, filepath.Base(f))
		read, err := examplesOf(f)
		if err != nil {
			return err
		}
		all = append(all, read...)
	}
	var judged, plainOnes []scored
	for _, name := range names {
		var train, rest []example
		for _, e := range all {
			switch {
			case e.file == name:
				rest = append(rest, e)
			case !e.believed:
				train = append(train, e)
			}
		}
		m := fit(train)
		var s []scored
		for _, e := range rest {
			s = append(s, scored{m.worth(&e), e})
		}
		report(name, s)
		if strings.HasPrefix(name, "plain") {
			plainOnes = append(plainOnes, s...)
		} else {
			judged = append(judged, s...)
		}
	}
	byKind := map[string][]scored{}
	for _, s := range plainOnes {
		byKind[s.kind] = append(byKind[s.kind], s)
	}
	for _, kind := range sortedKeys(byKind) {
		quoted(kind, byKind[kind])
	}
	var learned, believed []example
	for _, e := range all {
		if e.believed {
			believed = append(believed, e)
		} else {
			learned = append(learned, e)
		}
	}
	head := fit(learned)
	var trusted []scored
	for _, e := range believed {
		trusted = append(trusted, scored{head.worth(&e), e})
	}
	report("believed", trusted)
	quoted("believed", trusted)
	quoted("  of the first files", slices.DeleteFunc(slices.Clone(trusted), func(s scored) bool {
		return !slices.ContainsFunc(strings.Split(firstFiles, ","), func(name string) bool { return strings.HasPrefix(s.file, name) })
	}))
	report("all, each file left out", judged)
	byLanguage := map[string][]scored{}
	for _, s := range judged {
		byLanguage[s.lang] = append(byLanguage[s.lang], s)
	}
	for _, lang := range sortedKeys(byLanguage) {
		report("  "+lang, byLanguage[lang])
	}
	if write == "" {
		return nil
	}
	return os.WriteFile(write, head.quantize().Bytes(), 0o644) //nolint:gosec // a file of the repository
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

//go:embed plain.tsv
var plain string

// plainSentences are the lines of plain.tsv by language and label.
func plainSentences() map[string]map[string][]string {
	out := map[string]map[string][]string{}
	for line := range strings.Lines(plain) {
		label, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		lang, sentence, _ := strings.Cut(rest, "\t")
		if out[lang] == nil {
			out[lang] = map[string][]string{}
		}
		out[lang][label] = append(out[lang][label], sentence)
	}
	return out
}

// plainExamples returns the plain sentences, each as a turn. Those that are worth keeping are also before and behind a
// long text that was pasted, behind words that hand them over for work or suppose them, which makes them nothing to
// keep, and behind words that only announce them.
func plainExamples(files []string) ([]example, error) {
	pasted, err := longTexts(files)
	if err != nil {
		return nil, err
	}
	var out []example
	all := plainSentences()
	for _, lang := range sortedKeys(all) {
		of := all[lang]
		add := func(i int, kind, turn, kept string) { out = append(out, plainExample(i, kind, lang, turn, kept)...) }
		for i, s := range of["skip"] {
			add(i, "nothing to keep", s, "")
		}
		for i, s := range of["keep"] {
			add(i, "worth keeping", s, s)
			if long := pasted[lang]; len(long) > 0 {
				add(i, "before what is pasted", s+" "+long[i%len(long)], s)
				add(i, "behind what is pasted", long[(i+1)%len(long)]+" "+s, s)
			}
			if n := len(of["supposed"]); i%2 == 0 {
				add(i/2, "supposed", of["supposed"][(i/2)%n]+" "+s, "")
			}
			handed, told := of["handed"][i%len(of["handed"])], of["told"][i%len(of["told"])]
			next := of["keep"][(i+7)%len(of["keep"])]
			add(i, "handed over", handed+" "+s, "")
			add(i, "announced", told+" "+s, told+" "+s)
			if i%3 == 1 {
				add(i, "handed over", handed+"\n"+s+" "+next, "")
				add(i, "announced", told+"\n"+s+" "+next, s+" "+next)
			}
		}
	}
	return out, nil
}

// plainExample returns the sentences of a turn, of which those that are in kept are worth keeping.
func plainExample(i int, kind, lang, turn, kept string) []example {
	var out []example
	for _, s := range said.Sentences([]said.Turn{{Text: turn}}, 0) {
		form, parts, opening := s.Features()
		e := example{file: fmt.Sprintf("plain-%d", i%2), lang: lang, kind: kind, form: form, parts: parts, opening: opening}
		e.kept = strings.Contains(kept, s.Text)
		out = append(out, e)
	}
	return out
}

// longText is how long a text is that people paste, in bytes.
const longText = 900

// longTexts returns what assistants say at length, by language.
func longTexts(files []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, f := range files {
		all, err := dialoguesOf(f)
		if err != nil {
			return nil, err
		}
		for i := range all {
			for _, t := range all[i].Turns {
				if t.R == "assistant" && len(t.T) >= longText {
					out[all[i].Lang] = append(out[all[i].Lang], t.T)
				}
			}
		}
	}
	return out, nil
}

// dialogue is a labeled dialogue.
type dialogue struct {
	ID    string `json:"id"`
	Lang  string `json:"lang"`
	Turns []struct {
		S string `json:"s"`
		R string `json:"r"`
		T string `json:"t"`
	} `json:"turns"`
	Facts []struct {
		Turn int    `json:"turn"`
		Span string `json:"span"`
		Cls  string `json:"cls"`
	} `json:"facts"`
}

// example is a sentence with its label.
type example struct {
	file, lang string
	kind       string // of a plain sentence: alone, supposed, handed over, only announced
	text       string
	assistant  bool    // an assistant says it
	class      string  // of the fact
	word       bool    // it has a word or two
	worth      float64 // by the head that is there
	kept       bool
	believed   bool
	form       []float32
	parts      []uint16
	opening    []uint16
}

func examplesOf(path string) ([]example, error) {
	all, err := dialoguesOf(path)
	if err != nil {
		return nil, err
	}
	var out []example
	for i := range all {
		believed := isBelieved(all[i].ID)
		for _, e := range all[i].examples() {
			e.file, e.believed = filepath.Base(path), believed
			out = append(out, e)
		}
	}
	return out, nil
}

func dialoguesOf(path string) ([]dialogue, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	var out []dialogue
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var d dialogue
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, d)
	}
	return out, lines.Err()
}

// examples returns the sentences of a dialogue. One is worth keeping if a labeled span has half of it, or it has
// half of a span.
func (d *dialogue) examples() []example {
	var out []example
	for i := range d.Turns {
		var turns []said.Turn
		from := max(0, i-background)
		for _, t := range d.Turns[from : i+1] {
			turns = append(turns, said.Turn{Speaker: t.S, Assistant: t.R == "assistant", Text: t.T})
		}
		for _, s := range said.Sentences(turns, len(turns)-1) {
			if s.Asks {
				continue
			}
			form, parts, opening := s.Features()
			kept, class := d.isKept(i, s.Text)
			out = append(out, example{
				lang: d.Lang, text: s.Text, assistant: d.Turns[i].R == "assistant", kept: kept, class: class, word: s.IsWord(), worth: s.Worth(),
				form: form, parts: parts, opening: opening,
			})
		}
	}
	return out
}

// background is how many turns before one the analyst sees.
const background = 10

// isKept reports whether a sentence of a turn is of a fact, and the fact's class: "event" if it is of one.
func (d *dialogue) isKept(turn int, sentence string) (kept bool, class string) {
	at := strings.Index(d.Turns[turn].T, sentence)
	for _, f := range d.Facts {
		from := strings.Index(d.Turns[turn].T, f.Span)
		if f.Turn != turn || from < 0 || at < 0 {
			continue
		}
		shared := min(at+len(sentence), from+len(f.Span)) - max(at, from)
		if 2*shared >= min(len(sentence), len(f.Span)) {
			if kept = true; class != "event" {
				class = f.Cls
			}
		}
	}
	return kept, class
}

// model is the head while it is trained.
type model struct {
	form  []float64
	words []float64
}

func (m *model) sum(e *example) float64 {
	sum, words := 0.0, 0.0
	for i, v := range e.form {
		sum += float64(v) * m.form[i]
	}
	for _, p := range e.parts {
		words += m.words[p]
	}
	sum += words * float64(said.PartValue(len(e.parts)))
	for _, p := range e.opening {
		sum += m.words[p] * said.OpeningValue
	}
	return sum
}

func (m *model) worth(e *example) float64 { return 1 / (1 + math.Exp(-m.sum(e))) }

// Constants of the training, chosen with the files left out in turn.
var (
	passes     = flag.Int("passes", 6, "over all sentences")
	plainTimes = flag.Int("plain", 1, "how often the plain sentences are in a pass")
	rate       = flag.Float64("rate", 0.1, "of learning")
	formDecay  = flag.Float64("form-decay", 1e-5, "of the weights of the form")
	wordDecay  = flag.Float64("word-decay", 1e-4, "of the weights of words")
)

// fit trains a head by AdaGrad. The order is shuffled the same way every time.
func fit(train []example) *model {
	m := &model{form: make([]float64, len(train[0].form)), words: make([]float64, len(said.Head{}.Words))}
	gForm, gWords := make([]float64, len(m.form)), make([]float64, len(m.words))
	var order []int
	for i := range train {
		order = append(order, i)
	}
	for i := range train {
		for range *plainTimes - 1 {
			if train[i].kind != "" {
				order = append(order, i)
			}
		}
	}
	random := uint64(1)
	for range *passes {
		for i := len(order) - 1; i > 0; i-- {
			random = random*6364136223846793005 + 1442695040888963407
			j := int((random >> 33) % uint64(i+1)) //nolint:gosec // small
			order[i], order[j] = order[j], order[i]
		}
		for _, i := range order {
			e := &train[i]
			g := m.worth(e)
			if e.kept {
				g--
			}
			step := func(w, sum *float64, g float64) {
				*sum += g * g
				*w -= *rate * g / (math.Sqrt(*sum) + 1e-6)
			}
			for k, v := range e.form {
				if v != 0 {
					step(&m.form[k], &gForm[k], g*float64(v)+*formDecay*m.form[k])
				}
			}
			v := float64(said.PartValue(len(e.parts)))
			for _, p := range e.parts {
				step(&m.words[p], &gWords[p], g*v+*wordDecay*m.words[p])
			}
			for _, p := range e.opening {
				step(&m.words[p], &gWords[p], g*said.OpeningValue+*wordDecay*m.words[p])
			}
		}
	}
	return m
}

// quantize returns the weights as the file holds them.
func (m *model) quantize() *said.Head {
	most := 1e-9
	for _, w := range m.words {
		most = max(most, math.Abs(w))
	}
	h := &said.Head{Scale: float32(most / 127)}
	for i, w := range m.form {
		h.Form[i] = float32(w)
	}
	for i, w := range m.words {
		h.Words[i] = int8(math.Round(w / most * 127))
	}
	return h
}

type scored struct {
	worth float64
	example
}

// report writes the area under the curve, and what is kept to keep .9 and .95 of what is worth it.
func report(name string, s []scored) {
	slices.SortFunc(s, func(a, b scored) int { return cmp.Compare(b.worth, a.worth) })
	good := 0
	for _, x := range s {
		if x.kept {
			good++
		}
	}
	area, seen := 0.0, 0
	var shares strings.Builder
	want := []float64{.8, .9, .95}
	for i, x := range s {
		if !x.kept {
			area += float64(seen)
			continue
		}
		seen++
		for len(want) > 0 && float64(seen) >= want[0]*float64(good) {
			fmt.Fprintf(&shares, "  %.2f: %.2f of all (from %.2f on)", want[0], float64(i+1)/float64(len(s)), x.worth)
			want = want[1:]
		}
	}
	area /= float64(good) * float64(len(s)-good)
	fmt.Printf("%-26s %5d sentences, %.2f kept, area %.3f,%s\n", name, len(s), float64(good)/float64(len(s)), area, shares.String())
}

// leastWorth is the worth from which internal/analyst quotes a sentence.
const leastWorth = 0.16

// quoted writes how many sentences have the worth of a fact, of those that are worth keeping and of the others.
func quoted(name string, s []scored) {
	all, above := map[bool]int{}, map[bool]int{}
	for _, x := range s {
		all[x.kept]++
		if x.worth >= leastWorth {
			above[x.kept]++
		}
	}
	fmt.Printf("%-26s from %.2f on: %d of %d worth keeping, %d of %d others\n", name, leastWorth, above[true], all[true], above[false], all[false])
}
