package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// Links implements store.LinkRows. The links of a few notes are found by the notes' ids, and then
// sorted.
func (q *session) Links(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, lq memory.LinkQuery) ([]memory.Link, error) {
	if len(lq.Notes) == 0 {
		return nil, nil
	}
	if lq.Limit <= 0 {
		lq.Limit = memory.DefaultLinks
	}
	p := params{args: []any{tenantID, lq.Notes, lq.Limit}}
	var branches []string
	ends := bothEnds
	if lq.Hidden {
		ends = nil
	}
	for i := range layers {
		visible := p.visibleLinks(layers, i, ends)
		branch := func(ends string) {
			branches = append(branches, "SELECT "+store.LinkColumns+" FROM unnest($2::uuid[]) k (id) CROSS JOIN LATERAL (SELECT * FROM links l WHERE "+ends+" AND "+visible+" OFFSET 0) l")
		}
		const outgoing, incoming = "l.source = k.id", "l.target = k.id"
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
		l, err := store.ScanLink(rows)
		out = append(out, l.Link)
		return err
	})
	return out, err
}

// CountLinksOf implements store.LinkRows.
func (q *session) CountLinksOf(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, note uuid.UUID) (all, own int64, err error) {
	p := params{args: []any{tenantID, note}}
	var sums []string
	for i := range layers {
		// Two searches: by source, and by target.
		for k, end := range bothEnds {
			where := p.visibleLinks(layers, i, bothEnds[1-k:2-k])
			sums = append(sums, fmt.Sprintf("SELECT %d AS layer FROM links l WHERE %s = $2 AND %s", i, end, where))
		}
	}
	_, err = q.get(ctx, "SELECT COUNT(*), COUNT(*) FILTER (WHERE layer = 0) FROM ("+strings.Join(sums, " UNION ALL ")+") l", p.args, &all, &own)
	return all, own, err
}

// LinkVersion implements store.LinkRows.
func (q *session) LinkVersion(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, id memory.LinkID) (l store.LinkVersion, ok bool, err error) {
	if !storable(id.Relation) {
		return l, false, nil // no link is like that
	}
	p := params{args: []any{tenantID, id.Source, id.Relation, id.Target}}
	branches := make([]string, len(layers))
	for i, layer := range layers {
		branches[i] = "SELECT " + store.LinkColumns + ", " + p.add(i) + "::int AS nth FROM links l WHERE l.tenant = $1 AND l.source = $2 AND l.relation = $3 AND l.target = $4 AND " + p.live("l", layer)
	}
	err = q.each(ctx, strings.Join(branches, " UNION ALL ")+" ORDER BY nth LIMIT 1", p.args, func(rows pgx.Rows) error {
		ok = true
		var nth int
		l, err = store.ScanLink(rows, &nth)
		return err
	})
	return l, ok, err
}
