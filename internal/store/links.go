package store

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// LinkColumns are the columns of links l that an engine reads as a LinkVersion.
const LinkColumns = "l.source, l.relation, l.target, l.layer, l.from_rev, l.deleted, l.confidence, l.attributes, l.created_at"

// LinkVersion is a row of links.
type LinkVersion struct {
	memory.Link
	Deleted bool
}

// LinkRows are the rows of links.
type LinkRows interface {
	// Links lists the visible links of notes, in the order of source, relation, target.
	Links(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, q memory.LinkQuery) ([]memory.Link, error)
	// CountLinksOf counts the visible links of a visible note, and those among them that the first layer stores.
	CountLinksOf(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, note uuid.UUID) (all, own int64, err error)
	// LinkVersion returns the version that decides about a link, that of the nearest layer,
	// tombstones included.
	LinkVersion(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, id memory.LinkID) (l LinkVersion, ok bool, err error)
	// LinksWithoutEnds lists up to limit live links of the first layer of which an end was never in the
	// layers.
	LinksWithoutEnds(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, limit int) ([]memory.LinkID, error)
}

// ScanLink reads LinkColumns, and what else there is.
func ScanLink(row Scanner, more ...any) (l LinkVersion, err error) {
	dest := []any{&l.Source, &l.Relation, &l.Target, &l.Layer, &l.From, &l.Deleted, &l.Confidence, ObjectColumn(&l.Attributes), Time(&l.CreatedAt)}
	err = row.Scan(append(dest, more...)...)
	return l, err
}

// thatLink is the condition for a version of a link, with the arguments of linkKey.
const thatLink = " WHERE tenant = $1 AND layer = $2 AND source = $3 AND relation = $4 AND target = $5 AND from_rev = $6"

func linkKey(tenantID uuid.UUID, l *memory.Link) []any {
	return []any{tenantID, l.Layer, l.Source, l.Relation, l.Target, int64(l.From)}
}

// DeleteLink deletes the version that began at l.From, in the layer l.Layer.
func DeleteLink(ctx context.Context, q Conn, tenantID uuid.UUID, l memory.Link) error {
	return q.Later(ctx, "DELETE FROM links"+thatLink, linkKey(tenantID, &l)...)
}

// Links implements memory.Reader.
func (b *Base) Links(ctx context.Context, s tenant.Scope, v memory.View, lq memory.LinkQuery) ([]memory.Link, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) ([]memory.Link, error) {
		return q.Links(ctx, s.Tenant(), v.Layers, lq)
	})
}

// endsVisible reports whether both ends of a link are visible.
func (t *Tx) endsVisible(id memory.LinkID) (bool, error) {
	var ends []uuid.UUID
	for _, end := range []uuid.UUID{id.Source, id.Target} {
		switch shown, known := t.shown[end]; {
		case !known:
			ends = append(ends, end)
		case !shown:
			return false, nil
		}
	}
	if len(ends) == 0 {
		return true, nil
	}
	found, err := t.q.VisibleNotes(t.ctx, t.scope.Tenant(), t.layers, ends)
	for _, end := range ends {
		if !found[end] {
			return false, err
		}
	}
	return true, err
}

// Link implements memory.Tx.
func (t *Tx) Link(ctx context.Context, l memory.Link) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err := checkLink(&l); err != nil {
		return false, err
	}
	attributes, err := Object("attributes", l.Attributes)
	if err != nil {
		return false, err
	}
	if l.Attributes, err = ObjectOf(attributes); err != nil {
		return false, err
	}
	visible, err := t.endsVisible(l.LinkID)
	if err == nil && !visible {
		err = fault.Missing("note")
	}
	if err != nil {
		return false, err
	}
	old, ok, err := t.q.LinkVersion(t.ctx, t.scope.Tenant(), t.layers, l.LinkID)
	if err != nil {
		return false, err
	}
	live := ok && !old.Deleted
	if live && old.Confidence == l.Confidence && reflect.DeepEqual(old.Attributes, l.Attributes) {
		return false, nil
	}
	if l.CreatedAt = Micros(l.CreatedAt); l.CreatedAt.IsZero() {
		l.CreatedAt = t.now
		if live {
			l.CreatedAt = old.CreatedAt
		}
	}
	if err := t.replaceLink(old, ok, LinkVersion{Link: l}, attributes); err != nil {
		return false, err
	}
	if !live {
		t.head.Links++
	}
	return true, nil
}

// Unlink implements memory.Tx.
func (t *Tx) Unlink(ctx context.Context, id memory.LinkID) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	id.Relation = cmp.Or(id.Relation, memory.RelatedTo)
	old, ok, err := t.q.LinkVersion(t.ctx, t.scope.Tenant(), t.layers, id)
	if err != nil || !ok || old.Deleted {
		return false, err
	}
	// A link of which one end is gone is not visible to callers.
	if visible, err := t.endsVisible(id); err != nil || !visible {
		return false, err
	}
	tombstone := LinkVersion{Link: memory.Link{LinkID: id, CreatedAt: old.CreatedAt}, Deleted: true}
	if err := t.replaceLink(old, true, tombstone, ""); err != nil {
		return false, err
	}
	t.head.Links--
	return true, nil
}

// replaceLink is replace for links.
func (t *Tx) replaceLink(old LinkVersion, had bool, l LinkVersion, attributes string) (err error) {
	l.Layer, l.From = t.row.ID, t.revision
	if had && old.Layer == t.row.ID {
		if old.From == t.revision {
			err = DeleteLink(t.ctx, t.q, t.scope.Tenant(), old.Link)
		} else {
			err = t.q.Later(t.ctx, "UPDATE links SET to_rev = $7"+thatLink, append(linkKey(t.scope.Tenant(), &old.Link), int64(t.revision))...)
		}
		if err != nil {
			return err
		}
		if !old.Deleted {
			t.head.Stored.Links--
		}
	}
	err = t.q.Later(t.ctx, "INSERT INTO links (tenant, layer, source, relation, target, from_rev, to_rev, deleted, confidence, attributes, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
		append(linkKey(t.scope.Tenant(), &l.Link), int64(OpenEnd), l.Deleted, l.Confidence, json.RawMessage(attributes), l.CreatedAt)...)
	if err != nil {
		return err
	}
	t.logged = true
	if !l.Deleted {
		t.head.Stored.Links++
	}
	return nil
}
