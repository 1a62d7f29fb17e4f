package store

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// EraseNotes implements memory.Writer. It is one transaction, so that no reader sees a part of it.
func (b *Base) EraseNotes(ctx context.Context, s tenant.Scope, collection uuid.UUID, notes, past []uuid.UUID, audit memory.AuditEntry) (out memory.Erased, err error) {
	if err := s.Check(); err != nil {
		return out, err
	}
	err = b.transactions.Freeing(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
		out = memory.Erased{}
		q.LockHead(s.Tenant(), collection)
		r, err := Reach(ctx, q, s, collection)
		if err != nil {
			return err
		}
		if r.State == memory.CollectionDeleting {
			return fault.Missing("collection")
		}
		if err := refuseVisible(ctx, q, r, notes); err != nil {
			return err
		}
		erased, err := b.readers(ctx, q, r)
		if err != nil {
			return err
		}
		if err := eraseFrom(ctx, q, erased, notes, past, &out); err != nil {
			return err
		}
		proposals, err := q.EraseProposals(ctx, s.Tenant(), out.Layers, slices.Concat(notes, past))
		if err != nil {
			return err
		}
		out.Reviews += proposals
		audit.Target = cmp.Or(audit.Target, r.ID.String())
		return writeAudit(ctx, q, s, b.now(), audit)
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

// eraseFrom erases notes from the layers of collections, and what their jobs and reviews say about them. A fork may have shown what its
// base loses: what all of them show is counted before the first loses anything.
func eraseFrom(ctx context.Context, q Session, from []erasing, notes, past []uuid.UUID, out *memory.Erased) error {
	all := slices.Concat(notes, past)
	for i := range from {
		if err := from[i].count(ctx, q, all, -1); err != nil {
			return err
		}
	}
	for i := range from {
		e := &from[i]
		versions, stored, err := q.EraseVersions(ctx, e.Tenant, e.ID, notes, past)
		if err != nil {
			return err
		}
		e.head.Stored.Notes -= stored.Notes
		e.head.Stored.Links -= stored.Links
		e.head.Stored.Hidden -= stored.Links // count has added the visible ones
		e.head.Stored.Bytes -= stored.Bytes
		jobs, err := q.EraseJobs(ctx, e.Tenant, e.ID, all)
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
func (t *Tx) ClearJobs(ctx context.Context, texts []string) error {
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
	return t.q.ClearJobs(t.ctx, t.scope.Tenant(), t.row.ID, written)
}
