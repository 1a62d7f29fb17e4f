package block

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Bounds of blocks. Sizes are in characters (code points).
const (
	MaxLabel            = 64 // a label is a keyword of its note, which has at most 256 bytes
	DefaultLimit        = 5_000
	MaxLimit            = memory.MaxContentBytes // the value has at most as many bytes, too
	MaxDescriptionBytes = memory.MaxContextBytes
	MaxBlocks           = 1_000  // of one collection, attached ones included
	MaxStandAlone       = 10_000 // of a tenant
)

// The labels of the blocks that a collection with the policy memgpt begins with.
const (
	LabelHuman   = "human"
	LabelPersona = "persona"
)

// The attributes of the note of a block.
const (
	attrLimit    = "limit"
	attrReadOnly = "read_only"
	attrMetadata = "metadata"
	attrBack     = "back"    // not shown
	attrForward  = "forward" // not shown
)

// Block is a version of a block.
type Block struct {
	ID          uuid.UUID // of its note
	Label       string
	Value       string
	Description string // shown to the model with the value
	Limit       int    // of the value, in characters
	ReadOnly    bool   // only [Block.Put] changes it
	Metadata    map[string]any
	Version     memory.Revision // where this version begins
}

// New returns an empty block that is not stored yet.
func New(label string) Block { return Block{Label: label, Limit: DefaultLimit} }

// Of returns the block of a note.
func Of(n *memory.Note) Block {
	b := Block{
		ID: n.ID, Label: Label(n), Value: n.Content, Description: n.Context, Limit: int(memory.NumberOf(n.Attributes, attrLimit)),
		ReadOnly: n.Attributes[attrReadOnly] == true, Version: n.From,
	}
	if b.Limit < 1 {
		b.Limit = DefaultLimit
	}
	b.Metadata, _ = n.Attributes[attrMetadata].(map[string]any)
	return b
}

// Label returns the label of a block's note. The key of a stand-alone block is empty: many may have one label.
func Label(n *memory.Note) string {
	if n.Key == "" && len(n.Keywords) > 0 {
		return n.Keywords[0]
	}
	return n.Key
}

// Attached returns the note of an attached block as the collection shows it: under its label, and read-only
// when the attachment is.
func Attached(a *memory.AttachedBlock) memory.Note {
	n := a.Note
	n.Key = a.Label
	if a.Mode == memory.AttachRO {
		n.OwnAttributes()[attrReadOnly] = true
	}
	return n
}

// Copy returns the first version of an own block that says what an attached one does.
func Copy(a *memory.AttachedBlock) memory.Note {
	shown := Attached(a)
	b := Of(&shown)
	n, _ := b.Note(nil)
	return n
}

// Shown returns the attributes of a block's note as answers show them.
func Shown(attributes map[string]any) map[string]any {
	if attributes[attrBack] == nil && attributes[attrForward] == nil {
		return attributes
	}
	out := maps.Clone(attributes)
	delete(out, attrBack)
	delete(out, attrForward)
	return out
}

// CheckLabel returns Invalid "label" for a text that cannot be a label: one that is empty, longer than
// MaxLabel, or that would not stay on one line of a prompt.
func CheckLabel(label string) error {
	var r memory.Validation
	switch n := utf8.RuneCountInString(label); {
	case !utf8.ValidString(label):
		r.Malformed = true
		r.Addf("label", "not valid UTF-8")
	case n == 0:
		r.Addf("label", "must not be empty")
	case n > MaxLabel:
		r.Addf("label", "at most %d characters; it has %d", MaxLabel, n)
	case strings.TrimSpace(label) != label:
		r.Addf("label", "must not begin or end with a space")
	case strings.ContainsFunc(label, func(c rune) bool { return !unicode.IsPrint(c) }):
		r.Addf("label", "must be one line of visible characters and spaces")
	}
	return r.Err()
}

// AsNote is why a block that is written as a note is refused.
const AsNote = "a block is changed by its label, as a block, which checks its limit and whether it is read-only"

// CheckNote refuses a block among notes that are written as notes: that knows neither limits nor read-only blocks.
func CheckNote(kind memory.Kind) error {
	if kind != memory.KindBlock {
		return nil
	}
	return fault.InvalidField("kind", AsNote)
}

// Note returns the next version of a block's note: old with what the block says, or the first version
// when old is nil. ok is false when old says the same; then old is returned.
func (b *Block) Note(old *memory.Note) (n memory.Note, ok bool) {
	n = memory.Note{
		Kind: memory.KindBlock, Key: b.Label, Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateRaw,
	}
	var back memory.Revision
	if old != nil {
		if was := Of(old); was.same(b) {
			return *old, false
		}
		n, back = *old, old.From
	}
	n.Content, n.Context, n.Keywords = b.Value, b.Description, []string{b.Label}
	n.Attributes = map[string]any{attrLimit: int64(b.Limit)}
	if b.ReadOnly {
		n.Attributes[attrReadOnly] = true
	}
	if len(b.Metadata) > 0 {
		n.Attributes[attrMetadata] = b.Metadata
	}
	point(&n, back, 0)
	return n, true
}

// same reports whether two blocks differ at most in id and version.
func (b *Block) same(o *Block) bool {
	return b.Label == o.Label && b.Value == o.Value && b.Description == o.Description && b.Limit == o.Limit && b.ReadOnly == o.ReadOnly &&
		(len(b.Metadata) == 0 && len(o.Metadata) == 0 || reflect.DeepEqual(b.Metadata, o.Metadata))
}

// point sets which versions undo and redo restore; 0: none.
func point(n *memory.Note, back, forward memory.Revision) {
	n.OwnAttributes()
	for name, to := range map[string]memory.Revision{attrBack: back, attrForward: forward} {
		delete(n.Attributes, name)
		if to > 0 {
			n.Attributes[name] = int64(to)
		}
	}
}

// Follow makes a version that was written elsewhere the next one after old, so that an undo restores old; nil: it is the first one here.
func Follow(n, old *memory.Note) {
	var back memory.Revision
	if old != nil {
		back = old.From
	}
	point(n, back, 0)
}

// Step is a direction in the list of versions.
type Step int

// The steps.
const (
	Undo Step = iota
	Redo
)

// String returns the step as messages and the audit trail name it.
func (s Step) String() string {
	if s == Redo {
		return "redo"
	}
	return "undo"
}

// Target returns the revision at which the version began that a step from n restores; 0: there is none.
func (s Step) Target(n *memory.Note) memory.Revision {
	name := attrBack
	if s == Redo {
		name = attrForward
	}
	to := memory.Revision(memory.NumberOf(n.Attributes, name))
	if to < 1 || to >= n.From { // of another log
		return 0
	}
	return to
}

// Restored returns the version that a step writes: the content of target, in the place of n.
func (s Step) Restored(n, target *memory.Note) memory.Note {
	out := *n
	out.Content, out.Context, out.Keywords, out.Attributes = target.Content, target.Context, slices.Clone(target.Keywords), target.Attributes
	if s == Redo {
		point(&out, n.From, Redo.Target(target))
	} else {
		point(&out, Undo.Target(target), n.From)
	}
	return out
}
