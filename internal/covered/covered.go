// Package covered finds the turns of a dialogue that a note of a memory rests on, so that recall of any memory system is measured alike:
// whether it shows a turn, or what it has derived from it. It reads notes through a function, and knows no API.
//
// internal/eval and the experiments of internal/cli call it.
package covered

// MaxTurns is the largest number of turns that a note may cover. A note that rests on more covers none; otherwise resting on
// everything would score best.
const MaxTurns = 12

// Turns returns the turns in the transitive closure of a note's sources, or none when there are more than MaxTurns. turn returns the turn
// that a note is; sources returns the notes that another one was derived from, none of one that is not there.
func Turns[T any](note string, turn func(note string) (T, bool), sources func(note string) ([]string, error)) (out []T, err error) {
	seen := map[string]bool{}
	open := []string{note}
	for len(open) > 0 {
		id := open[0]
		open = open[1:]
		if seen[id] {
			continue
		}
		seen[id] = true
		if t, ok := turn(id); ok {
			if out = append(out, t); len(out) > MaxTurns {
				return nil, nil
			}
			continue
		}
		more, err := sources(id)
		if err != nil {
			return nil, err
		}
		open = append(open, more...)
	}
	return out, nil
}
