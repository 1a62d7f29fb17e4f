package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/google/uuid"

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
	where  string // a condition over notes n, with its arguments
	args   []any
	after  uuid.UUID
	byTime bool
	since  time.Time // with after, when byTime
	newest bool
	limit  int
}

// list reads a page: one ordered, limited branch per layer, so that a page
// costs the same however long the log is.
func (q *session) list(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, p page) ([]version, error) {
	order, beyond := "ASC", ">"
	if p.newest {
		order, beyond = "DESC", "<"
	}
	var common strings.Builder
	var commonArgs []any
	by, merged := "n.id "+order, "1 "+order
	if p.byTime {
		by, merged = "n.occurred_at "+order+", n.id "+order, "occurred_at "+order+", id "+order
	}
	switch {
	case p.after == uuid.Nil:
	case p.byTime:
		common.WriteString(" AND (n.occurred_at, n.id) " + beyond + " (?, ?)")
		commonArgs = append(commonArgs, micros(p.since), blob(p.after))
	default:
		common.WriteString(" AND n.id " + beyond + " ?")
		commonArgs = append(commonArgs, blob(p.after))
	}
	if store.OnlyMessages(p.kinds) {
		common.WriteString(" AND n.kind = 'message'") // as their index says it
	}
	in := func(column string, n int) {
		common.WriteString(" AND n." + column + " IN (" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")")
	}
	if len(p.kinds) > 0 {
		in("kind", len(p.kinds))
		for _, k := range p.kinds {
			commonArgs = append(commonArgs, string(k))
		}
	}
	if len(p.states) > 0 {
		in("state", len(p.states))
		for _, st := range p.states {
			commonArgs = append(commonArgs, string(st))
		}
	}
	if p.lacks != "" {
		common.WriteString(" AND NOT EXISTS (SELECT 1 FROM vectors x WHERE x.tenant = n.tenant AND x.layer = n.layer AND x.note = n.id AND x.from_rev = n.from_rev AND x.embedder = ?)")
		commonArgs = append(commonArgs, p.lacks)
	}
	if p.where != "" {
		common.WriteString(" AND (" + p.where + ")")
		commonArgs = append(commonArgs, p.args...)
	}
	join, joinArgs := p.join()
	var text strings.Builder
	var args []any
	for i, l := range layers {
		if i > 0 {
			text.WriteString(" UNION ALL ")
		}
		hidden, hiddenArgs := hiddenNotes(tenantID, layers[:i])
		text.WriteString("SELECT * FROM (SELECT " + p.columns() + " FROM notes n" + join +
			" WHERE n.tenant = ? AND n.layer = ? AND n.from_rev <= ? AND n.to_rev > ? AND n.deleted = 0" + common.String() + hidden +
			" ORDER BY " + by + " LIMIT ?)")
		args = append(args, joinArgs...)
		args = append(args, blob(tenantID), blob(l.Collection), rev(l.Bound), rev(l.Bound))
		args = append(args, commonArgs...)
		args = append(args, hiddenArgs...)
		args = append(args, limit(p.limit))
	}
	if len(layers) > 1 {
		text.WriteString(" ORDER BY " + merged + " LIMIT ?")
		args = append(args, limit(p.limit))
	}
	var out []version
	err := q.each(ctx, text.String(), args, func(rows *sql.Rows) error {
		n, err := p.scan(rows)
		out = append(out, n)
		return err
	})
	return out, err
}

// ListNotes implements memory.Reader. The part of a filter that SQL decides
// exactly as package filter does is a condition of the statement; every row
// is then matched by package filter itself.
func (s *Store) ListNotes(ctx context.Context, sc tenant.Scope, v memory.View, nq memory.NoteQuery) (out []memory.Note, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	p := page{
		reader: newReader(&v.Collection, nq.ReadOptions), kinds: nq.Kinds, states: nq.States, lacks: nq.Lacks,
		after: nq.After, byTime: nq.ByTime, since: nq.AfterTime, newest: nq.Newest, limit: nq.Limit,
	}
	exact := true
	if nq.Filter != nil {
		c := compile(nq.Filter)
		p.where, p.args, exact = c.Text, c.Args, c.Exact
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		for {
			if !exact && nq.Limit > 0 {
				// Some of what comes will not match: read further than asked.
				p.limit = max(2*p.limit, 64)
				p.limit = min(p.limit, 4096)
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
