package store

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// ScanMerge reads ChangesetColumns and merged_from.
func ScanMerge(row Scanner) (c memory.Changeset, err error) {
	var from string
	if err := row.Scan(&c.Collection, &c.Revision, Time(&c.At), &c.Actor, &c.Job, &c.Trigger, &c.Cause, &c.Undoes, &from); err != nil {
		return c, err
	}
	c.MergedFrom = &memory.MergedFrom{}
	return c, json.Unmarshal([]byte(from), c.MergedFrom)
}

// endsBatch is how many notes are looked up at a time.
const endsBatch = 1000

// Touched implements memory.LogReader.
func (b *Base) Touched(ctx context.Context, s tenant.Scope, x, y memory.View) (t memory.Touched, err error) {
	for _, v := range []*memory.View{&x, &y} {
		if err := v.Check(s); err != nil {
			return t, err
		}
	}
	shared, ok := memory.Shared(&x, &y)
	if !ok {
		return t, fault.New(fault.Internal, "the views share no log")
	}
	return readTenant(ctx, b, s.Tenant(), func(ctx context.Context, q Session) (t memory.Touched, err error) {
		for _, v := range []*memory.View{&x, &y} {
			if err := addTouched(ctx, q, s.Tenant(), v.Layers, shared.Bound, &t); err != nil {
				return t, err
			}
		}
		slices.SortFunc(t.Notes, memory.CompareIDs)
		t.Notes = slices.Compact(t.Notes)
		for batch := range slices.Chunk(t.Notes, endsBatch) {
			more, err := linksOfHidden(ctx, q, s.Tenant(), &x, &y, batch)
			if err != nil {
				return t, err
			}
			t.Links = append(t.Links, more...)
		}
		slices.SortFunc(t.Links, memory.CompareLinkIDs)
		t.Links = slices.Compact(t.Links)
		return t, nil
	})
}

// addTouched adds what became of notes and links in layers after a revision.
func addTouched(ctx context.Context, q Session, tenantID uuid.UUID, layers []memory.Layer, after memory.Revision, t *memory.Touched) error {
	for i, l := range layers {
		if l.Bound <= after {
			continue
		}
		notes, err := q.NotesBegun(ctx, tenantID, layers[i:], after, l.Bound, 0)
		if err != nil {
			return err
		}
		links, err := q.LinksBegun(ctx, tenantID, layers[i:], after, l.Bound, 0)
		if err != nil {
			return err
		}
		for i := range notes {
			t.Notes = append(t.Notes, notes[i].Note)
		}
		for i := range links {
			t.Links = append(t.Links, links[i].LinkID)
		}
	}
	return nil
}

// linksOfHidden returns the links of those of the notes that only one of the views shows, as that view shows them.
func linksOfHidden(ctx context.Context, q Session, tenantID uuid.UUID, x, y *memory.View, notes []uuid.UUID) ([]memory.LinkID, error) {
	inX, err := q.VisibleNotes(ctx, tenantID, x.Layers, notes)
	if err != nil {
		return nil, err
	}
	inY, err := q.VisibleNotes(ctx, tenantID, y.Layers, notes)
	if err != nil {
		return nil, err
	}
	var out []memory.LinkID
	only := func(v *memory.View, in, other map[uuid.UUID]bool) error {
		var ids []uuid.UUID
		for _, id := range notes {
			if in[id] && !other[id] {
				ids = append(ids, id)
			}
		}
		links, err := q.Links(ctx, tenantID, v.Layers, memory.LinkQuery{Notes: ids, Direction: memory.Both, Limit: allLinks})
		for i := range links {
			out = append(out, links[i].LinkID)
		}
		return err
	}
	if err := only(x, inX, inY); err != nil {
		return nil, err
	}
	return out, only(y, inY, inX)
}

// allLinks is more links than a collection may have.
const allLinks = 1 << 30

// Merges implements memory.LogReader.
func (b *Base) Merges(ctx context.Context, s tenant.Scope, v memory.View) ([]memory.Changeset, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) (out []memory.Changeset, err error) {
		for i := range v.Layers {
			page, err := q.ListMerges(ctx, s.Tenant(), memory.SpanOf(v.Layers, i))
			if err != nil {
				return nil, err
			}
			out = append(out, page...)
		}
		return out, nil
	})
}
