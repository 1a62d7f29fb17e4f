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

// heldCounts are how many turns of a kind came out how.
type heldCounts struct{ turns, happened, episodes, facts, unmarked, episodesBefore, factsBefore int }

// runHeld says what the product makes of the turns of held.tsv: how many are episodes and how many have a fact, also without their full
// stop. It prints those that came out otherwise than their kind.
func runHeld() error {
	byKind := map[string]*heldCounts{}
	for line := range strings.Lines(heldLines) {
		p := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		turn := lineBreaks.Replace(p[2])
		before, _ := said.Most(said.Sentences(said.TurnsOf([]string{turn}), 0))
		worth, happened, err := mostOf(p[0], turn)
		if err != nil {
			return err
		}
		unmarkedWorth, _, err := mostOf(p[0], unmarked(turn))
		if err != nil {
			return err
		}
		c := byKind[p[0]]
		if c == nil {
			c = &heldCounts{}
			byKind[p[0]] = c
		}
		c.turns++
		c.happened += count(happened)
		c.episodes += count(happened || worth >= leastEpisode)
		c.facts += count(worth >= leastWorth)
		c.unmarked += count(unmarkedWorth >= leastWorth)
		c.episodesBefore += count(before >= leastEpisode)
		c.factsBefore += count(before >= leastWorth)
		if isOtherwise(p[0], worth, happened) {
			fmt.Printf("  %s, %s, worth %.2f, happened %t: %s\n", p[0], p[1], worth, happened, p[2])
		}
	}
	for _, kind := range sortedKeys(byKind) {
		c := byKind[kind]
		fmt.Printf("held, %-18s %3d turns: something happened in %d, episodes %d (without vectors %d), with a fact %d (without a full stop %d, without vectors %d)\n",
			kind, c.turns, c.happened, c.episodes, c.episodesBefore, c.facts, c.unmarked, c.factsBefore)
	}
	return nil
}

// behindTrace is the kind of turns whose last sentence is a fact, behind the trace of an error.
const behindTrace = "fact, behind a trace"

// mostOf returns what the product makes of a turn.
func mostOf(kind, turn string) (worth float64, happened bool, err error) {
	sentences := said.Sentences(said.TurnsOf([]string{turn}), 0)
	err = said.Judge(sentences, func(texts []string) ([][]float32, error) { return readBy.vectors(texts, "") })
	if kind == behindTrace {
		sentences = sentences[max(0, len(sentences)-1):]
	}
	worth, happened = said.Most(sentences)
	return worth, happened, err
}

// lineBreaks reads the ends of lines and tabs of a turn.
var lineBreaks = strings.NewReplacer(`\n`, "\n", `\t`, "\t")

// unmarked returns a turn without its full stop, as people write in a chat.
func unmarked(turn string) string {
	for _, stop := range []string{".", "。", "।"} {
		if bare, ok := strings.CutSuffix(turn, stop); ok && !strings.HasSuffix(bare, stop) {
			return bare
		}
	}
	return turn
}

// isOtherwise reports whether a turn came out otherwise than its kind.
func isOtherwise(kind string, worth float64, happened bool) bool {
	fact := strings.HasPrefix(kind, "fact")
	return (fact || kind == "happened") != (worth >= leastWorth) || kind == "chatter" && worth >= leastEpisode || !fact && (kind == "happened") != happened
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
