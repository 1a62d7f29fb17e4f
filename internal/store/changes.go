package store

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// NoteBegun is a note that changed at a revision.
type NoteBegun struct {
	memory.NoteChange
	At memory.Revision
}

// LinkBegun is a link that changed at a revision.
type LinkBegun struct {
	memory.LinkChange
	At memory.Revision
}

// StateErased is the state of the tombstone of a note that was erased. It has no more than the id and tells who follows the log that the
// note is gone; no history has it.
const StateErased memory.State = "erased"

// Became returns what became of something at a version that is a tombstone or not, when it was live before or not.
func Became(deleted, before bool) memory.ChangeKind {
	switch {
	case deleted:
		return memory.ChangeRemoved
	case before:
		return memory.ChangeChanged
	}
	return memory.ChangeAdded
}

// changesPage bounds the notes, and the links, of a page of changes that has more than one changeset.
const changesPage = 10_000

// Changes implements memory.LogReader. The view bounds what is read, so later writes change nothing in it.
func (b *Base) Changes(ctx context.Context, s tenant.Scope, v memory.View, after memory.Revision, limit int) ([]memory.Change, error) {
	if err := v.Check(s); err != nil {
		return nil, err
	}
	if after < v.Collection.Floor {
		return nil, fault.New(fault.RevisionGone, "changes after revision %d are no longer kept; the oldest are those after %d", after, v.Collection.Floor)
	}
	if after > v.At {
		return nil, fault.InvalidField("after", "is beyond the last revision, which is %d: the collection was restored to an earlier state, or is another "+
			"one; read its changes from 0 again", v.At)
	}
	return readTenant(ctx, b, s.Tenant(), func(ctx context.Context, q Session) ([]memory.Change, error) {
		return changes(ctx, q, s.Tenant(), v.Layers, after, limit)
	})
}

// changes reads the layers from the farthest to the nearest: the log of a fork continues that of its parent.
func changes(ctx context.Context, q Session, tenantID uuid.UUID, layers []memory.Layer, after memory.Revision, limit int) (out []memory.Change, err error) {
	for i, l := range slices.Backward(layers) {
		if l.Bound <= after || limit > 0 && len(out) == limit {
			continue
		}
		left := 0
		if limit > 0 {
			left = limit - len(out)
		}
		span := memory.SpanOf(layers, i)
		sets, err := Changesets(ctx, q, tenantID, l.Collection, max(after, span.After), span.To, left)
		if err != nil {
			return nil, err
		}
		read, err := changesOf(ctx, q, tenantID, layers[i:], sets)
		if err != nil {
			return nil, err
		}
		if out = append(out, read...); len(read) < len(sets) {
			return out, nil
		}
	}
	return out, nil
}

// changesOf returns what changesets of the first layer did: all of them, or the first ones when they did much.
func changesOf(ctx context.Context, q Session, tenantID uuid.UUID, layers []memory.Layer, sets []memory.Changeset) ([]memory.Change, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	after := sets[0].Revision - 1
	for n := changesPage + 1; ; n = 0 {
		to := sets[len(sets)-1].Revision
		notes, err := q.NotesBegun(ctx, tenantID, layers, after, to, n)
		if err != nil {
			return nil, err
		}
		links, err := q.LinksBegun(ctx, tenantID, layers, after, to, n)
		if err != nil {
			return nil, err
		}
		// A full page ends within a changeset, which is left to the next page.
		if n > 0 && len(notes) == n {
			to = min(to, notes[n-1].At-1)
		}
		if n > 0 && len(links) == n {
			to = min(to, links[n-1].At-1)
		}
		whole := slices.IndexFunc(sets, func(c memory.Changeset) bool { return c.Revision > to })
		if whole == 0 { // the first one alone is more than a page
			sets = sets[:1]
			continue
		}
		if whole > 0 {
			sets = sets[:whole]
		}
		return gather(sets, notes, links), nil
	}
}

// gather puts notes and links, in the order of their revisions, to the changesets that they are of.
func gather(sets []memory.Changeset, notes []NoteBegun, links []LinkBegun) []memory.Change {
	out := make([]memory.Change, len(sets))
	for i := range sets {
		out[i].Changeset = sets[i]
		for len(notes) > 0 && notes[0].At <= sets[i].Revision {
			out[i].Notes = append(out[i].Notes, notes[0].NoteChange)
			notes = notes[1:]
		}
		for len(links) > 0 && links[0].At <= sets[i].Revision {
			out[i].Links = append(out[i].Links, links[0].LinkChange)
			links = links[1:]
		}
	}
	return out
}
