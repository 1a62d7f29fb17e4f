package clone

import (
	"context"
	"reflect"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Change is what happened to a note or link between two views.
type Change string

// The changes.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
)

// NoteChange is a note that differs between two views.
type NoteChange struct {
	Note          uuid.UUID
	Change        Change
	Fields        []string     // of a changed note, what differs
	Before, After *memory.Note // nil where the note is not there
}

// LinkChange is a link that differs between two views.
type LinkChange struct {
	memory.LinkID
	Change Change
}

// DiffInput asks for what leads from one view to another.
type DiffInput struct {
	// Against is the ref of the other collection; "": the collection itself if AgainstAt is set, else its parent.
	Against       string
	AgainstParent bool             // the parent is meant, at AgainstAt
	At, AgainstAt *memory.Revision // nil: the head
	Kinds         []memory.Kind    // of the notes; empty: all, and the links
	After         uuid.UUID        // the last id of the page before
	Limit         int
}

// Diff is a page of what leads from one view to another, in the order of ids: of a note, or of the source of a link.
type Diff struct {
	From, To memory.View
	Base     memory.Ancestor // that both descend from
	Notes    []NoteChange
	Links    []LinkChange
	Next     uuid.UUID // zero: this is the last page
}

// Diff returns a page of the differences between two views of one lineage (notes:read). It reads what their logs do not share, and
// nothing else. Views that share no log are Invalid.
func (c *Service) Diff(ctx context.Context, s tenant.Scope, ref string, in DiffInput) (Diff, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return Diff{}, err
	}
	to, err := c.store.OpenView(ctx, s, ref, memory.At{AsOf: in.At})
	if err != nil {
		return Diff{}, renameField(err, "at")
	}
	against, err := in.against(&to.Collection)
	if err != nil {
		return Diff{}, err
	}
	from, err := c.store.OpenView(ctx, s, against, memory.At{AsOf: in.AgainstAt})
	if err != nil {
		return Diff{}, renameField(err, "against_at")
	}
	if from.Collection.ID == to.Collection.ID && in.At == nil && in.AgainstAt == nil {
		return Diff{}, fault.InvalidField("against", "is the collection itself; name another one, or an earlier revision of it")
	}
	base, ok := memory.Shared(&from, &to)
	if !ok {
		return Diff{}, unrelated("against")
	}
	d := Diff{From: from, To: to, Base: base}
	err = c.fill(ctx, s, &d, in)
	return d, err
}

func (in *DiffInput) against(c *memory.Collection) (string, error) {
	switch {
	case in.Against != "":
		return in.Against, nil
	case in.AgainstAt != nil && !in.AgainstParent:
		return c.ID.String(), nil
	case c.Parent != uuid.Nil:
		return c.Parent.String(), nil
	default:
		return "", fault.InvalidField("against", "is required: the collection has no parent; or name an earlier revision with against_at")
	}
}

func unrelated(field string) error {
	return fault.InvalidField(field, "shares no history with the collection: only forks of one base are compared; "+
		"fork one from the other, and write there what should be compared")
}

// fill reads the next page.
func (c *Service) fill(ctx context.Context, s tenant.Scope, d *Diff, in DiffInput) error {
	touched, err := c.store.Touched(ctx, s, d.From, d.To)
	if err != nil {
		return err
	}
	if len(in.Kinds) > 0 {
		touched.Links = nil
	}
	ids := touched.Notes
	for _, l := range touched.Links {
		ids = append(ids, l.Source)
	}
	slices.SortFunc(ids, memory.CompareIDs)
	ids = slices.Compact(ids)
	begin, _ := slices.BinarySearchFunc(ids, in.After, memory.CompareIDs)
	if begin < len(ids) && ids[begin] == in.After {
		begin++
	}
	for batch := range slices.Chunk(ids[begin:], max(1, in.Limit)) {
		if len(d.Notes)+len(d.Links) >= in.Limit {
			return nil
		}
		if err := c.compare(ctx, s, d, in.Kinds, batch, touched.Links); err != nil {
			return err
		}
		d.Next = batch[len(batch)-1]
	}
	d.Next = uuid.Nil
	return nil
}

// compare adds what differs in some notes, and in those of the links that begin there.
func (c *Service) compare(ctx context.Context, s tenant.Scope, d *Diff, kinds []memory.Kind, ids []uuid.UUID, links []memory.LinkID) error {
	before, err := c.notesIn(ctx, s, d.From, ids)
	if err != nil {
		return err
	}
	after, err := c.notesIn(ctx, s, d.To, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if n, ok := changeOf(id, before[id], after[id]); ok && n.isOf(kinds) {
			d.Notes = append(d.Notes, n)
		}
	}
	from, _ := slices.BinarySearchFunc(links, ids[0], bySource)
	to, _ := slices.BinarySearchFunc(links, ids[len(ids)-1], func(l memory.LinkID, id uuid.UUID) int {
		return bySource(l, id)*2 - 1 // after all links of the last one
	})
	links = links[from:max(from, to)]
	if len(links) == 0 {
		return nil
	}
	was, err := c.linksIn(ctx, s, d.From, links)
	if err != nil {
		return err
	}
	is, err := c.linksIn(ctx, s, d.To, links)
	if err != nil {
		return err
	}
	for _, id := range links {
		a, had := was[id]
		b, has := is[id]
		switch {
		case had && !has:
			d.Links = append(d.Links, LinkChange{id, Removed})
		case !had && has:
			d.Links = append(d.Links, LinkChange{id, Added})
		case had && !sameLink(&a, &b):
			d.Links = append(d.Links, LinkChange{id, Changed})
		}
	}
	return nil
}

func bySource(l memory.LinkID, id uuid.UUID) int { return memory.CompareIDs(l.Source, id) }

func sameLink(a, b *memory.Link) bool {
	return a.Confidence == b.Confidence && (len(a.Attributes) == 0 && len(b.Attributes) == 0 || reflect.DeepEqual(a.Attributes, b.Attributes))
}

// changeOf compares two states of a note; ok is false when they are equal.
func changeOf(id uuid.UUID, before, after *memory.Note) (n NoteChange, ok bool) {
	n = NoteChange{Note: id, Before: before, After: after}
	switch {
	case before == nil && after == nil:
		return n, false
	case before == nil:
		n.Change = Added
	case after == nil:
		n.Change = Removed
	default:
		n.Change, n.Fields = Changed, merge.Fields(before, after)
		return n, len(n.Fields) > 0
	}
	return n, true
}

func (n *NoteChange) isOf(kinds []memory.Kind) bool {
	is := func(m *memory.Note) bool { return m != nil && slices.Contains(kinds, m.Kind) }
	return len(kinds) == 0 || is(n.Before) || is(n.After)
}

// notesIn reads notes by id; the others are absent.
func (c *Service) notesIn(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID) (map[uuid.UUID]*memory.Note, error) {
	return readNotes(ids, func(ids []uuid.UUID) ([]memory.Note, error) {
		return c.store.Notes(ctx, s, v, ids, memory.ReadOptions{Vector: true})
	})
}

// linksIn reads links by their identity; the others are absent.
func (c *Service) linksIn(ctx context.Context, s tenant.Scope, v memory.View, ids []memory.LinkID) (map[memory.LinkID]memory.Link, error) {
	return readLinks(ids, func(q memory.LinkQuery) ([]memory.Link, error) { return c.store.Links(ctx, s, v, q) })
}

// readBatch is how many notes are read at a time.
const readBatch = 500

func readNotes(ids []uuid.UUID, read func([]uuid.UUID) ([]memory.Note, error)) (map[uuid.UUID]*memory.Note, error) {
	out := make(map[uuid.UUID]*memory.Note, len(ids))
	for batch := range slices.Chunk(ids, readBatch) {
		list, err := read(batch)
		if err != nil {
			return nil, err
		}
		for i := range list {
			out[list[i].ID] = &list[i]
		}
	}
	return out, nil
}

func readLinks(ids []memory.LinkID, read func(memory.LinkQuery) ([]memory.Link, error)) (map[memory.LinkID]memory.Link, error) {
	wanted := make(map[memory.LinkID]bool, len(ids))
	var sources []uuid.UUID
	for _, id := range ids {
		wanted[id] = true
		if !slices.Contains(sources[max(0, len(sources)-1):], id.Source) {
			sources = append(sources, id.Source)
		}
	}
	out := make(map[memory.LinkID]memory.Link, len(ids))
	for batch := range slices.Chunk(sources, readBatch) {
		list, err := read(memory.LinkQuery{Notes: batch, Direction: memory.Outgoing, Limit: allLinks})
		if err != nil {
			return nil, err
		}
		for _, l := range list {
			if wanted[l.LinkID] {
				out[l.LinkID] = l
			}
		}
	}
	return out, nil
}

// allLinks is more links than a collection may have.
const allLinks = 1 << 30
