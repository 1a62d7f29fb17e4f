package store

import (
	"cmp"
	"context"
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
		for tree := []CollectionRow{r}; len(tree) > 0; tree = tree[1:] {
			if slices.Contains(out.Layers, tree[0].ID) {
				continue
			}
			q.LockCollection(s.Tenant(), tree[0].ID) // waits for those who copy what it holds
			forks, err := q.Forks(ctx, tree[0], b.now())
			if err != nil {
				return err
			}
			holders, err := q.Holders(ctx, tree[0])
			if err != nil {
				return err
			}
			tree = append(append(tree, forks...), holders...)
			if err := eraseFrom(ctx, q, tree[0], notes, past, &out); err != nil {
				return err
			}
		}
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

// eraseFrom erases notes from the layer of one collection, and what its jobs and reviews say about them.
func eraseFrom(ctx context.Context, q Session, r CollectionRow, notes, past []uuid.UUID, out *memory.Erased) error {
	q.LockHead(r.Tenant, r.ID)
	n, err := q.EraseVersions(ctx, r.Tenant, r.ID, notes, past)
	if err != nil {
		return err
	}
	all := slices.Concat(notes, past)
	jobs, err := q.EraseJobs(ctx, r.Tenant, r.ID, all)
	if err != nil {
		return err
	}
	reviews, err := q.EraseReviews(ctx, r.Tenant, r.ID, all)
	if err != nil {
		return err
	}
	out.Versions, out.Jobs, out.Reviews, out.Layers = out.Versions+n, out.Jobs+jobs, out.Reviews+reviews, append(out.Layers, r.ID)
	h, err := q.Head(ctx, r.Tenant, r.ID)
	if err != nil {
		return err
	}
	if h.Stored, err = q.CountStored(ctx, r.Tenant, r.ID); err != nil {
		return err
	}
	// A fork may have shown what its base lost.
	layers, err := q.Layers(ctx, r, h.Revision)
	if err != nil {
		return err
	}
	if h.Counted {
		if h.Counts, err = q.CountVisible(ctx, r.Tenant, layers); err != nil {
			return err
		}
	}
	if err := q.SaveHead(ctx, r.Tenant, r.ID, h); err != nil {
		return err
	}
	return q.RaiseEpoch(ctx, r.Tenant, r.ID)
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
