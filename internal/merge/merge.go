package merge

import (
	"reflect"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Strategy says what holds where both sides changed one field.
type Strategy string

// The strategies. Fail: the caller writes nothing.
const (
	Fail   Strategy = "fail"
	Ours   Strategy = "ours"
	Theirs Strategy = "theirs"
)

// Conflict is a field that both sides changed, each to another value.
type Conflict struct {
	Note  uuid.UUID `json:"note"`
	Field string    `json:"field"` // Deleted: one side deleted what the other one changed
	// The values of the field; nil where there is none. Of Deleted, true where the note is deleted.
	Base   any `json:"base"`
	Ours   any `json:"ours"`
	Theirs any `json:"theirs"`
}

// merging merges the fields of one note into out, which begins as ours.
type merging struct {
	base, ours, theirs, out *memory.Note
	takeTheirs              bool
	conflicts               []Conflict
}

// Notes merges two versions of a note from the one that both come from. Each may be nil: the note is not there. The result is
// nil when the note is deleted, and ours when nothing is to be done. Conflicts are resolved as the strategy says, Fail as Ours.
func Notes(base, ours, theirs *memory.Note, strategy Strategy) (*memory.Note, []Conflict) {
	switch {
	case theirs == nil && base == nil, theirs == nil && ours == nil:
		return ours, nil
	case base != nil && theirs != nil && len(Fields(base, theirs)) == 0:
		return ours, nil // they changed nothing
	case base != nil && theirs == nil:
		return deletion(base, ours, strategy)
	case ours == nil && base != nil:
		c := Conflict{Note: base.ID, Field: Deleted, Base: false, Ours: true, Theirs: false}
		if strategy == Theirs {
			return fresh(theirs), []Conflict{c}
		}
		return nil, []Conflict{c}
	case ours == nil:
		return fresh(theirs), nil
	}
	if base == nil {
		base = &memory.Note{ID: ours.ID}
	}
	m := merging{base: base, ours: ours, theirs: theirs, out: new(*ours), takeTheirs: strategy == Theirs}
	m.fields()
	if len(Fields(ours, m.out)) == 0 {
		return ours, m.conflicts
	}
	m.embed()
	return m.out, m.conflicts
}

// deletion merges a note that they deleted.
func deletion(base, ours *memory.Note, strategy Strategy) (*memory.Note, []Conflict) {
	if len(Fields(base, ours)) == 0 {
		return nil, nil
	}
	c := []Conflict{{Note: base.ID, Field: Deleted, Base: false, Ours: false, Theirs: true}}
	if strategy == Theirs {
		return nil, c
	}
	return ours, c
}

// fresh returns a note of the other side for a collection that does not have it. A review that it waits for there is none here.
func fresh(theirs *memory.Note) *memory.Note {
	n := *theirs
	n.Error = ""
	if n.State == memory.StateInReview {
		n.State = memory.StateEvolved
	}
	return &n
}

func (m *merging) fields() {
	for _, f := range texts {
		m.text(f)
	}
	for _, f := range sets {
		*f.of(m.out) = mergeSet(*f.of(m.base), *f.of(m.ours), *f.of(m.theirs))
	}
	for _, f := range scalars {
		if m.choose(f.name, f.get(m.base), f.get(m.ours), f.get(m.theirs)) {
			f.set(m.out, m.theirs)
		}
	}
	m.attributes()
	m.out.Supplied = mergeSet(m.base.Supplied, m.ours.Supplied, m.theirs.Supplied)
	m.out.Provenance.Sources = sources(m.base, m.ours, m.theirs)
	m.out.State = state(m.base.State, m.ours.State, m.theirs.State)
	if m.out.Context == m.theirs.Context && m.out.Context != m.ours.Context {
		m.out.Analyst = m.theirs.Analyst
	}
}

// choose reports whether their value of a field holds.
func (m *merging) choose(name string, base, ours, theirs any) bool {
	switch {
	case reflect.DeepEqual(ours, theirs), reflect.DeepEqual(base, theirs):
		return false
	case reflect.DeepEqual(base, ours):
		return true
	}
	m.conflicts = append(m.conflicts, Conflict{Note: m.ours.ID, Field: name, Base: base, Ours: ours, Theirs: theirs})
	return m.takeTheirs
}

func (m *merging) text(f text) {
	base, ours, theirs := *f.of(m.base), *f.of(m.ours), *f.of(m.theirs)
	if merged, ok := Text(base, ours, theirs); ok {
		*f.of(m.out) = merged
	} else if m.choose(f.name, base, ours, theirs) {
		*f.of(m.out) = theirs
	}
}

func (m *merging) attributes() {
	merged := map[string]any{}
	for _, key := range attributeKeys(m.base, m.ours, m.theirs) {
		value, has := m.ours.Attributes[key]
		if m.choose(attributePrefix+key, m.base.Attributes[key], value, m.theirs.Attributes[key]) {
			value, has = m.theirs.Attributes[key]
		}
		if has {
			merged[key] = value
		}
	}
	if m.out.Attributes = merged; len(merged) == 0 {
		m.out.Attributes = nil
	}
}

// state merges how far a note was processed: what one side changed holds; of two changes, the one that leaves more to do. A review
// belongs to one collection.
func state(base, ours, theirs memory.State) memory.State {
	if theirs == base || theirs == memory.StateInReview || ours == memory.StateInReview {
		return ours
	}
	if ours == base {
		return theirs
	}
	for _, s := range []memory.State{memory.StatePending, memory.StateRaw} {
		if ours == s || theirs == s {
			return s
		}
	}
	return ours
}

// embed sets the vector of the result to that of a side with the same text; else the note has none.
func (m *merging) embed() {
	m.out.Embed(memory.Embedding{}, "")
	for _, side := range []*memory.Note{m.theirs, m.ours} {
		if memory.SameToEmbed(m.out, side) && side.Vector != nil {
			m.out.EmbedAs(side)
			return
		}
	}
}
