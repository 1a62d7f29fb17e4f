package block

import (
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Change sets fields of a block. Fields that are nil keep their value.
type Change struct {
	Value, Description *string
	Limit              *int // 1..MaxLimit
	ReadOnly           *bool
	Metadata           map[string]any // replaced as a whole
}

// Put applies a change. It is the only edit of a read-only block, and there it must set ReadOnly, so that
// nobody overwrites such a block by mistake (Forbidden).
func (b *Block) Put(c Change) error {
	if c.ReadOnly == nil {
		if err := b.CheckWritable(); err != nil {
			return err
		}
	} else {
		b.ReadOnly = *c.ReadOnly
	}
	var r memory.Validation
	if c.Description != nil {
		r.Text("description", *c.Description, MaxDescriptionBytes)
		b.Description = *c.Description
	}
	if c.Metadata != nil {
		// What the note itself adds has room below the limit of attributes.
		r.Object("metadata", map[string]any{attrMetadata: c.Metadata, attrLimit: MaxLimit, attrReadOnly: true, attrBack: int64(1) << 62, attrForward: int64(1) << 62})
		b.Metadata = c.Metadata
	}
	if c.Limit != nil && (*c.Limit < 1 || *c.Limit > MaxLimit) {
		r.Addf("limit", "must be between 1 and %d", MaxLimit)
	}
	if err := r.Err(); err != nil {
		return err
	}
	field, value := "value", b.Value
	if c.Limit != nil {
		b.Limit = *c.Limit
		field = "limit"
	}
	if c.Value != nil {
		field, value = "value", *c.Value
	}
	return b.set(field, value)
}

// CheckWritable returns Forbidden for a read-only block.
func (b *Block) CheckWritable() error {
	if !b.ReadOnly {
		return nil
	}
	return fault.New(fault.Forbidden, "the block %q is read-only; it changes only when it is replaced whole, with read_only", b.Label)
}

// Append adds a line at the end: a newline precedes the text unless the block is empty.
func (b *Block) Append(text string) error {
	if err := b.CheckWritable(); err != nil {
		return err
	}
	value := b.Value
	if value != "" {
		value += "\n"
	}
	return b.set("text", value+text)
}

// maxMatches is how many occurrences of a text are counted.
const maxMatches = 1_000

// Replace replaces a text that occurs exactly once; an empty replacement deletes it. Occurrences that
// overlap count. Invalid "old" with Numbers "matches" when there are none or several.
func (b *Block) Replace(old, replacement string) error {
	if err := b.CheckWritable(); err != nil {
		return err
	}
	if old == "" {
		return fault.InvalidField("old", "must not be empty")
	}
	switch n := count(b.Value, old); n {
	case 1:
	case 0:
		return withNumbers(fault.InvalidField("old", "does not occur in the block %q; it must match the text exactly", b.Label), map[string]int{"matches": 0})
	default:
		return withNumbers(fault.InvalidField("old", "occurs %d times in the block %q; give more of the text around it, so that it occurs once", n, b.Label), map[string]int{"matches": n})
	}
	return b.set("new", strings.Replace(b.Value, old, replacement, 1))
}

// count returns how often a text occurs, at most maxMatches.
func count(s, text string) (n int) {
	for n < maxMatches {
		i := strings.Index(s, text)
		if i < 0 {
			break
		}
		n++
		_, size := utf8.DecodeRuneInString(s[i:])
		s = s[i+size:]
	}
	return n
}

// Insert puts a text on lines of its own behind the first line lines: 0 is before the first one, -1 at
// the end.
func (b *Block) Insert(text string, line int) error {
	if err := b.CheckWritable(); err != nil {
		return err
	}
	var lines []string
	if b.Value != "" {
		lines = strings.Split(b.Value, "\n")
	}
	if line == -1 {
		line = len(lines)
	}
	if line < 0 || line > len(lines) {
		return fault.InvalidField("line", "must be between 0 and %d, the lines of the block, or -1 for its end", len(lines))
	}
	out := append(append(append(make([]string, 0, len(lines)+1), lines[:line]...), text), lines[line:]...)
	return b.set("text", strings.Join(out, "\n"))
}

// Rewrite replaces the whole value.
func (b *Block) Rewrite(text string) error {
	if err := b.CheckWritable(); err != nil {
		return err
	}
	return b.set("text", text)
}

// set sets the value. Invalid with Numbers when it is over the limit: "current" is the size that the
// block has, "requested" the one that it would have, "limit" the largest.
func (b *Block) set(field, value string) error {
	if n := utf8.RuneCountInString(value); n > b.Limit {
		current := utf8.RuneCountInString(b.Value)
		err := fault.InvalidField(field, "the block %q would have %d characters; its limit is %d, it has %d now", b.Label, n, b.Limit, current)
		return withNumbers(err, map[string]int{"current": current, "requested": n, "limit": b.Limit})
	}
	var r memory.Validation
	r.Text(field, value, memory.MaxContentBytes)
	if err := r.Err(); err != nil {
		return err
	}
	b.Value = value
	return nil
}

// withNumbers adds numbers to a fault.
func withNumbers(err *fault.Error, numbers map[string]int) error {
	err.Numbers = numbers
	return err
}
