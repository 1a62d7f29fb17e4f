package eval

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// CorpusCounts are how many dialogues there are of a kind, and what is in them.
type CorpusCounts struct {
	Dialogues, Believed, Turns, Facts, Ends, Traps, Recalls, Questions, Elsewhere, Abstain int
}

func (c *CorpusCounts) add(d *Labeled) {
	c.Dialogues++
	c.Turns += len(d.Turns)
	c.Facts += len(d.Facts)
	c.Traps += len(d.Traps)
	c.Recalls += len(d.Recalls)
	c.Questions += len(d.Questions)
	if d.Believed() {
		c.Believed++
	}
	for i := range d.Facts {
		c.Ends += len(d.Facts[i].Ends)
	}
	for i := range d.Questions {
		if d.Questions[i].Kind == "abstain" {
			c.Abstain++
		}
		if lang := d.Questions[i].Lang; lang != "" && lang != d.Lang {
			c.Elsewhere++
		}
	}
}

// lengthOf names how long a dialogue is.
func lengthOf(turns int) string {
	for _, l := range []struct {
		below int
		name  string
	}{{30, "below 30 turns"}, {60, "30 to 59 turns"}, {150, "60 to 149 turns"}} {
		if turns < l.below {
			return l.name
		}
	}
	return "150 turns and more"
}

// printed returns the error of a print.
func printed(_ int, err error) error {
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// PrintCorpus prints what is in dialogues, as tables: by writer, by kind (the beginning of the file's name), by language
// and by length.
func PrintCorpus(w io.Writer, dialogues []Labeled) error {
	var b strings.Builder
	for _, by := range []struct {
		title string
		of    func(d *Labeled) string
	}{
		{"all", func(*Labeled) string { return "all" }},
		{"writer", func(d *Labeled) string { return d.Writer() }},
		{"kind", func(d *Labeled) string { return strings.TrimRight(d.File(), "-0123456789") }},
		{"language", func(d *Labeled) string { return d.Lang }},
		{"length", func(d *Labeled) string { return lengthOf(len(d.Turns)) }},
	} {
		counts := map[string]*CorpusCounts{}
		for i := range dialogues {
			key := by.of(&dialogues[i])
			if counts[key] == nil {
				counts[key] = &CorpusCounts{}
			}
			counts[key].add(&dialogues[i])
		}
		fmt.Fprintf(&b, "\n| %s | dialogues | believed | turns | facts | endings | traps | recalls | questions | in another language | unanswerable |\n", by.title)
		b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|\n")
		most := func(x, y string) int {
			return cmp.Or(cmp.Compare(counts[y].Dialogues, counts[x].Dialogues), cmp.Compare(x, y))
		}
		for _, key := range slices.SortedFunc(maps.Keys(counts), most) {
			c := counts[key]
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", key, c.Dialogues, c.Believed, c.Turns,
				c.Facts, c.Ends, c.Traps, c.Recalls, c.Questions, c.Elsewhere, c.Abstain)
		}
	}
	return printed(io.WriteString(w, b.String()))
}
