package notes

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// moveTries is how often a write is prepared when other writes come in between. The last try uses
// what it found.
const moveTries = 4

// errHeadMoved is returned when a write was prepared at another head.
var errHeadMoved = fault.New(fault.Conflict, "other writes came in between")

// derivation holds the notes that are derived from one note, found before the write that changes
// it. Its zero value is for policies that derive nothing.
type derivation struct {
	policy memory.Refresher
	ids    []uuid.UUID
	// sessions are all sessions of the collection, of which some may be among ids.
	sessions []uuid.UUID
	first    uuid.UUID       // of the messages in ids of a change, that the summary of an agent's queue covers
	head     memory.Revision // at which the notes were found
	anyHead  bool            // valid at any head
}

// derivationOf finds the summaries, profiles and sessions that are derived from notes, also indirectly.
// There are few notes of these kinds.
func (n *Service) derivationOf(ctx context.Context, s tenant.Scope, c *memory.Collection, last bool, ids ...uuid.UUID) (derivation, error) {
	p, _ := n.policies.ByName(c.Policy)
	policy, ok := p.(memory.Refresher)
	if !ok {
		return derivation{anyHead: last}, nil
	}
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return derivation{}, err
	}
	d := derivation{policy: policy, head: v.At, anyHead: last}
	sources := map[uuid.UUID][]uuid.UUID{}
	var queue *memory.Note
	for n, err := range memory.EachNote(ctx, n.store, s, v, memory.NoteQuery{Kinds: madeAgain}) {
		if err != nil {
			return derivation{}, err
		}
		sources[n.ID] = n.Provenance.Sources
		if n.Kind == memory.KindSession {
			d.sessions = append(d.sessions, n.ID)
		}
		if _, ok := memory.SumsUp(n); ok {
			summary := *n
			queue = &summary
		}
	}
	if queue != nil {
		if d.first, err = n.firstSummedUp(ctx, s, v, queue, ids); err != nil {
			return derivation{}, err
		}
		if d.first != uuid.Nil {
			sources[queue.ID] = ids
		}
	}
	for from := ids; len(from) > 0; {
		var next []uuid.UUID
		for note, of := range sources {
			if !slices.Contains(ids, note) && slices.ContainsFunc(of, func(id uuid.UUID) bool { return slices.Contains(from, id) }) {
				next = append(next, note)
				delete(sources, note)
			}
		}
		d.ids, from = append(d.ids, next...), next
	}
	slices.SortFunc(d.ids, memory.CompareIDs)
	return d, nil
}

// also adds summaries, profiles and sessions that are made again.
func (d *derivation) also(ids []uuid.UUID) {
	if d.policy == nil {
		return
	}
	d.ids = memory.AppendNew(d.ids, ids...)
	slices.SortFunc(d.ids, memory.CompareIDs)
}

// firstSummedUp returns the first of the messages among notes that the summary of an agent's queue covers; it covers all
// up to the last one, and names only some as its sources.
func (n *Service) firstSummedUp(ctx context.Context, s tenant.Scope, v memory.View, queue *memory.Note, ids []uuid.UUID) (first uuid.UUID, err error) {
	through, _ := memory.SumsUp(queue)
	found, err := n.store.Notes(ctx, s, v, ids, memory.ReadOptions{})
	for i := range found {
		id := found[i].ID
		if found[i].Kind == memory.KindMessage && memory.CompareIDs(id, through) <= 0 && (first == uuid.Nil || memory.CompareIDs(id, first) < 0) {
			first = id
		}
	}
	return first, err
}

// check returns errHeadMoved if the head has changed since the notes were found.
func (d *derivation) check(tx memory.Tx) error {
	if v := tx.View(); d.policy != nil && !d.anyHead && v.At != d.head {
		return errHeadMoved
	}
	return nil
}

// follow does what follows from an edit that changed what a note says.
func (d *derivation) follow(ctx context.Context, tx memory.Tx, c *memory.Collection, old, next *memory.Note) error {
	if !meaningChanged(old, next) {
		return nil
	}
	if err := d.check(tx); err != nil {
		return err
	}
	return d.refresh(ctx, tx, c, old, next)
}

// refresh marks the derived notes stale, and enqueues what the policy does about the
// change. old is nil for a new note, next for a deleted one.
func (d *derivation) refresh(ctx context.Context, tx memory.Tx, c *memory.Collection, old, next *memory.Note) error {
	if d.policy == nil {
		return nil
	}
	var stale []memory.Note
	if old != nil && len(d.ids) > 0 {
		var err error
		if stale, err = tx.Notes(ctx, d.ids, memory.ReadOptions{Vector: true}); err != nil {
			return err
		}
		for i := range stale {
			if _, ok := memory.SumsUp(&stale[i]); ok && d.first != uuid.Nil {
				d.sumUpFrom(&stale[i])
			}
			if err := markStale(ctx, tx, &stale[i]); err != nil {
				return err
			}
		}
	}
	return memory.EnqueueFollows(ctx, tx, c.ID, d.policy.Refresh(old, next, stale))
}

// sumUpFrom makes the summary of an agent's queue one that is to be made again from the first message that has changed.
func (d *derivation) sumUpFrom(queue *memory.Note) {
	from := d.first.String()
	if before, ok := queue.Attributes[memory.AttrAgain].(string); ok && before <= from {
		return
	}
	queue.OwnAttributes()[memory.AttrAgain] = from
	queue.Provenance.Stale = false // so that this is written
}

func markStale(ctx context.Context, tx memory.Tx, n *memory.Note) error {
	if n.Provenance.Stale {
		return nil
	}
	n.Provenance.Stale = true
	_, err := tx.Put(ctx, *n)
	return err
}
