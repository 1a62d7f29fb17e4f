package notes

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// moveTries is how often a write whose preparation was overtaken is prepared
// again; the last one takes what was found.
const moveTries = 4

// errHeadMoved says that what a write rests on was read at another head.
var errHeadMoved = fault.New(fault.Conflict, "other writes came in between")

// derivation is what was found of the notes that come from one note, before
// the write that changes it. The zero one is of a policy that derives nothing.
type derivation struct {
	policy memory.Refresher
	ids    []uuid.UUID
	head   memory.Revision // at which it was found
	last   bool            // taken at whatever head
}

// derivationOf finds the summaries and profiles that come from a note, also by
// way of each other. There are few of these kinds.
func (n *Service) derivationOf(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID, last bool) (derivation, error) {
	p, _ := n.policies.ByName(c.Policy)
	policy, ok := p.(memory.Refresher)
	if !ok {
		return derivation{}, nil
	}
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return derivation{}, err
	}
	d := derivation{policy: policy, head: v.At, last: last}
	sources := map[uuid.UUID][]uuid.UUID{}
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindSummary, memory.KindProfile}, Limit: 500}
	for {
		page, err := n.store.ListNotes(ctx, s, v, q)
		if err != nil {
			return derivation{}, err
		}
		for i := range page {
			sources[page[i].ID] = page[i].Provenance.Sources
		}
		if len(page) < q.Limit {
			break
		}
		q.After = page[len(page)-1].ID
	}
	for from := []uuid.UUID{id}; len(from) > 0; {
		var next []uuid.UUID
		for note, of := range sources {
			if note != id && slices.ContainsFunc(of, func(id uuid.UUID) bool { return slices.Contains(from, id) }) {
				next = append(next, note)
				delete(sources, note)
			}
		}
		d.ids, from = append(d.ids, next...), next
	}
	slices.SortFunc(d.ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return d, nil
}

// check refuses a derivation that was overtaken.
func (d *derivation) check(tx memory.Tx) error {
	if v := tx.View(); d.policy != nil && !d.last && v.At != d.head {
		return errHeadMoved
	}
	return nil
}

// refresh marks what comes from a note that goes or changes, and enqueues what
// the policy does about it.
func (d *derivation) refresh(ctx context.Context, tx memory.Tx, c *memory.Collection, was, is *memory.Note) error {
	if d.policy == nil {
		return nil
	}
	var stale []memory.Note
	if was != nil && len(d.ids) > 0 {
		var err error
		if stale, err = tx.Notes(ctx, d.ids, memory.ReadOptions{Vector: true}); err != nil {
			return err
		}
		for i := range stale {
			if err := markStale(ctx, tx, &stale[i]); err != nil {
				return err
			}
		}
	}
	return memory.EnqueueFollows(ctx, tx, c.ID, d.policy.Refresh(was, is, stale))
}

func markStale(ctx context.Context, tx memory.Tx, n *memory.Note) error {
	if n.Provenance.Stale {
		return nil
	}
	n.Provenance.Stale = true
	_, err := tx.Put(ctx, *n)
	return err
}
