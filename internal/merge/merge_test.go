package merge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/merge"
)

func TestText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, ours, theirs, want string
		conflict                 bool
	}{
		"one side":            {"a\nb", "a\nb", "a\nc", "a\nc", false},
		"both alike":          {"a\nb", "a\nc", "a\nc", "a\nc", false},
		"apart":               {"a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC", false},
		"appended and before": {"a\nb\nc", "a\nb\nc\nd", "A\nb\nc", "A\nb\nc\nd", false},
		"one line":            {"a", "b", "c", "", true},
		"the same line":       {"a\nb\nc", "a\nB\nc", "a\nX\nc", "", true},
		"an end added":        {"a\nb\nc", "a\nb\nc\n", "X\nb\nc", "X\nb\nc\n", false},
		"an end removed":      {"a\nb\nc\n", "a\nb\nc", "X\nb\nc\n", "X\nb\nc", false},
		"other writing":       {"猫が好き\nx\n犬", "猫が好き\nx\n犬も", "猫も好き\nx\n犬", "猫も好き\nx\n犬も", false},
		"empty":               {"", "a", "b", "", true},
		"one change of both":  {"a\nb\nc\nd\ne", "A\nb\nc\nd\nE", "a\nb\nc\nd\nE", "A\nb\nc\nd\nE", false},
	} {
		got, ok := merge.Text(c.base, c.ours, c.theirs)
		if ok == c.conflict || ok && got != c.want {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

// TestTextProperty: what only one side changed is in the result, and both orders say the same.
func TestTextProperty(t *testing.T) {
	t.Parallel()
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 6)
	rapid.Check(t, func(rt *rapid.T) {
		text := func(name string) string { return strings.Join(lines.Draw(rt, name), "\n") }
		base, ours, theirs := text("base"), text("ours"), text("theirs")
		if got, ok := merge.Text(base, base, theirs); !ok || got != theirs {
			rt.Fatalf("only theirs: %q", got)
		}
		if got, ok := merge.Text(base, ours, base); !ok || got != ours {
			rt.Fatalf("only ours: %q", got)
		}
		a, okA := merge.Text(base, ours, theirs)
		b, okB := merge.Text(base, theirs, ours)
		if okA != okB || okA && a != b {
			rt.Fatalf("%q, %v and %q, %v", a, okA, b, okB)
		}
		if !okA {
			return
		}
		// Merging again changes nothing.
		if again, ok := merge.Text(theirs, a, theirs); !ok || again != a {
			rt.Fatalf("again: %q, %v", again, ok)
		}
	})
}

func note(change func(*memory.Note)) *memory.Note {
	n := memory.Note{
		ID: uuid.UUID{1}, Kind: memory.KindNote, Content: "one\ntwo\nthree", Tags: []string{"a", "b"}, Category: "c", Importance: .5,
		Attributes: map[string]any{"x": 1.0, "y": 2.0}, State: memory.StateEvolved,
	}
	if change != nil {
		change(&n)
	}
	return &n
}

func TestNotes(t *testing.T) {
	t.Parallel()
	base := note(nil)
	for name, c := range map[string]struct {
		ours, theirs func(*memory.Note)
		want         func(*memory.Note)
		conflicts    []string
	}{
		"different fields": {
			func(n *memory.Note) { n.Category = "d" }, func(n *memory.Note) { n.Importance = .9 },
			func(n *memory.Note) { n.Category, n.Importance = "d", .9 }, nil,
		},
		"sets": {
			func(n *memory.Note) { n.Tags = []string{"b", "c"} }, func(n *memory.Note) { n.Tags = []string{"a", "d", "b"} },
			func(n *memory.Note) { n.Tags = []string{"b", "c", "d"} }, nil,
		},
		"attributes by key": {
			func(n *memory.Note) { n.Attributes = map[string]any{"x": 5.0, "y": 2.0} },
			func(n *memory.Note) { n.Attributes = map[string]any{"x": 1.0, "z": true} },
			func(n *memory.Note) { n.Attributes = map[string]any{"x": 5.0, "z": true} }, nil,
		},
		"one attribute, twice": {
			func(n *memory.Note) { n.Attributes = map[string]any{"x": 5.0, "y": 2.0} },
			func(n *memory.Note) { n.Attributes = map[string]any{"y": 2.0} },
			func(n *memory.Note) { n.Attributes = map[string]any{"x": 5.0, "y": 2.0} }, []string{"attributes.x"},
		},
		"lines": {
			func(n *memory.Note) { n.Content = "ONE\ntwo\nthree" }, func(n *memory.Note) { n.Content = "one\ntwo\nTHREE" },
			func(n *memory.Note) { n.Content = "ONE\ntwo\nTHREE" }, nil,
		},
		"one line, twice": {
			func(n *memory.Note) { n.Content, n.Category = "1\ntwo\nthree", "d" }, func(n *memory.Note) { n.Content, n.Category = "I\ntwo\nthree", "e" },
			func(n *memory.Note) { n.Content, n.Category = "1\ntwo\nthree", "d" }, []string{"content", "category"},
		},
		"states": {
			func(n *memory.Note) { n.State = memory.StatePending }, func(n *memory.Note) { n.State, n.Importance = memory.StateRaw, .1 },
			func(n *memory.Note) { n.State, n.Importance = memory.StatePending, .1 }, nil,
		},
		"a review of theirs": {
			nil, func(n *memory.Note) { n.State, n.Importance = memory.StateInReview, .1 }, func(n *memory.Note) { n.Importance = .1 }, nil,
		},
	} {
		ours, theirs, want := note(c.ours), note(c.theirs), note(c.want)
		got, conflicts := merge.Notes(base, ours, theirs, merge.Fail)
		var fields []string
		for _, x := range conflicts {
			fields = append(fields, x.Field)
		}
		if diff := merge.Fields(want, got); len(diff) > 0 || !slices.Equal(fields, c.conflicts) {
			t.Errorf("%s: %v differ in %+v; conflicts %v", name, diff, got, fields)
		}
		if got, _ := merge.Notes(base, note(c.ours), theirs, merge.Theirs); len(c.conflicts) > 0 && len(merge.Fields(theirs, got)) >= len(merge.Fields(base, note(c.ours))) {
			t.Errorf("%s: theirs does not hold: %+v", name, got)
		}
		// Merging again, from what was merged, changes nothing.
		if again, conflicts := merge.Notes(theirs, got, theirs, merge.Fail); again != got || len(conflicts) > 0 {
			t.Errorf("%s, again: %+v, %v", name, again, conflicts)
		}
	}
}

// TestDeletion: a deletion against a change is one conflict, and the strategy decides.
func TestDeletion(t *testing.T) {
	t.Parallel()
	base, changed := note(nil), note(func(n *memory.Note) { n.Content = "changed" })
	show := func(n *memory.Note) string {
		if n == nil {
			return "-"
		}
		return n.Content[:3]
	}
	for name, c := range map[string]struct {
		base, ours, theirs *memory.Note
		want               string // ours, then theirs
		conflict           bool
	}{
		"they deleted":              {base, base, nil, "- -", false},
		"they deleted, we changed":  {base, changed, nil, "cha -", true},
		"we deleted":                {base, nil, base, "- -", false},
		"we deleted, they changed":  {base, nil, changed, "- cha", true},
		"both deleted":              {base, nil, nil, "- -", false},
		"they added":                {nil, nil, base, "one one", false},
		"we added":                  {nil, base, nil, "one one", false},
		"both added, each its own":  {nil, base, changed, "one cha", true},
		"both added, both the same": {nil, base, note(nil), "one one", false},
	} {
		a, conflicts := merge.Notes(c.base, c.ours, c.theirs, merge.Ours)
		b, _ := merge.Notes(c.base, c.ours, c.theirs, merge.Theirs)
		if got := fmt.Sprint(show(a), " ", show(b)); got != c.want || len(conflicts) > 0 != c.conflict {
			t.Errorf("%s: %s, %+v", name, got, conflicts)
		}
	}
}
