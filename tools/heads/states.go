package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipboxhq/slipbox/internal/said"
)

// stateExample is a sentence as the network of what is worth keeping learns it. Those of dialogues are also what the head learns.
type stateExample struct {
	kindExample
	of *example // nil: of kinds.tsv or plain.tsv
}

// writtenWeight is the weight of a sentence that was written for training: dialogues have four times as many, and hardly any as plain.
const writtenWeight = 3

// stateExamples returns what persons say in dialogues, and the sentences that were written for the network of kinds.
func stateExamples(talk []example, cache string) ([]stateExample, error) {
	var all []stateExample
	var texts []string
	var sentences []said.Sentence
	add := func(e stateExample, s said.Sentence) {
		all, sentences, texts = append(all, e), append(sentences, s), append(texts, s.Judged())
	}
	for i := range talk {
		e := &talk[i]
		if e.assistant {
			continue
		}
		k := kindExample{text: e.text, lang: e.lang, believed: e.believed}
		k.weight[0] = 1
		if e.kept {
			k.is[0] = 1
		}
		add(stateExample{k, e}, e.sentence)
	}
	for _, k := range writtenExamples() {
		if k.source != sourceOwn && k.source != sourcePlain {
			continue // the dialogue has it
		}
		k.is[0], k.weight[0] = k.is[isStates], writtenWeight*k.weight[isStates]
		some := said.Sentences([]said.Turn{{Text: k.text}}, 0)
		if len(some) == 1 && k.weight[0] > 0 {
			add(stateExample{kindExample: k}, some[0])
		}
	}
	made, err := vectors(texts, cache)
	for i := range all {
		if err == nil {
			all[i].in = sentences[i].StatesInput(made[i])
		}
	}
	return all, err
}

var statesPasses = flag.Int("states-passes", 12, "over all sentences")

// statesLeftOut are the writers that are left out together, with a fifth of the dialogues of the others.
var statesLeftOut = []string{"chinese-1", "town"}

// runStates compares the network, the head and both together on what is left out, and writes the weights of the network.
func runStates(data, cache, write string) error {
	files, err := filepath.Glob(filepath.Join(data, "*.jsonl"))
	if err != nil {
		return err
	}
	var sentences []example
	for _, f := range files {
		some, err := examplesOf(f)
		if err != nil {
			return err
		}
		sentences = append(sentences, some...)
	}
	all, err := stateExamples(sentences, cache)
	if err != nil {
		return err
	}
	group := func(e *stateExample) string {
		switch {
		case e.of == nil:
			return ""
		case e.believed && (strings.HasPrefix(e.of.file, "coast") || strings.HasPrefix(e.of.file, "rail")):
			return "believed"
		case e.believed:
			return "believed, older"
		}
		for _, w := range statesLeftOut {
			if e.of.writer == w {
				return w
			}
		}
		if e.of.fold%5 == 0 {
			return "known writers"
		}
		return ""
	}
	learn := func(out func(e *stateExample) bool) (*said.Network, *model) {
		var network []*kindExample
		var head []example
		for i := range all {
			if e := &all[i]; !out(e) {
				network = append(network, &e.kindExample)
				if e.of != nil {
					head = append(head, *e.of)
				}
			}
		}
		return fitKinds(network, 1, *statesPasses).quantize(), fit(head)
	}
	network, head := learn(func(e *stateExample) bool { return group(e) != "" })
	for _, name := range append([]string{"known writers"}, statesLeftOut...) {
		reportStates(name, all, func(e *stateExample) bool { return group(e) == name }, network, head)
	}
	if write == "" {
		return nil
	}
	network, head = learn(func(e *stateExample) bool { return e.believed })
	for _, name := range []string{"believed", "believed, older"} {
		reportStates(name, all, func(e *stateExample) bool { return group(e) == name }, network, head)
	}
	return os.WriteFile(write, network.Bytes(), 0o644) //nolint:gosec // a file of the repository
}

// reportStates writes areas of the head alone, of the network, and of both in some shares, and how many sentences of facts and how many
// others are quoted from some worths on.
func reportStates(name string, all []stateExample, of func(*stateExample) bool, network *said.Network, head *model) {
	for _, share := range []float64{1, 0, .25, .5} {
		var good, bad []float64
		for i := range all {
			e := &all[i]
			if !of(e) {
				continue
			}
			worth := said.Mixed(head.worth(e.of), network.Run(e.in)[0], share)
			if e.is[0] == 1 {
				good = append(good, worth)
			} else {
				bad = append(bad, worth)
			}
		}
		fmt.Printf("%-16s share of the head %.2f: %5d sentences, area %.3f", name, share, len(good)+len(bad), areaOf(good, bad))
		for _, least := range []float64{.08, .12, .16, .2, .25, .3, .4} {
			fmt.Printf(" | %.2f: %.3f %.3f", least, shareAbove(good, least), shareAbove(bad, least))
		}
		fmt.Println()
	}
}
