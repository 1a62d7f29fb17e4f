package memory

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Links lists the links of a note (notes:read).
func (n *Notes) Links(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, d Direction, at At) (LinkSet, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return LinkSet{}, err
	}
	v, err := n.store.OpenView(ctx, s, ref, at)
	if err != nil {
		return LinkSet{}, err
	}
	return n.LinksIn(ctx, s, v, id, d)
}

// LinksIn lists the links of a note as a view shows them (notes:read).
func (n *Notes) LinksIn(ctx context.Context, s tenant.Scope, v View, id uuid.UUID, d Direction) (LinkSet, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return LinkSet{}, err
	}
	ids := []uuid.UUID{id}
	notes, err := n.store.Notes(ctx, s, v, ids, ReadOptions{})
	if err != nil {
		return LinkSet{}, err
	}
	if len(notes) == 0 {
		return LinkSet{}, fault.Missing("note")
	}
	out, err := n.store.Links(ctx, s, v, LinkQuery{Notes: ids, Direction: Outgoing})
	if err != nil {
		return LinkSet{}, err
	}
	set := LinkSet{Note: id, Links: out, ETag: LinksETag(id, out), Revision: v.At}
	if d != Outgoing {
		if set.Links, err = n.store.Links(ctx, s, v, LinkQuery{Notes: ids, Direction: d}); err != nil {
			return LinkSet{}, err
		}
	}
	return set, nil
}

// checkLinks refuses what the links may not be, and fills in defaults.
func checkLinks(source uuid.UUID, in []LinkInput) ([]Link, error) {
	var r refusals
	if len(in) > MaxLinks {
		r.addf("links", "at most %d; there are %d", MaxLinks, len(in))
		return nil, r.err()
	}
	out := make([]Link, 0, len(in))
	seen := make(map[LinkID]bool, len(in))
	for i, l := range in {
		at := "links." + strconv.Itoa(i)
		link := Link{LinkID: LinkID{Source: source, Target: l.Target, Relation: l.Relation}, Confidence: 1, Attributes: l.Attributes}
		if link.Relation == "" {
			link.Relation = RelatedTo
		}
		r.text(at+".relation", link.Relation, MaxRelationBytes)
		if l.Confidence != nil {
			r.fraction(at+".confidence", *l.Confidence)
			link.Confidence = *l.Confidence
		}
		if l.Attributes != nil {
			r.object(at+".attributes", l.Attributes)
		}
		switch {
		case link.Target == uuid.Nil:
			r.addf(at+".target", "is required")
		case link.Target == source:
			r.addf(at+".target", "a note cannot link to itself")
		case seen[link.LinkID]:
			r.addf(at+".target", "the same link stands in the list before")
		}
		seen[link.LinkID] = true
		out = append(out, link)
	}
	return out, r.err()
}

// PutLinks replaces the outgoing links of a note. Every target must be a
// visible note of the collection; Match guards the set of links, whose tag is
// not the note's.
func (n *Notes) PutLinks(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, in []LinkInput, r Request) (LinkSet, error) {
	c, err := n.writable(ctx, s, ref)
	if err != nil {
		return LinkSet{}, err
	}
	links, err := checkLinks(id, in)
	if err != nil {
		return LinkSet{}, err
	}
	var set LinkSet
	w, err := n.store.Write(ctx, s, c.ID, linkWrite(id, &c, "links.replace", r), func(ctx context.Context, tx Tx) error {
		set = LinkSet{}
		old, err := matchedLinks(ctx, tx, id, r.Match)
		if err != nil {
			return err
		}
		if err := checkTargets(ctx, tx, links); err != nil {
			return err
		}
		if err := replaceLinks(ctx, tx, old, links); err != nil {
			return err
		}
		set.Links, err = tx.Links(ctx, LinkQuery{Notes: []uuid.UUID{id}, Direction: Outgoing})
		return err
	})
	if err != nil {
		return LinkSet{}, err
	}
	set.Note, set.ETag, set.Revision = id, LinksETag(id, set.Links), w.Revision
	return set, nil
}

func linkWrite(id uuid.UUID, c *Collection, action string, r Request) WriteOptions {
	return WriteOptions{
		Cause: CauseLink, Trigger: id, Idempotency: r.Idempotency, Audit: []AuditEntry{audit(action, id, c)},
	}
}

// matchedLinks reads the outgoing links of a visible note under a condition.
func matchedLinks(ctx context.Context, tx Tx, id uuid.UUID, m Match) ([]Link, error) {
	notes, err := tx.Notes(ctx, []uuid.UUID{id}, ReadOptions{})
	if err != nil {
		return nil, err
	}
	if len(notes) == 0 {
		return nil, fault.Missing("note")
	}
	old, err := tx.Links(ctx, LinkQuery{Notes: []uuid.UUID{id}, Direction: Outgoing})
	if err != nil {
		return nil, err
	}
	return old, m.check("set of links", LinksETag(id, old))
}

// checkTargets refuses links to notes that are deleted, absent, or of another
// collection; the three look the same.
func checkTargets(ctx context.Context, tx Tx, links []Link) error {
	ids := make([]uuid.UUID, 0, len(links))
	for _, l := range links {
		ids = append(ids, l.Target)
	}
	if len(ids) == 0 {
		return nil
	}
	notes, err := tx.Notes(ctx, ids, ReadOptions{})
	if err != nil {
		return err
	}
	there := make(map[uuid.UUID]bool, len(notes))
	for i := range notes {
		there[notes[i].ID] = true
	}
	var r refusals
	for i, l := range links {
		if !there[l.Target] {
			r.addf("links."+strconv.Itoa(i)+".target", "no such note in this collection")
		}
	}
	return r.err()
}

func replaceLinks(ctx context.Context, tx Tx, old, links []Link) error {
	kept := make(map[LinkID]Link, len(old))
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

// DeleteLinks ends the links from a note to a target: those of one relation,
// or of all when relation is "". NotFound when there are none.
func (n *Notes) DeleteLinks(ctx context.Context, s tenant.Scope, ref string, id, target uuid.UUID, relation string, r Request) (Revision, error) {
	c, err := n.writable(ctx, s, ref)
	if err != nil {
		return 0, err
	}
	w, err := n.store.Write(ctx, s, c.ID, linkWrite(id, &c, "links.delete", r), func(ctx context.Context, tx Tx) error {
		old, err := matchedLinks(ctx, tx, id, r.Match)
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
