package merge

import (
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// hunk replaces the lines from..to of the base by others.
type hunk struct {
	from, to int
	lines    []string
}

// Text merges two changes of a text by lines. ok is false when both changed the same lines, or lines that touch, to different
// texts.
func Text(base, ours, theirs string) (merged string, ok bool) {
	switch {
	case ours == theirs, base == theirs:
		return ours, true
	case base == ours:
		return theirs, true
	}
	ends := func(s string) bool { return strings.HasSuffix(s, "\n") }
	merged, ok = lines(base, ours, theirs)
	if ends(ours) == ends(base) && !ends(theirs) || ends(ours) != ends(base) && !ends(ours) {
		merged = strings.TrimSuffix(merged, "\n")
	}
	return merged, ok
}

// lines is Text with an end for every line, also the last one.
func lines(base, ours, theirs string) (string, bool) {
	end := func(s string) string { return strings.TrimSuffix(s, "\n") + "\n" }
	base = end(base)
	all := strings.SplitAfter(base, "\n")
	a, b := hunks(base, end(ours)), hunks(base, end(theirs))
	var out strings.Builder
	at := 0
	for len(a) > 0 || len(b) > 0 {
		if len(a) > 0 && len(b) > 0 && touch(&a[0], &b[0]) {
			if !equal(&a[0], &b[0]) {
				return "", false
			}
			b = b[1:]
		}
		next := &a
		if len(a) == 0 || len(b) > 0 && b[0].from < a[0].from {
			next = &b
		}
		h := (*next)[0]
		*next = (*next)[1:]
		out.WriteString(strings.Join(all[at:h.from], "") + strings.Join(h.lines, ""))
		at = h.to
	}
	return out.String() + strings.Join(all[at:], ""), true
}

// touch reports whether two hunks change lines that overlap or adjoin.
func touch(a, b *hunk) bool { return a.from <= b.to && b.from <= a.to }

func equal(a, b *hunk) bool {
	return a.from == b.from && a.to == b.to && strings.Join(a.lines, "") == strings.Join(b.lines, "")
}

// hunks returns the changes from one text to another, in order.
func hunks(from, to string) []hunk {
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // the result must not depend on the time
	x, y, table := d.DiffLinesToRunes(from, to)
	var out []hunk
	at, open := 0, false
	for _, part := range d.DiffMainRunes(x, y, false) {
		n := []rune(part.Text)
		if part.Type == diffmatchpatch.DiffEqual {
			at, open = at+len(n), false
			continue
		}
		if !open {
			out, open = append(out, hunk{from: at, to: at}), true
		}
		h := &out[len(out)-1]
		if part.Type == diffmatchpatch.DiffDelete {
			at += len(n)
			h.to = at
			continue
		}
		for _, r := range n {
			h.lines = append(h.lines, table[r])
		}
	}
	return out
}
