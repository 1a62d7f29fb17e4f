package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// page is a bounded stretch of the visible notes.
type page struct {
	reader
	lacks  string // an embedder
	kinds  []memory.Kind
	states []memory.State
	filter store.Condition
	after  uuid.UUID
	byTime bool
	since  time.Time // with after, when byTime
	newest bool
	limit  int
}

// list reads a page: one ordered, limited branch per layer, so that a page
// costs the same however long the log is.
func (q *session) list(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, pg page) ([]version, error) {
	order, beyond := " ASC", ">"
	if pg.newest {
		order, beyond = " DESC", "<"
	}
	p := params{args: []any{tenantID, limit(pg.limit)}}
	var common string
	by, merged := "n.id"+order, "1"+order
	if pg.byTime {
		by, merged = "n.occurred_at"+order+", n.id"+order, "occurred_at"+order+", id"+order
	}
	switch {
	case pg.after == uuid.Nil:
	case pg.byTime:
		common += " AND (n.occurred_at, n.id) " + beyond + " (" + p.add(pg.since) + ", " + p.add(pg.after) + ")"
	default:
		common += " AND n.id " + beyond + " " + p.add(pg.after)
	}
	if store.OnlyMessages(pg.kinds) {
		common += " AND n.kind = 'message'" // as their index says it
	}
	if len(pg.kinds) > 0 {
		common += " AND n.kind = ANY(" + p.add(names(pg.kinds)) + "::text[])"
	}
	if len(pg.states) > 0 {
		common += " AND n.state = ANY(" + p.add(names(pg.states)) + "::text[])"
	}
	if pg.lacks != "" {
		common += " AND NOT EXISTS (SELECT FROM vectors x WHERE x.tenant = $1 AND x.layer = n.layer AND x.note = n.id AND x.from_rev = n.from_rev AND x.embedder = " + p.add(pg.lacks) + ")"
	}
	if pg.filter.Text != "" {
		common += " AND (" + p.bind(pg.filter) + ")"
	}
	from := pg.from(&p)
	branches := make([]string, len(layers))
	for i, l := range layers {
		branches[i] = "(SELECT " + pg.columns() + from + " WHERE n.tenant = $1 AND " + p.live("n", l) + " AND NOT n.deleted" + common +
			p.hiddenNotes(layers[:i]) + " ORDER BY " + by + " LIMIT $2)"
	}
	text := strings.Join(branches, " UNION ALL ")
	if len(layers) > 1 {
		text += " ORDER BY " + merged + " LIMIT $2"
	}
	var out []version
	err := q.each(ctx, text, p.args, func(rows pgx.Rows) error {
		n, err := pg.scan(rows)
		out = append(out, n)
		return err
	})
	return out, err
}

// names are kinds or states as the driver takes them.
func names[S ~string](l []S) []string {
	out := make([]string, 0, len(l))
	for _, s := range l {
		if possible(string(s)) { // else no row holds it
			out = append(out, string(s))
		}
	}
	return out
}

// ListNotes implements memory.Reader. The part of a filter that SQL decides
// exactly as package filter does is a condition of the statement; every row
// is then matched by package filter itself.
func (s *Store) ListNotes(ctx context.Context, sc tenant.Scope, v memory.View, nq memory.NoteQuery) (out []memory.Note, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	first := page{
		reader: newReader(&v.Collection, nq.ReadOptions), kinds: nq.Kinds, states: nq.States, lacks: nq.Lacks,
		after: nq.After, byTime: nq.ByTime, since: nq.AfterTime, newest: nq.Newest, limit: nq.Limit, filter: store.Condition{Exact: true},
	}
	if nq.Filter != nil {
		first.filter = compile(nq.Filter)
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out = nil
		for p := first; ; {
			if !p.filter.Exact && nq.Limit > 0 {
				// Some of what comes will not match: read further than asked.
				p.limit = min(max(2*p.limit, 64), 4096)
			}
			rows, err := q.list(ctx, sc.Tenant(), v.Layers, p)
			if err != nil {
				return err
			}
			for i := range rows {
				p.after, p.since = rows[i].ID, rows[i].OccurredAt
				if !store.Matches(nq.Filter, &rows[i].Note) {
					continue
				}
				if out = append(out, rows[i].Note); nq.Limit > 0 && len(out) == nq.Limit {
					return nil
				}
			}
			if nq.Limit <= 0 || len(rows) < p.limit {
				return nil
			}
		}
	})
	return out, err
}
