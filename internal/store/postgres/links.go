package postgres

import (
	"context"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// defaultLinks is how many links one query gives unless told.
const defaultLinks = 10_000

const linkColumns = "l.source, l.relation, l.target, l.layer, l.from_rev, l.deleted, l.confidence, l.attributes, l.created_at"

type linkVersion struct {
	memory.Link
	deleted bool
}

func scanLink(rows pgx.Rows, more ...any) (l linkVersion, err error) {
	var attributes *string
	var created time.Time
	dest := []any{&l.Source, &l.Relation, &l.Target, &l.Layer, &l.From, &l.deleted, &l.Confidence, &attributes, &created}
	if err := rows.Scan(append(dest, more...)...); err != nil {
		return l, err
	}
	l.CreatedAt = created.UTC()
	l.Attributes, err = objectOf(attributes)
	return l, err
}

// links reads the visible links of notes, in order. What touches a few notes
// is found by their ids, and sorted after.
func (q *session) links(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, lq memory.LinkQuery) ([]memory.Link, error) {
	if len(lq.Notes) == 0 {
		return nil, nil
	}
	if lq.Limit <= 0 {
		lq.Limit = defaultLinks
	}
	p := params{args: []any{tenantID, lq.Notes, lq.Limit}}
	var branches []string
	for i := range layers {
		visible := p.visibleLinks(layers, i)
		branch := func(ends string) {
			branches = append(branches, "SELECT "+linkColumns+" FROM links l WHERE "+ends+" AND "+visible)
		}
		const outgoing, incoming = "l.source = ANY($2::uuid[])", "l.target = ANY($2::uuid[])"
		switch lq.Direction {
		case memory.Outgoing:
			branch(outgoing)
		case memory.Incoming:
			branch(incoming)
		case memory.Both:
			fallthrough
		default:
			branch(outgoing)
			branch(incoming + " AND l.source <> ALL($2::uuid[])")
		}
	}
	var out []memory.Link
	err := q.each(ctx, strings.Join(branches, " UNION ALL ")+" ORDER BY 1, 2, 3 LIMIT $3", p.args, func(rows pgx.Rows) error {
		l, err := scanLink(rows)
		out = append(out, l.Link)
		return err
	})
	return out, err
}

// Links implements memory.Reader.
func (s *Store) Links(ctx context.Context, sc tenant.Scope, v memory.View, lq memory.LinkQuery) (out []memory.Link, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out, err = q.links(ctx, sc.Tenant(), v.Layers, lq)
		return err
	})
	return out, err
}

// link finds the version that decides about a link, tombstones included: that
// of the nearest layer.
func (t *tx) link(ctx context.Context, id memory.LinkID) (l linkVersion, ok bool, err error) {
	p := params{args: []any{t.tenant(), id.Source, id.Relation, id.Target}}
	branches := make([]string, len(t.layers))
	for i, layer := range t.layers {
		branches[i] = "SELECT " + linkColumns + ", " + p.add(i) + "::int AS nth FROM links l WHERE l.tenant = $1 AND l.source = $2 AND l.relation = $3 AND l.target = $4 AND " + p.live("l", layer)
	}
	err = t.q.each(ctx, strings.Join(branches, " UNION ALL ")+" ORDER BY nth LIMIT 1", p.args, func(rows pgx.Rows) error {
		ok = true
		var nth int
		l, err = scanLink(rows, &nth)
		return err
	})
	return l, ok, err
}

// ends tells whether both ends of a link are visible.
func (t *tx) ends(ctx context.Context, id memory.LinkID) (bool, error) {
	both := ids{id.Source, id.Target}
	found, err := t.q.versions(ctx, t.tenant(), t.layers, reader{collection: t.row.ID}, both)
	for _, end := range both {
		if n, ok := found[end]; !ok || n.Deleted {
			return false, err
		}
	}
	return true, err
}

// Link implements memory.Tx.
func (t *tx) Link(ctx context.Context, l memory.Link) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	ctx = t.bare
	if l.Source == l.Target {
		return false, fault.InvalidField("target", "a note cannot be linked to itself")
	}
	if l.Relation == "" {
		l.Relation = memory.RelatedTo
	}
	if err := store.Text("relation", l.Relation); err != nil {
		return false, err
	}
	if math.IsNaN(l.Confidence) || math.IsInf(l.Confidence, 0) {
		return false, fault.InvalidField("confidence", "is not a number")
	}
	attributes, err := object("attributes", l.Attributes)
	if err != nil {
		return false, err
	}
	if l.Attributes, err = objectOf(attributes); err != nil {
		return false, err
	}
	visible, err := t.ends(ctx, l.LinkID)
	if err != nil {
		return false, err
	}
	if !visible {
		return false, fault.Missing("note")
	}
	old, ok, err := t.link(ctx, l.LinkID)
	if err != nil {
		return false, err
	}
	live := ok && !old.deleted
	if live && old.Confidence == l.Confidence && reflect.DeepEqual(old.Attributes, l.Attributes) {
		return false, nil
	}
	if l.CreatedAt = trunc(l.CreatedAt); l.CreatedAt.IsZero() {
		l.CreatedAt = t.now
		if live {
			l.CreatedAt = old.CreatedAt
		}
	}
	t.replaceLink(old, ok, l, attributes, false)
	if !live {
		t.head.Links++
	}
	return true, nil
}

// Unlink implements memory.Tx.
func (t *tx) Unlink(ctx context.Context, id memory.LinkID) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	ctx = t.bare
	if id.Relation == "" {
		id.Relation = memory.RelatedTo
	}
	if !possible(id.Relation) {
		return false, nil // no link is like that
	}
	old, ok, err := t.link(ctx, id)
	if err != nil || !ok || old.deleted {
		return false, err
	}
	// A link whose endpoint is gone is not there for callers.
	if visible, err := t.ends(ctx, id); err != nil || !visible {
		return false, err
	}
	t.replaceLink(old, true, memory.Link{LinkID: id, CreatedAt: old.CreatedAt}, nil, true)
	t.head.Links--
	return true, nil
}

// replaceLink is replace for links.
func (t *tx) replaceLink(old linkVersion, had bool, l memory.Link, attributes *string, deleted bool) {
	own := []any{t.tenant(), t.row.ID, l.Source, l.Relation, l.Target, rev(t.revision)}
	const where = " WHERE tenant = $1 AND layer = $2 AND source = $3 AND relation = $4 AND target = $5 AND from_rev = "
	if had && old.Layer == t.row.ID {
		if old.From == t.revision {
			t.q.later("DELETE FROM links"+where+"$6", own...)
		} else {
			t.q.later("UPDATE links SET to_rev = $6"+where+"$7", append(own, rev(old.From))...)
		}
		if !old.deleted {
			t.head.stored.links--
		}
	}
	t.q.later("INSERT INTO links (tenant, layer, source, relation, target, from_rev, to_rev, deleted, confidence, attributes, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
		append(own, int64(open), deleted, l.Confidence, attributes, l.CreatedAt)...)
	t.logged = true
	if !deleted {
		t.head.stored.links++
	}
}
