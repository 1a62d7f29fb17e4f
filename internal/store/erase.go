package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// EraseNotes implements memory.Writer. It is one transaction, so that no reader sees a part of it.
func (b *Base) EraseNotes(ctx context.Context, s tenant.Scope, collection uuid.UUID, e memory.Erasing, audit memory.AuditEntry) (out memory.Erased, err error) {
	err = b.free(ctx, s, func(ctx context.Context, q Session) error {
		out = memory.Erased{}
		q.LockHead(s.Tenant(), collection)
		r, err := Reach(ctx, q, s, collection)
		if err != nil {
			return err
		}
		if r.State == memory.CollectionDeleting {
			return fault.Missing("collection")
		}
		if err := refuseVisible(ctx, q, r, e.Notes); err != nil {
			return err
		}
		erased, err := b.readers(ctx, q, r)
		if err != nil {
			return err
		}
		if err := eraseFrom(ctx, q, erased, &e, &out); err != nil {
			return err
		}
		proposals, err := q.EraseProposals(ctx, s.Tenant(), out.Layers, slices.Concat(e.Notes, e.Past))
		if err != nil {
			return err
		}
		out.Reviews += proposals
		if out.Versions+out.Jobs+out.Reviews == 0 {
			q.NothingErased()
		}
		return auditTarget(ctx, q, s, r.ID, audit, b.now())
	})
	return out, err
}

// refuseVisible returns a Conflict when one of the notes is not deleted.
func refuseVisible(ctx context.Context, q Session, r CollectionRow, notes []uuid.UUID) error {
	layers, err := q.Layers(ctx, r, r.Head)
	if err != nil {
		return err
	}
	shown, err := q.NoteVersions(ctx, r.Tenant, layers, NoteReader{Collection: r.ID}, notes)
	if err != nil {
		return err
	}
	for _, id := range notes {
		if n, ok := shown[id]; ok && !n.Deleted {
			return fault.New(fault.Conflict, "the note %s is visible; it is deleted before it is erased", id)
		}
	}
	return nil
}

// erasing is a collection that loses notes.
type erasing struct {
	CollectionRow
	head Head
}

// readers locks a collection, all that read its log, and all that hold a copy of it.
func (b *Base) readers(ctx context.Context, q Session, r CollectionRow) (out []erasing, err error) {
	tree := []CollectionRow{r}
	for ; len(tree) > 0; tree = tree[1:] {
		c := tree[0]
		if slices.ContainsFunc(out, func(e erasing) bool { return e.ID == c.ID }) {
			continue
		}
		q.LockCollection(c.Tenant, c.ID) // waits for those who copy what it holds
		forks, err := q.Forks(ctx, c, b.now())
		if err != nil {
			return nil, err
		}
		holders, err := q.Holders(ctx, c)
		if err != nil {
			return nil, err
		}
		q.LockHead(c.Tenant, c.ID)
		h, err := q.Head(ctx, c.Tenant, c.ID)
		if err != nil {
			return nil, err
		}
		tree, out = append(append(tree, forks...), holders...), append(out, erasing{c, h})
	}
	return out, nil
}

// count adds what a collection shows of notes to its counts (by 1), or subtracts it (by -1).
func (e *erasing) count(ctx context.Context, q Session, notes []uuid.UUID, by int64) error {
	layers, err := q.Layers(ctx, e.CollectionRow, e.head.Revision)
	if err != nil {
		return err
	}
	links, err := q.Links(ctx, e.Tenant, layers, memory.LinkQuery{Notes: notes, Direction: memory.Both, Limit: math.MaxInt32})
	if err != nil {
		return err
	}
	for i := range links {
		if links[i].Layer == e.ID {
			e.head.Stored.Hidden -= by
		}
	}
	if !e.head.Counted {
		return nil
	}
	e.head.Links += by * int64(len(links))
	found, err := q.NoteVersions(ctx, e.Tenant, layers, NoteReader{Collection: e.ID}, notes)
	for _, n := range found {
		if !n.Deleted {
			countNote(&e.head.Counts, &n.Note, n.Bytes, by)
		}
	}
	return err
}

// shown is a version of a note that stays for a fork that shows it. instead is what becomes of it; nil: it stays as it is.
type shown struct {
	NoteVersion
	instead *memory.Note
}

// shownPast returns the versions of notes of past that are not the current ones of the first collection, and that stay for what
// shows them. What does not stay although no version has ended it, in a copy of the log, is deleted.
func shownPast(ctx context.Context, q Session, from []erasing, e *memory.Erasing) (out []shown, err error) {
	for i := range from {
		x := &from[i]
		layers, err := q.Layers(ctx, x.CollectionRow, x.head.Revision)
		if err != nil {
			return nil, err
		}
		found, err := q.NoteVersions(ctx, x.Tenant, layers, NoteReader{Collection: x.ID}, e.Past)
		if err != nil {
			return nil, err
		}
		for _, n := range found {
			copied := func(l memory.Layer) bool {
				return l.Collection == n.Layer && slices.ContainsFunc(l.Flattened, func(a memory.Ancestor) bool { return a.Collection == from[0].ID && n.From <= a.Bound })
			}
			own := n.Layer == from[0].ID
			known := slices.ContainsFunc(out, func(s shown) bool { return s.Version() == n.Version() })
			if n.Deleted || known || own && n.To == OpenEnd {
				continue
			}
			s := shown{NoteVersion: n}
			if own || slices.ContainsFunc(layers, copied) {
				k := slices.IndexFunc(e.Kept, func(k memory.Note) bool { return k.ID == n.ID && k.From == n.From })
				switch {
				case k >= 0 && !memory.SameSaid(&e.Kept[k], &n.Note):
					s.instead = &e.Kept[k]
				case k < 0 && own:
					continue
				case k < 0:
					s.instead = &memory.Note{Deleted: true}
				}
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// rewrite replaces a version in a layer.
func (e *erasing) rewrite(ctx context.Context, q Session, s *shown) error {
	old, live := &s.NoteVersion, int64(0)
	if old.To == OpenEnd {
		live = 1
	}
	if err := DeleteNote(ctx, q, e.Tenant, old.Version()); err != nil {
		return err
	}
	e.head.Stored.Bytes -= old.Bytes
	if s.instead.Deleted {
		e.head.Stored.Notes -= live
		return nil
	}
	n := *s.instead
	n.Collection, n.Layer, n.Kind, n.CreatedAt, n.UpdatedAt = old.Collection, old.Layer, old.Kind, old.CreatedAt, old.UpdatedAt
	n.State = cmp.Or(n.State, old.State)
	t := Tx{q: q, ctx: ctx, row: e.CollectionRow}
	row, err := t.encode(&n)
	if err != nil {
		return err
	}
	row.Note, row.To, row.Digest, row.OccurredOffset = n, old.To, memory.DigestOf(&n), int64(Offset(n.OccurredAt))
	e.head.Stored.Bytes += row.Bytes
	if err := q.InsertNote(ctx, e.Tenant, row); err != nil || n.Vector == nil {
		return err
	}
	return q.InsertVector(ctx, e.Tenant, n.Version(), n.Embedder, n.Vector, n.Tokens)
}

// begun returns when the first of notes began. What is made again from others, and is as old as its collection, does not count.
func begun(ctx context.Context, q Session, from []erasing, notes []uuid.UUID) (since time.Time, err error) {
	var all []memory.Note
	for i := range from {
		x := &from[i]
		layers, err := q.Layers(ctx, x.CollectionRow, x.head.Revision)
		if err != nil {
			return since, err
		}
		found, err := q.NoteVersions(ctx, x.Tenant, layers, NoteReader{Collection: x.ID}, notes)
		if err != nil {
			return since, err
		}
		for _, n := range found {
			all = append(all, n.Note)
		}
	}
	return memory.Begun(all...), nil
}

// eraseFrom erases notes from the layers of collections, and what their jobs and reviews say about them. A fork may have shown what its
// base loses: what all of them show is counted before the first loses anything.
func eraseFrom(ctx context.Context, q Session, from []erasing, what *memory.Erasing, out *memory.Erased) error {
	all := slices.Concat(what.Notes, what.Past)
	stays, err := shownPast(ctx, q, from, what)
	if err != nil {
		return err
	}
	since, err := begun(ctx, q, from, all)
	if err != nil {
		return err
	}
	kept := make([]memory.Version, len(stays))
	for i := range stays {
		kept[i] = stays[i].Version()
	}
	for i := range from {
		if err := from[i].count(ctx, q, all, -1); err != nil {
			return err
		}
	}
	for i := range from {
		e := &from[i]
		here := slices.DeleteFunc(slices.Clone(kept), func(v memory.Version) bool { return v.Layer != e.ID })
		versions, stored, err := q.EraseVersions(ctx, e.Tenant, e.ID, what.Notes, what.Past, here)
		if err != nil {
			return err
		}
		e.head.Stored.Notes -= stored.Notes
		e.head.Stored.Links -= stored.Links
		e.head.Stored.Hidden -= stored.Links // count has added the visible ones
		e.head.Stored.Bytes -= stored.Bytes
		for k := range stays {
			if s := &stays[k]; s.Layer == e.ID && s.instead != nil {
				versions++
				if err := e.rewrite(ctx, q, s); err != nil {
					return err
				}
			}
		}
		jobs, err := q.EraseJobs(ctx, e.Tenant, e.ID, what.Notes, what.Past, since)
		if err != nil {
			return err
		}
		reviews, err := q.EraseReviews(ctx, e.Tenant, e.ID, all)
		if err != nil {
			return err
		}
		out.Versions, out.Jobs, out.Reviews, out.Layers = out.Versions+versions, out.Jobs+jobs, out.Reviews+reviews, append(out.Layers, e.ID)
	}
	for i := range from {
		e := &from[i]
		if err := e.count(ctx, q, all, 1); err != nil {
			return err
		}
		if err := q.SaveHead(ctx, e.Tenant, e.ID, e.head); err != nil {
			return err
		}
		if err := q.RaiseEpoch(ctx, e.Tenant, e.ID); err != nil {
			return err
		}
	}
	return nil
}

// ClearJobs implements memory.Tx.
func (t *Tx) ClearJobs(ctx context.Context, texts []string, since time.Time) error {
	var written []string
	for _, s := range texts {
		doc, err := Document("text", s)
		if err != nil {
			return err
		}
		if doc = doc[1 : len(doc)-1]; doc != "" { // without quotes: it may be a part
			written = append(written, doc)
		}
	}
	if len(written) == 0 {
		return ctx.Err()
	}
	return t.q.ClearJobs(t.ctx, t.scope.Tenant(), t.row.ID, written, since)
}
