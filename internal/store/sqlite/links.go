package sqlite

import (
	"context"
	"database/sql"
	"reflect"
	"strings"

	"github.com/google/uuid"

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

func scanLink(rows interface{ Scan(...any) error }) (l linkVersion, err error) {
	var attributes string
	var created int64
	if err := rows.Scan(&l.Source, &l.Relation, &l.Target, &l.Layer, &l.From, &l.deleted, &l.Confidence, &attributes, &created); err != nil {
		return l, err
	}
	l.CreatedAt = timeOf(created)
	l.Attributes, err = store.ObjectOf(attributes)
	return l, err
}

// visibleLinks is the condition for the links l of layer i that are visible
// through the layers, endpoints included.
func visibleLinks(tenantID uuid.UUID, layers []memory.Layer, i int) (string, []any) {
	b := rev(layers[i].Bound)
	args := []any{blob(tenantID), blob(layers[i].Collection), b, b}
	hidden, more := hiddenLinks(tenantID, layers[:i])
	args = append(args, more...)
	source, more := noteVisible("l.source", tenantID, layers)
	args = append(args, more...)
	target, more := noteVisible("l.target", tenantID, layers)
	args = append(args, more...)
	return "l.tenant = ? AND l.layer = ? AND l.from_rev <= ? AND l.to_rev > ? AND l.deleted = 0" + hidden + " AND " + source + " AND " + target, args
}

// links reads pages of what the layers hold, in order, and leaves out links
// whose endpoints are not visible, until there are enough.
func (q *session) links(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, lq memory.LinkQuery) ([]memory.Link, error) {
	if len(lq.Notes) == 0 {
		return nil, nil
	}
	if lq.Limit <= 0 {
		lq.Limit = defaultLinks
	}
	if lq.Direction == 0 {
		lq.Direction = memory.Both
	}
	var out []memory.Link
	var after *memory.LinkID
	for {
		page, err := q.linkPage(ctx, tenantID, layers, lq, after)
		if err != nil || len(page) == 0 {
			return out, err
		}
		ends := make([]uuid.UUID, 0, 2*len(page))
		known := make(map[uuid.UUID]bool, 2*len(page))
		for i := range page {
			for _, id := range []uuid.UUID{page[i].Source, page[i].Target} {
				if !known[id] {
					known[id] = true
					ends = append(ends, id)
				}
			}
		}
		alive, err := q.alive(ctx, tenantID, layers, ends)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if !alive[page[i].Source] || !alive[page[i].Target] {
				continue
			}
			if out = append(out, page[i]); len(out) == lq.Limit {
				return out, nil
			}
		}
		if len(page) < lq.Limit {
			return out, nil
		}
		after = &page[len(page)-1].LinkID
	}
}

// linkPage reads the next links of the layers, endpoints unseen.
func (q *session) linkPage(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, lq memory.LinkQuery, after *memory.LinkID) ([]memory.Link, error) {
	set, setArg := "(SELECT unhex(value) FROM json_each(?))", any(ids(lq.Notes))
	if len(lq.Notes) == 1 {
		set, setArg = "(?)", blob(lq.Notes[0])
	}
	beyond, beyondArgs := "", []any(nil)
	if after != nil {
		beyond, beyondArgs = " AND (l.source, l.relation, l.target) > (?, ?, ?)", []any{blob(after.Source), after.Relation, blob(after.Target)}
	}
	var text strings.Builder
	var args []any
	// Without a hint the planner walks the whole layer in the order asked for.
	branch := func(i int, index, ends string, n int) {
		if text.Len() > 0 {
			text.WriteString(" UNION ALL ")
		}
		hidden, more := hiddenLinks(tenantID, layers[:i])
		text.WriteString("SELECT * FROM (SELECT " + linkColumns + " FROM links l" + index + " WHERE " + ends +
			" AND l.tenant = ? AND l.layer = ? AND l.from_rev <= ? AND l.to_rev > ? AND l.deleted = 0" + beyond + hidden +
			" ORDER BY l.source, l.relation, l.target LIMIT ?)")
		for range n {
			args = append(args, setArg)
		}
		b := rev(layers[i].Bound)
		args = append(args, blob(tenantID), blob(layers[i].Collection), b, b)
		args = append(append(append(args, beyondArgs...), more...), lq.Limit)
	}
	for i := range layers {
		if lq.Direction&memory.Outgoing != 0 {
			branch(i, "", "l.source IN "+set, 1)
		}
		switch lq.Direction {
		case memory.Outgoing:
		case memory.Incoming:
			branch(i, " INDEXED BY links_target", "l.target IN "+set, 1)
		case memory.Both:
			branch(i, " INDEXED BY links_target", "l.target IN "+set+" AND l.source NOT IN "+set, 2)
		}
	}
	text.WriteString(" ORDER BY 1, 2, 3 LIMIT ?")
	args = append(args, lq.Limit)
	var out []memory.Link
	err := q.each(ctx, text.String(), args, func(rows *sql.Rows) error {
		l, err := scanLink(rows)
		out = append(out, l.Link)
		return err
	})
	return out, err
}

// alive tells which notes are visible.
func (q *session) alive(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, wanted []uuid.UUID) (map[uuid.UUID]bool, error) {
	found := make(map[uuid.UUID]bool, len(wanted))
	for _, l := range layers {
		missing := make([]uuid.UUID, 0, len(wanted)-len(found))
		for _, id := range wanted {
			if _, ok := found[id]; !ok {
				missing = append(missing, id)
			}
		}
		if len(missing) == 0 {
			break
		}
		err := q.each(ctx, "SELECT n.id, n.deleted FROM json_each(?) j CROSS JOIN notes n WHERE n.tenant = ? AND n.layer = ? AND n.id = unhex(j.value) AND n.from_rev <= ? AND n.to_rev > ?",
			[]any{ids(missing), blob(tenantID), blob(l.Collection), rev(l.Bound), rev(l.Bound)}, func(rows *sql.Rows) error {
				var id uuid.UUID
				var deleted bool
				err := rows.Scan(&id, &deleted)
				found[id] = !deleted
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Links implements memory.Reader.
func (s *Store) Links(ctx context.Context, sc tenant.Scope, v memory.View, lq memory.LinkQuery) (out []memory.Link, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		out, err = q.links(ctx, sc.Tenant(), v.Layers, lq)
		return err
	})
	return out, err
}

// link finds the version that decides about a link, tombstones included.
func (t *tx) link(ctx context.Context, id memory.LinkID) (l linkVersion, ok bool, err error) {
	for _, layer := range t.layers {
		err = t.q.each(ctx, "SELECT "+linkColumns+" FROM links l WHERE l.tenant = ? AND l.layer = ? AND l.source = ? AND l.relation = ? AND l.target = ? AND l.from_rev <= ? ORDER BY l.from_rev DESC LIMIT 1",
			[]any{blob(t.tenant()), blob(layer.Collection), blob(id.Source), id.Relation, blob(id.Target), rev(layer.Bound)}, func(rows *sql.Rows) error {
				ok = true
				l, err = scanLink(rows)
				return err
			})
		if err != nil || ok {
			return l, ok, err
		}
	}
	return l, false, nil
}

// Link implements memory.Tx.
func (t *tx) Link(ctx context.Context, l memory.Link) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := store.CheckLink(&l); err != nil {
		return false, err
	}
	attributes, err := store.Object("attributes", l.Attributes)
	if err != nil {
		return false, err
	}
	if l.Attributes, err = store.ObjectOf(attributes); err != nil {
		return false, err
	}
	for _, end := range []uuid.UUID{l.Source, l.Target} {
		if _, err := t.visible(ctx, end); err != nil {
			return false, err
		}
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
	if err := t.replaceLink(ctx, old, ok, l, attributes, false); err != nil {
		return false, err
	}
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
	ctx = context.WithoutCancel(ctx)
	if id.Relation == "" {
		id.Relation = memory.RelatedTo
	}
	old, ok, err := t.link(ctx, id)
	if err != nil || !ok || old.deleted {
		return false, err
	}
	// A link whose endpoint is gone is not there for callers.
	for _, end := range []uuid.UUID{id.Source, id.Target} {
		n, ok, err := t.version(ctx, end)
		if err != nil {
			return false, err
		}
		if !ok || n.Deleted {
			return false, nil
		}
	}
	if err := t.replaceLink(ctx, old, true, memory.Link{LinkID: id, CreatedAt: old.CreatedAt}, "", true); err != nil {
		return false, err
	}
	t.head.Links--
	return true, nil
}

// replaceLink is replace for links.
func (t *tx) replaceLink(ctx context.Context, old linkVersion, had bool, l memory.Link, attributes string, deleted bool) error {
	own := []any{blob(t.tenant()), blob(t.row.ID), blob(l.Source), l.Relation, blob(l.Target)}
	const where = " WHERE tenant = ? AND layer = ? AND source = ? AND relation = ? AND target = ? AND from_rev = ?"
	if had && old.Layer == t.row.ID {
		if old.From == t.revision {
			if _, err := t.q.exec(ctx, "DELETE FROM links"+where, append(own, rev(t.revision))...); err != nil {
				return err
			}
		} else if _, err := t.q.exec(ctx, "UPDATE links SET to_rev = ?"+where, append([]any{rev(t.revision)}, append(own, rev(old.From))...)...); err != nil {
			return err
		}
		if !old.deleted {
			t.head.stored.links--
		}
	}
	_, err := t.q.exec(ctx, "INSERT INTO links (tenant, layer, source, relation, target, from_rev, to_rev, deleted, confidence, attributes, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		append(own, rev(t.revision), int64(open), deleted, l.Confidence, attributes, micros(l.CreatedAt))...)
	if err != nil {
		return err
	}
	t.logged = true
	if !deleted {
		t.head.stored.links++
	}
	return nil
}
