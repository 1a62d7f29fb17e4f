package merge

import (
	"maps"
	"reflect"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
)

// Deleted is the field of a conflict between a deletion and a change.
const Deleted = "deleted"

// attributePrefix begins the name of an attribute as a field.
const attributePrefix = "attributes."

// scalar is a field that is taken whole from one side.
type scalar struct {
	name string
	get  func(*memory.Note) any // a comparable value
	set  func(to, from *memory.Note)
}

var scalars = []scalar{
	{"kind", func(n *memory.Note) any { return n.Kind }, func(to, from *memory.Note) { to.Kind = from.Kind }},
	{"key", func(n *memory.Note) any { return n.Key }, func(to, from *memory.Note) { to.Key = from.Key }},
	{"category", func(n *memory.Note) any { return n.Category }, func(to, from *memory.Note) { to.Category = from.Category }},
	{"importance", func(n *memory.Note) any { return n.Importance }, func(to, from *memory.Note) { to.Importance = from.Importance }},
	{"occurred_at", occurred, func(to, from *memory.Note) { to.OccurredAt = from.OccurredAt }},
	{"expires_at", func(n *memory.Note) any { return n.ExpiresAt.UnixMicro() }, func(to, from *memory.Note) { to.ExpiresAt = from.ExpiresAt }},
}

// occurred returns the event time as text: equal times of two zones are two values.
func occurred(n *memory.Note) any {
	if n.OccurredAt.IsZero() {
		return ""
	}
	return n.OccurredAt.Format("2006-01-02T15:04:05.999999Z07:00")
}

// text is a field that is merged by lines.
type text struct {
	name string
	of   func(*memory.Note) *string
}

var texts = []text{
	{"content", func(n *memory.Note) *string { return &n.Content }},
	{"context", func(n *memory.Note) *string { return &n.Context }},
}

// set is a field whose order has no meaning.
type set struct {
	name string
	of   func(*memory.Note) *[]string
}

var sets = []set{
	{"keywords", func(n *memory.Note) *[]string { return &n.Keywords }},
	{"tags", func(n *memory.Note) *[]string { return &n.Tags }},
}

// Fields returns the names of the fields in which two versions of a note differ; of an attribute, its path. The vector, the times
// of writing and who described the note do not count.
func Fields(a, b *memory.Note) []string {
	var out []string
	for _, f := range texts {
		if *f.of(a) != *f.of(b) {
			out = append(out, f.name)
		}
	}
	for _, f := range sets {
		if !sameSet(*f.of(a), *f.of(b)) {
			out = append(out, f.name)
		}
	}
	for _, f := range scalars {
		if f.get(a) != f.get(b) {
			out = append(out, f.name)
		}
	}
	for _, key := range attributeKeys(a, b) {
		x, had := a.Attributes[key]
		y, has := b.Attributes[key]
		if had != has || !reflect.DeepEqual(x, y) {
			out = append(out, attributePrefix+key)
		}
	}
	if a.State != b.State {
		out = append(out, "state")
	}
	if !sameSet(a.Provenance.Sources, b.Provenance.Sources) {
		out = append(out, "sources")
	}
	return out
}

// attributeKeys returns the keys of the attributes of any of the notes, sorted. Which versions an undo of a block restores is of one log,
// and is not merged.
func attributeKeys(notes ...*memory.Note) []string {
	keys := map[string]bool{}
	for _, n := range notes {
		attributes := n.Attributes
		if n.Kind == memory.KindBlock {
			attributes = block.Shown(attributes)
		}
		for k := range attributes {
			keys[k] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

func sameSet[T comparable](a, b []T) bool {
	return !slices.ContainsFunc(a, func(x T) bool { return !slices.Contains(b, x) }) &&
		!slices.ContainsFunc(b, func(x T) bool { return !slices.Contains(a, x) })
}

// mergeSet returns ours with what theirs added to the base, and without what theirs removed from it.
func mergeSet[T comparable](base, ours, theirs []T) []T {
	var out []T
	for _, x := range ours {
		if slices.Contains(theirs, x) || !slices.Contains(base, x) {
			out = append(out, x)
		}
	}
	for _, x := range theirs {
		if !slices.Contains(base, x) && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// sources merges the sources of a derived note.
func sources(base, ours, theirs *memory.Note) []uuid.UUID {
	return mergeSet(base.Provenance.Sources, ours.Provenance.Sources, theirs.Provenance.Sources)
}

// AllFields returns the names of all fields of a note.
func AllFields(n *memory.Note) []string {
	out := []string{"state", "sources"}
	for _, f := range texts {
		out = append(out, f.name)
	}
	for _, f := range sets {
		out = append(out, f.name)
	}
	for _, f := range scalars {
		out = append(out, f.name)
	}
	for _, key := range attributeKeys(n) {
		out = append(out, attributePrefix+key)
	}
	return out
}
