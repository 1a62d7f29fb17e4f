package memory

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// MergedFrom says where the content of a changeset was taken from: another collection of the lineage for a merge, an earlier
// revision of the collection itself for a rollback.
type MergedFrom struct {
	Collection uuid.UUID   `json:"collection"`
	Revision   Revision    `json:"revision"`
	Notes      []uuid.UUID `json:"notes,omitempty"`   // what was chosen; nil: all that differed
	Through    []Ancestor  `json:"through,omitempty"` // farther logs that came with it, and that the collection does not read
}

// Source returns where a merge of the view into a collection takes its content from.
func (v *View) Source(into *View) MergedFrom {
	m := MergedFrom{Collection: v.Wrote(), Revision: v.At}
	for _, l := range v.Logs() {
		if l.Bound < v.At && !into.Reads(l.Collection, l.Bound) {
			m.Through = append(m.Through, l)
		}
	}
	return m
}

// Knew returns up to which revision of the view a merge had what the view shows, if it is after the given one, which all have.
func (v *View) Knew(m *MergedFrom, after Revision) (at Revision, ok bool) {
	at = after
	for _, from := range append([]Ancestor{{m.Collection, m.Revision}}, m.Through...) {
		for _, l := range v.Logs() {
			if l.Collection == from.Collection {
				at = max(at, min(l.Bound, from.Bound))
			}
		}
	}
	return at, at > after
}

// Span is a stretch of a layer's log: after one revision and up to another.
type Span struct {
	Layer     uuid.UUID
	After, To Revision
}

// Touched is what differs at most between two views: every note and link with a version in a log that only one of them reads,
// and every link of a note that only one of them shows. Both lists are sorted.
type Touched struct {
	Notes []uuid.UUID
	Links []LinkID
}

// Logs returns the collections whose logs make up the view, nearest first, each with the revision up to which. Flattening a
// collection changes its layers, and not this.
func (v *View) Logs() []Ancestor {
	out := make([]Ancestor, 0, len(v.Layers))
	for _, l := range v.Layers {
		out = append(out, Ancestor{l.Collection, l.Bound})
		for _, f := range l.Flattened {
			out = append(out, Ancestor{f.Collection, min(f.Bound, l.Bound)})
		}
	}
	return out
}

// Wrote returns the collection that wrote the revision of the view: an ancestor while the collection has written nothing itself.
func (v *View) Wrote() uuid.UUID {
	logs := v.Logs()
	i := len(logs) - 1
	for i > 0 && logs[i].Bound < v.At {
		i--
	}
	return logs[i].Collection
}

// Shared returns the newest log that two views share, and the revision up to which. Revisions of a fork continue those of its
// parent, so all up to this one are the same in both views, and all after it are not. ok is false when they share no log.
func Shared(a, b *View) (at Ancestor, ok bool) {
	others := b.Logs()
	for _, x := range a.Logs() {
		for _, y := range others {
			if x.Collection == y.Collection {
				return Ancestor{x.Collection, min(x.Bound, y.Bound)}, true
			}
		}
	}
	return Ancestor{}, false
}

// Upto returns the view as it was at an earlier revision.
func (v *View) Upto(at Revision) View {
	out := *v
	out.At, out.Layers = min(v.At, at), slices.Clone(v.Layers)
	for i := range out.Layers {
		out.Layers[i].Bound = min(out.Layers[i].Bound, at)
	}
	return out
}

// Reads reports whether the view reads a revision of a log.
func (v *View) Reads(log uuid.UUID, at Revision) bool {
	return slices.ContainsFunc(v.Logs(), func(l Ancestor) bool { return l.Collection == log && l.Bound >= at })
}

// SpanOf returns the stretch of the log of layers[i] that is read through the layers. A view that was opened before its collection was
// flattened reads what the collection holds since of farther layers in those.
func SpanOf(layers []Layer, i int) Span {
	s := Span{Layer: layers[i].Collection, To: layers[i].Bound}
	if i+1 < len(layers) {
		s.After = layers[i+1].Bound
	}
	return s
}

// CompareIDs is the order of ids in lists.
func CompareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// CompareLinkIDs is the order of CompareLinks.
func CompareLinkIDs(a, b LinkID) int {
	return cmp.Or(CompareIDs(a.Source, b.Source), cmp.Compare(a.Relation, b.Relation), CompareIDs(a.Target, b.Target))
}
