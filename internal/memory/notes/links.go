package notes

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// LinksIn returns the links of a note as a view shows them (notes:read).
func (n *Service) LinksIn(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID, d memory.Direction) (LinkSet, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return LinkSet{}, err
	}
	ids := []uuid.UUID{id}
	notes, err := n.store.Notes(ctx, s, v, ids, memory.ReadOptions{})
	if err != nil {
		return LinkSet{}, err
	}
	if len(notes) == 0 {
		return LinkSet{}, fault.Missing("note")
	}
	out, err := n.store.Links(ctx, s, v, memory.LinkQuery{Notes: ids, Direction: memory.Outgoing})
	if err != nil {
		return LinkSet{}, err
	}
	set := LinkSet{Links: out, ETag: memory.LinksETag(id, out), Revision: v.At}
	if d != memory.Outgoing {
		if set.Links, err = n.store.Links(ctx, s, v, memory.LinkQuery{Notes: ids, Direction: d}); err != nil {
			return LinkSet{}, err
		}
	}
	return set, nil
}

// checkLinks validates links and fills in defaults.
func checkLinks(source uuid.UUID, in []LinkInput) ([]memory.Link, error) {
	var r memory.Validation
	if len(in) > memory.MaxLinks {
		r.Addf("links", "at most %d; there are %d", memory.MaxLinks, len(in))
		return nil, r.Err()
	}
	out := make([]memory.Link, 0, len(in))
	seen := make(map[memory.LinkID]bool, len(in))
	for i, l := range in {
		at := "links." + strconv.Itoa(i)
		link := memory.Link{LinkID: memory.LinkID{Source: source, Target: l.Target, Relation: l.Relation}, Confidence: 1, Attributes: l.Attributes}
		if link.Relation == "" {
			link.Relation = memory.RelatedTo
		}
		r.Text(at+".relation", link.Relation, memory.MaxRelationBytes)
		if l.Confidence != nil {
			r.Fraction(at+".confidence", *l.Confidence)
			link.Confidence = *l.Confidence
		}
		if l.Attributes != nil {
			r.Object(at+".attributes", l.Attributes)
		}
		switch {
		case link.Target == uuid.Nil:
			r.Addf(at+".target", "is required")
		case link.Target == source:
			r.Addf(at+".target", "a note cannot link to itself")
		case seen[link.LinkID]:
			r.Addf(at+".target", "the list has the same link twice")
		}
		seen[link.LinkID] = true
		out = append(out, link)
	}
	return out, r.Err()
}

// PutLinks replaces the outgoing links of a note. Every target must be a visible note of the
// collection. The guard is on the entity tag of the set of links, which is not the note's.
func (n *Service) PutLinks(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, in []LinkInput, r memory.Request) (LinkSet, error) {
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return LinkSet{}, err
	}
	links, err := checkLinks(id, in)
	if err != nil {
		return LinkSet{}, err
	}
	var set LinkSet
	w, err := n.store.Write(ctx, s, c.ID, linkWrite(id, &c, "links.replace"), func(ctx context.Context, tx memory.Tx) error {
		set = LinkSet{}
		old, err := matchedLinks(ctx, tx, id, r.Guard)
		if err != nil {
			return err
		}
		if err := checkTargets(ctx, tx, links); err != nil {
			return err
		}
		if err := replaceLinks(ctx, tx, old, links); err != nil {
			return err
		}
		set.Links, err = tx.Links(ctx, memory.LinkQuery{Notes: []uuid.UUID{id}, Direction: memory.Outgoing})
		return err
	})
	if err != nil {
		return LinkSet{}, err
	}
	set.ETag, set.Revision = memory.LinksETag(id, set.Links), w.Revision
	return set, nil
}

func linkWrite(id uuid.UUID, c *memory.Collection, action string) memory.WriteOptions {
	return memory.WriteOptions{
		Cause: memory.CauseLink, Trigger: id, Audit: []memory.AuditEntry{audit(action, id, c)},
	}
}

// matchedLinks reads the outgoing links of a visible note and checks the guard on them.
func matchedLinks(ctx context.Context, tx memory.Tx, id uuid.UUID, guard memory.Guard) ([]memory.Link, error) {
	notes, err := tx.Notes(ctx, []uuid.UUID{id}, memory.ReadOptions{})
	if err != nil {
		return nil, err
	}
	if len(notes) == 0 {
		return nil, fault.Missing("note")
	}
	old, err := tx.Links(ctx, memory.LinkQuery{Notes: []uuid.UUID{id}, Direction: memory.Outgoing})
	if err != nil {
		return nil, err
	}
	return old, guard.Check("set of links", memory.LinksETag(id, old))
}

// checkTargets refuses links to notes that are deleted, absent or of another collection, all with
// the same words.
func checkTargets(ctx context.Context, tx memory.Tx, links []memory.Link) error {
	ids := make([]uuid.UUID, 0, len(links))
	for _, l := range links {
		ids = append(ids, l.Target)
	}
	if len(ids) == 0 {
		return nil
	}
	notes, err := tx.Notes(ctx, ids, memory.ReadOptions{})
	if err != nil {
		return err
	}
	there := memory.ByID(notes)
	var r memory.Validation
	for i, l := range links {
		if there[l.Target] == nil {
			r.Addf("links."+strconv.Itoa(i)+".target", "no such note in this collection")
		}
	}
	return r.Err()
}

func replaceLinks(ctx context.Context, tx memory.Tx, old, links []memory.Link) error {
	kept := make(map[memory.LinkID]memory.Link, len(old))
	for _, l := range old {
		kept[l.LinkID] = l
	}
	for _, l := range links {
		if before, ok := kept[l.LinkID]; ok && l.Attributes == nil {
			l.Attributes = before.Attributes
		}
		delete(kept, l.LinkID)
		if _, err := tx.Link(ctx, l); err != nil {
			return err
		}
	}
	for _, l := range old {
		if _, gone := kept[l.LinkID]; !gone {
			continue
		}
		if _, err := tx.Unlink(ctx, l.LinkID); err != nil {
			return err
		}
	}
	return nil
}

// DeleteLinks ends the links from a note to a target: those of one relation, or all if relation is
// "". NotFound when there are none.
func (n *Service) DeleteLinks(ctx context.Context, s tenant.Scope, ref string, id, target uuid.UUID, relation string, r memory.Request) (memory.Revision, error) {
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return 0, err
	}
	w, err := n.store.Write(ctx, s, c.ID, linkWrite(id, &c, "links.delete"), func(ctx context.Context, tx memory.Tx) error {
		old, err := matchedLinks(ctx, tx, id, r.Guard)
		if err != nil {
			return err
		}
		found := false
		for _, l := range old {
			if l.Target != target || relation != "" && l.Relation != relation {
				continue
			}
			found = true
			if _, err := tx.Unlink(ctx, l.LinkID); err != nil {
				return err
			}
		}
		if !found {
			return fault.Missing("link")
		}
		return nil
	})
	return w.Revision, err
}
