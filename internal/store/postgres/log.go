package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// LogPage implements store.LogRows.
func (q *session) LogPage(ctx context.Context, tenantID uuid.UUID, nr store.NoteReader, lp store.LogPage) ([]store.NoteVersion, error) {
	r := reader(nr)
	p := params{args: []any{tenantID, nr.Collection, rev(lp.To), rev(lp.From), lp.Note, store.Limit(lp.Limit)}}
	where := "n.bytes >= 0 AND n.from_rev <= $3" // the condition of the index of the log
	if lp.Ended {
		after := p.add(rev(lp.After))
		where = "n.to_rev < " + openEnd + " AND n.to_rev <= $3 AND n.to_rev > " + after + " AND n.from_rev <= " + after
	}
	if len(lp.Kinds) > 0 { // not the condition of the index of kinds, which has another order
		where += " AND n.kind || '' = ANY(" + p.add(storableTexts(lp.Kinds)) + "::text[])"
	}
	text := "SELECT " + r.columns() + r.from(&p) + " WHERE n.tenant = $1 AND n.layer = $2 AND " + where +
		" AND (n.from_rev, n.id) > ($4, $5) ORDER BY n.from_rev, n.id LIMIT $6"
	return collect(ctx, q, text, p.args, func(rows store.Scanner) (store.NoteVersion, error) { return r.scan(rows) })
}

// CountChangesets implements store.LogRows.
func (q *session) CountChangesets(ctx context.Context, tenantID uuid.UUID, span memory.Span, cause memory.Cause, from, before time.Time) (map[string]int64, error) {
	days := map[string]int64{}
	err := q.each(ctx, `SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), count(*) FROM changesets
 WHERE tenant = $1 AND collection = $2 AND revision > $7 AND revision <= $3 AND cause = $4 AND at >= $5 AND at < $6 GROUP BY 1`,
		[]any{tenantID, span.Layer, rev(span.To), string(cause), from, before, rev(span.After)}, func(rows pgx.Rows) error {
			var day string
			var n int64
			err := rows.Scan(&day, &n)
			days[day] = n
			return err
		})
	return days, err
}

// ListMerges implements store.LogRows.
func (q *session) ListMerges(ctx context.Context, tenantID uuid.UUID, span memory.Span) ([]memory.Changeset, error) {
	return collect(ctx, q, "SELECT "+store.ChangesetColumns+`, merged_from::text FROM changesets c
 WHERE tenant = $1 AND collection = $2 AND revision > $3 AND revision <= $4 AND merged_from IS NOT NULL
 AND NOT EXISTS (SELECT 1 FROM changesets u WHERE u.tenant = $1 AND u.collection = $2 AND u.revision > c.revision AND u.revision <= $4 AND u.undoes = c.revision)
 ORDER BY revision DESC`, []any{tenantID, span.Layer, rev(span.After), rev(span.To)}, store.ScanMerge)
}

// begun returns the text that lists rows x of the first layer that began after one revision and up to another, with whether
// what they are of was live before, which rows e of the same key in the layers tell. guard is the condition of the index of the log.
func (p *params) begun(layers []memory.Layer, after, to memory.Revision, table, guard, key, same, also string, n int) string {
	first, _, _ := strings.Cut(key, ",") // with the revision, a place in the index
	var before strings.Builder
	for _, l := range layers {
		before.WriteString("(SELECT NOT e.deleted FROM " + table + " e WHERE e.tenant = $1 AND e.layer = " + p.add(l.Collection) + " AND " + same +
			" AND e.from_rev < x.from_rev AND e.from_rev <= " + p.add(rev(l.Bound)) + " ORDER BY e.from_rev DESC LIMIT 1), ")
	}
	return "SELECT * FROM (SELECT x.from_rev, " + key + ", x.deleted, " + also + " OR COALESCE(" + before.String() + "false) AS before FROM " + table + " x WHERE " + guard +
		" AND x.tenant = $1 AND x.layer = " + p.add(layers[0].Collection) + " AND (x.from_rev, " + first + ") > (" + p.add(rev(after)) + ", " + p.add(uuid.Max) + ") AND x.from_rev <= " + p.add(rev(to)) +
		") b WHERE NOT deleted OR before ORDER BY from_rev, " + strings.ReplaceAll(key, "x.", "") + " LIMIT " + p.add(store.Limit(n))
}

// erased is the condition that a row x is what is left of a note that was erased.
const erased = "x.state = '" + string(store.StateErased) + "'"

// NotesBegun implements store.LogRows.
func (q *session) NotesBegun(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, after, to memory.Revision, n int) (out []store.NoteBegun, err error) {
	p := params{args: []any{tenantID}}
	text := p.begun(layers, after, to, "notes", "x.bytes >= 0", "x.id", "e.id = x.id", erased, n)
	err = q.each(ctx, text, p.args, func(rows pgx.Rows) error {
		var c store.NoteBegun
		var deleted, before bool
		err := rows.Scan(&c.At, &c.Note, &deleted, &before)
		c.Change = store.Became(deleted, before)
		out = append(out, c)
		return err
	})
	return out, err
}

// LinksBegun implements store.LogRows.
func (q *session) LinksBegun(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, after, to memory.Revision, n int) (out []store.LinkBegun, err error) {
	p := params{args: []any{tenantID}}
	text := p.begun(layers, after, to, "links", "x.confidence >= 0", "x.source, x.relation, x.target",
		"e.source = x.source AND e.relation = x.relation AND e.target = x.target", "false", n)
	err = q.each(ctx, text, p.args, func(rows pgx.Rows) error {
		var c store.LinkBegun
		var deleted, before bool
		err := rows.Scan(&c.At, &c.Source, &c.Relation, &c.Target, &deleted, &before)
		c.Change = store.Became(deleted, before)
		out = append(out, c)
		return err
	})
	return out, err
}
