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
	Notes      []uuid.UUID `json:"notes,omitempty"` // what was chosen; nil: all that differed
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

// Ancestor returns the newest view from which both views descend. ok is false when they share no log. The common layer and all
// behind it are read up to the lower of both bounds.
func Ancestor(a, b *View) (v View, ok bool) {
	i, j, ok := commonLayer(a, b)
	if !ok {
		return View{}, false
	}
	v = *a
	v.Layers = nil
	for ; i < len(a.Layers) && j < len(b.Layers) && a.Layers[i].Collection == b.Layers[j].Collection; i, j = i+1, j+1 {
		l := a.Layers[i]
		l.Bound = min(l.Bound, b.Layers[j].Bound)
		v.Layers = append(v.Layers, l)
	}
	v.At = v.Layers[0].Bound
	return v, true
}

func commonLayer(a, b *View) (i, j int, ok bool) {
	for i = range a.Layers {
		for j = range b.Layers {
			if a.Layers[i].Collection == b.Layers[j].Collection {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

// Upto returns the part of the view's lineage that begins with a layer, read up to a revision. ok is false when the view does not
// read that far.
func (v *View) Upto(layer uuid.UUID, at Revision) (out View, ok bool) {
	for i, l := range v.Layers {
		if l.Collection != layer {
			continue
		}
		if l.Bound < at {
			return View{}, false
		}
		out = *v
		out.At, out.Layers = at, slices.Clone(v.Layers[i:])
		for k := range out.Layers {
			out.Layers[k].Bound = min(out.Layers[k].Bound, at)
		}
		return out, true
	}
	return View{}, false
}

// Holds reports whether the view reads a revision of a layer.
func (v *View) Holds(layer uuid.UUID, at Revision) bool {
	return slices.ContainsFunc(v.Layers, func(l Layer) bool { return l.Collection == layer && l.Bound >= at })
}

// Spans returns the stretches of logs that only one of two views reads.
func Spans(a, b *View) []Span {
	var out []Span
	bound := func(v *View, layer uuid.UUID) Revision {
		for _, l := range v.Layers {
			if l.Collection == layer {
				return l.Bound
			}
		}
		return 0
	}
	add := func(layer uuid.UUID) {
		x, y := bound(a, layer), bound(b, layer)
		if x != y {
			out = append(out, Span{Layer: layer, After: min(x, y), To: max(x, y)})
		}
	}
	for _, l := range a.Layers {
		add(l.Collection)
	}
	for _, l := range b.Layers {
		if !slices.ContainsFunc(a.Layers, func(o Layer) bool { return o.Collection == l.Collection }) {
			add(l.Collection)
		}
	}
	return out
}

// CompareIDs is the order of ids in lists.
func CompareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// CompareLinkIDs is the order of CompareLinks.
func CompareLinkIDs(a, b LinkID) int {
	return cmp.Or(CompareIDs(a.Source, b.Source), cmp.Compare(a.Relation, b.Relation), CompareIDs(a.Target, b.Target))
}
