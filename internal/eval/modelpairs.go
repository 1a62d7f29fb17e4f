package eval

import (
	"fmt"
	"slices"
)

// Pairs returns dialogues of two turns, so many of each kind: the turn of a fact, and one that ends it, that only sounds as if
// it did, or that says the same or more about it. A model decides about one memory at a time, at a small part of what whole
// dialogues cost. Every dialogue has one pair of a kind before any has two.
func Pairs(dialogues []Labeled, each int) (out []Labeled) {
	for _, kind := range []func(*Labeled) [][2]int{(*Labeled).endings, (*Labeled).trapped, (*Labeled).repeated} {
		var of []Labeled
		for round, more := 0, true; more && len(of) < each; round++ {
			more = false
			for i := range dialogues {
				if turns := kind(&dialogues[i]); round < len(turns) && len(of) < each {
					of, more = append(of, dialogues[i].pair(turns[round])), true
				}
			}
		}
		out = append(out, of...)
	}
	return out
}

// pair returns two turns of the dialogue with their labels.
func (d *Labeled) pair(turns [2]int) Labeled {
	out := Labeled{ID: fmt.Sprintf("%s-%d-%d", d.ID, turns[0], turns[1]), Lang: d.Lang, Setting: d.Setting, People: d.People}
	for i, turn := range turns {
		t := d.Turns[turn]
		t.Index = i
		out.Turns = append(out.Turns, t)
	}
	elsewhere := func(number int) bool { return out.label(number) == nil }
	for _, l := range d.Facts {
		if l.Turn = slices.Index(turns[:], l.Turn); l.Turn < 0 {
			continue
		}
		l.Ends = slices.DeleteFunc(slices.Clone(l.Ends), elsewhere)
		l.Refines = slices.DeleteFunc(slices.Clone(l.Refines), elsewhere)
		l.Same = slices.DeleteFunc(slices.Clone(l.Same), elsewhere)
		out.Facts = append(out.Facts, l)
	}
	for _, t := range d.Traps {
		if t.Turn == turns[1] && !elsewhere(t.Old) && out.label(t.Old).Turn == 0 {
			t.Turn = 1
			out.Traps = append(out.Traps, t)
		}
	}
	return out
}

// endings returns the pairs of turns of which the later one ends something that the earlier one says.
func (d *Labeled) endings() (out [][2]int) {
	for _, l := range d.Facts {
		out = d.appendPairs(out, l.Turn, l.Ends)
	}
	return out
}

// trapped returns the pairs of turns of which the later one only sounds so.
func (d *Labeled) trapped() (out [][2]int) {
	ends := d.endings()
	for _, t := range d.Traps {
		out = d.appendPairs(out, t.Turn, []int{t.Old})
	}
	return slices.DeleteFunc(out, func(p [2]int) bool { return slices.Contains(ends, p) })
}

// repeated returns the pairs of turns of which the later one says the same or more, and ends nothing of the earlier one.
func (d *Labeled) repeated() (out [][2]int) {
	others := slices.Concat(d.endings(), d.trapped())
	for _, l := range d.Facts {
		out = d.appendPairs(out, l.Turn, slices.Concat(l.Refines, l.Same))
	}
	return slices.DeleteFunc(out, func(p [2]int) bool { return slices.Contains(others, p) })
}

// appendPairs appends the turns of older facts with a later turn, each pair once.
func (d *Labeled) appendPairs(out [][2]int, later int, facts []int) [][2]int {
	for _, number := range facts {
		if p := [2]int{d.label(number).Turn, later}; p[0] < later && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
