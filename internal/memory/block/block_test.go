package block_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/test/must"
)

// numbers returns what a fault says in numbers.
func numbers(t *testing.T, err error) map[string]int {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.Invalid {
		t.Fatalf("not refused as invalid: %v", err)
	}
	return f.Numbers
}

func labeled(value string, limit int) block.Block {
	b := block.New("human")
	b.Value, b.Limit = value, limit
	return b
}

// C118: the limit counts characters of any script, not bytes. C137: append adds a line.
func TestLimit(t *testing.T) {
	t.Parallel()
	for _, char := range []string{"a", "é", "字", "🦆"} {
		for over, size := range map[bool]int{false: 10, true: 11} {
			b := labeled("", 10)
			err := b.Append(strings.Repeat(char, size))
			if over {
				if got := numbers(t, err); got["current"] != 0 || got["requested"] != 11 || got["limit"] != 10 || b.Value != "" {
					t.Errorf("%q, one over: %v, value %q", char, got, b.Value)
				}
			} else if err != nil || b.Value != strings.Repeat(char, size) {
				t.Errorf("%q, at the limit: %v", char, err)
			}
		}
		b := labeled(strings.Repeat(char, 4), 10)
		if err := b.Append(strings.Repeat(char, 4)); err != nil || b.Value != strings.Repeat(char, 4)+"\n"+strings.Repeat(char, 4) {
			t.Errorf("%q, one under: %q, %v", char, b.Value, err)
		}
	}
	b := labeled("", block.MaxLimit)
	if err := b.Append(strings.Repeat("字", block.MaxLimit)); !fault.Is(err, fault.Invalid) {
		t.Errorf("more bytes than a note can have: %v", err)
	}
	small := 3
	c := labeled("four", 10)
	if got := numbers(t, c.Put(block.Change{Limit: &small})); got["limit"] != 3 || got["current"] != 4 {
		t.Errorf("a limit below the value: %v", got)
	}
}

// C137: replace changes exactly the matched text, or fails and says how often it occurs.
func TestReplace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value, old, put, want string
		matches               int
	}{
		"once":        {"likes tea", "tea", "coffee", "likes coffee", 1},
		"deletes":     {"likes tea a lot", " a lot", "", "likes tea", 1},
		"whole":       {"tea", "tea", "", "", 1},
		"lines":       {"a\nb\nc", "b\nc", "d", "a\nd", 1},
		"none":        {"likes tea", "Tea", "coffee", "", 0},
		"twice":       {"tea, more tea", "tea", "coffee", "", 2},
		"overlapping": {"aaa", "aa", "b", "", 2},
		"Han":         {"喜欢茶，不喜欢咖啡", "喜欢", "爱", "", 2},
		"many":        {strings.Repeat("a", 5_000), "a", "b", "", 1_000},
	} {
		b := labeled(c.value, 5_000)
		err := b.Replace(c.old, c.put)
		if c.matches == 1 {
			if err != nil || b.Value != c.want {
				t.Errorf("%s: %q, %v", name, b.Value, err)
			}
			continue
		}
		if got, ok := numbers(t, err)["matches"]; !ok || got != c.matches || b.Value != c.value {
			t.Errorf("%s: %d matches, want %d", name, got, c.matches)
		}
	}
	b := labeled("x", 10)
	if !fault.Is(b.Replace("", "y"), fault.Invalid) {
		t.Error("an empty text is replaced")
	}
}

func TestInsert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value string
		line  int
		want  string // "": refused
	}{
		{"a\nb", 0, "x\na\nb"}, {"a\nb", 1, "a\nx\nb"}, {"a\nb", 2, "a\nb\nx"}, {"a\nb", -1, "a\nb\nx"},
		{"", 0, "x"}, {"", -1, "x"}, {"", 1, ""}, {"a\nb", 3, ""}, {"a\nb", -2, ""},
	} {
		b := labeled(c.value, 100)
		err := b.Insert("x", c.line)
		if refused := fault.Is(err, fault.Invalid); refused != (c.want == "") || !refused && b.Value != c.want {
			t.Errorf("%q, line %d: %q, %v", c.value, c.line, b.Value, err)
		}
	}
}

// A read-only block is changed only by a request that says what it is to be.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	b := labeled("rule", 100)
	b.ReadOnly = true
	for name, edit := range map[string]func(*block.Block) error{
		"append":  func(b *block.Block) error { return b.Append("x") },
		"replace": func(b *block.Block) error { return b.Replace("rule", "x") },
		"insert":  func(b *block.Block) error { return b.Insert("x", 0) },
		"rewrite": func(b *block.Block) error { return b.Rewrite("x") },
		"put":     func(b *block.Block) error { return b.Put(block.Change{Value: new("x")}) },
	} {
		now := b
		if err := edit(&now); !fault.Is(err, fault.Forbidden) || now.Value != "rule" {
			t.Errorf("%s: %q, %v", name, now.Value, err)
		}
	}
	if err := b.Put(block.Change{Value: new("new rule"), ReadOnly: new(true)}); err != nil || b.Value != "new rule" || !b.ReadOnly {
		t.Errorf("put: %+v, %v", b, err)
	}
}

func TestLabelsAreChecked(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"human", "用户", "Über uns", "a/b?c=d", "🦆", strings.Repeat("字", block.MaxLabel), `say "hi"`} {
		if err := block.CheckLabel(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", " ", "a\nb", "a\tb", "a\x00b", " a", "a ", "a\u2028b", "a\u202eb", strings.Repeat("x", block.MaxLabel+1), strings.Repeat("x", 300)} {
		if err := block.CheckLabel(bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := block.CheckLabel("a\xff"); !fault.Is(err, fault.Malformed) {
		t.Errorf("invalid UTF-8: %v", err)
	}
}

// Undo and redo behave as two stacks, after any edits.
func TestUndoIsAStack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var log []memory.Note // every version, as a store keeps them
		put := func(n memory.Note) {
			n.From = memory.Revision(2*len(log) + 1) // other notes are written in between
			n.Attributes = maps.Clone(n.Attributes)
			log = append(log, n)
		}
		first := block.New("human")
		n, _ := first.Note(nil)
		n.ID = uuid.New()
		put(n)
		at := func(r memory.Revision) *memory.Note { return &log[(r-1)/2] }
		past, future := []string{}, []string{} // the model
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			now := log[len(log)-1]
			var step block.Step
			switch rapid.SampledFrom([]string{"edit", "undo", "redo"}).Draw(t, "what") {
			case "edit":
				b := block.Of(&now)
				must.Do(t, b.Append(string(rune('a'+i))))
				next, ok := b.Note(&now)
				if !ok {
					t.Fatal("an edit changed nothing")
				}
				put(next)
				past, future = append(past, now.Content), nil
				continue
			case "undo":
				step = block.Undo
			case "redo":
				step = block.Redo
			}
			from, to := &past, &future
			if step == block.Redo {
				from, to = &future, &past
			}
			target := step.Target(&now)
			if (target == 0) != (len(*from) == 0) {
				t.Fatalf("%s goes to %d with %d to go", step, target, len(*from))
			}
			if target == 0 {
				continue
			}
			put(step.Restored(&now, at(target)))
			last := len(*from) - 1
			if got := log[len(log)-1].Content; got != (*from)[last] {
				t.Fatalf("%s made %q, want %q", step, got, (*from)[last])
			}
			*from, *to = (*from)[:last], append(*to, now.Content)
		}
	})
}

// What a block says is what its note says; the list of versions is not shown.
func TestNoteOfABlock(t *testing.T) {
	t.Parallel()
	b := block.New("human")
	must.Do(t, b.Put(block.Change{Value: new("Ada"), Description: new("who it is"), Limit: new(7), ReadOnly: new(true), Metadata: map[string]any{"a": 1.5}}))
	n, _ := b.Note(nil)
	n.ID, n.From = uuid.New(), 4
	if n.Kind != memory.KindBlock || n.Key != "human" || n.Content != "Ada" || n.Context != "who it is" || n.Check() != nil {
		t.Errorf("the note %+v, %v", n, n.Check())
	}
	again := block.Of(&n)
	if same, ok := again.Note(&n); ok || same.From != 4 {
		t.Errorf("the same block is another version: %+v", same)
	}
	again.Value = "Bob"
	next, ok := again.Note(&n)
	if shown := block.Shown(next.Attributes); !ok || len(shown) != 3 || block.Undo.Target(&n) != 0 {
		t.Errorf("shown are %v", shown)
	}
	next.From = 9
	if block.Undo.Target(&next) != 4 || block.Redo.Target(&next) != 0 {
		t.Errorf("back to %d", block.Undo.Target(&next))
	}
	next.From = 3 // in the log of another collection
	if block.Undo.Target(&next) != 0 {
		t.Error("undo goes to a version that does not come before")
	}
}
