package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// bothEnds are the ends of a link.
var bothEnds = []string{"l.source", "l.target"}

// visibleLinks returns the condition for the links l of layer i that are visible through the
// layers, as are some of their ends, and its arguments.
func visibleLinks(tenantID uuid.UUID, layers []memory.Layer, i int, ends []string) (string, []any) {
	b := layers[i].Bound
	args := []any{tenantID, layers[i].Collection, b, b}
	hidden, more := hiddenLinks(tenantID, layers[:i])
	args = append(args, more...)
	text := "l.tenant = ? AND l.layer = ? AND l.from_rev <= ? AND l.to_rev > ? AND l.deleted = 0" + hidden
	for _, end := range ends {
		visible, more := noteVisible(end, tenantID, layers)
		text, args = text+" AND "+visible, append(args, more...)
	}
	return text, args
}

// Links implements store.LinkRows. It reads pages of the links that the layers hold, in order,
// without looking at their ends, and leaves out those of which an end is not visible, until there
// are enough.
func (q *session) Links(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, lq memory.LinkQuery) ([]memory.Link, error) {
	if len(lq.Notes) == 0 {
		return nil, nil
	}
	if lq.Limit <= 0 {
		lq.Limit = memory.DefaultLinks
	}
	if lq.Direction == 0 {
		lq.Direction = memory.Both
	}
	var out []memory.Link
	var after *memory.LinkID
	for {
		page, err := q.linkPage(ctx, tenantID, layers, lq, after)
		if lq.Hidden {
			return page, err
		}
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
		visible, err := q.VisibleNotes(ctx, tenantID, layers, ends)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if !visible[page[i].Source] || !visible[page[i].Target] {
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

// linkPage reads the next links of the layers, without looking at their ends.
func (q *session) linkPage(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, lq memory.LinkQuery, after *memory.LinkID) ([]memory.Link, error) {
	set, setArg := "(SELECT unhex(value) FROM json_each(?))", any(ids(lq.Notes))
	if len(lq.Notes) == 1 {
		set, setArg = "(?)", lq.Notes[0]
	}
	beyond, beyondArgs := "", []any(nil)
	if after != nil {
		beyond, beyondArgs = " AND (l.source, l.relation, l.target) > (?, ?, ?)", []any{after.Source, after.Relation, after.Target}
	}
	var text strings.Builder
	var args []any
	// Without the hint, the planner reads the whole layer in the order of the result.
	branch := func(i int, index, ends string, n int) {
		if text.Len() > 0 {
			text.WriteString(" UNION ALL ")
		}
		hidden, more := hiddenLinks(tenantID, layers[:i])
		text.WriteString("SELECT * FROM (SELECT " + store.LinkColumns + " FROM links l" + index + " WHERE " + ends +
			" AND l.tenant = ? AND l.layer = ? AND l.from_rev <= ? AND l.to_rev > ? AND l.deleted = 0" + beyond + hidden +
			" ORDER BY l.source, l.relation, l.target LIMIT +?)")
		for range n {
			args = append(args, setArg)
		}
		b := layers[i].Bound
		args = append(args, tenantID, layers[i].Collection, b, b)
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
	args = append(args, lq.Limit)
	var out []memory.Link
	// The signs are as in listText.
	sorted := "SELECT * FROM (" + text.String() + ") ORDER BY +source, +relation, +target LIMIT +?"
	err := q.each(ctx, sorted, args, func(rows *sql.Rows) error {
		l, err := store.ScanLink(rows)
		out = append(out, l.Link)
		return err
	})
	return out, err
}

// VisibleNotes implements store.UsageRows.
func (q *session) VisibleNotes(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, wanted []uuid.UUID) (map[uuid.UUID]bool, error) {
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
		err := q.each(ctx, "SELECT n.id, n.deleted FROM json_each(?) j CROSS JOIN notes n WHERE "+newestOfEach,
			[]any{ids(missing), tenantID, l.Collection, l.Bound}, func(rows *sql.Rows) error {
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

// CountLinksOf implements store.LinkRows.
func (q *session) CountLinksOf(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, note uuid.UUID) (all, own int64, err error) {
	for i := range layers {
		var n int64
		// Two searches: by source, and by target.
		for k, end := range []string{" WHERE l.source = ?", " INDEXED BY links_target WHERE l.target = ?"} {
			where, args := visibleLinks(tenantID, layers, i, bothEnds[1-k:2-k])
			if _, err := q.get(ctx, "SELECT COUNT(*) FROM links l"+end+" AND "+where, append([]any{note}, args...), &n); err != nil {
				return 0, 0, err
			}
			if all += n; i == 0 {
				own += n
			}
		}
	}
	return all, own, nil
}

// LinkVersion implements store.LinkRows.
func (q *session) LinkVersion(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, id memory.LinkID) (l store.LinkVersion, ok bool, err error) {
	for _, layer := range layers {
		err = q.each(ctx, "SELECT "+store.LinkColumns+" FROM links l WHERE l.tenant = ? AND l.layer = ? AND l.source = ? AND l.relation = ? AND l.target = ? AND l.from_rev <= ? ORDER BY l.from_rev DESC LIMIT 1",
			[]any{tenantID, layer.Collection, id.Source, id.Relation, id.Target, layer.Bound}, func(rows *sql.Rows) error {
				ok = true
				l, err = store.ScanLink(rows)
				return err
			})
		if err != nil || ok {
			return l, ok, err
		}
	}
	return l, false, nil
}
