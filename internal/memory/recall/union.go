package recall

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// OpenAll opens several collections as one view (notes:read), in which everything is ranked together: how rare a word
// is, and what a score is compared with, follow from all of them. A collection that is named twice counts once. at returns the
// revision at which each is read; nil: all are read at their heads. The errors are those of at, of Open and of [memory.Union].
func (r *Service) OpenAll(ctx context.Context, s tenant.Scope, refs []string, at func(ref string) (*memory.Revision, error)) (memory.View, error) {
	if len(refs) > memory.MaxUnion {
		return memory.View{}, fault.InvalidField("collections", "must be between 1 and %d collections; there are %d", memory.MaxUnion, len(refs))
	}
	views, known := make([]memory.View, 0, len(refs)), map[uuid.UUID]bool{}
	for _, ref := range refs {
		var asOf *memory.Revision
		if at != nil {
			var err error
			if asOf, err = at(ref); err != nil {
				return memory.View{}, err
			}
		}
		v, err := r.Open(ctx, s, ref, asOf, 0)
		if err != nil {
			return memory.View{}, err
		}
		if !known[v.Collection.ID] {
			known[v.Collection.ID] = true
			views = append(views, v)
		}
	}
	return memory.Union(s, views, func(a, b string) bool { return memory.SameScale(r.embedders, a, b) })
}

// embedderOf returns the embedder of the vectors of the view's i-th layer.
func (sr *searchRun) embedderOf(i int) string {
	of, _ := sr.view.Origin(i)
	return of.Collection.Embedder
}

// embeddersOf returns the embedders of the view: several, if collections of a union have others on the same scale.
func (sr *searchRun) embeddersOf() []string {
	out := []string{sr.view.Collection.Embedder}
	for i := range sr.view.Of {
		if name := sr.view.Of[i].Collection.Embedder; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// perLayer returns a vector for all layers of the view, or for each that of its embedder.
func (sr *searchRun) perLayer(vector func(embedder string) []float32) [][]float32 {
	if len(sr.embeddersOf()) == 1 {
		return [][]float32{vector(sr.view.Collection.Embedder)}
	}
	out := make([][]float32, len(sr.view.Layers))
	for i := range out {
		out[i] = vector(sr.embedderOf(i))
	}
	return out
}

// group is versions that are read through one view of one collection.
type group struct {
	view  *memory.View
	notes []uuid.UUID
}

// byCollection groups versions by the collection that they are read through, in the order of a union. A query for
// several layers that are not of one lineage would compare each with all before it.
func byCollection(v *memory.View, versions []memory.Version) (out []group) {
	for _, key := range versions {
		one := v.Through(key)
		i := slices.IndexFunc(out, func(g group) bool { return g.view == one })
		if i < 0 {
			i, out = len(out), append(out, group{view: one})
		}
		out[i].notes = append(out[i].notes, key.Note)
	}
	return out
}

// versions returns the versions of notes of the index.
func (sr *searchRun) versions(ids []uuid.UUID) []memory.Version {
	out := make([]memory.Version, 0, len(ids))
	for _, id := range ids {
		if key, ok := sr.version(id); ok {
			out = append(out, key)
		}
	}
	return out
}

// links reads links of notes of the index, each note's in its collection.
func (sr *searchRun) links(ctx context.Context, q memory.LinkQuery) ([]memory.Link, error) {
	if sr.view.Of == nil {
		return sr.service.store.Links(ctx, sr.scope, sr.view, q)
	}
	return sr.service.linksOf(ctx, sr.scope, &sr.view, sr.versions(q.Notes), q)
}

// linksOf reads the links of versions, each in its collection.
func (r *Service) linksOf(ctx context.Context, s tenant.Scope, v *memory.View, versions []memory.Version, q memory.LinkQuery) (out []memory.Link, err error) {
	for _, g := range byCollection(v, versions) {
		q.Notes = g.notes
		found, err := r.store.Links(ctx, s, *g.view, q)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// notes reads notes of the index, each in its collection, in the order of the ids.
func (sr *searchRun) notes(ctx context.Context, ids []uuid.UUID, o memory.ReadOptions) ([]memory.Note, error) {
	if sr.view.Of == nil {
		return sr.service.store.Notes(ctx, sr.scope, sr.view, ids, o)
	}
	var all []memory.Note
	for _, g := range byCollection(&sr.view, sr.versions(ids)) {
		found, err := sr.service.store.Notes(ctx, sr.scope, *g.view, g.notes, o)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	known := memory.ByID(all)
	out := make([]memory.Note, 0, len(known))
	for _, id := range ids {
		if n := known[id]; n != nil {
			out = append(out, *n)
		}
	}
	return out, nil
}

// listNotes lists notes of all collections of a view in one order.
func (r *Service) listNotes(ctx context.Context, s tenant.Scope, v memory.View, q memory.NoteQuery) (out []memory.Note, err error) {
	if v.Of == nil {
		return r.store.ListNotes(ctx, s, v, q)
	}
	known := map[uuid.UUID]bool{}
	for _, one := range v.Of {
		found, err := r.store.ListNotes(ctx, s, one, q)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if !known[found[i].ID] {
				known[found[i].ID] = true
				out = append(out, found[i])
			}
		}
	}
	slices.SortFunc(out, func(a, b memory.Note) int {
		order := memory.CompareIDs(a.ID, b.ID)
		if q.ByTime {
			order = cmp.Or(a.OccurredAt.Compare(b.OccurredAt), order)
		}
		if q.Newest {
			return -order
		}
		return order
	})
	if q.Limit > 0 {
		out = out[:min(len(out), q.Limit)]
	}
	return out, nil
}

// usageOf returns the use of notes, each in its collection.
func (r *Service) usageOf(ctx context.Context, s tenant.Scope, v *memory.View, versions []memory.Version) (map[uuid.UUID]memory.Usage, error) {
	out := make(map[uuid.UUID]memory.Usage, len(versions))
	for _, g := range byCollection(v, versions) {
		read, err := r.counter.usage(ctx, s, *g.view, g.notes, true)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, read)
	}
	return out, nil
}

// usageOf returns the use of notes of the index.
func (sr *searchRun) usageOf(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	return sr.service.usageOf(ctx, sr.scope, &sr.view, sr.versions(ids))
}

// nameCollections sets the collection that each note of a union was read through. It changes the list.
func nameCollections(v *memory.View, notes []memory.Note) []memory.Note {
	if v.Of != nil {
		for i := range notes {
			notes[i].Collection = v.Through(notes[i].Version()).Collection.ID
		}
	}
	return notes
}
