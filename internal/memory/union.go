package memory

import (
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// MaxUnion is how many collections are read together at most.
const MaxUnion = 50

// Union returns one view of several collections, to rank and read what is in any of them together. Its layers are
// those of all views, in their order. As in a lineage, a note that several of them hold, such as forks, copies and
// imports with ids, is what the first one says it is. A layer that several lineages share is read at the latest of
// their bounds. Collection is the first one; At is 0, because a revision of one says nothing about the others.
//
// Invalid for none or more than MaxUnion. Conflict when their policies differ, or their embedders, by same: how they are read, or
// what their vectors say, has nothing in common.
func Union(s tenant.Scope, views []View, same func(a, b string) bool) (View, error) {
	if len(views) == 0 || len(views) > MaxUnion {
		return View{}, fault.InvalidField("collections", "must be between 1 and %d collections; there are %d", MaxUnion, len(views))
	}
	out := View{Collection: views[0].Collection, tenant: s.Tenant(), reader: s.Reader(), Of: views}
	place := map[uuid.UUID]int{}
	for i := range views {
		if err := views[i].Check(s); err != nil {
			return View{}, err
		}
		a, b := &views[0].Collection, &views[i].Collection
		if a.Policy != b.Policy || a.Dim != b.Dim || !same(a.Embedder, b.Embedder) {
			return View{}, fault.New(fault.Conflict, "the collections %q (policy %q, embedder %q) and %q (policy %q, embedder %q) cannot be ranked together",
				a.Name, a.Policy, a.Embedder, b.Name, b.Policy, b.Embedder)
		}
		for j, l := range views[i].Layers {
			at, known := place[l.Collection]
			if !known {
				place[l.Collection] = len(out.Layers)
				out.Layers, out.from = append(out.Layers, l), append(out.from, layerOf{i, j})
				continue
			}
			if known := &out.Layers[at]; l.Bound > known.Bound {
				out.from[at] = layerOf{i, j}
				known.Bound = l.Bound
			}
		}
	}
	return out, nil
}

// layerOf is a layer of one of the views of a union.
type layerOf struct{ view, layer int }

// Origin returns the view of one collection that has the i-th layer, and the layer's position in it.
func (v *View) Origin(i int) (*View, int) {
	if v.Of == nil {
		return v, i
	}
	from := v.from[i]
	return &v.Of[from.view], from.layer
}

// Through returns the first view of one collection that has a version of a note.
func (v *View) Through(key Version) *View {
	for i := range v.Of {
		if slices.ContainsFunc(v.Of[i].Layers, func(l Layer) bool { return l.Collection == key.Layer && l.Bound >= key.From }) {
			return &v.Of[i]
		}
	}
	return v
}

// Each returns the views of single collections: those of a union, else the view itself.
func (v *View) Each() []View {
	if v.Of == nil {
		return []View{*v}
	}
	return v.Of
}
