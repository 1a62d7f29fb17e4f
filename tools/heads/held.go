package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/slipboxhq/slipbox/internal/said"
)

// heldLines are those of held.tsv: turns that nothing was learned or chosen from. A line has what a turn is, its language, and its
// words, in which \n is the end of a line.
//
//go:embed held.tsv
var heldLines string

// leastEpisode is the worth from which internal/memory/policy/layered makes an episode of a sentence.
const leastEpisode = 0.4

// runHeld says what the product makes of the turns of held.tsv: how many are episodes and how many have a fact. It prints those that
// came out otherwise than their kind.
func runHeld() error {
	type counts struct{ turns, happened, episodes, facts, episodesBefore, factsBefore int }
	byKind := map[string]*counts{}
	for line := range strings.Lines(heldLines) {
		p := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		sentences := said.Sentences([]said.Turn{{Text: strings.ReplaceAll(p[2], `\n`, "\n")}}, 0)
		before, _ := said.Most(sentences)
		if err := said.Judge(sentences, func(texts []string) ([][]float32, error) { return vectors(texts, "") }); err != nil {
			return err
		}
		worth, happened := said.Most(sentences)
		c := byKind[p[0]]
		if c == nil {
			c = &counts{}
			byKind[p[0]] = c
		}
		c.turns++
		c.happened += count(happened)
		c.episodes += count(happened || worth >= leastEpisode)
		c.facts += count(worth >= leastWorth)
		c.episodesBefore += count(before >= leastEpisode)
		c.factsBefore += count(before >= leastWorth)
		if wants := p[0] == "happened" || p[0] == "fact"; wants != (worth >= leastWorth) || p[0] == "chatter" && worth >= leastEpisode || (p[0] == "happened") != happened && p[0] != "fact" {
			fmt.Printf("  %s, %s, worth %.2f, happened %t: %s\n", p[0], p[1], worth, happened, p[2])
		}
	}
	for _, kind := range sortedKeys(byKind) {
		c := byKind[kind]
		fmt.Printf("held, %-9s %3d turns: something happened in %d, episodes %d (without vectors %d), with a fact %d (%d)\n",
			kind, c.turns, c.happened, c.episodes, c.episodesBefore, c.facts, c.factsBefore)
	}
	return nil
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
